package nats

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"time"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/lockstep-go/lockstep/thread"
)

// An append has its entries in its own message up to inlineBytes; more go into a
// segment first, whose messages have up to partBytes. Servers take messages of
// 1 MB unless they are told otherwise, and work best with much smaller ones; and
// who asks for the end of a log gets its last message.
const (
	inlineBytes = 32 << 10
	partBytes   = 256 << 10
)

// Append implements thread.Store, with one message that the server takes if and
// only if it follows the one that it was made to follow.
func (s *Store) Append(ctx context.Context, key thread.Key, after thread.Head, entries []thread.Entry) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := thread.CheckAppend(key, after, entries); err != nil {
		return err
	}
	return s.wrap(ctx, key, s.append(ctx, key, after, entries))
}

func (s *Store) append(ctx context.Context, key thread.Key, after thread.Head, entries []thread.Entry) error {
	at := s.subjects(key)
	now := s.ends.get(at.log)
	known := now.there() && now.head == after && len(entries) > 0
	var wait pause
	for {
		if !known {
			last, err := s.last(ctx, at.log)
			if err != nil {
				return err
			}
			now = last.end()
			s.ends.put(at.log, now)
		}
		known = false
		switch {
		case !now.there() && after.Seq != 0, now.there() && now.head != after:
			return &thread.ConflictError{Head: now.head}
		case len(entries) == 0:
			return nil
		}
		next, err := s.grow(ctx, key, at, now, after, entries)
		if err == nil {
			s.ends.put(at.log, next)
			return nil
		}
		// The server saying that another message was the last is no proof of
		// another writer: a cluster says it, too, while an earlier message of
		// ours is on its way (nats-server#7281), and a compaction does not move
		// the head. So the log is asked.
		if !overtaken(err) {
			s.ends.put(at.log, end{})
			return err
		}
		if wait.took > answerTime {
			return &unavailable{err}
		}
		if err := wait.take(ctx); err != nil {
			return err
		}
	}
}

// grow publishes entries behind an end of the log.
func (s *Store) grow(ctx context.Context, key thread.Key, at subjects, now end, after thread.Head, entries []thread.Entry) (end, error) {
	last := entries[len(entries)-1]
	m := message{meta: meta{Epoch: after.Epoch, Seq: last.Seq, After: after.Seq, Back: now.back, Updated: last.Time.UnixMilli()}}
	if now.there() {
		m.Updated = max(m.Updated, now.updated)
	}
	for _, e := range entries {
		m.lines = line(m.lines, e)
	}
	if len(m.lines) > s.inline {
		if now.at == 0 {
			// Segments of no log: a message that says so goes before them, for
			// others to find where their writer dies. And what follows it is
			// stored only if nobody came between, whereas a log that is not
			// there may have been made and forgotten meanwhile, and the
			// segments with it.
			nothing := message{meta: meta{Gone: true}}
			if err := s.publish(ctx, key, at, &nothing, 0, false); err != nil {
				return end{}, err
			}
			now.at = nothing.at
		}
		seg, err := s.store(ctx, at, m.lines, entries[0].Seq, last.Seq)
		if err != nil {
			return end{}, err
		}
		m.segments, m.lines = []segment{seg}, nil
	}
	// The first message of a log takes the place of what a forgotten one left.
	err := s.publish(ctx, key, at, &m, now.at, !now.there() && now.at != 0)
	return m.end(), err
}

// publish publishes a message of a log, which becomes its last one if the
// present one has the number expected (0: if there is none), and says which
// number it got in m.at. With alone it takes the place of all others.
func (s *Store) publish(ctx context.Context, key thread.Key, at subjects, m *message, expected uint64, alone bool) error {
	msg, err := encode(at.log, key, m)
	if err != nil {
		return err
	}
	if most := s.conn.MaxPayload(); int64(len(msg.Data)) > most-1024 {
		return fmt.Errorf("a message of %d bytes is needed, and the server takes %d (max_payload)", len(msg.Data), most)
	}
	if alone {
		msg.Header.Set(jetstream.MsgRollup, jetstream.MsgRollupSubject)
	}
	msg.Header.Set(jetstream.ExpectedLastSubjSeqHeader, strconv.FormatUint(expected, 10))
	m.at, err = s.send(ctx, msg)
	return err
}

// store publishes entries as a segment. Nothing points to it until a message of
// the log does.
func (s *Store) store(ctx context.Context, at subjects, lines []byte, first, last uint64) (segment, error) {
	seg := segment{Name: rand.Text(), First: first, Last: last, Size: len(lines), Sum: checksum(lines)}
	for len(lines) > 0 {
		n := min(s.part, len(lines))
		seq, err := s.send(ctx, &natsgo.Msg{Subject: at.data + "." + seg.Name, Header: natsgo.Header{}, Data: lines[:n]})
		if err != nil {
			return segment{}, err
		}
		seg.Parts, lines = append(seg.Parts, seq), lines[n:]
	}
	return seg, nil
}

// send publishes one message to the stream and returns its number there. It is
// sent once: whoever does not get the answer has to look.
func (s *Store) send(ctx context.Context, msg *natsgo.Msg) (uint64, error) {
	bounded, cancel := s.within(ctx)
	defer cancel()
	ack, err := s.js.PublishMsg(bounded, msg, jetstream.WithRetryAttempts(0))
	if err != nil {
		return 0, s.failed(ctx, err)
	}
	if ack.Stream != s.prefix {
		return 0, fmt.Errorf("stream %s took a message for stream %s; do its subjects overlap?", ack.Stream, s.prefix)
	}
	return ack.Sequence, nil
}

// overtaken reports whether the server refused a message because the one that it
// was to follow is not the last.
func overtaken(err error) bool {
	const wrongLast, wrongLastInFlight = 10071, 10164
	var refusal *jetstream.APIError
	return errors.As(err, &refusal) && (refusal.ErrorCode == wrongLast || refusal.ErrorCode == wrongLastInFlight)
}

// pause is a wait that gets longer: none, then 1 ms up to 128. The zero pause
// is ready.
type pause struct{ next, took time.Duration }

func (p *pause) take(ctx context.Context) error {
	now := p.next
	p.took += now
	p.next = min(max(2*now, time.Millisecond), 128*time.Millisecond)
	if now == 0 {
		return ctx.Err()
	}
	t := time.NewTimer(now)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
