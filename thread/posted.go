package thread

import (
	"slices"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/run"
	"github.com/lockstep-go/lockstep/state"
	"github.com/lockstep-go/lockstep/tool"
)

// posted is what a client's request is read as, against the log.
type posted struct {
	fresh   []agui.Message    // new messages, for the log
	branch  []agui.Message    // what stays of the conversation in front of them; nil: all of it
	dropped []string          // ids of messages that are not for the log
	state   jsondoc.Value     // the posted state, where it is an opinion
	base    state.Doc         // what it is an edit of; zero: the client was shown nothing
	named   bool              // the client says itself what it is an edit of
	behind  uint64            // where the base was left behind
	lost    []jsondoc.Pointer // edits of what was only predicted, and is gone
}

// news reports whether there is anything to ask the agent.
func (p posted) news() bool { return len(p.fresh) > 0 || p.branch != nil }

// lockstepProps is forwardedProps.lockstep.
func lockstepProps(in *agui.RunAgentInput) jsondoc.Value {
	v, _ := in.ForwardedProps.At("/lockstep")
	return v
}

// readPosted reads messages and state as edits of what the client was shown
// (S2, T7).
func (f *fold) readPosted(in *agui.RunAgentInput, tools []tool.Tool) posted {
	var out posted
	explicit, stated, named := f.named(in)
	if log := f.messages(); len(log) == 0 {
		f.readHistory(in, &out)
	} else {
		f.readMessages(in, log, f.openCalls(log, tools), explicit, stated, &out)
	}
	// An empty object is what clients hold before they are told anything: it is
	// an edit that removes everything only where the client says what it edits.
	if in.State.Kind() != jsondoc.KindObject || (in.State.Len() == 0 && !named) {
		return out
	}
	out.state = in.State
	if named {
		out.base, _ = f.known(Position{f.head.Epoch, explicit})
		out.named, out.behind = true, explicit
		return out
	}
	seen := f.seen(in)
	switch {
	case len(seen) == 0:
	case seen[0].unseenEnd():
		// The client did not see the run's end: a value that it was shown
		// during it, a prediction that was taken back since too, is an echo.
		out.base, out.behind = f.nearest(in.State, seen), seen[0].first
		out.state, out.lost = state.Echo(in.State, out.base.View, f.shownTo(seen))
	default:
		out.base, out.behind = seen[0].end, seen[0].last
	}
	return out
}

// named is the position that the client says it was shown last. known says that
// the fold still has the documents of then. One that is too old for that says all
// the same what the client has not seen.
func (f *fold) named(in *agui.RunAgentInput) (seq uint64, stated, known bool) {
	p, _ := lockstepProps(in).Get("base")
	pos, err := ParsePosition(p.Str())
	if err != nil || pos.Epoch != f.head.Epoch || pos.Seq > f.head.Seq {
		return 0, false, false
	}
	_, known = f.known(pos)
	return pos.Seq, true, known
}

// known are the documents at a position, and everything that has changed since.
// Where the log was read anew those inside a compacted run are not, and those at
// its end are. That a run was compacted while this process had it in memory takes
// nothing away.
func (f *fold) known(p Position) (d state.Doc, ok bool) {
	if p.Epoch != f.head.Epoch || p.Seq > f.head.Seq || p.Seq < f.forgot {
		return d, false
	}
	if p.Seq >= f.whole {
		return f.docAt(p.Seq)
	}
	for _, r := range slices.Backward(f.runs) {
		if r.last == p.Seq && r.last > 0 {
			return r.end, true
		}
	}
	return d, false
}

// seen are the runs that the client's history holds something of, the newest
// first: a message of the run's own, or the message that started it.
func (f *fold) seen(in *agui.RunAgentInput) []*runRecord {
	keys := map[string]bool{}
	for _, m := range in.Messages {
		if o, ok := f.origins[m.ID]; ok && o.run != "" {
			keys[o.run] = true
		}
	}
	var out []*runRecord
	for i := len(f.runs) - 1; i >= 0 && len(keys) > 0; i-- {
		if r := &f.runs[i]; keys[r.key] {
			out = append(out, r)
			delete(keys, r.key)
		}
	}
	return out
}

// unseenEnd reports whether the one who posted the run did not see its end.
func (r *runRecord) unseenEnd() bool { return r.cut || r.last == 0 }

// nearest are the documents that a client most likely holds whose newest run was
// cut: those that were written to it last, or those that the run ended with, if
// it came back as a viewer and saw the rest. What it posts tells them apart. An
// edit of a list would be read wrongly on the others.
func (f *fold) nearest(posted jsondoc.Value, seen []*runRecord) state.Doc {
	held := f.held(seen)
	if seen[0].last == 0 {
		return held
	}
	end := seen[0].end
	far := func(d state.Doc) int {
		n := 0
		for _, op := range jsondoc.Diff(d.View, posted, nil) {
			n += len(op.Path) + op.Value.Size()
		}
		return n
	}
	if far(end) < far(held) {
		return end
	}
	return held
}

// held are the documents that a client was shown last whose newest runs were cut:
// what was written to it last of the newest one that it got a document of, or
// what the newest run has left that it read to the end.
func (f *fold) held(seen []*runRecord) state.Doc {
	for _, r := range seen {
		if !r.unseenEnd() {
			return r.end
		}
		if d, ok := f.writtenOf(r); ok {
			return d
		}
	}
	d, _ := f.docAt(seen[len(seen)-1].first)
	return d
}

// writtenOf are the documents that were written last to the one who posted a run
// and did not see its end; none where that connection ended before the first.
// Where the process died with the connection, all was written but the roll-back
// that followed.
func (f *fold) writtenOf(r *runRecord) (d state.Doc, ok bool) {
	until := r.left
	if until == 0 {
		until = r.last
	}
	var last, before state.Doc
	n := 0
	for _, s := range f.shown {
		if s.seq > r.first && (r.last == 0 || s.seq <= r.last) && (until == 0 || s.seq <= until) {
			before, last = last, s.doc
			n++
		}
	}
	if r.left == 0 && r.last > 0 && n > 1 {
		last = before
	}
	return last, n > 0
}

// shownTo is everything that a client may hold whose newest runs were cut: what
// they have shown, the documents that each found included, and what the newest
// run before them has left, which is all that a client knows that was cut before
// the first snapshot.
func (f *fold) shownTo(seen []*runRecord) []state.Doc {
	var out []state.Doc
	for _, r := range seen {
		if !r.unseenEnd() {
			return append(out, r.end)
		}
		if d, ok := f.docAt(r.first); ok {
			out = append(out, d)
		}
		for _, s := range f.shown {
			if s.seq > r.first && (r.last == 0 || s.seq <= r.last) {
				out = append(out, s.doc)
			}
		}
	}
	return out
}

// readHistory reads the messages of a thread's first run: the posted history,
// system and developer messages excepted, which would speak to the model in the
// operator's voice.
func (f *fold) readHistory(in *agui.RunAgentInput, out *posted) {
	// A result belongs to a call in front of it that nothing has answered yet.
	open, answered, known := map[string]bool{}, map[string]bool{}, map[string]bool{}
	made := map[int]bool{} // results of nothing
	for i, m := range in.Messages {
		for _, c := range m.ToolCalls {
			open[c.ID] = true
		}
		if m.Role == agui.RoleTool {
			made[i] = !open[m.ToolCallID]
			answered[m.ToolCallID] = answered[m.ToolCallID] || open[m.ToolCallID]
			delete(open, m.ToolCallID)
		}
	}
	for i, m := range in.Messages {
		kept, ok := settled(m, answered)
		if m.Role == agui.RoleSystem || m.Role == agui.RoleDeveloper || known[m.ID] || made[i] || !ok {
			out.dropped = append(out.dropped, m.ID)
			continue
		}
		out.fresh = append(out.fresh, withID(kept, known))
	}
}

// readMessages reads the messages of a thread that has some. The log's messages
// win. New are, behind the last known one, user messages, and tool results for
// calls that the log knows as open.
func (f *fold) readMessages(in *agui.RunAgentInput, log []agui.Message, open map[string]bool, base uint64, named bool, out *posted) {
	at := make(map[string]int, len(log))
	for i, m := range log {
		at[m.ID] = i
	}
	last, anchor := -1, -1 // of the posted messages, and of the log's: the last that both have
	stale := false         // the client has messages of a branch that was left
	for i, m := range in.Messages {
		if n, ok := at[m.ID]; ok {
			last, anchor = i, n
		} else if _, gone := f.origins[m.ID]; gone {
			stale = true
		}
	}
	known := map[string]bool{}
	for id := range f.origins {
		known[id] = true
	}
	asks := false
	for i, m := range in.Messages {
		_, mine := at[m.ID]
		_, gone := f.origins[m.ID]
		switch {
		case mine && i <= last:
		case i > last && m.Role == agui.RoleUser && !gone:
			asks = true
			out.fresh = append(out.fresh, withID(m, known))
		case i > last && m.Role == agui.RoleTool && open[m.ToolCallID]:
			delete(open, m.ToolCallID)
			out.fresh = append(out.fresh, withID(m, known))
		default:
			out.dropped = append(out.dropped, m.ID)
		}
	}
	if anchor < 0 || stale {
		return
	}
	again := len(out.fresh) == 0 && last == len(in.Messages)-1 && log[anchor].Role == agui.RoleUser
	// A message in between that the log does not know is an answer that the
	// client has under an id of its own: it leaves nothing out.
	if direct := last+1 < len(in.Messages) && in.Messages[last+1].Role == agui.RoleUser; !again && !(asks && direct) {
		return
	}
	if cut := behindAnswers(log, anchor) + 1; cut < len(log) && f.saw(log[cut:], base, named) {
		out.branch = log[:cut:cut]
	}
}

// behindAnswers is the index of the last tool message that answers the message
// at i, or i: a history without them would ask a model about calls that nobody
// answered.
func behindAnswers(log []agui.Message, i int) int {
	calls := map[string]bool{}
	for _, c := range log[i].ToolCalls {
		calls[c.ID] = true
	}
	for i+1 < len(log) && log[i+1].Role == agui.RoleTool && calls[log[i+1].ToolCallID] {
		i++
	}
	return i
}

// saw reports whether a client has seen the messages that its history leaves
// out. Only then it means to leave them out. One that names a position has seen
// what is before it. A stock client counts as having seen all, but what came
// when its connection had gone.
func (f *fold) saw(left []agui.Message, base uint64, named bool) bool {
	if named {
		return base >= f.newest
	}
	for _, m := range left {
		o := f.origins[m.ID]
		if r := f.run(o.run); r != nil && r.cut && o.seq > r.left {
			return false
		}
	}
	return true
}

// settled is a message of a foreign history without the calls that nothing in
// it answers: a server's tool is run because a model of the server's called it,
// never because somebody posts that one did.
func settled(m agui.Message, answered map[string]bool) (agui.Message, bool) {
	if len(m.ToolCalls) == 0 {
		return m, true
	}
	var kept []agui.ToolCall
	for _, c := range m.ToolCalls {
		if answered[c.ID] {
			kept = append(kept, c)
		}
	}
	m.ToolCalls = kept
	return m, len(kept) > 0 || m.Content.Text() != ""
}

// withID gives a message an id where the client gave none, or one that is
// taken, and notes it.
func withID(m agui.Message, known map[string]bool) agui.Message {
	if m.ID == "" || known[m.ID] {
		m.ID = run.NewID("msg")
	}
	known[m.ID] = true
	return m
}

// openCalls are the calls of a conversation that a client's message may answer:
// those that nothing has answered and that are not the agent's own to run. A
// message for a call that waits for approval is no answer: a decision is given
// by resume.
func (f *fold) openCalls(messages []agui.Message, tools []tool.Tool) map[string]bool {
	own := map[string]bool{}
	for _, t := range tools {
		own[t.Name()] = true
	}
	open := map[string]bool{}
	for _, m := range messages {
		for _, c := range m.ToolCalls {
			if !own[c.Function.Name] {
				open[c.ID] = true
			}
		}
		if m.Role == agui.RoleTool {
			delete(open, m.ToolCallID)
		}
	}
	for _, p := range f.open {
		if p.Asked() {
			delete(open, p.Call)
		}
	}
	return open
}
