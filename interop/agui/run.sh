#!/bin/sh
# Compares package agui with the official AG-UI packages. Needs Go, Node 20 or
# newer and npm; fetches the pinned packages itself. Extra arguments go to
# `go test`, for example: ./run.sh -run TestProto -v
set -eu
cd "$(dirname "$0")"
exec go test -tags interop -count=1 -timeout 15m "$@" .
