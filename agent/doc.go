// Package agent answers one question: what is an agent?
//
// An agent is a model with instructions, tools and middlewares around it. A run takes
// messages and gives a stream of updates:
//
//	a := agent.New(agent.ProviderConfig{Run: model}, agent.Config{
//		Instructions: "You know the weather.",
//		Tools:        []tool.Tool{forecast},
//	})
//	for update, err := range a.RunText(ctx, "Will it rain in Oslo?") {
//		if err != nil {
//			return err
//		}
//		fmt.Print(update)
//	}
//
// The names are those of Microsoft Agent Framework for Go: moving either way is mostly
// a change of import paths. Any function of the type [RunFunc] can be the model, a
// whole agent from elsewhere too.
//
// # The order of everything
//
// A run passes, from the outside in,
//
//  1. [Config.Middlewares], the first outermost. They see what the caller sent and
//     every update that it will get, tool results included; once per run.
//  2. The session: its messages are put before the run's, and what the run added is
//     kept in it when the run has ended well.
//  3. The tool loop, unless [Config.DisableFuncAutoCall]. From here on things happen
//     once per call of the model.
//  4. The hooks of [WithBeforeModel], in order. They see the conversation as the loop
//     has it and may add what the model should know just now.
//  5. [Config.History], which bounds what the model is sent; 100 000 estimated tokens
//     unless configured. See [NewHistoryBound].
//  6. [ProviderConfig.Middlewares], the first outermost.
//  7. [ProviderConfig.Run], the model.
//
// Options reach everybody: [Config.Instructions], [Config.Tools],
// [Config.FunctionMiddlewares], [Config.RunOptions] and then the caller's. Where one
// value is wanted the last counts; tools and instructions add up.
//
// # What the tool loop promises
//
//  1. Everything the model says is passed on as it comes, fragments of calls too
//     (message.FunctionCallDelta). When the model's turn is over, each call follows
//     once, complete (message.FunctionCallContent), in the order in which the model
//     began them.
//  2. Call ids and message ids are never empty and unique in the conversation. What a
//     provider leaves out is made up, what it repeats is renamed, in fragments, call and
//     result alike.
//  3. A call that was cut off, or whose arguments are not a JSON object, never runs, and
//     neither does one of an unknown tool. Its answer tells the model what to do better.
//     The call's Error says so as well ([ErrTruncated], [ErrInvalidArguments]). After
//     [MaxCutTurns] turns in a row that were cut off, the stream ends with ErrTruncated.
//  4. The gate ([WithGate]) is asked before a call runs. A held call, a call of a tool
//     that needs approval where no gate decides, and a call of a client's tool (one that
//     is only declared) stay unanswered. The turn's other calls run, then the stream
//     ends without asking the model again. [Response.Pending] lists what is open.
//  5. Calls of one turn run at the same time. Each result is yielded as its tool ends:
//     one message, with the role "tool". Then the model is asked again.
//  6. A tool that fails, panics or takes too long ([DefaultToolTimeout]) has a result
//     too. Error texts are for the log; the model and the person read a neutral sentence,
//     or what a tool.Error says.
//  7. The loop remembers nothing that the conversation does not say. A run whose
//     messages end in unanswered calls begins with them: they go through the gate and
//     run, and only then the model is asked. That is how an approval takes effect, in
//     another process if need be. Calls that a later user message has passed by do not
//     run any more.
//  8. The model gets a conversation that vendors accept, whatever came in: one result
//     for each call, right behind it. The stream and the caller's messages stay as they
//     are.
//  9. When ctx ends, the model and the tools are told to, results of tools that had
//     done their work by then are still yielded, and the stream ends with ctx's error
//     within 100 ms, even if a tool does not listen. Breaking out of the stream stops
//     everything likewise.
//  10. The model is asked at most [DefaultMaxIterations] times; then the stream ends
//     with a [*LimitError]. One answer has at most [MaxAnswerBytes].
//
// # Goroutines
//
// A run lives in the goroutine that ranges over its stream: middlewares, hooks, gates
// and providers are called there, one at a time. Only tools (with the function
// middlewares around them) have goroutines of their own.
package agent
