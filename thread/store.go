package thread

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/state"
)

// Key names a thread. Threads of different agents or principals with one ID are
// different threads.
type Key struct {
	Agent     string // the agent's name
	Principal string // whose thread it is; empty where nobody is told apart
	ID        string // the client's threadId; any non-empty string
}

// Head is where a log ends.
type Head struct {
	Epoch string // random per log: a position of another epoch means nothing here
	Seq   uint64 // of the last entry; 0 for an empty log
}

// Position is a place in a log, behind the entry of its Seq.
type Position = Head

// String is the position as clients know it: EPOCH-SEQ.
func (h Head) String() string { return h.Epoch + "-" + strconv.FormatUint(h.Seq, 10) }

// ParsePosition reads EPOCH-SEQ.
func ParsePosition(s string) (Position, error) {
	i := strings.LastIndexByte(s, '-')
	if i <= 0 {
		return Position{}, fmt.Errorf("thread: position %q is not EPOCH-SEQ", s)
	}
	seq, err := strconv.ParseUint(s[i+1:], 10, 64)
	if err != nil {
		return Position{}, fmt.Errorf("thread: position %q is not EPOCH-SEQ", s)
	}
	return Position{Epoch: s[:i], Seq: seq}, nil
}

// Entry is one line of a log. Entries are immutable.
type Entry struct {
	Seq    uint64        // dense from 1
	Time   time.Time     // when it was appended; for people, nothing is ordered by it
	Run    string        // the run that made it: the server's own key; empty outside runs
	Author string        // "agent", "user" or "system"
	Event  agui.Event    // what viewers get, in its 1.0 form; nil: nothing
	Change jsondoc.Patch // what was committed, on the state; nil: nothing
	Lease  *Lease        // who may append for a run; nil: says nothing
	// Proposal is what a run left to be decided later; nil: nothing.
	Proposal *state.Proposal
	// Settled is the key of the proposal that is decided now; empty: none.
	Settled string
	// Answer is how: what a person answered, for the same answer to be known
	// again. The zero Answer: by the result of the client's own tool.
	Answer Answered
	// Started is the approved call whose tool is started now; empty: none. Until
	// then an approval can be given again after a crash: nothing has run.
	Started string
	// Left is the position that the connection of the one who posted Run was
	// written up to when it ended before the run did; 0: says nothing (S2).
	Left uint64
	// Undoes is the run whose changes this entry takes back; empty: none.
	Undoes string
	// Signal is a word to the other processes of a shared store; nil: none.
	Signal *Signal
	// Floor says that what is before this entry was compacted: positions before
	// it are too old to go on from.
	Floor bool
	// Revision is the state's revision behind this entry's Change, where that
	// stands for several: at the beginning of a log that was cut. Else 0.
	Revision uint64
}

// Answered is the record of an answer to an interrupt.
type Answered struct {
	ID       string // interruptId
	Said     string // equal for equal answers; "expired" where none came in time
	Approved bool
}

// Lease says which process drives a run. On a shared store it is good until a
// time that every later entry of the run puts off by as much again: a process
// that says nothing any more is taken for dead.
type Lease struct {
	Owner string
	Until time.Time
}

// Signal is a word from one process to the others that have the thread in use.
type Signal struct {
	Kind SignalKind
	Run  string // the run that it is about; empty for SignalCompact
}

// SignalKind says what a Signal is for.
type SignalKind string

const (
	// SignalStop asks the run's process to stop it.
	SignalStop SignalKind = "stop"
	// SignalYield asks it to stop the run if nobody watches it: another waits
	// for the thread.
	SignalYield SignalKind = "yield"
	// SignalUnwatched asks everybody: the run's process has no viewers any more.
	SignalUnwatched SignalKind = "unwatched"
	// SignalWatched is the answer of a process that has some.
	SignalWatched SignalKind = "watched"
	// SignalCompact says that a process is about to compact the log. It moves the
	// head, so that of two that do so at once only one succeeds, and each has
	// read what the other made of the log before.
	SignalCompact SignalKind = "compact"
)

// Store keeps logs. Implementations are safe for concurrent use; package
// storetest decides who may be one. They keep entries by [AppendEntry] or as
// they are: what that makes uniform a writer must not rely on.
type Store interface {
	// Append adds entries whose Seq are after.Seq+1, after.Seq+2 …, all or none,
	// if and only if after is where the log ends. Otherwise it fails with
	// *ConflictError. A log that is not there ends at 0 and is made with
	// after's epoch: the writer chooses it, because the first entries may name
	// their own positions. Of no entries only the head is checked. When Append
	// returns nil the entries are as durable as the store promises; after
	// another error than *ConflictError they may be stored or not, and Head says
	// which.
	Append(ctx context.Context, key Key, after Head, entries []Entry) error

	// Read yields the entries behind after, in order, as the log was at one
	// moment during the call: what is appended, compacted or forgotten while the
	// loop runs is not seen.
	Read(ctx context.Context, key Key, after uint64) iter.Seq2[Entry, error]

	// Tail is Read without an end: it waits for new entries until ctx is done,
	// whose error ends it. Of a log that is not there yet it waits for the first
	// one. When the log that it follows is forgotten it ends with
	// *ConflictError, because the numbers of the next one mean something else.
	Tail(ctx context.Context, key Key, after uint64) iter.Seq2[Entry, error]

	// Head says where the log ends. A log that is not there has the zero Head.
	Head(ctx context.Context, key Key) (Head, error)

	// Compact replaces the entries behind after up to and including upTo by
	// others, whose Seq grow and are among theirs. It fails with *ConflictError
	// where head is not where the log ends; that stays. Where all entries go and none come
	// the log is forgotten: the next Append makes a new one.
	Compact(ctx context.Context, key Key, head Head, after, upTo uint64, entries []Entry) error

	// List returns the logs of an agent's principal, the one that was appended
	// to last first, at most limit of them (limit > 0). after is the last one of
	// the page before, or the zero Listed for the first page: logs that are
	// appended to meanwhile are not returned twice behind it.
	List(ctx context.Context, agent, principal string, after Listed, limit int) ([]Listed, error)

	// Stale returns logs that were last appended to before a time, the oldest
	// first, at most limit of them (limit > 0).
	Stale(ctx context.Context, before time.Time, limit int) ([]Key, error)
}

// SharedStore is a Store that several processes write at once. Threads on one
// follow what the others append, renew the leases of their runs, and leave runs
// alone whose lease is good. On any other store a run of another process is a
// run that its process left behind.
type SharedStore interface {
	Store
	// Shared does nothing; a store has it or not.
	Shared()
}

// CheckAppend checks what every store asks of an append before it looks at the
// log: a thread's ID, an epoch, and entries that follow on after.
func CheckAppend(key Key, after Head, entries []Entry) error {
	switch {
	case key.ID == "":
		return errors.New("thread: an append needs a thread ID")
	case after.Epoch == "":
		return fmt.Errorf("thread: the append to thread %q names no epoch", clipped(key.ID))
	}
	for i, e := range entries {
		if want := after.Seq + uint64(i) + 1; e.Seq != want {
			return fmt.Errorf("thread: entry %d of the append to thread %q has seq %d, want %d", i, clipped(key.ID), e.Seq, want)
		}
	}
	return nil
}

// CheckCompact checks what every store asks of a compaction whose head is the
// log's.
func CheckCompact(key Key, head Head, after, upTo uint64, entries []Entry) error {
	if upTo > head.Seq || after > upTo {
		return fmt.Errorf("thread: thread %q ends at %d and cannot be compacted from %d up to %d", clipped(key.ID), head.Seq, after, upTo)
	}
	last := after
	for i, e := range entries {
		if e.Seq <= last || e.Seq > upTo {
			return fmt.Errorf("thread: entry %d of the compaction of thread %q has seq %d, want one from %d to %d", i, clipped(key.ID), e.Seq, last+1, upTo)
		}
		last = e.Seq
	}
	return nil
}

// clipped bounds what an ID from outside may put into an error.
func clipped(id string) string {
	const most = 100
	if len(id) > most {
		return id[:most] + "…"
	}
	return id
}

// Listed is a log in a list.
type Listed struct {
	ID string
	// Updated is the latest time of the log's appends, each counted by its last
	// entry: in UTC and whole milliseconds. It never goes back, so that a clock
	// that does takes no log to a page that was read already.
	Updated time.Time
}

// ConflictError says that a log's head is elsewhere: at Head, or nowhere where
// that is zero, because there is no such log.
type ConflictError struct{ Head Head }

func (e *ConflictError) Error() string {
	if e.Head == (Head{}) {
		return "thread: there is no such log, or it was forgotten"
	}
	return "thread: the log has moved on to " + e.Head.String()
}

// BusyError says that another run is active on the thread.
type BusyError struct{ RunID string } // the client's label of the active run

func (e *BusyError) Error() string {
	return fmt.Sprintf("thread: run %q is still active on this thread", e.RunID)
}

// ErrClosed is what a closed Threads answers.
var ErrClosed = errors.New("thread: the server is shutting down")
