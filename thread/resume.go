package thread

import (
	"fmt"
	"slices"
	"time"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/message"
	"github.com/lockstep-go/lockstep/run"
	"github.com/lockstep-go/lockstep/state"
	"github.com/lockstep-go/lockstep/tool"
)

// resumed is what a request's answers come to.
type resumed struct {
	decided []run.Decision
	said    map[string]Answered // by proposal key, for the log
	// answers are tool messages for confirm_changes calls that nobody's message
	// answers, by call.
	answers map[string]string
	// stays says that the conversation is not cut. Who answers a question has not
	// left it behind, however little of the history comes with the answer; and a
	// call that is approved has to be there to be run.
	stays bool
}

// resume matches a request's answers to what is open (T5). All of it is checked
// before anything is decided: a request that is refused leaves everything as it
// was. The error is an *agui.Error.
func (f *fold) resume(in *agui.RunAgentInput, raw jsondoc.Value, news posted, tools []tool.Tool, now time.Time) (resumed, error) {
	out := resumed{said: map[string]Answered{}, answers: map[string]string{}}
	answers, err := run.ReadResume(in, raw)
	if err != nil {
		return out, err
	}
	var asked []state.Proposal
	for _, p := range f.open {
		if p.Asked() {
			asked = append(asked, p)
		}
	}
	if answers != nil && len(answers) == 0 && len(asked) > 0 {
		return out, agui.NewError(agui.CodeResumeInvalid, "The thread waits for an answer, and resume has none.", nil)
	}
	if len(answers) > 0 && len(news.fresh) == 0 {
		out.stays, news.branch = true, nil
	}
	said := messageAnswers(asked, news.fresh)
	if len(answers) == 0 && len(said) == 0 {
		return out, f.passedOver(asked, news, &out)
	}
	given, err := f.match(asked, answers)
	if err != nil {
		return out, err
	}
	if len(given) == 0 && len(said) == 0 && (len(asked) == 0 || !news.news()) {
		return out, nil // answered before: nothing runs
	}
	for _, p := range asked {
		a, resumes := given[p.Ask.ID]
		told, tells := said[p.Ask.ID]
		switch {
		case resumes:
			if err = out.decide(p, a, tools, now); err == nil && p.Ask.Confirm != "" && !tells {
				out.reply(f, p, confirmText(out.decided[len(out.decided)-1], a))
			}
		case tells:
			out.hear(p, told, tools, now)
		case p.Ask.Confirm != "" && asks(news.fresh):
			out.refuse(f, p) // asked in the older way, and answered by a message instead
		default:
			err = agui.NewError(agui.CodeResumeMissingInterrupt, fmt.Sprintf("One resume answers all %d open interrupts; some are missing.", len(asked)), nil)
		}
		if err != nil {
			return out, err
		}
	}
	return out, nil
}

// messageAnswers are the tool messages that answer confirm_changes calls, as
// answers by interrupt.
func messageAnswers(asked []state.Proposal, fresh []agui.Message) map[string]run.Answer {
	out := map[string]run.Answer{}
	for _, m := range fresh {
		if p, ok := confirmOf(asked, m); ok {
			out[p.Ask.ID] = run.Answer{ID: p.Ask.ID, Payload: answerOf(m)}
		}
	}
	return out
}

// passedOver decides what a request means for open questions that it does not
// answer: it is refused where it goes on all the same; what is asked in the older
// way counts as refused.
func (f *fold) passedOver(asked []state.Proposal, news posted, out *resumed) error {
	if len(asked) == 0 || !news.news() {
		return nil
	}
	interrupt := slices.ContainsFunc(asked, func(p state.Proposal) bool { return p.Ask.Confirm == "" })
	if interrupt || news.branch != nil && len(news.fresh) == 0 {
		return agui.NewError(agui.CodeResumeRequired, "The thread waits for an answer; send resume with one for each open interrupt, or cancel them.", nil)
	}
	for _, p := range asked {
		out.refuse(f, p)
	}
	return nil
}

// match finds the open question of each answer, by interrupt. Answers that were
// given before, and say the same, are left out; any other to a question that is
// not open is an error.
func (f *fold) match(asked []state.Proposal, answers []run.Answer) (map[string]run.Answer, error) {
	if len(answers) == 1 && answers[0].ID == "" {
		if len(asked) != 1 {
			return nil, agui.NewError(agui.CodeResumeNotFound, "The answer names no interrupt, and there is not exactly one.", nil)
		}
		answers[0].ID = asked[0].Ask.ID
	}
	out := map[string]run.Answer{}
	for _, a := range answers {
		if p, ok := find(asked, a.ID); ok {
			if _, twice := out[p.Ask.ID]; twice {
				return nil, agui.NewError(agui.CodeResumeInvalid, "The resume answers one interrupt twice, by its own id and by its call's.", nil)
			}
			out[p.Ask.ID] = a
			continue
		}
		switch was, known := f.answers[a.ID]; {
		case known && (was.Said == a.Same() || was.Said == expiredAnswer && a.Cancelled):
		case known && was.Said == expiredAnswer:
			return nil, errExpired
		default:
			return nil, agui.NewError(agui.CodeResumeNotFound, "There is no open interrupt with this id.", nil)
		}
	}
	return out, nil
}

// errExpired answers what comes too late.
var errExpired = agui.NewError(agui.CodeResumeExpired, "The interrupt has expired; it can only be cancelled.", nil)

// decide reads an answer that resume gives.
func (r *resumed) decide(p state.Proposal, a run.Answer, tools []tool.Tool, now time.Time) error {
	if p.Expired(now) && !a.Cancelled {
		return errExpired
	}
	d, err := run.Decide(p, a, tools)
	if err == nil {
		r.add(d, a)
	}
	return err
}

// hear reads an answer that a tool message gives. The message stays in the
// client's history and comes with each of its runs: an error would end the
// conversation. What does not say yes is a no, and so is what comes too late.
func (r *resumed) hear(p state.Proposal, a run.Answer, tools []tool.Tool, now time.Time) {
	if r.decide(p, a, tools, now) != nil {
		r.add(run.Decision{Proposal: p, Cancelled: true}, run.Answer{ID: p.Ask.ID, Cancelled: true})
	}
}

func (r *resumed) add(d run.Decision, a run.Answer) {
	r.decided = append(r.decided, d)
	r.stays = r.stays || d.Approved
	r.said[d.Proposal.Key()] = Answered{ID: d.Proposal.Ask.ID, Said: a.Same(), Approved: d.Approved}
}

// refuse decides a question of the older way that was passed over.
func (r *resumed) refuse(f *fold, p state.Proposal) {
	r.add(run.Decision{Proposal: p, Cancelled: true}, run.Answer{ID: p.Ask.ID, Cancelled: true})
	r.reply(f, p, `{"accepted":false}`)
}

// reply answers a confirm_changes call in the conversation, unless something did
// before a run that failed.
func (r *resumed) reply(f *fold, p state.Proposal, text string) {
	if !slices.ContainsFunc(f.messages(), func(m agui.Message) bool { return m.Role == agui.RoleTool && m.ToolCallID == p.Ask.Confirm }) {
		r.answers[p.Ask.Confirm] = text
	}
}

// asks reports whether a person says something in the messages.
func asks(messages []agui.Message) bool {
	return slices.ContainsFunc(messages, func(m agui.Message) bool { return m.Role == agui.RoleUser })
}

// find is the open question that an id names: the interrupt's, or its call's,
// which older shapes use.
func find(asked []state.Proposal, id string) (state.Proposal, bool) {
	for _, p := range asked {
		if p.Ask.ID == id {
			return p, true
		}
	}
	for _, p := range asked {
		if p.Call != "" && p.Call == id {
			return p, true
		}
	}
	return state.Proposal{}, false
}

// confirmOf is the proposal whose confirm_changes call a tool message answers.
func confirmOf(asked []state.Proposal, m agui.Message) (state.Proposal, bool) {
	if m.Role != agui.RoleTool {
		return state.Proposal{}, false
	}
	for _, p := range asked {
		if p.Ask.Confirm != "" && p.Ask.Confirm == m.ToolCallID {
			return p, true
		}
	}
	return state.Proposal{}, false
}

// answerOf reads a tool message as an answer.
func answerOf(m agui.Message) jsondoc.Value {
	if v, err := jsondoc.ParseString(m.Content.Text()); err == nil {
		return v
	}
	return jsondoc.String(m.Content.Text())
}

// confirmText is the tool message that a resume stands for.
func confirmText(d run.Decision, a run.Answer) string {
	if !a.Payload.IsAbsent() && !a.Cancelled {
		return a.Payload.String()
	}
	return jsondoc.Object(jsondoc.Member{Name: "accepted", Value: jsondoc.Bool(d.Approved)}).String()
}

// drafts are the log's records of the decisions.
func (r *resumed) drafts(key string, newID func(string) string) []draft {
	mark := state.Mark{By: state.ByUser}
	var out []draft
	for _, d := range r.decided {
		out = append(out, draft{run: key, mark: mark, settled: d.Proposal.Key(), answer: r.said[d.Proposal.Key()]})
		if text, ok := r.answers[d.Proposal.Ask.Confirm]; ok {
			out = append(out, draft{run: key, mark: mark, event: &agui.ToolCallResult{
				MessageID: newID("result"), ToolCallID: d.Proposal.Ask.Confirm, Role: agui.RoleTool, Content: agui.Text(text),
			}})
		}
	}
	return out
}

// apply lays the decisions over the session: what was rejected goes, what was
// approved with other arguments shows them. It returns where edits of people
// went with a rejected proposal.
func (r *resumed) apply(s *state.Session) (lost []jsondoc.Pointer) {
	for _, d := range r.decided {
		switch {
		case d.Proposal.Call == "":
		case !d.Approved:
			lost = append(lost, s.Reject(d.Proposal.Call)...)
		case !d.Arguments.IsAbsent():
			s.Replace(d.Proposal.Call, d.Arguments)
		}
	}
	return lost
}

// rewrite is a conversation in which approved calls have the arguments that they
// run with: what the model, and who comes later, reads beside the result. ok is
// false where nobody changed any.
func (r *resumed) rewrite(messages []agui.Message) (out []agui.Message, ok bool) {
	edited := map[string]string{}
	for _, d := range r.decided {
		if d.Approved && d.Proposal.Call != "" && !d.Arguments.IsAbsent() {
			edited[d.Proposal.Call] = d.Arguments.String()
		}
	}
	if len(edited) == 0 {
		return nil, false
	}
	out = slices.Clone(messages)
	for i, m := range out {
		if !slices.ContainsFunc(m.ToolCalls, func(c agui.ToolCall) bool { return edited[c.ID] != "" }) {
			continue
		}
		out[i].ToolCalls = slices.Clone(m.ToolCalls)
		for n, c := range m.ToolCalls {
			if text, is := edited[c.ID]; is {
				out[i].ToolCalls[n].Function.Arguments = text
			}
		}
	}
	return out, true
}

// resultsOf are the tool messages that some drafts make.
func resultsOf(drafts []draft) []agui.Message {
	var out []agui.Message
	for _, d := range drafts {
		if r, ok := d.event.(*agui.ToolCallResult); ok {
			out = append(out, agui.Message{ID: r.MessageID, Role: agui.RoleTool, ToolCallID: r.ToolCallID, Content: r.Content})
		}
	}
	return out
}

// prompt is a conversation as the agent is to read it: without the calls by
// which older front ends were asked, without the stand-ins of results that are
// made now, and with the answers to agent code's questions at its end.
func (f *fold) prompt(decided []run.Decision, contexts []agui.Context) []*message.Message {
	placeholders := map[string]bool{}
	var answers message.Contents
	for _, d := range decided {
		placeholders[d.Proposal.Ask.Placeholder] = d.Proposal.Ask.Placeholder != ""
		if d.Proposal.Call == "" {
			answers = append(answers, &message.InterruptResponseContent{ID: d.Proposal.Ask.ID, Cancelled: d.Cancelled, Payload: d.Payload})
		}
	}
	all := f.messages()
	kept := make([]agui.Message, 0, len(all))
	for _, m := range all {
		if m.Role == agui.RoleTool && (placeholders[m.ID] || f.confirms[m.ToolCallID]) {
			continue
		}
		if slices.ContainsFunc(m.ToolCalls, func(c agui.ToolCall) bool { return f.confirms[c.ID] }) {
			m.ToolCalls = slices.DeleteFunc(slices.Clone(m.ToolCalls), func(c agui.ToolCall) bool { return f.confirms[c.ID] })
			if len(m.ToolCalls) == 0 && m.Content.Text() == "" {
				continue
			}
		}
		kept = append(kept, m)
	}
	out := run.Messages(kept, contexts)
	if len(answers) > 0 {
		out = append(out, &message.Message{Role: message.RoleUser, Contents: answers})
	}
	return out
}
