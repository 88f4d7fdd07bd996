#!/usr/bin/env bash
# Every fuzz target for the given time (default 15s).
set -euo pipefail
cd "$(dirname "$0")/.."
time="${1:-15s}"
grep -rlE '^func Fuzz' --include='*_test.go' . | grep -v node_modules | while read -r file; do
  dir=$(dirname "$file")
  grep -ohE '^func (Fuzz[A-Za-z0-9_]+)' "$file" | awk '{print $2}' | while read -r target; do
    echo "== $dir $target"
    go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" "$dir"
  done
done
