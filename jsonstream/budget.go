package jsonstream

import (
	"time"
)

// budget decides which frames go out.
//
// A frame goes out when any one of these allows it:
//
//   - the rate: bytes and frames per second, as time passes;
//   - growth: the text grew enough since the last frame to be worth it, which is
//     an eighth of what is sent again plus a quarter of what is around it. Each
//     byte of the text pays once, so these frames cost at most 9 × the text;
//   - the start: all frames together cost less than 3 × the text so far, which
//     lets a short text show each step even if it comes all at once;
//   - the end of a string that is at least half of the frame: at most 2 × the text.
//
// What is left to say when a value ends is said without asking.
type budget struct {
	rate, perSecond float64

	started bool
	last    time.Time
	bytes   float64 // that the rate allows by now
	frames  float64

	paidAt  int // bytes of text when the last frame went out
	strings int // bytes of strings that had ended then
	spent   int // bytes of all frames that the rate did not pay for

	// An unpaid frame is not looked at again before one of these can have
	// changed the answer: what is due only becomes more.
	retryAt    int
	retryBytes float64
}

const (
	defaultRate   = 64 << 10
	defaultFrames = 20
	startFactor   = 3
)

// advance lets time pass. Time that runs backwards stands still.
func (b *budget) advance(now time.Time, text int) {
	if !b.started {
		b.started, b.last, b.frames = true, now, b.perSecond
		return
	}
	d := now.Sub(b.last).Seconds()
	if d <= 0 {
		return
	}
	b.last = now
	// The most that can be saved up: a second's worth, and all of the value once.
	b.bytes = min(b.bytes+d*b.rate, b.rate+float64(2*text))
	b.frames = min(b.frames+d*b.perSecond, b.perSecond)
}

// idle reports whether nothing that allow looks at has changed for the better.
func (b *budget) idle(text, strings int) bool {
	return text < b.retryAt && b.bytes < b.retryBytes && strings == b.strings
}

// allow decides about a frame when text bytes of arguments have come in, with
// strings bytes of complete strings among them, and pays for it.
func (b *budget) allow(c cost, text, strings int) bool {
	total := c.total() + patchFrame
	if total >= never {
		return false
	}
	grown, ended := text-b.paidAt, strings-b.strings
	switch {
	case float64(total) <= b.bytes && (!c.repeat || b.frames >= 1):
		b.bytes -= float64(total)
		if c.repeat {
			b.frames--
		}
	case 36*grown >= 4*c.value+9*c.frame,
		b.spent+total <= startFactor*text,
		total <= 2*ended:
		b.spent += total
	default:
		b.retryAt = min(b.paidAt+(4*c.value+9*c.frame)/36, (b.spent+total)/startFactor)
		b.retryBytes = float64(total)
		return false
	}
	b.paid(text, strings)
	return true
}

// charge pays for what goes out without asking.
func (b *budget) charge(c cost) {
	total := c.total() + patchFrame
	if float64(total) <= b.bytes {
		b.bytes -= float64(total)
		return
	}
	b.spent += total
}

func (b *budget) paid(text, strings int) {
	b.paidAt, b.strings = text, strings
	b.retry()
}

// retry makes the next frame be looked at.
func (b *budget) retry() { b.retryAt, b.retryBytes = 0, 0 }
