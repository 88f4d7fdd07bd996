package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/ergochat/readline"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/client"
	"github.com/lockstep-go/lockstep/jsondoc"
)

// question is something that the agent waits for.
type question struct {
	interrupt agui.Interrupt
	confirm   *agui.ToolCall // asked in the older way
	call      agui.ToolCall  // what is proposed; its id is empty where nobody says
}

// questions are what the thread waits for. One that is asked in the older way is
// an interrupt, too, once the thread was opened anew.
func (s *chat) questions() []question {
	var list []question
	asked := map[string]bool{}
	for _, i := range s.thread.Interrupts() {
		asked[i.ID], asked[i.ToolCallID] = true, true
		list = append(list, question{interrupt: i, call: s.call(i.ToolCallID)})
	}
	for _, c := range s.thread.Confirmations() {
		if !asked[c.ID] && len(list) == 0 {
			list = append(list, question{confirm: &c})
		}
	}
	return list
}

func (s *chat) call(id string) agui.ToolCall {
	for _, m := range s.thread.Messages() {
		for _, c := range m.ToolCalls {
			if id != "" && c.ID == id {
				return c
			}
		}
	}
	return agui.ToolCall{}
}

// ask shows what the agent proposes and asks for the answers. It returns the run
// that takes them there; nil where nobody asks, or nobody answers: then the
// thread waits on.
func (s *chat) ask() (*client.RunOptions, error) {
	list := s.questions()
	if len(list) == 0 {
		return nil, nil
	}
	fmt.Fprintln(s.out)
	changes := difference(s.before, s.thread.State())
	if s.before.IsAbsent() {
		changes = nil // it was not there to be seen
	}
	o := &client.RunOptions{}
	for i, q := range list {
		prompt := q.interrupt.Message
		if prompt == "" {
			prompt = "The agent asks before it goes on."
		}
		fmt.Fprintln(s.out, printable(prompt, false))
		if i == 0 {
			for _, line := range changes {
				fmt.Fprintln(s.out, "  "+line)
			}
		}
		if len(list) > 1 || len(changes) == 0 {
			s.showCall(q.call)
		}
		done, err := s.answer(q, o)
		if err != nil || !done {
			return nil, err
		}
	}
	return o, nil
}

// showCall shows a call with its arguments.
func (s *chat) showCall(c agui.ToolCall) {
	if c.ID == "" {
		return
	}
	fmt.Fprintf(s.out, "  %s\n", printable(c.Function.Name, false))
	args, err := jsondoc.ParseString(c.Function.Arguments)
	if err != nil || args.Len() == 0 {
		return
	}
	for _, line := range clipped(strings.Split(strings.TrimRight(outline(args), "\n"), "\n")) {
		fmt.Fprintln(s.out, "    "+line)
	}
}

// answer asks for one answer and adds it to the run. It is false where nobody
// answers any more.
func (s *chat) answer(q question, o *client.RunOptions) (bool, error) {
	if q.confirm == nil && client.Expired(q.interrupt, time.Now()) {
		fmt.Fprintln(s.out, "This question has expired.")
		o.Resume = append(o.Resume, client.Cancel(q.interrupt))
		return true, nil
	}
	choices := "Approve? [y/n/e(dit)]: "
	args, err := jsondoc.ParseString(q.call.Function.Arguments)
	editable := err == nil && args.Kind() == jsondoc.KindObject
	if !editable {
		choices = "Approve? [y/n]: "
	}
	edited := args
	for {
		line, err := s.in.next(choices)
		switch {
		case errors.Is(err, io.EOF) || errors.Is(err, readline.ErrInterrupt):
			fmt.Fprintln(s.out)
			return false, nil
		case err != nil:
			return false, err
		}
		switch strings.ToLower(strings.TrimSpace(line)) {
		case "y", "yes":
			switch {
			case q.confirm != nil:
				o.Messages = append(o.Messages, client.Confirm(*q.confirm, true))
			case editable && !jsondoc.Equal(args, edited):
				o.Resume = append(o.Resume, client.ApproveEdited(q.interrupt, edited))
			default:
				o.Resume = append(o.Resume, client.Approve(q.interrupt))
			}
			return true, nil
		case "n", "no":
			if q.confirm != nil {
				o.Messages = append(o.Messages, client.Confirm(*q.confirm, false))
			} else {
				o.Resume = append(o.Resume, client.Reject(q.interrupt))
			}
			return true, nil
		case "e", "edit":
			if !editable {
				fmt.Fprintln(s.out, "This cannot be edited here; answer y or n.")
				continue
			}
			if edited, err = s.editArguments(edited); err != nil {
				return false, err
			}
			for _, line := range difference(args, edited) {
				fmt.Fprintln(s.out, "  "+line)
			}
		case ":q", "quit":
			fmt.Fprintln(s.out, "The question stays open. :q once more leaves.")
			return false, nil
		default:
			fmt.Fprintln(s.out, "Answer y or n"+map[bool]string{true: ", or e to change what is proposed"}[editable]+".")
		}
	}
}

// editArguments changes the arguments of a call, a place a line.
func (s *chat) editArguments(args jsondoc.Value) (jsondoc.Value, error) {
	for place := range args.Members() {
		fmt.Fprintf(s.out, "  %s\n", printable(string(jsondoc.Path(place)), false))
	}
	fmt.Fprintln(s.out, `A place and its new value a line, such as /title "Soup"; an empty line when done.`)
	for {
		line, err := s.in.next("edit: ")
		if errors.Is(err, io.EOF) || errors.Is(err, readline.ErrInterrupt) || err == nil && strings.TrimSpace(line) == "" {
			return args, nil
		}
		if err != nil {
			return args, err
		}
		path, value, err := readEdit(line)
		if err == nil {
			var next jsondoc.Value
			if next, err = args.SetAt(path, value); err == nil {
				args = next
				continue
			}
		}
		fmt.Fprintln(s.out, printable(err.Error(), false))
	}
}
