#!/usr/bin/env bash
# gofmt, vet, staticcheck, tidy modules, and nothing in the tree that belongs to
# one machine.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib.sh
ensure_go
bad=$(git ls-files '*.go' | grep -v /testdata/ | xargs -r gofmt -l)
if [ -n "$bad" ]; then echo "gofmt would change:"; echo "$bad"; exit 1; fi
go vet ./...
go run honnef.co/go/tools/cmd/staticcheck@v0.8.2 ./...
go mod tidy -diff
for module in bench examples/elsewhere; do
  (cd "$module" && go vet ./... && go mod tidy -diff)
done
if command -v golangci-lint >/dev/null 2>&1; then golangci-lint run ./...; fi
