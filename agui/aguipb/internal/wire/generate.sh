#!/bin/sh
# Makes agui.pb.go of agui.proto. Needs protoc; the Go plugin is built from the
# version of google.golang.org/protobuf that go.mod names.
set -eu
cd "$(dirname "$0")/../../../.." # the module: the file is registered by its path in it
command -v protoc >/dev/null || { echo "generate.sh: protoc is missing (Debian: apt-get install protobuf-compiler)" >&2; exit 1; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
go build -o "$dir/protoc-gen-go" google.golang.org/protobuf/cmd/protoc-gen-go
protoc --plugin="$dir/protoc-gen-go" --go_out=. --go_opt=paths=source_relative agui/aguipb/internal/wire/agui.proto
