package client

import "github.com/lockstep-go/lockstep/agui"

// batch is what a connection brings at a time: one event, or a whole prelude.
type batch struct {
	events []agui.Event
	// at is the place that the last event stands for; zero for what is in no log.
	at position
	// prelude says that the events show the thread as it is at that place.
	// Nothing that was known before counts.
	prelude bool
	// back, of a prelude, is a position behind at that the server had given out
	// before it was asked: its log was put back, as from a backup.
	back position
	// anew says that the event is the first of a log of which this reader has
	// seen nothing, and that there is nothing in front of it.
	anew bool
}

// maxPrelude bounds the events in front of the first with a position. A prelude
// has three and one for each thing that is open.
const maxPrelude = 10_000

// cursor follows one reader's way through a thread, over all its connections:
// values in, values out, no I/O. It drops what was seen, collects preludes and
// checks the order.
type cursor struct {
	at position // of the newest event handed on
	// known is the newest position that the server is known to have given out.
	// It is kept where at is dropped.
	known position
	// order checks what follows; nil where it is not known what is open, as
	// behind a position that somebody else has read up to.
	order *agui.Sequence

	stage   stage
	prelude []agui.Event
	first   *agui.Sequence // the prelude's
}

type stage uint8

const (
	flowing stage = iota // every event stands for itself
	opening              // nothing was read of a connection that may begin with a prelude
	leading              // in a prelude
)

// attached says that a connection to …/events begins. What an older one brought
// of a prelude and did not finish is dropped.
func (c *cursor) attached() {
	c.stage, c.prelude, c.first = opening, nil, nil
}

// take reads the next event. A batch without events means: nothing to hand on.
func (c *cursor) take(rec agui.Received) (batch, error) {
	var at position
	if rec.OwnID {
		at, _ = parsePosition(rec.ID)
	}
	if c.stage == opening && !rec.OwnID {
		c.stage, c.first = leading, new(agui.Sequence)
	}
	if c.stage == leading {
		return c.lead(rec.Event, at)
	}
	bare := c.stage == opening
	c.stage = flowing
	if c.at.covers(at) {
		return batch{}, nil // it was here already
	}
	b := batch{events: []agui.Event{rec.Event}, at: at}
	if !at.zero() && at.epoch != c.at.epoch && (bare || !c.at.zero()) {
		// A thread that the server did not know had an empty prelude, and this
		// is where it begins.
		b.anew, c.order = true, new(agui.Sequence)
	}
	if _, begins := rec.Event.(*agui.RunStarted); begins && c.order == nil {
		c.order = new(agui.Sequence)
	}
	if c.order != nil {
		if err := c.order.Check(rec.Event); err != nil {
			return batch{}, err
		}
	}
	if !at.zero() {
		c.at, c.known = at, at
	}
	return b, nil
}

// reset makes the next connection begin with a prelude.
func (c *cursor) reset() { *c = cursor{known: c.known} }

// lead takes an event of a prelude; its last has the position.
func (c *cursor) lead(e agui.Event, at position) (batch, error) {
	if err := c.first.Check(e); err != nil {
		return batch{}, err
	}
	c.prelude = append(c.prelude, e)
	if at.zero() {
		if len(c.prelude) == maxPrelude {
			return batch{}, errNoPositions
		}
		return batch{}, nil
	}
	b := batch{events: c.prelude, at: at, prelude: true}
	if at.epoch == c.known.epoch && at.seq < c.known.seq {
		b.back = c.known
	}
	*c = cursor{at: at, known: at, order: c.first}
	return b, nil
}
