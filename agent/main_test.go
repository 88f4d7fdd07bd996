package agent_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/message"
	"github.com/lockstep-go/lockstep/tool"
	"github.com/lockstep-go/lockstep/tool/functool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// trace writes a stream down, one content a word, so that a test can say what it
// expects in one line. Texts and arguments are joined over chunks. The error comes
// last.
func trace(stream agent.ResponseStream) string {
	var out []string
	last := ""
	var args strings.Builder
	flush := func() {
		if args.Len() > 0 {
			out = append(out, args.String())
			args.Reset()
		}
		last = ""
	}
	add := func(kind, s string) {
		if last != kind {
			flush()
			args.WriteString(kind)
			last = kind
		}
		args.WriteString(s)
	}
	for u, err := range stream {
		if err != nil {
			flush()
			out = append(out, "error:"+errorName(err))
			break
		}
		for _, c := range u.Contents {
			switch c := c.(type) {
			case *message.TextContent:
				add("text:", c.Text)
			case *message.TextReasoningContent:
				add("think:", c.Text)
			case *message.FunctionCallDelta:
				if c.Restart {
					flush()
				}
				add("delta:"+c.CallID+":", c.Arguments)
			case *message.FunctionCallContent:
				flush()
				s := "call:" + c.CallID + ":" + c.Name + c.Arguments
				if c.Error != nil {
					s += "!" + errorName(c.Error)
				}
				out = append(out, s)
			case *message.FunctionResultContent:
				flush()
				s := "result:" + c.CallID + ":" + c.Text()
				if c.Error != nil {
					s = "failed:" + c.CallID + ":" + errorName(c.Error)
				}
				out = append(out, s)
			}
		}
	}
	flush()
	return strings.Join(out, " ")
}

func errorName(err error) string {
	var limit *agent.LimitError
	var panicked *agent.PanicError
	switch {
	case errors.As(err, &limit):
		return fmt.Sprint("limit", limit.Iterations)
	case errors.As(err, &panicked):
		return "panic"
	}
	for name, e := range map[string]error{
		"truncated": agent.ErrTruncated, "arguments": agent.ErrInvalidArguments, "unknown": agent.ErrUnknownTool,
		"rejected": agent.ErrRejected, "timeout": agent.ErrToolTimeout, "canceled": context.Canceled,
	} {
		if errors.Is(err, e) {
			return name
		}
	}
	return err.Error()
}

func check(t *testing.T, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("got\n  %s\nwant\n  %s", got, want)
	}
}

type cityIn struct {
	City string `json:"city"`
}

// weather answers at once.
func weather(calls *[]string) tool.FuncTool {
	return functool.MustNew(functool.Config{Name: "weather"}, func(_ context.Context, in cityIn) (string, error) {
		if calls != nil {
			*calls = append(*calls, in.City)
		}
		return "rain in " + in.City, nil
	})
}

func city(name string) string { return `{"city":"` + name + `"}` }
