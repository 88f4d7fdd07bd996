package openaiwire

import (
	"fmt"
	"strings"
)

// responsesWriter numbers events and items as the Responses API does.
type responsesWriter struct {
	steps []Step
	seq   int
	items []string // the output so far, as JSON
}

func (w *responsesWriter) event(name, format string, args ...any) {
	body := fmt.Sprintf(`{"type":%s,"sequence_number":%d,`, Quote(name), w.seq) + fmt.Sprintf(format, args...) + "}"
	w.seq++
	w.steps = append(w.steps, Event(name, body))
}

func (w *responsesWriter) response(status, extra string) string {
	return fmt.Sprintf(`{"id":"resp_1","object":"response","created_at":1700000000,"model":"fake","status":%s,"output":[%s]%s}`,
		Quote(status), strings.Join(w.items, ","), extra)
}

// Responses is the turn as the Responses API streams it.
func (t Turn) Responses() []Step {
	w := new(responsesWriter)
	w.event("response.created", `"response":%s`, w.response("in_progress", ""))
	w.event("response.in_progress", `"response":%s`, w.response("in_progress", ""))
	if t.Reasoning != "" {
		n := len(w.items)
		w.event("response.output_item.added", `"output_index":%d,"item":{"id":"rs_%d","type":"reasoning","summary":[]}`, n, n)
		w.event("response.reasoning_summary_part.added", `"item_id":"rs_%d","output_index":%d,"summary_index":0,"part":{"type":"summary_text","text":""}`, n, n)
		for _, f := range Fragments(t.Reasoning, t.Fragment) {
			w.event("response.reasoning_summary_text.delta", `"item_id":"rs_%d","output_index":%d,"summary_index":0,"delta":%s`, n, n, Quote(f))
		}
		w.event("response.reasoning_summary_text.done", `"item_id":"rs_%d","output_index":%d,"summary_index":0,"text":%s`, n, n, Quote(t.Reasoning))
		w.done(n, fmt.Sprintf(`{"id":"rs_%d","type":"reasoning","summary":[{"type":"summary_text","text":%s}],"encrypted_content":"sealed-%d"}`, n, Quote(t.Reasoning), n))
	}
	if t.Text != "" {
		n := len(w.items)
		w.event("response.output_item.added", `"output_index":%d,"item":{"id":"msg_%d","type":"message","role":"assistant","status":"in_progress","content":[]}`, n, n)
		w.event("response.content_part.added", `"item_id":"msg_%d","output_index":%d,"content_index":0,"part":{"type":"output_text","text":"","annotations":[]}`, n, n)
		for _, f := range Fragments(t.Text, t.Fragment) {
			w.event("response.output_text.delta", `"item_id":"msg_%d","output_index":%d,"content_index":0,"delta":%s,"logprobs":[]`, n, n, Quote(f))
		}
		w.event("response.output_text.done", `"item_id":"msg_%d","output_index":%d,"content_index":0,"text":%s,"logprobs":[]`, n, n, Quote(t.Text))
		w.done(n, fmt.Sprintf(`{"id":"msg_%d","type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","text":%s,"annotations":[]}]}`, n, Quote(t.Text)))
	}
	cut := t.finish() == "length"
	for i, c := range t.Calls {
		n := len(w.items)
		item := func(status, arguments string) string {
			return fmt.Sprintf(`{"id":"fc_%d","type":"function_call","status":%s,"call_id":%s,"name":%s,"arguments":%s}`, n, Quote(status), Quote(c.ID), Quote(c.Name), Quote(arguments))
		}
		w.event("response.output_item.added", `"output_index":%d,"item":%s`, n, item("in_progress", ""))
		for _, f := range Fragments(c.Arguments, t.Fragment) {
			w.event("response.function_call_arguments.delta", `"item_id":"fc_%d","output_index":%d,"delta":%s`, n, n, Quote(f))
		}
		if cut && i == len(t.Calls)-1 {
			w.done(n, item("incomplete", c.Arguments))
			continue
		}
		w.event("response.function_call_arguments.done", `"item_id":"fc_%d","output_index":%d,"name":%s,"arguments":%s`, n, n, Quote(c.Name), Quote(c.Arguments))
		w.done(n, item("completed", c.Arguments))
	}
	extra := ""
	if t.Input != 0 || t.Output != 0 {
		extra = fmt.Sprintf(`,"usage":{"input_tokens":%d,"input_tokens_details":{"cached_tokens":0},"output_tokens":%d,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":%d}`, t.Input, t.Output, t.Input+t.Output)
	}
	switch t.finish() {
	case "length":
		w.event("response.incomplete", `"response":%s`, w.response("incomplete", extra+`,"incomplete_details":{"reason":"max_output_tokens"}`))
	case "content_filter":
		w.event("response.incomplete", `"response":%s`, w.response("incomplete", extra+`,"incomplete_details":{"reason":"content_filter"}`))
	default:
		w.event("response.completed", `"response":%s`, w.response("completed", extra))
	}
	return w.steps
}

func (w *responsesWriter) done(index int, item string) {
	w.event("response.output_item.done", `"output_index":%d,"item":%s`, index, item)
	w.items = append(w.items, item)
}
