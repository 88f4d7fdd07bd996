package thread

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/lockstep-go/lockstep/run"
)

// A request that the driver has not come to when it ends is given up, whatever
// its context says: the loop reports the calls of a stopped run under a context
// that does not end, and the run's end waits for the loop.
func TestAskAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &driver{box: newMailbox()}
		asked := make(chan error, 1)
		ran := false
		go func() { asked <- d.ask(context.Background(), func() { ran = true }) }()
		synctest.Wait() // the request is in the mailbox
		d.box.close()
		if err := <-asked; !errors.Is(err, run.ErrStopped) {
			t.Errorf("error %v, want ErrStopped", err)
		}
		if ran {
			t.Error("the request ran")
		}
		if err := d.ask(context.Background(), func() { ran = true }); !errors.Is(err, ErrClosed) || ran {
			t.Errorf("after the end: error %v", err)
		}
	})
}

// Who gives a request up does not find it at work later; one that is at work is
// waited for.
func TestAskGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &driver{box: newMailbox()}
		ctx, cancel := context.WithCancel(t.Context())
		asked := make(chan error, 1)
		ran := 0
		go func() { asked <- d.ask(ctx, func() { ran++ }) }()
		synctest.Wait()
		cancel()
		if err := <-asked; !errors.Is(err, context.Canceled) {
			t.Errorf("error %v, want context.Canceled", err)
		}
		items, err := d.box.take(t.Context())
		if err != nil || len(items) != 1 {
			t.Fatalf("%d items, %v", len(items), err)
		}
		if items[0].do(); ran != 0 {
			t.Error("a request ran that was given up")
		}

		ctx, cancel = context.WithCancel(t.Context())
		began, goOn := make(chan struct{}), make(chan struct{})
		go func() {
			asked <- d.ask(ctx, func() {
				close(began)
				<-goOn
				ran++
			})
		}()
		if items, err = d.box.take(t.Context()); err != nil {
			t.Fatal(err)
		}
		go items[0].do()
		<-began
		cancel()
		synctest.Wait()
		select {
		case err := <-asked:
			t.Errorf("ask returned %v while the request was at work", err)
		default:
		}
		close(goOn)
		if err := <-asked; err != nil || ran != 1 {
			t.Errorf("error %v, ran %d times", err, ran)
		}
	})
}
