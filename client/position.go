package client

import (
	"strconv"
	"strings"
)

// position is a place in a thread's log as the server writes it, EPOCH-SEQ. An
// epoch is one log; numbers of one epoch are comparable, others are not. The
// zero position is none.
type position struct {
	epoch string
	seq   uint64
}

// parsePosition reads a position. It is false for anything else, such as an
// event id of another server.
func parsePosition(s string) (position, bool) {
	i := strings.LastIndexByte(s, '-')
	if i <= 0 {
		return position{}, false
	}
	digits := s[i+1:]
	seq, err := strconv.ParseUint(digits, 10, 64)
	if err != nil || digits[0] < '0' || digits[0] > '9' {
		return position{}, false
	}
	return position{epoch: s[:i], seq: seq}, true
}

func (p position) zero() bool { return p.epoch == "" }

// String is empty for the zero position.
func (p position) String() string {
	if p.zero() {
		return ""
	}
	return p.epoch + "-" + strconv.FormatUint(p.seq, 10)
}

// covers reports whether who is at p has seen what is at q.
func (p position) covers(q position) bool {
	return !p.zero() && p.epoch == q.epoch && p.seq >= q.seq
}
