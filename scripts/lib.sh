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
