// Package state answers: when does what an agent does become state?
//
// A thread has two documents. The state is what was committed. The view is what
// clients are shown: the state without server-only members, with what is still
// open laid over it. A [Config] says what feeds them; a [Session] is one run's
// state machine and decides; package thread appends what it decides.
//
// # Guarantees
//
//  1. Deltas apply. Every STATE_DELTA of a session applies, atomically and under
//     the strictest client's rules, to the view that the events before it made.
//  2. Only success commits. What a call predicted or changed becomes state with
//     the call's result, or vanishes with its failure.
//  3. Predictions grow. Each shown value is a prefix of the final one (with
//     Keep: laid over the old value); a call's arguments that start again take
//     the overlay back first.
//  4. Edits stay. A person's edit is laid above predictions of the same place;
//     a result is merged three ways, on what its model call was shown. Where
//     both changed one place, Config.Conflict decides, and lockstep.conflict
//     names it.
//  5. Schema. A change that breaks the schema where the state did not is
//     refused, whoever makes it, with places and reasons.
//
// # What commits when
//
//	source                                   shown                   committed             on failure
//	prediction (Config.Predict)              while it is written     with the result       taken back
//	MapCall                                  behind TOOL_CALL_END    with the result       taken back
//	From(ctx).Update in a tool               at once                 with the result       taken back
//	Result{State, Delta}                     with the result         with the result       nothing of it
//	MapResultAsState…, MapResult             with the result         with the result       nothing of it
//	From(ctx).Progress                       at once                 at once               stays
//	From(ctx).Update outside a tool          at once                 at once               stays
//	DataContent, MapContent                  at once                 at once               stays
//	prediction of a client's tool            while it is written     with its tool message taken back ({"accepted": false}, an error)
//	TwoPhase                                 while it is written     when whole and right  taken back
//	a client's posted state                  with the run's start    with the run's start  422, nothing is logged
//
// A run that is stopped or fails: what was committed stays, what was open is
// taken back, on the wire too, before the terminal event.
//
// After the result of a call that predicted, changed (Update, MapCall) or whose
// result changes the state there is exactly one state event: STATE_SNAPSHOT,
// whether or not the view moves. A tool with MapResultAsStateDelta makes
// STATE_DELTA instead, and none where its patch changes nothing. After any other
// result there is none.
//
// # Which to use
//
// Predict where the arguments are the state. Update where a tool computes it and
// the user should see it while the tool works; Progress for steps that are true
// whatever comes later; Result where it is known only at the end; the MapResult
// rules for tools that are not yours; DataContent from agent code that has no
// tool. What Update shows before the result is marked predicted on the wire.
//
// # What is predicted
//
//	state.Config{Predict: map[string]state.Prediction{
//		"recipe":   {Tool: "update_recipe", Argument: "recipe"},
//		"document": {Tool: "create_document", Argument: "*"},         // all arguments
//		"/a/b":     {Tool: "plan", Argument: "/plan/steps"},          // by JSON Pointer
//	}}
//
// # Edits of clients
//
// What a client posts as state is an edit of what that client was last shown. A
// client that names the position it was shown (forwardedProps.lockstep.base, a
// position from metadata.lockstep, or the SSE id of an event behind the first
// STATE_SNAPSHOT of its stream) is read exactly. Of two people's
// edits of one place the later stays, and lockstep.conflict names it, with policy
// "client".
//
// # The model
//
// Before every model call of a run the committed state is put before the model,
// once, directly before the last user message, as data that is marked as
// untrusted (Config.Inject). It is bounded: a large state is shown by its
// structure.
package state
