// Package agenttest helps to test agents without a model: it has a scripted one.
//
// A script says turn by turn what the model answers. The model can be cut into
// chunks of any size, take its time, fail at any point, and it remembers the prompts
// it got. It is as strict as a vendor: a prompt with a call that has no result, or a
// result that has no call, is an error.
//
//	model := agenttest.New(
//		agenttest.Turn(agenttest.Text("Let me look."), agenttest.Call("c1", "forecast", `{"city":"Oslo"}`)),
//		agenttest.Turn(agenttest.Text("Rain.")),
//	)
//	model.Chunk = 3
//	a := model.Agent(agent.Config{Tools: []tool.Tool{forecast}})
//	response, err := a.RunText(ctx, "How is the weather?").Collect()
//	…
//	model.Prompts()[1].Messages // what the model saw after the tool
//
// Time passes through package time only, so in a testing/synctest bubble it is the
// bubble's.
package agenttest
