#!/usr/bin/env bash
# The official client against the built binary, and against recorded streams.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib.sh
ensure_go
ensure_node
CGO_ENABLED=0 go build -o bin/lockstep ./cmd/lockstep
CGO_ENABLED=0 go build -o bin/fakeopenai ./internal/openaiwire/cmd/fakeopenai
CGO_ENABLED=0 go build -o bin/providers ./interop/providers
if ! (cd interop && [ -d node_modules ] && npm ls --silent >/dev/null 2>&1); then
  (cd interop && npm ci --no-audit --no-fund --loglevel=error)
fi
# By name: below are suites with packages of their own.
(cd interop && node --test ./*.test.mjs)
if [ -x interop/agui/run.sh ]; then interop/agui/run.sh; fi
