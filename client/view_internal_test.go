package client

import (
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/jsondoc"
)

func TestParsePosition(t *testing.T) {
	for in, want := range map[string]position{
		"e-1":                      {"e", 1},
		"a-b-18446744073709551615": {"a-b", 1<<64 - 1},
		"e-0":                      {"e", 0},
		"":                         {},
		"-1":                       {},
		"e-":                       {},
		"e":                        {},
		"e-+1":                     {},
		"e-1x":                     {},
		"e-18446744073709551616":   {},
		"c2d5f0-0e17-11ee-be56-0z": {},
	} {
		got, ok := parsePosition(in)
		if got != want || ok != !want.zero() {
			t.Errorf("%q is %v %v, want %v", in, got, ok, want)
		}
		if ok && in != "e-0" && got.String() != in {
			t.Errorf("%q comes back as %q", in, got)
		}
	}
	if (position{}).covers(position{}) {
		t.Error("who is nowhere has seen nothing")
	}
}

func FuzzParsePosition(f *testing.F) {
	f.Add("epoch-17")
	f.Add("a--1")
	f.Fuzz(func(t *testing.T, s string) {
		p, ok := parsePosition(s)
		if ok == p.zero() {
			t.Fatalf("%q: %v %v", s, p, ok)
		}
		if again, _ := parsePosition(p.String()); again != p {
			t.Fatalf("%q: %v reads back as %v", s, p, again)
		}
	})
}

// frame is a frame of a log; an id of 0 is a frame without one.
func frame(epoch string, seq uint64, e agui.Event) agui.Received {
	rec := agui.Received{Event: e, OwnID: seq > 0}
	if rec.OwnID {
		rec.ID = position{epoch, seq}.String()
	}
	return rec
}

func count(n int) agui.Event {
	return &agui.StateSnapshot{Snapshot: jsondoc.Object(jsondoc.Member{Name: "n", Value: jsondoc.Int(int64(n))})}
}

var (
	start  = &agui.RunStarted{ThreadID: "t", RunID: "r"}
	finish = &agui.RunFinished{ThreadID: "t", RunID: "r"}
)

// A connection's beginning decides what it is: bare from the position on, a
// prelude, or the whole of a log that was empty.
func TestCursor(t *testing.T) {
	type in struct {
		seq   uint64
		epoch string
		e     agui.Event
	}
	prelude := []in{{0, "", start}, {0, "", count(7)}, {0, "", &agui.MessagesSnapshot{}}, {7, "e", finish}}
	for _, c := range []struct {
		name    string
		at      position
		in      []in
		batches string // sizes; P prelude, A anew
		end     position
		fails   bool
	}{
		{"bare", position{"e", 3}, []in{{4, "e", start}, {6, "e", count(6)}}, "1 1", position{"e", 6}, false},
		{"what was seen is dropped", position{"e", 5}, []in{{4, "e", start}, {5, "e", count(5)}, {6, "e", count(6)}}, "1", position{"e", 6}, false},
		{"prelude", position{}, prelude, "4P", position{"e", 7}, false},
		{"a prelude that was cut", position{"e", 3}, prelude[:3], "", position{"e", 3}, false},
		{"prelude, then on", position{"old", 90}, append(prelude[:4:4], in{8, "e", start}, in{9, "e", count(9)}), "4P 1 1", position{"e", 9}, false},
		{"an unknown thread begins", position{}, []in{{2, "e", start}, {3, "e", count(3)}}, "1A 1", position{"e", 3}, false},
		{"the log was lost", position{"old", 90}, []in{{2, "e", start}, {3, "e", count(3)}}, "1A 1", position{"e", 3}, false},
		{"order in a prelude", position{}, []in{{0, "", count(1)}}, "", position{}, true},
		{"order behind a position, once a run begins", position{"e", 3}, []in{{4, "e", finish}, {5, "e", start}, {6, "e", start}}, "1 1", position{"e", 5}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			cur := &cursor{at: c.at}
			cur.attached()
			got, failed := "", false
			for _, x := range c.in {
				b, err := cur.take(frame(x.epoch, x.seq, x.e))
				if failed = err != nil; failed {
					break
				}
				if len(b.events) == 0 {
					continue
				}
				if got != "" {
					got += " "
				}
				got += strconv.Itoa(len(b.events))
				if b.prelude {
					got += "P"
				}
				if b.anew {
					got += "A"
				}
			}
			if got != c.batches || failed != c.fails || cur.at != c.end {
				t.Errorf("batches %q (want %q), at %v (want %v), failed %v", got, c.batches, cur.at, c.end, failed)
			}
		})
	}
}

// Something without positions that never ends must not fill the memory.
func TestCursorBounded(t *testing.T) {
	cur := &cursor{}
	cur.attached()
	if _, err := cur.take(frame("", 0, start)); err != nil {
		t.Fatal(err)
	}
	for i := range maxPrelude {
		if _, err := cur.take(frame("", 0, count(i))); err != nil {
			if i != maxPrelude-2 || !final(err) {
				t.Errorf("event %d: %v", i, err)
			}
			return
		}
	}
	t.Errorf("%d events are held back", maxPrelude)
}

// Several readers at different places feed one view, each from where the view
// was when it came: the view only moves forward, sees each event once, and ends
// where the fastest is.
func TestViewOnlyMovesForward(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const length = 30
		log := make([]agui.Event, length+1) // log[seq] is the event of that number
		for seq := range log {
			log[seq] = &agui.StateDelta{Delta: jsondoc.Patch{{Op: "replace", Path: "/n", Value: jsondoc.Int(int64(seq))}}}
		}
		v := &view{}
		v.apply(batch{events: []agui.Event{start, count(0)}, at: position{"e", 1}, prelude: true})
		type reader struct{ at uint64 }
		var readers []*reader
		for range rapid.IntRange(5, 120).Draw(t, "steps") {
			if len(readers) == 0 || rapid.IntRange(0, 5).Draw(t, "new reader") == 0 {
				readers = append(readers, &reader{v.reader().at.seq})
			}
			r := readers[rapid.IntRange(0, len(readers)-1).Draw(t, "reader")]
			if r.at == length {
				continue
			}
			before := v.at.seq
			if rapid.IntRange(0, 9).Draw(t, "resync") == 0 {
				// A new beginning, of where the server is by now.
				r.at = uint64(rapid.IntRange(int(r.at), length).Draw(t, "server"))
				v.apply(batch{events: []agui.Event{start, count(int(r.at)), finish}, at: position{"e", r.at}, prelude: true})
			} else {
				r.at++
				v.apply(batch{events: []agui.Event{log[r.at]}, at: position{"e", r.at}})
			}
			if v.at.seq != max(before, r.at) {
				t.Fatalf("at %d, from %d by a reader at %d", v.at.seq, before, r.at)
			}
			if n, _ := v.reduced.State().At("/n"); v.at.seq > 1 && n.String() != strconv.FormatUint(v.at.seq, 10) {
				t.Fatalf("at %d the state is %s", v.at.seq, v.reduced.State())
			}
		}
	})
}

func TestView(t *testing.T) {
	at := func(epoch string, seq uint64) position { return position{epoch, seq} }
	one := func(e agui.Event, p position) batch { return batch{events: []agui.Event{e}, at: p} }
	state := func(v *view) string { return v.reduced.State().String() }

	t.Run("a log that is gone is not heard", func(t *testing.T) {
		v := &view{}
		v.apply(one(count(1), at("new", 1)))
		if v.apply(one(count(2), at("old", 9))) || state(v) != `{"n":1}` {
			t.Error(state(v))
		}
		if !v.apply(batch{events: []agui.Event{count(3)}, at: at("newer", 1), anew: true}) || v.at != at("newer", 1) {
			t.Error(v.at)
		}
	})
	t.Run("events of no log are what there is", func(t *testing.T) {
		v := &view{}
		v.apply(one(count(1), position{}))
		v.apply(one(count(2), position{}))
		if state(v) != `{"n":2}` || !v.at.zero() {
			t.Error(state(v), v.at)
		}
	})
	t.Run("a patch that does not apply", func(t *testing.T) {
		v := &view{}
		v.apply(one(count(1), at("e", 1)))
		v.apply(one(&agui.StateDelta{Delta: jsondoc.Patch{{Op: "remove", Path: "/none"}}}, at("e", 2)))
		if !v.torn || v.base() != "" || !v.reader().at.zero() || state(v) != `{"n":1}` {
			t.Errorf("torn %v, base %q, state %s", v.torn, v.base(), state(v))
		}
		// A beginning at the very position mends it, an older one does not.
		if v.apply(batch{events: []agui.Event{start, count(9)}, at: at("e", 1), prelude: true}) || !v.torn {
			t.Error("an older beginning was taken")
		}
		if !v.apply(batch{events: []agui.Event{start, count(2)}, at: at("e", 2), prelude: true}) || v.torn || state(v) != `{"n":2}` {
			t.Error(v.torn, state(v))
		}
		// But a server that has put its log back is believed, once.
		back := batch{events: []agui.Event{start, count(1)}, at: at("e", 1), prelude: true, back: at("e", 2)}
		if !v.apply(back) || state(v) != `{"n":1}` || v.apply(back) {
			t.Error(state(v))
		}
		v.apply(one(&agui.ActivityDelta{MessageID: "x", Patch: jsondoc.Patch{{Op: "remove", Path: "/none"}}}, at("e", 3)))
		if v.torn {
			t.Error("an activity is not the state")
		}
	})
	t.Run("what may lie in front of a run", func(t *testing.T) {
		for _, c := range []struct {
			at, run position
			active  bool
			want    bool
		}{
			{position{}, at("e", 2), false, false},
			{position{}, at("e", 4), false, true},
			{at("e", 9), at("e", 11), false, false},
			{at("e", 9), at("e", 12), false, false},
			{at("e", 9), at("e", 13), false, true},
			{at("e", 9), at("e", 11), true, true},
			{at("e", 9), at("e", 9), true, false},
			{at("old", 9), at("e", 2), false, false},
			{at("old", 9), at("e", 11), false, true},
		} {
			v := &view{at: c.at}
			if c.active {
				v.run = "r"
			}
			if got := v.mayLack(c.run); got != c.want {
				t.Errorf("at %v, active %v, a run at %v: %v", c.at, c.active, c.run, got)
			}
		}
	})
	t.Run("interrupts, the active run, the revision", func(t *testing.T) {
		v := &view{}
		asked := &agui.RunFinished{Outcome: &agui.Outcome{Type: agui.OutcomeInterrupt, Interrupts: []agui.Interrupt{{ID: "i"}}}}
		shown := &agui.StateSnapshot{Snapshot: jsondoc.Object(), Base: agui.Base{Metadata: jsondoc.MustParse(`{"lockstep":{"revision":4}}`)}}
		for _, e := range []agui.Event{start, shown, asked} {
			v.event(e)
		}
		if len(v.interrupts) != 1 || v.run != "" || v.revision != 4 {
			t.Errorf("%v %q %d", v.interrupts, v.run, v.revision)
		}
		v.event(start)
		v.event(&agui.RunError{})
		if len(v.interrupts) != 1 {
			t.Error("an error does not answer a question")
		}
		v.event(start)
		if v.run != "r" {
			t.Error("a run is active")
		}
		if v.event(finish); len(v.interrupts) != 0 {
			t.Error("a success has answered it")
		}
	})
}

func TestDelay(t *testing.T) {
	r := Reconnect{Min: 100 * time.Millisecond, Max: time.Second}
	for fails, want := range map[int]time.Duration{1: 100, 2: 200, 3: 400, 4: 800, 5: 1000, 6: 1000, 1 << 30: 1000} {
		want *= time.Millisecond
		if low, high := r.delay(fails, 0), r.delay(fails, 1); low != want/2 || high != want {
			t.Errorf("after %d: %v to %v, want %v to %v", fails, low, high, want/2, want)
		}
	}
}
