// Package client answers: how do I reach an agent?
//
// A [Client] knows an AG-UI endpoint; a [Thread] is one conversation with it.
// The thread keeps messages and state as the protocol's own client would and
// applies every event before it hands it out:
//
//	c := client.New("http://127.0.0.1:8888/", nil)
//	thread := c.Thread("")
//	for event, err := range thread.Run(ctx, &client.RunOptions{Text: "A carbonara, please"}) {
//		…
//	}
//	fmt.Println(thread.State())
//
// Any AG-UI server will do for that. The rest needs a Lockstep server:
//
//   - [Thread.Follow] shows everything that happens on the thread, live and
//     across runs, whoever started them.
//   - [Thread.Patch], [Thread.Merge] and [State.Update] change the state at any
//     time, during a run too; [Thread.Undo] takes back what the agent did.
//   - [Thread.Stop], [Thread.Hydrate], [Thread.Forget], [Client.Threads].
//
// [NewAgent] makes an endpoint an agent.Agent, for programs that are written
// against package agent.
//
// # What can be relied on
//
//  1. Each event of a thread's log is handed out once and in order by every Run
//     and every Follow, whatever happens to the connection (T3). A cut one is
//     taken up again at the position that was reached.
//  2. Where that cannot be (the position is too old, or the server has lost its
//     log), Follow hands out the thread as it is now, marked with
//     [Update.Resync], and goes on from there. There is no silent gap.
//  3. State and Messages are at least as new as the last event that was handed
//     out. If several Runs and Follows share a Thread, they share one document,
//     which only moves forward.
//  4. What is sent back is an edit of what was shown: state and edits go with the
//     position that they were made on, so the server never has to guess (S2).
//  5. A patch that does not apply changes nothing; the thread is then read anew.
//  6. No method leaves a goroutine behind, and none outlives its context. There
//     is no goroutine at all but those of net/http.
//
// # Errors
//
// [*HTTPError] is an answer that is no stream, with the paths and reasons that
// the server gave. [*ConflictError] is an edit that somebody else's was in the
// way of. [*RunError] is a run that ended with RUN_ERROR; its event was handed
// out before. Errors that are agui.ErrIncomplete say that a run's end was not
// seen. Everything else comes from the transport or says what about the stream
// is against the protocol.
package client
