// Package agui answers one question: what goes over the wire?
//
// It is AG-UI 1.0 in Go: the events of a run, the messages and content parts,
// the run's input, its outcome, and the capabilities of an agent. With them
// come a JSON codec, the SSE framing in both directions, the order rules of a
// stream and the rules by which events become messages and a state.
//
// What may be relied on:
//
//  1. Decode and encode are exact. Numbers keep their digits, objects their
//     member order, null stays apart from absent, an explicit empty list stays
//     apart from no list.
//  2. An optional member that is not set is left out. No null is ever written
//     for it, and no null inside data (a state, a patch value, metadata) is
//     ever dropped.
//  3. Nothing unknown is fatal. An unknown event type decodes to [Unknown] with
//     its whole JSON. Unknown members are dropped, or kept with
//     [DecodeOptions.KeepUnknown].
//  4. Bad input costs bounded time and memory and gives a [*DecodeError] that
//     names event, member and offset. Nothing here panics on foreign bytes.
//  5. Encoding never fails. Invalid UTF-8 is written as U+FFFD.
//  6. [Sequence], [Expander] and [Reducer] hold no goroutine and no clock. Their
//     zero values are ready. They are not safe for concurrent use.
//  7. An event is not changed by encoding, checking or reducing it. Events
//     may share memory with what was built from them: treat them as read-only
//     once handed over.
//
// Where "the official client" is mentioned, the published npm package
// @ag-ui/client 1.0.0 is meant. Its behaviour was observed by running it; the
// tests in interop/agui compare this package with it.
//
// # Deviations
//
// An optional string that is empty counts as absent and is not written. The
// official schema tells the two apart, no consumer does.
//
// Strings of JavaScript may hold half of a surrogate pair, and servers that cut
// texts by UTF-16 units send such halves in two deltas. A half is kept in a Go
// string as its three-byte form (which is not valid UTF-8), written again as
// the escape it came from, and joined by [Reducer] when the other half arrives.
package agui
