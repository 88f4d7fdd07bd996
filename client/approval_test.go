package client_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/client"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/state"
)

// T5: every answer against the real server: what was proposed happens, happens
// with other arguments, or does not happen, and every viewer sees it. Whoever
// comes later is asked, too, and the same answer twice is one answer.
func TestT5Answers(t *testing.T) {
	edited := jsondoc.MustParse(`{"document":"edited"}`)
	for _, c := range []struct {
		name   string
		answer func(agui.Interrupt) agui.ResumeEntry
		want   string
	}{
		{"approve", client.Approve, "it"},
		{"edit", func(i agui.Interrupt) agui.ResumeEntry { return client.ApproveEdited(i, edited) }, "edited"},
		{"reject", client.Reject, ""},
		{"cancel", client.Cancel, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				a, cfg := writer(0)
				cfg.RequireConfirmation = true
				n := newNetwork(t, handler(t, a, cfg))
				th := n.steady(nil).Thread("t")
				viewer := watch(t, n.steady(nil).Thread("t"))
				synctest.Wait()
				say(t, th, "write it")
				settle()
				if got := viewer.thread.Interrupts(); len(got) != 1 || got[0].ToolCallID == "" {
					t.Fatalf("the viewer is asked %+v", got)
				}
				if got, _ := viewer.thread.State().At("/document"); got.Str() != "it" {
					t.Errorf("the proposal is %s", viewer.thread.State())
				}
				later := n.steady(nil).Thread("t")
				if s, err := later.Hydrate(t.Context()); err != nil || len(s.Interrupts) != 1 || len(s.Predicted) != 1 {
					t.Errorf("%+v %v", s, err)
				}
				asked := later.Interrupts()
				if len(asked) != 1 {
					t.Fatal(asked)
				}
				for range 2 {
					if _, err := collect(t.Context(), later, &client.RunOptions{Resume: []agui.ResumeEntry{c.answer(asked[0])}}); err != nil {
						t.Fatal(err)
					}
				}
				settle()
				truth := hydrate(t, n.steady(nil), "t")
				if got, _ := truth.State.At("/document"); got.Str() != c.want || len(truth.Interrupts) != 0 {
					t.Errorf("the state is %s, %d interrupts", truth.State, len(truth.Interrupts))
				}
				for _, one := range []*client.Thread{later, viewer.thread} {
					wantSame(t, one, truth)
					if len(one.Interrupts()) != 0 {
						t.Error("it is still asked")
					}
				}
				// Who has not heard of it yet gives another answer: it is too late.
				if c.name == "approve" {
					_, err := collect(t.Context(), th, &client.RunOptions{Resume: []agui.ResumeEntry{client.Reject(asked[0])}})
					var failed *client.RunError
					if !errors.As(err, &failed) || failed.Event.Code != agui.CodeResumeNotFound {
						t.Errorf("a second answer: %v", err)
					}
				}
			})
		})
	}
}

// A question that nobody answers in time is taken back, and who follows sees it.
func TestExpiry(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a, cfg := writer(0)
		cfg.RequireConfirmation, cfg.ConfirmWithin = true, time.Minute
		n := newNetwork(t, handler(t, a, cfg))
		th := n.steady(nil).Thread("t")
		watch(t, th)
		synctest.Wait()
		say(t, th, "write it")
		asked := th.Interrupts()
		if len(asked) != 1 || client.Expired(asked[0], time.Now()) || !client.Expired(asked[0], time.Now().Add(time.Minute)) {
			t.Fatalf("%+v", asked)
		}
		time.Sleep(2 * time.Minute)
		wantSame(t, th, hydrate(t, n.steady(nil), "t"))
		if got, _ := th.State().At("/document"); got.Str() != "" || len(th.Interrupts()) != 0 {
			t.Errorf("the state is %s, %d interrupts", th.State(), len(th.Interrupts()))
		}
	})
}

// The older way: a call that the front end answers.
func TestConfirmChanges(t *testing.T) {
	for _, yes := range []bool{true, false} {
		bubble(t, func(t *testing.T) {
			a, cfg := writer(0)
			cfg.ConfirmChanges, cfg.Confirmation = true, state.ConfirmationTexts{Yes: "Done.", No: "No."}
			n := newNetwork(t, handler(t, a, cfg))
			th := n.steady(nil).Thread("t")
			say(t, th, "write it")
			open := th.Confirmations()
			if len(open) != 1 || len(th.Interrupts()) != 0 {
				t.Fatalf("%+v", open)
			}
			if _, err := collect(t.Context(), th, &client.RunOptions{Messages: []agui.Message{client.Confirm(open[0], yes)}}); err != nil {
				t.Fatal(err)
			}
			want := map[bool]string{true: "it"}[yes]
			if got, _ := th.State().At("/document"); got.Str() != want || len(th.Confirmations()) != 0 {
				t.Errorf("%v: the state is %s", yes, th.State())
			}
			wantSame(t, th, hydrate(t, n.steady(nil), "t"))
		})
	}
}
