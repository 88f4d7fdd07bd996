// Package openaiwire is a model server for tests: it speaks the wire of OpenAI's Chat
// Completions and Responses APIs over real HTTP, says exactly what a test scripted, and
// misbehaves exactly as told.
//
// A provider is only as good as what it survives, and what servers do on this wire is
// not in any specification: bytes that arrive cut inside a rune, comments and retry
// lines from gateways, errors in the middle of a stream, connections that die or hang.
// Mocking the SDK would test none of that, so the fake sits behind a socket on
// 127.0.0.1 and not behind an interface.
//
// A [Reply] is a list of [Step] values. Steps that write bytes are joined and then cut
// into pieces of [Reply.Cut] bytes, each flushed on its own, so that one script can be
// run at every cut. What a model says is written as a [Turn], which knows both wires;
// what a broken server says is written as raw frames.
//
// Use it from tests and from cmd/fakeopenai only. Nothing that ships imports it.
package openaiwire
