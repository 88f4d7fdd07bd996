// Package wire holds the Go types that protoc-gen-go makes of agui.proto.
//
// To make them again: `go generate` in this folder. It needs protoc (Debian:
// protobuf-compiler); the plugin comes from the module in go.mod.
package wire

//go:generate sh generate.sh
