# Shared by the scripts: finding and installing what they need.

# need CMD DEBIAN-PACKAGE: installs the package where the command is missing.
need() {
  command -v "$1" >/dev/null 2>&1 && return 0
  if command -v apt-get >/dev/null 2>&1; then
    local root=""
    [ "$(id -u)" = 0 ] || root="sudo"
    echo "installing $2 for $1" >&2
    $root apt-get update -qq >&2 && DEBIAN_FRONTEND=noninteractive $root apt-get install -y -qq --no-install-recommends "$2" >&2
  fi
  command -v "$1" >/dev/null 2>&1 || { echo "$1 is needed; install it (Debian: $2) and try again" >&2; exit 1; }
}

# ensure_go: the module needs a Go toolchain; Go fetches a newer one by itself.
ensure_go() { need go golang-go; }

# ensure_node: Node 20 or newer with npm.
ensure_node() {
  need node nodejs
  need npm npm
  local major
  major=$(node -p 'process.versions.node.split(".")[0]')
  if [ "$major" -lt 20 ]; then
    echo "Node 20 or newer is needed, this is $(node --version)" >&2
    exit 1
  fi
}

# ensure_npm DIR: the packages that its lock file names, installed once.
ensure_npm() {
  if [ "$1/node_modules/.package-lock.json" -nt "$1/package-lock.json" ]; then return 0; fi
  (cd "$1" && npm ci --no-audit --no-fund --loglevel=error)
  touch "$1/node_modules/.package-lock.json"
}

# ensure_chromium: a browser for the page's tests, in $CHROMIUM.
ensure_chromium() {
  local name
  for name in "${CHROMIUM:-}" chromium chromium-browser google-chrome; do
    if [ -n "$name" ] && command -v "$name" >/dev/null 2>&1; then
      export CHROMIUM
      CHROMIUM=$(command -v "$name")
      return 0
    fi
  done
  need chromium chromium
  # Letters that a machine without a screen lacks: emoji, Japanese.
  need_fonts
  export CHROMIUM
  CHROMIUM=$(command -v chromium)
}

# ensure_postgres: PostgreSQL's server programs. The tests start a server of
# their own, so on Debian no cluster is made and nothing is started.
ensure_postgres() {
  [ -z "${LOCKSTEP_TEST_POSTGRES:-}" ] || return 0
  have_postgres && return 0
  if command -v apt-get >/dev/null 2>&1; then
    local root="" conf=/etc/postgresql-common/createcluster.conf
    [ "$(id -u)" = 0 ] || root="sudo"
    echo "installing postgresql" >&2
    $root apt-get update -qq >&2
    # Settings of somebody who has the package already are left alone.
    if [ ! -e "$conf" ]; then
      DEBIAN_FRONTEND=noninteractive $root apt-get install -y -qq --no-install-recommends postgresql-common >&2
      $root sed -i 's/^#*create_main_cluster.*/create_main_cluster = false/' "$conf"
    fi
    DEBIAN_FRONTEND=noninteractive $root apt-get install -y -qq --no-install-recommends postgresql >&2
  fi
  have_postgres || { echo "PostgreSQL is needed; install its server (Debian: postgresql), or name one in LOCKSTEP_TEST_POSTGRES, and try again" >&2; exit 1; }
}

have_postgres() {
  command -v initdb >/dev/null 2>&1 || compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null
}

# need_fonts: what screenshots need to look as on a desktop; nothing fails without.
need_fonts() {
  command -v apt-get >/dev/null 2>&1 || return 0
  local root=""
  [ "$(id -u)" = 0 ] || root="sudo"
  DEBIAN_FRONTEND=noninteractive $root apt-get install -y -qq --no-install-recommends fonts-noto-core fonts-noto-color-emoji fonts-noto-cjk >&2 || true
}
