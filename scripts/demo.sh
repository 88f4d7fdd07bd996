#!/usr/bin/env bash
# Starts the demo with the scripted model: no key and no network are needed.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib.sh
ensure_go
[ -x bin/lockstep ] || go build -o bin/lockstep ./cmd/lockstep
addr="${LOCKSTEP_ADDR:-127.0.0.1:8888}"
cat <<EOF

Lockstep's page and demo agents are on http://$addr/ (scripted model, nothing leaves this machine).

  in another terminal:   bin/lockstep chat http://$addr/
  the agents:            curl -s http://$addr/agents
  stop with Ctrl-C

EOF
exec bin/lockstep serve --addr "$addr" --model scripted
