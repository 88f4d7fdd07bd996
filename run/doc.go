// Package run answers: what are the events of this run?
//
// A Run takes what an agent's stream yields, one content at a time, and says
// which AG-UI events that makes, together with the state events of its
// [state.Session]. It is a state machine like the session: no goroutines, no
// clock, no I/O. What drives it (package thread) appends each [Batch] to the
// thread's log before anything is sent.
//
// What it guarantees, whatever the agent does (W1, S3):
//
//  1. Every opened message, call, step and reasoning span is closed before the
//     terminal event, and there is exactly one terminal event, the last.
//  2. Arguments of a call lie between its START and END; a late fragment is
//     dropped.
//  3. A prediction that nothing confirmed is taken back on the wire before the
//     terminal event.
//  4. No text of an error reaches an event; see [agui.RunErrorFor].
package run
