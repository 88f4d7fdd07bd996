#!/usr/bin/env bash
# The whole test run: Go with the race detector, the benchmarks' module builds,
# the official JavaScript client against the built binary, the JavaScript package,
# the page in a browser.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib.sh

# step NAME COMMAND…: runs it, and says how long it took.
step() {
  local name=$1 from=$SECONDS
  shift
  echo "== $name"
  "$@"
  echo "== $name: $((SECONDS - from)) s"
}

packages() {
  ensure_go
  need gcc gcc # the race detector
  need curl curl # the guides' snippets
  ensure_node
  ensure_postgres
  ensure_chromium
}

# The properties draw the same every time, so that what fails is of the change and
# not of the draw. The long run draws anew.
[ -n "${LOCKSTEP_LONG:-}" ] || export RAPID_SEED="${RAPID_SEED:-1}"
# Two builds of everything and no more: the large vendor SDKs take minutes each.
# With the race detector (which needs cgo), and as the product is built.
race() { CGO_ENABLED=1 go "$@"; }

step packages packages
step "go test" race test -race -timeout 10m ./...
step "go vet" race vet -race ./...
export CGO_ENABLED=0
step bench bash -c 'cd bench && go vet ./...'
step "examples/elsewhere" bash -c 'cd examples/elsewhere && go test ./...'
step interop ./scripts/interop.sh
step clients/js ./scripts/clients-js.sh
step browser ./scripts/browser.sh
if [ -n "${LOCKSTEP_LONG:-}" ]; then
  step copilotkit ./scripts/copilotkit.sh
  for os in windows darwin; do step "build $os" env GOOS=$os go build -o /dev/null ./cmd/lockstep; done
fi
