#!/usr/bin/env bash
# Builds, tests and packs the npm package @lockstep-go/client.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib.sh
ensure_go
ensure_node
CGO_ENABLED=0 go build -o bin/lockstep ./cmd/lockstep
ensure_npm clients/js
cd clients/js
rm -rf dist
npm run --silent build
npm test
npm pack --silent
