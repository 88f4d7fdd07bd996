// Package agui measures package agui against the community Go SDK of AG-UI and
// against what the machine can do at all: a bare append, a bare line scan.
package agui

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"time"

	sdkclient "github.com/ag-ui-protocol/ag-ui/sdks/community/go/pkg/client/sse"
	sdkevents "github.com/ag-ui-protocol/ag-ui/sdks/community/go/pkg/core/events"
	sdktypes "github.com/ag-ui-protocol/ag-ui/sdks/community/go/pkg/core/types"
	sdksse "github.com/ag-ui-protocol/ag-ui/sdks/community/go/pkg/encoding/sse"
	"github.com/sirupsen/logrus"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/bench/rounds"
)

const peer = "ag-ui-community-go-sdk@20260630145048"

// kind is one event, with what makes it legal again and again: before and after
// are checked with it each time, at our cost, and not encoded.
type kind struct {
	name, json    string
	before, after []agui.Event
}

const state = `{"recipe":{"title":"Carbonara","skill_level":"Beginner","special_preferences":["High Protein"],"cooking_time":"30 min","ingredients":[{"icon":"x","name":"Spaghetti","amount":"200 g"},{"icon":"y","name":"Guanciale","amount":"100 g"},{"icon":"z","name":"Eggs","amount":"3"}],"instructions":["Boil","Fry","Mix","Serve"]}}`

var (
	textStart = &agui.TextMessageStart{MessageID: "msg-0001"}
	textEnd   = &agui.TextMessageEnd{MessageID: "msg-0001"}
	callStart = &agui.ToolCallStart{ToolCallID: "call-0001", ToolCallName: "f"}
	callEnd   = &agui.ToolCallEnd{ToolCallID: "call-0001"}
	stepStart = &agui.StepStarted{StepName: "plan"}
	stepEnd   = &agui.StepFinished{StepName: "plan"}
	thinkOpen = &agui.ReasoningMessageStart{MessageID: "think-0001"}
	thinkEnd  = &agui.ReasoningMessageEnd{MessageID: "think-0001"}
	runStart  = &agui.RunStarted{ThreadID: "t", RunID: "r"}
	runError  = &agui.RunError{Message: "m"}
)

func one(e agui.Event) []agui.Event { return []agui.Event{e} }

// kinds are those of the events that the SDK knows at all.
var kinds = []kind{
	{"RUN_STARTED", `{"type":"RUN_STARTED","threadId":"thread-0001","runId":"run-0001","timestamp":1764500000000}`, one(runError), nil},
	{"RUN_FINISHED", `{"type":"RUN_FINISHED","threadId":"thread-0001","runId":"run-0001","timestamp":1764500000000}`, nil, one(runStart)},
	{"RUN_ERROR", `{"type":"RUN_ERROR","message":"The model did not answer.","code":"model_error","timestamp":1764500000000}`, nil, one(runStart)},
	{"STEP_STARTED", `{"type":"STEP_STARTED","stepName":"plan","timestamp":1764500000000}`, nil, one(stepEnd)},
	{"STEP_FINISHED", `{"type":"STEP_FINISHED","stepName":"plan","timestamp":1764500000000}`, one(stepStart), nil},
	{"TEXT_MESSAGE_START", `{"type":"TEXT_MESSAGE_START","messageId":"msg-0001","role":"assistant","timestamp":1764500000000}`, nil, one(textEnd)},
	{"TEXT_MESSAGE_CONTENT", `{"type":"TEXT_MESSAGE_CONTENT","messageId":"msg-0001","delta":"a few words of text","timestamp":1764500000000}`, nil, nil},
	{"TEXT_MESSAGE_END", `{"type":"TEXT_MESSAGE_END","messageId":"msg-0001","timestamp":1764500000000}`, one(textStart), nil},
	{"TOOL_CALL_START", `{"type":"TOOL_CALL_START","toolCallId":"call-0001","toolCallName":"update_recipe","parentMessageId":"msg-0001","timestamp":1764500000000}`, nil, one(callEnd)},
	{"TOOL_CALL_ARGS", `{"type":"TOOL_CALL_ARGS","toolCallId":"call-0001","delta":"{\"recipe\":{\"ti","timestamp":1764500000000}`, nil, nil},
	{"TOOL_CALL_END", `{"type":"TOOL_CALL_END","toolCallId":"call-0001","timestamp":1764500000000}`, one(callStart), nil},
	{"TOOL_CALL_RESULT", `{"type":"TOOL_CALL_RESULT","messageId":"msg-0002","toolCallId":"call-0001","content":"Recipe updated.","role":"tool","timestamp":1764500000000}`, nil, nil},
	{"STATE_SNAPSHOT", `{"type":"STATE_SNAPSHOT","snapshot":` + state + `,"timestamp":1764500000000}`, nil, nil},
	{"STATE_DELTA", `{"type":"STATE_DELTA","delta":[{"op":"replace","path":"/recipe/title","value":"Carbonara al Pomodoro"}],"timestamp":1764500000000}`, nil, nil},
	{"MESSAGES_SNAPSHOT", `{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"m1","role":"user","content":"Make a recipe."},{"id":"m2","role":"assistant","content":"Here it is.","toolCalls":[{"id":"c1","type":"function","function":{"name":"update_recipe","arguments":"{}"}}]}],"timestamp":1764500000000}`, nil, nil},
	{"ACTIVITY_SNAPSHOT", `{"type":"ACTIVITY_SNAPSHOT","messageId":"act-1","activityType":"PLAN","content":` + state + `,"replace":true,"timestamp":1764500000000}`, nil, nil},
	{"ACTIVITY_DELTA", `{"type":"ACTIVITY_DELTA","messageId":"act-1","activityType":"PLAN","patch":[{"op":"replace","path":"/recipe/title","value":"Done"}],"timestamp":1764500000000}`, nil, nil},
	{"RAW", `{"type":"RAW","event":{"id":"chatcmpl-1","n":1},"source":"openai","timestamp":1764500000000}`, nil, nil},
	{"CUSTOM", `{"type":"CUSTOM","name":"PredictState","value":[{"state_key":"recipe","tool":"update_recipe","tool_argument":"recipe"}],"timestamp":1764500000000}`, nil, nil},
	{"REASONING_MESSAGE_START", `{"type":"REASONING_MESSAGE_START","messageId":"think-0001","role":"reasoning","timestamp":1764500000000}`, one(thinkEnd), nil},
	{"REASONING_MESSAGE_CONTENT", `{"type":"REASONING_MESSAGE_CONTENT","messageId":"think-0001","delta":"a few words of thought","timestamp":1764500000000}`, nil, nil},
	{"REASONING_MESSAGE_END", `{"type":"REASONING_MESSAGE_END","messageId":"think-0001","timestamp":1764500000000}`, nil, one(thinkOpen)},
}

// open makes the state of a stream in which each kind is legal.
func (k *kind) open() *agui.Sequence {
	s := new(agui.Sequence)
	check(s, runStart)
	switch k.name {
	case "TEXT_MESSAGE_CONTENT":
		check(s, textStart)
	case "TOOL_CALL_ARGS":
		check(s, callStart)
	case "REASONING_MESSAGE_START":
		check(s, thinkOpen)
	case "REASONING_MESSAGE_CONTENT", "REASONING_MESSAGE_END":
		check(s, thinkOpen)
	}
	return s
}

func check(s *agui.Sequence, e agui.Event) {
	if err := s.Check(e); err != nil {
		panic(err)
	}
}

// Run measures and prints.
func Run(w io.Writer) {
	encode(w)
	decode(w)
	stream(w)
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// encode: check and write one event as an SSE frame.
func encode(w io.Writer) {
	sdk := sdksse.NewSSEWriter()
	ctx := context.Background()
	product, n := 0.0, 0
	for i := range kinds {
		k := &kinds[i]
		theirs := must(sdkevents.EventFromJSON([]byte(k.json)))
		ours := must(agui.DecodeEvent([]byte(k.json), nil))
		seq := k.open()
		buf := make([]byte, 0, 4096)
		fs := []func(){
			func() {
				for _, e := range k.before {
					check(seq, e)
				}
				check(seq, ours)
				buf = agui.AppendFrame(buf[:0], "", ours, agui.V1)
				for _, e := range k.after {
					check(seq, e)
				}
			},
			func() {
				if err := sdk.WriteEvent(ctx, io.Discard, theirs); err != nil {
					panic(err)
				}
			},
		}
		if bare := bareAppend(ours); bare != nil {
			fs = append(fs, bare)
		}
		best := rounds.Best(fs...)
		ratio := rounds.Ratio(best[1], best[0])
		product, n = product+math.Log(ratio), n+1
		if len(best) > 2 {
			rounds.Line(w, "agui_encode_"+k.name, ratio, "x", peer)
			rounds.Line(w, "agui_encode_"+k.name+"_cost", rounds.Ratio(best[0], best[2]), "x", "bare-append")
		}
	}
	rounds.Line(w, fmt.Sprintf("agui_encode_geomean_%d_kinds", n), math.Exp(product/float64(n)), "x", peer)
}

// bareAppend writes the frame of a hot event by hand, every byte of a string
// looked at once, and nothing else; nil for other events.
func bareAppend(e agui.Event) func() {
	buf := make([]byte, 0, 4096)
	quote := func(dst []byte, s string) []byte {
		dst = append(dst, '"')
		for i := 0; i < len(s); i++ {
			switch c := s[i]; {
			case c == '"' || c == '\\':
				dst = append(dst, '\\', c)
			case c < 0x20:
				dst = fmt.Appendf(dst, "\\u%04x", c)
			default:
				dst = append(dst, c)
			}
		}
		return append(dst, '"')
	}
	frame := func(head, id, middle, delta string) func() {
		return func() {
			dst := append(buf[:0], head...)
			dst = quote(dst, id)
			dst = append(dst, middle...)
			dst = quote(dst, delta)
			dst = append(dst, `,"timestamp":1764500000000}`...)
			buf = append(dst, '\n', '\n')
		}
	}
	switch e := e.(type) {
	case *agui.TextMessageContent:
		return frame(`data: {"type":"TEXT_MESSAGE_CONTENT","messageId":`, e.MessageID, `,"delta":`, e.Delta)
	case *agui.ToolCallArgs:
		return frame(`data: {"type":"TOOL_CALL_ARGS","toolCallId":`, e.ToolCallID, `,"delta":`, e.Delta)
	}
	return nil
}

// decode: read and check one event.
func decode(w io.Writer) {
	product, n := 0.0, 0
	for i := range kinds {
		k := &kinds[i]
		text := []byte(k.json)
		seq := k.open()
		best := rounds.Best(
			func() {
				for _, e := range k.before {
					check(seq, e)
				}
				check(seq, must(agui.DecodeEvent(text, nil)))
				for _, e := range k.after {
					check(seq, e)
				}
			},
			func() {
				if err := must(sdkevents.EventFromJSON(text)).Validate(); err != nil {
					panic(err)
				}
			},
		)
		ratio := rounds.Ratio(best[1], best[0])
		product, n = product+math.Log(ratio), n+1
		if k.name == "TEXT_MESSAGE_CONTENT" || k.name == "STATE_SNAPSHOT" || k.name == "MESSAGES_SNAPSHOT" {
			rounds.Line(w, "agui_decode_"+k.name, ratio, "x", peer)
		}
	}
	rounds.Line(w, fmt.Sprintf("agui_decode_geomean_%d_kinds", n), math.Exp(product/float64(n)), "x", peer)
}

// stream: a client reads a response of many text deltas over loopback HTTP,
// decodes, checks the order and applies; the SDK's client reads, decodes and
// validates; a line scan only reads.
func stream(w io.Writer) {
	const frames = 20000
	body := agui.AppendFrame(nil, "", runStart, agui.V1)
	body = agui.AppendFrame(body, "", textStart, agui.V1)
	for i := range frames {
		body = agui.AppendFrame(body, "", &agui.TextMessageContent{
			Base: agui.Base{Timestamp: 1764500000000 + int64(i)}, MessageID: "msg-0001", Delta: "a few words of text",
		}, agui.V1)
	}
	body = agui.AppendFrame(body, "", textEnd, agui.V1)
	body = agui.AppendFrame(body, "", &agui.RunFinished{ThreadID: "t", RunID: "r"}, agui.V1)
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "text/event-stream")
		_, _ = rw.Write(body)
	}))
	defer server.Close()

	get := func() io.ReadCloser { return must(http.Get(server.URL)).Body }
	best := rounds.BestOf(31,
		func() {
			res := get()
			var client agui.Reducer
			n := 0
			for got, err := range agui.ReadEvents(res, &agui.EventsOptions{Sequence: new(agui.Sequence)}) {
				if err != nil {
					panic(err)
				}
				if err := client.Apply(got.Event); err != nil {
					panic(err)
				}
				n++
			}
			_ = res.Close()
			if n != frames+4 || len(client.Messages()) != 1 {
				panic("events were lost")
			}
		},
		func() { sdkStream(server.URL, frames) },
		func() {
			res := get()
			lines := bufio.NewScanner(res)
			n := 0
			for lines.Scan() {
				if len(lines.Bytes()) > 0 {
					n++
				}
			}
			_ = res.Close()
			if n != frames+4 {
				panic("lines were lost")
			}
		},
	)
	rounds.Line(w, "agui_client_stream", rounds.Ratio(best[1], best[0]), "x", peer+"-client")
	rounds.Line(w, "agui_client_stream_of_scan", 100*rounds.Ratio(best[2], best[0]), "%", "line-scan")
}

// sdkStream reads with the SDK's client until it has all frames; it does not
// always tell how a stream ended.
func sdkStream(url string, frames int) {
	quiet := logrus.New()
	quiet.SetOutput(io.Discard)
	client := sdkclient.NewClient(sdkclient.Config{Endpoint: url, Logger: quiet, ReadTimeout: time.Minute, BufferSize: 1024})
	defer client.Close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	in, errs, err := client.Stream(sdkclient.StreamOptions{Context: ctx, Payload: sdktypes.RunAgentInput{ThreadID: "t", RunID: "r"}})
	if err != nil {
		panic(err)
	}
	n := 0
	for n < frames+4 {
		select {
		case f, ok := <-in:
			if !ok {
				panic("the SDK's client lost events")
			}
			if err := must(sdkevents.EventFromJSON(f.Data)).Validate(); err != nil {
				panic(err)
			}
			n++
		case err := <-errs:
			if err != nil {
				panic(err)
			}
		}
	}
}
