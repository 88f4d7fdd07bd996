// Package jsonstream answers the question: what does unfinished JSON already say?
//
// A model writes the arguments of a tool call token by token. [Parser] reads such
// a text in pieces that may be cut anywhere and reports what is certain.
// [Predictor] makes JSON Patches of it, so that a document on somebody's screen
// grows while the model writes. Both are plain values: no goroutines, no clock,
// no I/O; time is an argument. Neither is safe for concurrent use.
//
// # What a Parser promises
//
//  1. The cut does not matter. Pieces may end within a character, an escape, a
//     surrogate pair, a number: the same text gives the same values.
//  2. Nothing shown is taken back. Each value so far is a prefix of the final one:
//     members and items are only added, strings only grow, by whole characters.
//     A number, literal or name appears when it is complete, since half of it is
//     another one.
//  3. One pass, linear time: no byte is looked at twice, a container becomes a
//     [jsondoc.Value] once, when it closes. What is open is made into a Value
//     only when asked for.
//  4. The verdict comes at the end. A text that is a value so far may still be
//     followed by something; only End knows. It refuses what [jsondoc.Parse]
//     refuses, duplicate member names included, and what was correct before the
//     error stays readable.
//
// # What a Predictor promises
//
//  1. Every patch applies, strictly and whole, to the view with the patches
//     before it, under RFC 6902 and under the official client's rules. Where the
//     target exists the first one is a replace, else an add, which makes missing
//     parents.
//  2. The view then has at the target's place a prefix of what it will have when
//     the value is complete, or with Keep that prefix laid over the old value.
//  3. A patch is the smallest that does it: an add for each new child and a
//     replace of a string that grew, or one replace of the smallest parent that
//     changed where that is shorter.
//  4. Bytes are bounded. JSON Patch cannot append to a string, so a string of n
//     bytes that is sent for each token of it costs n². Therefore what the view
//     has already is sent again only if it grew by an eighth, or the rate allows
//     it (64 KiB and 20 frames a second), or it is complete. Without the rate all
//     patches together have at most 12 times the bytes of the arguments, however
//     these are cut, or a patch of the value itself where that is more; the rate
//     adds at most its bytes for each second that passes.
//  5. Otherwise a change goes out with the piece that brought it. One that was
//     held back goes with the first piece that the rules allow, or when the
//     target's value ends.
//
// The bound counts arguments that are shown at one place. Each further target
// that shows the same arguments adds its value once, when that ends.
package jsonstream
