// Package thread answers: what lasts?
//
// A thread is a log: numbered entries, appended if and only if the head is
// where the writer thinks it is (T2). An entry holds what viewers get (an
// event) and, apart from it, what was committed (a change), and says whose it
// is. Everything else is derived from it: the state is the fold of the changes,
// the view the fold of the events, and so are the messages and whether a run
// is active (S1).
//
// # Who does what
//
// A run belongs to its thread, not to the request that started it. Two
// goroutines serve it: a reader ranges over the agent's stream and fills a
// mailbox; a driver empties it, asks package run for the events and appends
// them. Nothing is sent that was not appended. Viewers, the one who posted the
// run among them, only read the log from a position on; a slow one falls behind
// by itself and delays nobody (T6).
//
// Edits, stops and tools that change the state append their own entries,
// conditionally like everybody. A driver that finds the head moved shows the
// new documents to its session and makes its own entries anew.
//
// Several processes may share a store that says so ([SharedStore]): each follows
// what the others append, runs have leases that their process renews, and what
// has to reach it is said in the log.
//
// # Guarantees
//
//  1. One run at a time (T1). A second waits for the first to end, up to
//     Options.Wait, then gets *BusyError.
//  2. Sequence numbers are dense; entries without an event have one too.
//  3. Every STATE_DELTA is applied to a shadow copy under the strictest
//     client's rules before it is appended, and a run that sends one has sent a
//     snapshot before (W2). One that does not apply is replaced by a snapshot
//     and counted in Metrics.RepairedDeltas.
//  4. A run that is stopped, fails or panics ends with one terminal event, with
//     everything closed and every unconfirmed prediction taken back before it.
package thread
