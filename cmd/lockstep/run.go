package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/client"
	"github.com/lockstep-go/lockstep/internal/recording"
	"github.com/lockstep-go/lockstep/jsondoc"
	lockrun "github.com/lockstep-go/lockstep/run"
)

// asking is what run, record and verify ask a run with.
type asking struct {
	Message []string `help:"What the user says; repeatable." placeholder:"TEXT" sep:"none"`
	State   string   `help:"State to send: a JSON file, or JSON." placeholder:"FILE|JSON"`
	Thread  string   `help:"Go on with this thread instead of a new one." placeholder:"ID"`
	Resume  string   `help:"Answers to a paused run's interrupts: a JSON file or JSON, the array of AG-UI's resume or one entry of it." placeholder:"FILE|JSON"`
	Token   string   `help:"Bearer token that the server asks for."`
}

// given names the flags that were used.
func (a *asking) given() (names []string) {
	for _, f := range []struct {
		name string
		set  bool
	}{{"--message", len(a.Message) > 0}, {"--state", a.State != ""}, {"--thread", a.Thread != ""}, {"--resume", a.Resume != ""}} {
		if f.set {
			names = append(names, f.name)
		}
	}
	return names
}

// input is the run's input, without messages.
func (a *asking) input() (*agui.RunAgentInput, error) {
	in := &agui.RunAgentInput{
		ThreadID: a.Thread, RunID: lockrun.NewID("run"), ProtocolVersion: agui.ProtocolVersion,
		Messages: []agui.Message{}, Tools: []agui.Tool{}, Context: []agui.Context{}, ForwardedProps: jsondoc.Object(),
	}
	if a.Thread == "" {
		in.ThreadID = lockrun.NewID("thread")
	}
	if a.State != "" {
		v, err := readJSON(a.State)
		if err != nil {
			return nil, usageError{fmt.Errorf("--state: %w", err)}
		}
		in.State = v
	}
	if a.Resume != "" {
		if a.Thread == "" {
			return nil, usageError{errors.New("--resume answers a thread's paused run; say which with --thread ID")}
		}
		list, err := readResume(a.Resume)
		if err != nil {
			return nil, usageError{fmt.Errorf("--resume: %w", err)}
		}
		in.Resume = list
	}
	return in, nil
}

// question is the run's input, with what is said by flags or on standard input.
func (a *asking) question(stdin io.Reader) (*agui.RunAgentInput, error) {
	in, err := a.input()
	if err != nil {
		return nil, err
	}
	texts, err := a.messages(stdin)
	if err != nil {
		return nil, err
	}
	said(in, texts...)
	return in, nil
}

// said adds user messages. An empty one says nothing.
func said(in *agui.RunAgentInput, texts ...string) {
	for _, text := range texts {
		if text != "" {
			in.Messages = append(in.Messages, agui.Message{ID: lockrun.NewID("msg"), Role: agui.RoleUser, Content: agui.Text(text)})
		}
	}
}

// readResume reads AG-UI's resume array, or one entry of it.
func readResume(s string) ([]agui.ResumeEntry, error) {
	v, err := readJSON(s)
	if err != nil {
		return nil, err
	}
	if v.Kind() != jsondoc.KindArray {
		v = jsondoc.Array(v)
	}
	// The entries are read as what they become a part of.
	doc := jsondoc.Object(
		jsondoc.Member{Name: "threadId", Value: jsondoc.String("")},
		jsondoc.Member{Name: "runId", Value: jsondoc.String("")},
		jsondoc.Member{Name: "messages", Value: jsondoc.Array()},
		jsondoc.Member{Name: "resume", Value: v},
	)
	unknown := ""
	in, err := agui.DecodeInput(doc.AppendJSON(nil), &agui.DecodeOptions{Strict: true, Report: func(d agui.Deviation) {
		unknown = fmt.Sprintf("%s at %s", d.Reason, strings.TrimPrefix(d.Path, "/resume"))
	}})
	var bad *agui.DecodeError
	switch {
	case errors.As(err, &bad):
		return nil, fmt.Errorf(`%s at %q; an entry is {"interruptId":"…","status":"resolved","payload":…}, or with status "cancelled"`, bad.Reason, strings.TrimPrefix(bad.Path, "/resume"))
	case err != nil:
		return nil, err
	case unknown != "":
		return nil, fmt.Errorf("%s; an answer's own members go into payload", unknown)
	case len(in.Resume) == 0:
		return nil, errors.New("there is no entry; it answers nothing")
	}
	return in.Resume, nil
}

// maxStdin bounds a message on standard input. A server takes 8 MB.
const maxStdin = 8 << 20

// messages are those of --message, else what is on standard input, unless that is
// a terminal: nobody would know that a program waits there.
func (a *asking) messages(in io.Reader) ([]string, error) {
	if len(a.Message) > 0 || a.Resume != "" {
		return a.Message, nil
	}
	if f, ok := in.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return nil, nil
	}
	text, err := io.ReadAll(io.LimitReader(in, maxStdin+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading the message from standard input: %w", err)
	case len(text) > maxStdin:
		return nil, usageError{fmt.Errorf("the message on standard input is longer than %d bytes", maxStdin)}
	}
	return []string{strings.TrimSpace(string(text))}, nil
}

type runCmd struct {
	URL    string `arg:"" help:"The agent's address."`
	asking `embed:""`
}

// Help is kong's long help.
func (runCmd) Help() string {
	return `Starts one run of any AG-UI agent and prints its events to standard output as
they come, one JSON object a line.

Without --message and --resume, what is on standard input is the message, if that
is a pipe or a file; --message "" says nothing and reads nothing. A run in which
nothing is said shows what the server knows of the thread. Several --message are
several messages of the one run.

--resume is what AG-UI posts as resume: the array, or one entry of it. It needs
--thread.

The exit code is 0 where the run finished, also paused or cancelled, and 1 where
it failed, was refused, or ended without RUN_FINISHED. Ctrl-C closes the
connection, which stops the run.

Example:

    lockstep run http://127.0.0.1:8888/ --message "Make me a carbonara"
    echo "Make me a carbonara" | lockstep run http://127.0.0.1:8888/ | jq -c .type
    lockstep run http://127.0.0.1:8888/create_document --thread t1 \
        --resume '{"interruptId":"i1","status":"resolved","payload":{"approved":true}}'`
}

func (c runCmd) Run(ctx context.Context, io std) error {
	if _, err := checkURL(c.URL); err != nil {
		return err
	}
	in, err := c.question(io.in)
	if err != nil {
		return err
	}
	var run outcome
	for l, err := range post(c.URL, c.Token, in).lines(ctx) {
		if err != nil {
			return err
		}
		run.line(l)
		if l.Data == nil {
			continue
		}
		line, err := oneLine(l.Data)
		if err != nil {
			return fmt.Errorf("event %d is not JSON (%w): %s; lockstep verify says what else is wrong", run.events, err, printable(string(clipBytes(l.Data, 100)), false))
		}
		if _, err := io.out.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	if run.end == recording.Open {
		fmt.Fprintln(io.err, "lockstep: the server left the body open after the run's end; clients wait for it to be closed")
	}
	return run.err()
}

// oneLine is an event's JSON as it came, on one line. What would act on a terminal
// can only be inside its strings, where an escape says the same.
func oneLine(data []byte) ([]byte, error) {
	var out bytes.Buffer
	if bytes.ContainsAny(data, "\r\n") {
		if err := json.Compact(&out, data); err != nil {
			return nil, err
		}
		data = out.Bytes()
	} else if err := json.Unmarshal(data, new(json.RawMessage)); err != nil {
		return nil, err
	}
	line := make([]byte, 0, len(data)+1)
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		if r >= 0x7F && printable(string(r), false) == "" {
			line = fmt.Appendf(line, `\u%04x`, r)
		} else {
			line = append(line, data[i:i+size]...)
		}
		i += size
	}
	return line, nil
}

func clipBytes(b []byte, most int) []byte {
	if len(b) > most {
		return b[:most]
	}
	return b
}

// outcome is how an exchange went, for the exit code.
type outcome struct {
	events   int
	head     *recording.Response
	refused  *recording.Response
	terminal agui.EventType
	failure  string // of RUN_ERROR
	end      recording.End
	reason   string
}

func (o *outcome) line(l recording.Line) {
	switch {
	case l.Response != nil:
		o.head = l.Response
		if l.Response.Status/100 != 2 {
			o.refused = l.Response
		}
	case l.End != "":
		o.end, o.reason = l.End, l.Reason
	default:
		o.events++
		switch typ := eventType(l.Data); typ {
		case agui.TypeRunStarted:
			o.terminal = ""
		case agui.TypeRunFinished, agui.TypeRunError:
			o.terminal = typ
			o.failure = "the run failed"
			if e, err := agui.DecodeEvent(l.Data, nil); err == nil {
				if failed, ok := e.(*agui.RunError); ok {
					o.failure += ": " + (&client.RunError{Event: failed}).Error()
				}
			}
		}
	}
}

// err is why the run did not go well; nil if it did.
func (o *outcome) err() error {
	switch {
	case o.refused != nil:
		return &client.HTTPError{Status: o.refused.Status, Body: o.refused.Body}
	case o.terminal == agui.TypeRunError:
		return errors.New(o.failure)
	case o.terminal == agui.TypeRunFinished:
		return nil
	case o.end == recording.Stopped:
		return fmt.Errorf("stopped after %d events", o.events)
	case o.events == 0 && o.head != nil && notEvents(o.head) != nil:
		// Only where nothing came: clients read events whatever they are called.
		return notEvents(o.head)
	case o.end == recording.Broken:
		return fmt.Errorf("the connection broke after %d events, before the run's end: %s", o.events, o.reason)
	}
	return fmt.Errorf("the stream ended after %d events without RUN_FINISHED or RUN_ERROR; lockstep verify says what is wrong with it", o.events)
}
