// Package openaiprovider answers one question: how does a model behind OpenAI's wire
// think?
//
// It makes an [agent.Agent] of an OpenAI client, over Chat Completions
// ([NewChatCompletionsAgent]) or over the Responses API ([NewResponsesAgent]):
//
//	client := openai.NewClient() // OPENAI_API_KEY and OPENAI_BASE_URL from the environment
//	a := openaiprovider.NewChatCompletionsAgent(client, openaiprovider.AgentConfig{
//		Model:  "gpt-5-mini",
//		Config: agent.Config{Instructions: "Be brief.", Tools: tools},
//	})
//
// Every server that speaks Chat Completions works through its base URL
// (option.WithBaseURL): Ollama, vLLM, llama.cpp, gateways. For Azure OpenAI see package
// azureprovider, for a Foundry project package foundryprovider. The client, with its
// keys, its retries and its HTTP transport, is the one of github.com/openai/openai-go,
// which only these three packages know.
//
// # What may be relied on
//
//  1. A fragment of a tool call's arguments is passed on with the chunk it came in,
//     never collected and never cut. Fragments of one call have one index and one call
//     id, whatever the server does with index, id and name; two calls are never merged
//     and none is split.
//  2. Nothing that was passed on is ever repeated. The client retries (twice, unless it
//     says otherwise) only as long as no answer has begun; an answer that breaks off is
//     an error.
//  3. An answer is complete if it says so: with a finish reason or [DONE], in the
//     Responses API with its last event. One that ends otherwise is a lost model. An
//     answer cut by length ends with [agent.FinishReasonLength], also if the server
//     takes it back with a second reason, so the tool loop does not run the call that
//     was cut.
//  4. A run that is stopped gives up the connection at once. A server that is silent
//     for [AgentConfig.IdleTimeout], or not done after [AgentConfig.Timeout], is given
//     up too.
//  5. A failure is an [agui.Error] with the code model_error or model_timeout and a
//     text that is always the same. Why it failed is a [Failure] behind it, for logs:
//     without keys and tokens, never on the wire. A run whose context ended gets the
//     context's error.
//  6. Memory is bounded: one event has 16 MB unless [AgentConfig.MaxEventBytes] says
//     otherwise, a whole answer four times that.
//
// # What servers do differently, and what happens here
//
//   - Only choice 0 is read. This package never asks for more; a server that sends
//     others anyway is ignored there.
//   - Reasoning is read from reasoning_content and reasoning, and from the parts of a
//     content list.
//   - Usage may come at the end, with every chunk as a running total, or not at all: it
//     is reported once, at the end. A server that refuses stream_options is asked again
//     without.
//   - A server that answers a streaming request with one JSON object is understood.
//   - A second complete object for one call replaces the first
//     (message.FunctionCallDelta.Restart): some begin each call with {}.
//   - A server that is silent for ten seconds after its finish reason is taken to be
//     done.
//   - A refusal is text: it is what the person should read.
//   - Arguments in the history that are no JSON object, which models do write, go back
//     as {}: many servers parse the history and would refuse the whole conversation.
//
// # The Responses API
//
// It is used without server-side state: store is false and the whole history is sent,
// because the history that counts is the caller's, who may have edited it. Reasoning
// goes back to the model only with [AgentConfig.EncryptedReasoning]. Hosted tools (web
// search, code interpreter) can be added with [ResponsesNewParams]; their items are not
// shown. It has no seed and no stop sequences.
//
// # What was not tried
//
// All tests run against a local server that speaks this wire. Nothing here has been run
// against OpenAI's own service, with which it has to agree by the published reference
// and the SDK's types.
package openaiprovider
