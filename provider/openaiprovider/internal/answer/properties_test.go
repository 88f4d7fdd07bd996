package answer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/internal/openaiwire"
	"github.com/lockstep-go/lockstep/message"
)

// made is a call as a model means it.
type made struct{ id, name, arguments string }

// servers are the ways in which servers are known to say which call a fragment belongs
// to. Each gets the call's number and whether the fragment is its first.
var servers = map[string]struct {
	sequential bool // one call after the other, never interleaved
	write      func(n int, c made, first bool) (place integer, id, name string)
}{
	"by the book": {false, func(n int, c made, first bool) (integer, string, string) {
		return integer{n, true}, once(first, c.id), once(first, c.name)
	}},
	"id and name every time": {false, func(n int, c made, first bool) (integer, string, string) { return integer{n, true}, c.id, c.name }},
	"name every time": {false, func(n int, c made, first bool) (integer, string, string) {
		return integer{n, true}, once(first, c.id), c.name
	}},
	"index from 1": {false, func(n int, c made, first bool) (integer, string, string) {
		n++
		return integer{n, true}, once(first, c.id), once(first, c.name)
	}},
	"no index, id every time": {false, func(_ int, c made, first bool) (integer, string, string) { return integer{}, c.id, once(first, c.name) }},
	"no index": {true, func(_ int, c made, first bool) (integer, string, string) {
		return integer{}, once(first, c.id), once(first, c.name)
	}},
	"index always 0": {true, func(_ int, c made, first bool) (integer, string, string) {
		return integer{0, true}, once(first, c.id), once(first, c.name)
	}},
	"no id": {false, func(n int, c made, first bool) (integer, string, string) {
		return integer{n, true}, "", once(first, c.name)
	}},
	"no id, no index": {true, func(_ int, c made, first bool) (integer, string, string) { return integer{}, "", once(first, c.name) }},
	"no id, index always 0": {true, func(_ int, c made, first bool) (integer, string, string) {
		return integer{0, true}, "", once(first, c.name)
	}},
	"a new id every time": {true, func(n int, c made, first bool) (integer, string, string) {
		return integer{n, true}, rapidID(), once(first, c.name)
	}},
	"one id for all": {false, func(n int, c made, first bool) (integer, string, string) {
		return integer{n, true}, "call", once(first, c.name)
	}},
}

func once(first bool, text string) string {
	if first {
		return text
	}
	return ""
}

var ids int

func rapidID() string { ids++; return fmt.Sprint("random-", ids) }

// TestCallsNeverMixed: whatever the server's habit, however the arguments are cut and
// the fragments interleaved, what comes out is the calls that the model made.
func TestCallsNeverMixed(t *testing.T) {
	for habit, server := range servers {
		t.Run(habit, rapid.MakeCheck(func(t *rapid.T) {
			n := rapid.IntRange(1, 4).Draw(t, "calls")
			calls := make([]made, n)
			pieces := make([][]string, n)
			left := 0
			for i := range calls {
				// Never {}: without ids two calls of one tool without arguments cannot
				// be told from one.
				arguments, _ := json.Marshal(map[string]any{"k": drawJSON(t, 3)})
				calls[i] = made{fmt.Sprint("c", i), rapid.SampledFrom([]string{"f", "g"}).Draw(t, "name"), string(arguments)}
				pieces[i] = cutText(t, calls[i].arguments)
				left += len(pieces[i])
			}
			var table callTable
			got := map[int]*made{}
			sent := make([]int, n)
			for ; left > 0; left-- {
				var next []int
				for i := range calls {
					if sent[i] < len(pieces[i]) && (sent[i] > 0 || i == 0 || sent[i-1] > 0) {
						next = append(next, i) // calls begin in order
					}
				}
				i := next[0]
				if !server.sequential {
					i = rapid.SampledFrom(next).Draw(t, "next")
				}
				place, id, name := server.write(i, calls[i], sent[i] == 0)
				d, err := table.add(callDelta{place, id, name, fragment{text: pieces[i][sent[i]]}})
				sent[i]++
				if err != nil {
					t.Fatal(err)
				}
				if d == nil {
					continue
				}
				c := got[d.Index]
				if c == nil {
					c = &made{d.CallID, d.Name, ""}
					got[d.Index] = c
				}
				if c.id != d.CallID || c.name != d.Name {
					t.Fatalf("call %d was %s %s and is %s %s", d.Index, c.id, c.name, d.CallID, d.Name)
				}
				if d.Restart {
					t.Fatalf("call %d starts again", d.Index)
				}
				c.arguments += d.Arguments
			}
			if len(got) != n {
				t.Fatalf("%d calls came out as %d: %v", n, len(got), got)
			}
			for i, want := range calls {
				if got[i].name != want.name || got[i].arguments != want.arguments {
					t.Fatalf("call %d is %v, want %v", i, *got[i], want)
				}
			}
			if err := table.end(); err != nil {
				t.Fatal(err)
			}
		}))
	}
}

func drawJSON(t *rapid.T, depth int) any {
	kinds := 4
	if depth > 0 {
		kinds = 6
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
	case 0:
		return rapid.StringMatching(`[a-z"\\{}\[\] é🥕]{0,6}`).Draw(t, "text")
	case 1:
		return rapid.IntRange(-99, 99).Draw(t, "number")
	case 2:
		return rapid.Bool().Draw(t, "bool")
	case 3:
		return nil
	case 4:
		list := make([]any, rapid.IntRange(0, 3).Draw(t, "items"))
		for i := range list {
			list[i] = drawJSON(t, depth-1)
		}
		return list
	}
	object := map[string]any{}
	for range rapid.IntRange(0, 3).Draw(t, "members") {
		object[rapid.StringMatching(`[a-c]{0,2}`).Draw(t, "name")] = drawJSON(t, depth-1)
	}
	return object
}

// cutText cuts text into pieces; the first may be empty, as with servers that open a
// call before they write it.
func cutText(t *rapid.T, text string) (pieces []string) {
	if rapid.Bool().Draw(t, "open first") {
		pieces = append(pieces, "")
	}
	return append(pieces, openaiwire.Fragments(text, rapid.IntRange(1, 12).Draw(t, "cut"))...)
}

// collected is what a body comes to.
func collected(body io.Reader, responses bool) (updates []*agent.ResponseUpdate, err error) {
	var d Decoder = new(Chat)
	if responses {
		d = new(Responses)
	}
	for u, err := range Read(body, Limits{Event: 1 << 16, Body: 1 << 18}, d) {
		if err != nil {
			return updates, err
		}
		updates = append(updates, u)
	}
	return updates, nil
}

type oneByte struct{ r io.Reader }

func (o oneByte) Read(p []byte) (int, error) { return o.r.Read(p[:min(1, len(p))]) }

// FuzzAnswer: no body makes a decoder panic, break the rules of fragments, or depend on
// how its bytes were cut.
func FuzzAnswer(f *testing.F) {
	turn := openaiwire.Turn{Reasoning: "hm", Text: "Grüezi", Calls: []openaiwire.Call{{ID: "c1", Name: "f", Arguments: `{"a":1}`}, {ID: "c2", Name: "g", Arguments: `{}`}}, Input: 1, Output: 2}
	for responses, steps := range map[bool][]openaiwire.Step{false: turn.Chat(), true: turn.Responses()} {
		var b strings.Builder
		for _, s := range steps {
			b.WriteString(s.String())
		}
		f.Add([]byte(b.String()), responses)
		f.Add([]byte(strings.ReplaceAll(b.String(), "\n", "\r\n")), responses)
		f.Add([]byte(b.String()[:b.Len()/2]), responses)
	}
	f.Add([]byte(`{"choices":[{"message":{"content":"Hi","tool_calls":[{"function":{"name":"f","arguments":{"a":1}}}]},"finish_reason":"stop"}]}`), false)
	f.Add([]byte(`{"object":"response","output":[{"type":"function_call","name":"f","arguments":"{}"}]}`), true)
	f.Add([]byte("data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":-1,\"id\":\"a\"},{\"index\":1e9,\"function\":{\"name\":\"f\",\"arguments\":\"{}{\"}}]}}]}\n\ndata: [DONE]"), false)
	f.Fuzz(func(t *testing.T, body []byte, responses bool) {
		whole, err := collected(bytes.NewReader(body), responses)
		cut, cutErr := collected(oneByte{bytes.NewReader(body)}, responses)
		if (err == nil) != (cutErr == nil) {
			t.Fatalf("whole %v, cut %v", err, cutErr)
		}
		if a, b := told(t, whole), told(t, cut); !reflect.DeepEqual(a, b) {
			t.Fatalf("whole %v\ncut %v", a, b)
		}
		if errors.Is(err, ErrTooLong) && len(body) < 1<<16 {
			t.Fatalf("%d bytes are too long: %v", len(body), err)
		}
	})
}

// told is what updates say, without the ids that are random.
func told(t *testing.T, updates []*agent.ResponseUpdate) (out []string) {
	seen := map[int]*message.FunctionCallDelta{}
	for _, u := range updates {
		for _, c := range u.Contents {
			d, ok := c.(*message.FunctionCallDelta)
			if !ok {
				out = append(out, fmt.Sprintf("%T %+v", c, c))
				continue
			}
			first := seen[d.Index]
			if first == nil {
				first = d
				seen[d.Index] = d
			}
			if d.Index < 0 || d.Index >= len(seen) || d.CallID == "" || d.Name == "" || d.CallID != first.CallID || d.Name != first.Name || d == first && d.Restart {
				t.Fatalf("fragment %+v after %+v", d, first)
			}
			out = append(out, fmt.Sprint(d.Index, d.Name, d.Arguments, d.Restart))
		}
		out = append(out, u.FinishReason, u.ResponseID)
	}
	return out
}
