package thread

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/message"
)

func textItem(id, text string) item {
	return item{update: &agent.ResponseUpdate{MessageID: id}, content: &message.TextContent{Text: text}, size: len(text)}
}

func argsItem(call, text string) item {
	return item{update: &agent.ResponseUpdate{MessageID: "m"}, content: &message.FunctionCallDelta{CallID: call, Arguments: text}, size: len(text)}
}

// T2: what arrives while an append is under way becomes one item for each text
// and each call in a row; at other times everything keeps its own.
func TestT2Joining(t *testing.T) {
	m := newMailbox()
	put := func(items ...item) {
		for _, it := range items {
			if err := m.put(t.Context(), it); err != nil {
				t.Fatal(err)
			}
		}
	}
	take := func() string {
		items, err := m.take(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, it := range items {
			switch c := it.whole().(type) {
			case *message.TextContent:
				out = append(out, c.Text)
			case *message.FunctionCallDelta:
				out = append(out, c.CallID+":"+c.Arguments)
			default:
				out = append(out, "-")
			}
		}
		return strings.Join(out, " | ")
	}
	all := func() {
		put(textItem("m", "a"), textItem("m", "b"), argsItem("1", "{"), argsItem("1", "}"), argsItem("2", "x"), argsItem("1", "y"), textItem("n", "c"), item{do: func() {}}, textItem("n", "d"))
	}
	all()
	if got := take(); got != "a | b | 1:{ | 1:} | 2:x | 1:y | c | - | d" {
		t.Errorf("idle: %s", got)
	}
	m.setJoining(true)
	all()
	if got := take(); got != "ab | 1:{} | 2:x | 1:y | c | - | d" {
		t.Errorf("appending: %s", got)
	}
}

// A full mailbox makes the agent wait, for ever unless somebody empties it, the
// run ends or the mailbox is closed.
func TestMailboxBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMailbox()
		big := textItem("m", strings.Repeat("x", mailboxBytes))
		if err := m.put(t.Context(), big); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		results := make(chan error, 3)
		put := func(ctx context.Context) { results <- m.put(ctx, textItem("m", "y")) }
		go put(ctx)
		synctest.Wait()
		why := errors.New("stopped")
		cancel(why)
		if err := <-results; err != why {
			t.Errorf("error %v, want the cause", err)
		}
		go put(t.Context())
		synctest.Wait()
		if _, err := m.take(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := <-results; err != nil {
			t.Error(err)
		}
		if err := m.put(t.Context(), big); err != nil {
			t.Fatal(err)
		}
		go put(t.Context())
		synctest.Wait()
		m.close()
		if err := <-results; !errors.Is(err, ErrClosed) {
			t.Errorf("error %v, want ErrClosed", err)
		}
	})
}
