#!/usr/bin/env bash
# A CopilotKit page in Chromium, through CopilotKit's runtime, against the built
# binary. Its packages take 800 MB, so only `make test-long` runs it.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib.sh
ensure_go
ensure_node
ensure_chromium
ensure_npm interop/copilotkit
CGO_ENABLED=0 go build -o bin/lockstep ./cmd/lockstep
cd interop/copilotkit
npm run --silent build
npm test
