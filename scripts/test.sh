#!/usr/bin/env bash
# The whole test run: Go with the race detector, the benchmarks' module builds,
# the official JavaScript client against the built binary, the JavaScript package,
# the page in a browser.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib.sh
ensure_go
need gcc gcc # the race detector
need curl curl # the guides' snippets
ensure_node
ensure_postgres
# Two builds of everything and no more: the large vendor SDKs take minutes each.
# With the race detector (which needs cgo), and as the product is built.
CGO_ENABLED=1 go test -race -timeout 10m ./...
export CGO_ENABLED=0
go vet ./...
(cd bench && go vet ./...)
(cd examples/elsewhere && go test ./...)
./scripts/interop.sh
./scripts/clients-js.sh
./scripts/browser.sh
if [ -n "${LOCKSTEP_LONG:-}" ]; then
  ./scripts/copilotkit.sh
  for os in windows darwin; do GOOS=$os go build -o /dev/null ./cmd/lockstep; done
fi
