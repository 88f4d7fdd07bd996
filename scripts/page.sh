#!/usr/bin/env bash
# Builds the web page into playground/dist/www, where the Go build embeds it.
# Does nothing where what is built is newer than what it is built from.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib.sh
ensure_node
out=playground/dist/www/index.html
sources=(playground/src playground/index.html playground/vite.config.ts playground/tsconfig.json playground/package-lock.json clients/js/src)
if [ -f "$out" ] && [ -z "$(find "${sources[@]}" -newer "$out" -print -quit)" ]; then
  exit 0
fi
ensure_npm playground
(cd playground && npm run --silent build)
