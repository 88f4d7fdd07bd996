package agui_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/jsondoc"
)

// An event becomes one SSE frame; the same event is spelled for clients before
// 1.0, or left out where it has no such spelling.
func ExampleAppendFrame() {
	stopped := &agui.RunFinished{ThreadID: "t", RunID: "r", Outcome: &agui.Outcome{Type: agui.OutcomeCancelled}}
	os.Stdout.Write(agui.AppendFrame(nil, "e-7", stopped, agui.V1))
	os.Stdout.Write(agui.AppendFrame(nil, "e-7", stopped, agui.V0))
	// Output:
	// id: e-7
	// data: {"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"cancelled"}}
	//
	// id: e-7
	// data: {"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"success"}}
}

// An error names event, member and offset.
func ExampleDecodeEvent() {
	_, err := agui.DecodeEvent([]byte(`{"type":"STATE_DELTA","delta":[{"op":"add","path":"x","value":null}]}`), nil)
	fmt.Println(err)
	var bad *agui.DecodeError
	if errors.As(err, &bad) {
		fmt.Println(bad.Path)
	}
	// Output:
	// agui: STATE_DELTA: must be a JSON Pointer (RFC 6901) at "/delta/0/path" (byte 50)
	// /delta/0/path
}

// Sequence refuses what an official client would end the run at, and closes
// what is open.
func ExampleSequence() {
	var seq agui.Sequence
	for _, e := range []agui.Event{
		&agui.RunStarted{ThreadID: "t", RunID: "r"},
		&agui.TextMessageStart{MessageID: "m"},
		&agui.RunFinished{ThreadID: "t", RunID: "r"},
	} {
		if err := seq.Check(e); err != nil {
			fmt.Println(err)
		}
	}
	for _, e := range seq.Close() {
		fmt.Println(string(agui.AppendEvent(nil, e, agui.V1)))
	}
	// Output:
	// agui: RUN_FINISHED: 1 text messages are still open: TEXT_MESSAGE_START "m"
	// {"type":"TEXT_MESSAGE_END","messageId":"m"}
}

// A client in five lines: read, check, reduce.
func ExampleReadEvents() {
	body := strings.NewReader(`data: {"type":"RUN_STARTED","threadId":"t","runId":"r"}

data: {"type":"STATE_SNAPSHOT","snapshot":{"n":1}}

data: {"type":"TEXT_MESSAGE_CHUNK","messageId":"m","delta":"Hel"}

data: {"type":"TEXT_MESSAGE_CHUNK","delta":"lo"}

data: {"type":"STATE_DELTA","delta":[{"op":"replace","path":"/n","value":2}]}

`)
	var client agui.Reducer
	for got, err := range agui.ReadEvents(body, &agui.EventsOptions{Sequence: new(agui.Sequence)}) {
		if err != nil {
			fmt.Println(err, errors.Is(err, agui.ErrIncomplete))
			break
		}
		if err := client.Apply(got.Event); err != nil {
			fmt.Println(err) // a patch that does not apply: ask for a snapshot
		}
	}
	fmt.Println(client.State(), client.Messages()[0].Content.Text())
	// Output:
	// agui: the stream ended before its run did: no RUN_FINISHED or RUN_ERROR after 5 events, the last of them STATE_DELTA true
	// {"n":2} Hello
}

// A handler that streams. The writer refuses a response that cannot flush before
// anything is written.
func ExampleNewWriter() {
	handler := http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(rw, req.Body, 8<<20))
		if err != nil {
			http.Error(rw, err.Error(), http.StatusRequestEntityTooLarge)
			return
		}
		in, err := agui.DecodeInput(body, nil)
		if err != nil {
			http.Error(rw, err.Error(), http.StatusBadRequest)
			return
		}
		w, err := agui.NewWriter(rw, &agui.WriterOptions{Version: agui.VersionFor(in.ProtocolVersion)})
		if err != nil {
			http.Error(rw, err.Error(), http.StatusInternalServerError)
			return
		}
		defer w.Close()
		_ = w.WriteEvent("", &agui.RunStarted{ThreadID: in.ThreadID, RunID: in.RunID, ProtocolVersion: agui.ProtocolVersion})
		_ = w.WriteEvent("", &agui.StateSnapshot{Snapshot: in.State})
		_ = w.WriteEvent("", &agui.RunFinished{ThreadID: in.ThreadID, RunID: in.RunID})
	})
	server := httptest.NewServer(handler)
	defer server.Close()
	in := &agui.RunAgentInput{ThreadID: "t", RunID: "r", ProtocolVersion: agui.ProtocolVersion, State: jsondoc.MustParse(`{"n":1}`)}
	res, err := http.Post(server.URL, "application/json", strings.NewReader(string(in.AppendJSON(nil))))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer res.Body.Close()
	defer http.DefaultClient.CloseIdleConnections()
	_, _ = io.Copy(os.Stdout, res.Body)
	// Output:
	// data: {"type":"RUN_STARTED","threadId":"t","runId":"r","protocolVersion":"1.0"}
	//
	// data: {"type":"STATE_SNAPSHOT","snapshot":{"n":1}}
	//
	// data: {"type":"RUN_FINISHED","threadId":"t","runId":"r"}
}

// Compaction joins deltas and state changes; what is still open stays open.
func ExampleCompact() {
	for _, e := range agui.Compact([]agui.Event{
		&agui.RunStarted{ThreadID: "t", RunID: "r"},
		&agui.StateSnapshot{Snapshot: jsondoc.MustParse(`{"n":1}`)},
		&agui.TextMessageStart{MessageID: "m"},
		&agui.TextMessageContent{MessageID: "m", Delta: "Hel"},
		&agui.StateDelta{Delta: jsondoc.Patch{{Op: "replace", Path: "/n", Value: jsondoc.Int(2)}}},
		&agui.TextMessageContent{MessageID: "m", Delta: "lo"},
	}) {
		fmt.Println(string(agui.AppendEvent(nil, e, agui.V1)))
	}
	// Output:
	// {"type":"RUN_STARTED","threadId":"t","runId":"r"}
	// {"type":"TEXT_MESSAGE_START","messageId":"m"}
	// {"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"Hello"}
	// {"type":"STATE_SNAPSHOT","snapshot":{"n":2}}
}

// What a client holds after some events, in one call. A patch that does not apply
// is left out and told.
func ExampleReduce() {
	after, errs := agui.Reduce(agui.Reduction{State: jsondoc.MustParse(`{"n":1}`)}, []agui.Event{
		&agui.RunStarted{ThreadID: "t", RunID: "r"},
		&agui.StateDelta{Delta: jsondoc.Patch{{Op: "replace", Path: "/n", Value: jsondoc.Int(2)}}},
		&agui.StateDelta{Delta: jsondoc.Patch{{Op: "remove", Path: "/m"}}},
		&agui.ToolCallStart{ToolCallID: "c", ToolCallName: "pick_color"},
		&agui.ToolCallEnd{ToolCallID: "c"},
		&agui.RunFinished{ThreadID: "t", RunID: "r"},
	})
	fmt.Println(after.State, after.PendingToolCallIDs, after.Messages[0].ToolCalls[0].Function.Name)
	fmt.Println(errs)
	// Output:
	// {"n":2} [c] pick_color
	// [agui: STATE_DELTA: patch operation 0 (remove "/m"): there is no such place]
}

// A reader knows frames, not events: what a stream of anything else has in it.
func ExampleNewReader() {
	r := agui.NewReader(strings.NewReader(": a comment\n\nid: 7\nevent: ping\ndata: one\ndata: two\n\n"), nil)
	for {
		f, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s %q\n", f.ID, f.Data)
	}
	// Output: 7 "one\ntwo"
}

// Chunks stand for a start, contents and an end.
func ExampleExpander() {
	var x agui.Expander
	for _, chunk := range []agui.Event{
		&agui.TextMessageChunk{MessageID: "m", Delta: new("Hel")},
		&agui.TextMessageChunk{Delta: new("lo")},
		&agui.RunFinished{ThreadID: "t", RunID: "r"},
	} {
		events, err := x.Expand(nil, chunk)
		if err != nil {
			fmt.Println(err)
		}
		for _, e := range events {
			fmt.Println(e.EventType())
		}
	}
	// Output:
	// TEXT_MESSAGE_START
	// TEXT_MESSAGE_CONTENT
	// TEXT_MESSAGE_CONTENT
	// TEXT_MESSAGE_END
	// RUN_FINISHED
}

// What clients before 1.0 do not know is changed or left out for them.
func ExampleRespell() {
	cancelled := &agui.RunFinished{ThreadID: "t", RunID: "r", Outcome: &agui.Outcome{Type: agui.OutcomeCancelled}}
	old, ok := agui.Respell(cancelled, agui.VersionFor(""))
	fmt.Println(old.(*agui.RunFinished).Outcome.Type, ok)
	_, ok = agui.Respell(&agui.SubagentFinished{}, agui.VersionFor(""))
	fmt.Println(ok)
	// Output:
	// success true
	// false
}

// Clients see a fixed text unless code decided otherwise.
func ExampleRunErrorFor() {
	reason := errors.New("dial tcp 192.0.2.7:5432: connection refused")
	fmt.Println(agui.RunErrorFor(reason).Message)
	told := agui.RunErrorFor(agui.NewError("example:closed", "The shop is closed.", reason))
	fmt.Println(told.Code, "|", told.Message)
	// Output:
	// The run failed because of an internal error.
	// example:closed | The shop is closed.
}

// What a client posts. An error says which member is wrong.
func ExampleDecodeInput() {
	in, err := agui.DecodeInput([]byte(`{"threadId":"t","runId":"r","state":{"n":9007199254740993},"messages":[{"id":"m","role":"user","content":"Hi"}]}`), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(in.Messages[0].Content.Text(), in.State)
	_, err = agui.DecodeInput([]byte(`{"threadId":"t","runId":7}`), nil)
	fmt.Println(err)
	// Output:
	// Hi {"n":9007199254740993}
	// agui: JSON: must be a string, not a number at "/runId" (byte 24)
}
