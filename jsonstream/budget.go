package jsonstream

import (
	"time"
)

// budget decides which frames go out. A frame is a patch with what the caller
// sends around it.
//
// A frame goes out when any one of these allows it:
//
//   - the rate: bytes and frames per second, as time passes. Frames that only add
//     are not counted against the frames, since they repeat nothing;
//   - growth: the text grew enough since the last frame to be worth it, which is
//     an eighth of what is sent again, plus three eighths of what is around it.
//     Each byte of the text pays once, so such frames cost at most 9 × the text
//     (the sum of 1, 9/8, (9/8)² … up to n is 9 n);
//   - the end of strings that are at least half of the frame. Each string ends
//     once, so that adds at most 2 × the text. It is rarely that much: a string
//     has to be as long as what is around it;
//   - the start: all frames together cost no more than 3 × the text and 1 KiB, and
//     their patches no more than 8 × the text. A short text that comes all at once
//     shows its steps.
//
// What is left to say when a target's value ends is said without asking: at most
// the value once more. Together that is 12 × the text, see the package
// documentation.
type budget struct {
	rate, perSecond float64
	around          int // bytes that the caller sends around each patch

	started bool
	last    time.Time
	bytes   float64 // that the rate allows by now
	frames  float64

	paidAt  int // bytes of text when the last frame went out
	strings int // bytes of strings that had ended then
	spent   int // bytes of all frames that the rate did not pay for
	patches int // bytes of the patches in them

	// A frame that was held back is not looked at again before one of these is
	// reached: what is due only becomes more, so the answer would be the same.
	retryAt      int     // bytes of text
	retryStrings int     // bytes of strings that have ended
	retryBytes   float64 // that the rate allows
}

const (
	defaultRate   = 64 << 10
	defaultFrames = 20
	defaultAround = 100

	startFactor = 3
	startBytes  = 1 << 10
	startPatch  = 8
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
	// The most that can be saved up: a second's worth, and all of the text once
	// (twice, for what is around it). Less would never let a long value go.
	b.bytes = min(b.bytes+d*b.rate, b.rate+float64(2*text))
	b.frames = min(b.frames+d*b.perSecond, max(b.perSecond, 1))
}

// idle reports whether allow would say no without a look at what is due.
func (b *budget) idle(text, strings int) bool {
	return text < b.retryAt && strings < b.retryStrings && b.bytes < b.retryBytes
}

// allow decides about a frame when text bytes of arguments have come in, with
// strings bytes of complete strings among them, and pays for it.
func (b *budget) allow(c cost, text, strings int) bool {
	patch := c.total() + patchFrame
	if patch >= never {
		return false
	}
	frame := patch + b.around
	needed := c.value/9 + (c.frame+patchFrame+b.around)*3/8
	switch {
	case float64(frame) <= b.bytes && (!c.repeat || b.frames >= 1):
		b.bytes -= float64(frame)
		if c.repeat {
			b.frames--
		}
	case text-b.paidAt >= needed,
		frame <= 2*(strings-b.strings),
		b.patches+patch <= startPatch*text && b.spent+frame <= startFactor*text+startBytes:
		b.spent += frame
		b.patches += patch
	default:
		b.retryAt = min(b.paidAt+needed, max((b.patches+patch)/startPatch, (b.spent+frame-startBytes)/startFactor))
		b.retryStrings = b.strings + (frame+1)/2
		b.retryBytes = float64(frame)
		return false
	}
	b.paidAt, b.strings = text, strings
	b.retry()
	return true
}

// charge pays for what goes out without asking.
func (b *budget) charge(c cost) {
	patch := c.total() + patchFrame
	if frame := float64(patch + b.around); frame <= b.bytes {
		b.bytes -= frame
		return
	}
	b.patches += patch
	b.spent += patch + b.around
}

// retry makes the next frame be looked at.
func (b *budget) retry() { b.retryAt, b.retryStrings, b.retryBytes = 0, 0, 0 }
