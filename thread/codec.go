package thread

import (
	"errors"
	"fmt"
	"time"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/state"
	"github.com/lockstep-go/lockstep/thread/internal/record"
)

// entryVersion changes when an entry of the old form would be read wrongly by
// the new code. A member that is only added needs no new version: a reader
// refuses what it does not know.
const entryVersion = 1

// entryMembers are the stored members of an Entry, the one place to touch when
// it gets a field. A name is for ever.
var entryMembers = record.Members[Entry]{
	record.Uint("n", func(e *Entry) *uint64 { return &e.Seq }),
	record.Time("t", func(e *Entry) *time.Time { return &e.Time }),
	record.String("run", func(e *Entry) *string { return &e.Run }),
	record.String("by", func(e *Entry) *string { return &e.Author }),
	record.Event("event", func(e *Entry) *agui.Event { return &e.Event }),
	record.Patch("change", func(e *Entry) *jsondoc.Patch { return &e.Change }),
	record.Object("lease", func(e *Entry) **Lease { return &e.Lease }, record.Members[Lease]{
		record.String("owner", func(l *Lease) *string { return &l.Owner }),
		record.Time("until", func(l *Lease) *time.Time { return &l.Until }),
	}),
	record.Object("proposal", func(e *Entry) **state.Proposal { return &e.Proposal }, record.Members[state.Proposal]{
		record.String("call", func(p *state.Proposal) *string { return &p.Call }),
		record.String("tool", func(p *state.Proposal) *string { return &p.Tool }),
		record.Value("args", func(p *state.Proposal) *jsondoc.Value { return &p.Arguments }),
		record.Value("base", func(p *state.Proposal) *jsondoc.Value { return &p.Base }),
		record.Value("edited", func(p *state.Proposal) *jsondoc.Value { return &p.Edited }),
		record.Patch("patch", func(p *state.Proposal) *jsondoc.Patch { return &p.Patch }),
		record.Bool("changes", func(p *state.Proposal) *bool { return &p.Changes }),
		record.String("ask", func(p *state.Proposal) *string { return &p.Ask.ID }),
		record.String("reason", func(p *state.Proposal) *string { return &p.Ask.Reason }),
		record.String("message", func(p *state.Proposal) *string { return &p.Ask.Message }),
		record.Value("schema", func(p *state.Proposal) *jsondoc.Value { return &p.Ask.Schema }),
		record.Value("metadata", func(p *state.Proposal) *jsondoc.Value { return &p.Ask.Metadata }),
		record.String("confirm", func(p *state.Proposal) *string { return &p.Ask.Confirm }),
		record.String("placeholder", func(p *state.Proposal) *string { return &p.Ask.Placeholder }),
		record.Time("expires", func(p *state.Proposal) *time.Time { return &p.Expires }),
	}),
	record.String("settled", func(e *Entry) *string { return &e.Settled }),
	record.String("answered", func(e *Entry) *string { return &e.Answer.ID }),
	record.String("said", func(e *Entry) *string { return &e.Answer.Said }),
	record.Bool("approved", func(e *Entry) *bool { return &e.Answer.Approved }),
	record.String("started", func(e *Entry) *string { return &e.Started }),
	record.Uint("left", func(e *Entry) *uint64 { return &e.Left }),
	record.String("undoes", func(e *Entry) *string { return &e.Undoes }),
	record.Object("signal", func(e *Entry) **Signal { return &e.Signal }, record.Members[Signal]{
		record.String("kind", func(s *Signal) *string { return (*string)(&s.Kind) }),
		record.String("run", func(s *Signal) *string { return &s.Run }),
	}),
	record.Bool("floor", func(e *Entry) *bool { return &e.Floor }),
	record.Uint("revision", func(e *Entry) *uint64 { return &e.Revision }),
}

// AppendEntry appends an entry as one line of compact JSON, the form in which
// stores keep it. [DecodeEntry] gives the entry back: numbers digit for digit,
// members in their order, null apart from absent, an empty Change apart from
// none. Two things are made uniform: times are kept to the millisecond and come
// back in UTC, and bytes of strings that are not UTF-8 become U+FFFD.
func AppendEntry(dst []byte, e Entry) []byte {
	return record.Append(dst, entryVersion, entryMembers, &e)
}

// DecodeEntry reads what AppendEntry wrote. It refuses what it would not
// understand wholly, so that a log of a newer program is never folded to
// something else than that program meant. The error says what is wrong and
// where; the result shares no memory with data.
func DecodeEntry(data []byte) (Entry, error) {
	var e Entry
	err := record.Read(data, entryVersion, entryMembers, &e)
	if err == nil && e.Seq == 0 {
		err = errors.New(`"n": the entry has no sequence number`)
	}
	if err != nil {
		return Entry{}, fmt.Errorf("thread: stored entry: %w", err)
	}
	return e, nil
}
