#!/usr/bin/env bash
# The whole test run: Go with the race detector, the benchmarks' module builds,
# the official JavaScript client against the built binary.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib.sh
ensure_go
need gcc gcc # the race detector
ensure_node
export CGO_ENABLED=1
go vet ./...
go test -race -timeout 10m ./...
(cd bench && go vet ./...)
CGO_ENABLED=0 go build -trimpath -o bin/lockstep ./cmd/lockstep
for os in windows darwin; do
  CGO_ENABLED=0 GOOS=$os go build -o /dev/null ./cmd/lockstep
done
./scripts/interop.sh
