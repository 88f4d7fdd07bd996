#!/usr/bin/env bash
# The page in Chromium, against the built binary. Screenshots of what the tests
# see go to playground/shots.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib.sh
ensure_go
ensure_chromium
./scripts/page.sh
ensure_npm playground
CGO_ENABLED=0 go build -o bin/lockstep ./cmd/lockstep
CGO_ENABLED=0 go build -o bin/fakeopenai ./internal/openaiwire/cmd/fakeopenai
CGO_ENABLED=0 go build -o bin/asking ./playground/testing/asking
(cd playground && npm test)
