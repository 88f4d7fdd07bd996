package nats

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/lockstep-go/lockstep/thread"
)

// A compaction makes one new message that takes the place of all messages of the
// log. Entries that stay are not sent again where they are in a segment already,
// so a compaction costs what was appended since the one before, not the log.
const (
	// tailBytes is how many bytes of entries stand in that message itself. Who
	// asks for the end of the log, or for a list of logs, gets them, too, so
	// they are few.
	tailBytes = 1 << 10
	// smallSegment is a segment that is joined with what comes behind it, so
	// that a log does not become a long list of short segments.
	smallSegment = 64 << 10
	// segmentBytes is where a segment ends.
	segmentBytes = 512 << 10
)

// Compact implements thread.Store. The message that replaces the log is the one
// moment at which everything changes; what nothing points to any more is
// removed behind it.
func (s *Store) Compact(ctx context.Context, key thread.Key, head thread.Head, after, upTo uint64, entries []thread.Entry) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return s.wrap(ctx, key, s.compact(ctx, key, head, after, upTo, entries))
}

func (s *Store) compact(ctx context.Context, key thread.Key, head thread.Head, after, upTo uint64, entries []thread.Entry) error {
	at := s.subjects(key)
	var wait pause
	for {
		last, err := s.last(ctx, at.log)
		if err != nil {
			return err
		}
		now := last.end()
		switch {
		case !now.there() || now.head != head:
			return &thread.ConflictError{Head: now.head}
		case after == upTo && len(entries) == 0 && upTo <= head.Seq:
			return nil // nothing, which changes nothing
		}
		if err := thread.CheckCompact(key, head, after, upTo, entries); err != nil {
			return err
		}
		m := message{meta: meta{Gone: true}}
		if after > 0 || upTo < head.Seq || len(entries) > 0 {
			m.meta = meta{Epoch: head.Epoch, Seq: head.Seq, Updated: now.updated}
			m.segments, m.lines, err = s.rewrite(ctx, at, last, after, upTo, entries)
		}
		if err == nil {
			if err = s.publish(ctx, key, at, &m, now.at, true); err == nil {
				s.ends.put(at.log, m.end())
				s.leftovers(ctx, at, m)
				return nil
			}
		}
		// Missing messages and an overtaken one both mean that somebody else
		// got on; see append.
		if !overtaken(err) && !errors.Is(err, errMissing) || wait.took > s.lag {
			s.ends.put(at.log, end{})
			return err
		}
		if err := wait.take(ctx); err != nil {
			return err
		}
	}
}

// rewrite makes the log that a compaction leaves: segments, and the entries
// behind them.
func (s *Store) rewrite(ctx context.Context, at subjects, last message, after, upTo uint64, entries []thread.Entry) ([]segment, []byte, error) {
	messages, err := s.chain(ctx, at.log, end{}, 0, last)
	if err != nil {
		return nil, nil, err
	}
	p := packer{s: s, ctx: ctx, at: at}
	added := false
	add := func() error { // the new entries, in their place
		if added {
			return nil
		}
		added = true
		for _, e := range entries {
			if err := p.add(e.Seq, thread.AppendEntry(nil, e)); err != nil {
				return err
			}
		}
		return nil
	}
	keep := func(text []byte) error {
		for len(text) > 0 {
			data, rest, err := nextLine(text)
			if err != nil {
				return err
			}
			text = rest
			e, err := thread.DecodeEntry(data)
			if err != nil {
				return err
			}
			if e.Seq > after && e.Seq <= upTo {
				continue // it goes
			}
			if e.Seq > upTo {
				err = add()
			}
			if err = errors.Join(err, p.add(e.Seq, data)); err != nil {
				return err
			}
		}
		return nil
	}
	for _, m := range messages {
		for _, seg := range m.segments {
			switch {
			case seg.First > after && seg.Last <= upTo:
				// All of it goes.
			case seg.Last <= after, seg.First > upTo:
				if seg.First > upTo {
					if err := add(); err != nil {
						return nil, nil, err
					}
				}
				if err := p.addSegment(seg); err != nil {
					return nil, nil, err
				}
			default:
				text, err := s.content(ctx, seg)
				if err == nil {
					err = keep(text)
				}
				if err != nil {
					return nil, nil, err
				}
			}
		}
		if err := keep(m.lines); err != nil {
			return nil, nil, err
		}
	}
	if err := add(); err != nil {
		return nil, nil, err
	}
	if len(p.lines) > tailBytes {
		err = p.flush()
	}
	return p.segments, p.lines, err
}

// packer makes segments of entries.
type packer struct {
	s        *Store
	ctx      context.Context
	at       subjects
	segments []segment
	lines    []byte // of no segment yet
	first    uint64 // numbers of the entries in lines
	last     uint64
}

// add adds an entry.
func (p *packer) add(seq uint64, data []byte) error {
	if len(p.lines) == 0 {
		// What comes behind a short segment is joined with it.
		if n := len(p.segments) - 1; n >= 0 && p.segments[n].Size < smallSegment {
			text, err := p.s.content(p.ctx, p.segments[n])
			if err != nil {
				return err
			}
			p.lines, p.first = append(p.lines, text...), p.segments[n].First
			p.segments = p.segments[:n]
		} else {
			p.first = seq
		}
	}
	p.lines, p.last = append(append(p.lines, data...), '\n'), seq
	if len(p.lines) >= segmentBytes {
		return p.flush()
	}
	return nil
}

// addSegment adds a segment as it is.
func (p *packer) addSegment(seg segment) error {
	if err := p.flush(); err != nil {
		return err
	}
	p.segments = append(p.segments, seg)
	return nil
}

// flush makes a segment of what is in none yet.
func (p *packer) flush() error {
	if len(p.lines) == 0 {
		return nil
	}
	seg, err := p.s.store(p.ctx, p.at, p.lines, p.first, p.last)
	if err != nil {
		return err
	}
	p.segments, p.lines = append(p.segments, seg), nil
	return nil
}

// leftovers removes the segments of a log that its new first message does not
// point to: what it replaced, and what writers left that were refused or died.
// Only what is older than that message goes: whoever stores a segment now makes
// it for a message that follows this one, and a writer whose segment is older
// expects a message that is gone. What it cannot remove the next compaction
// will. With a forgotten log the message itself goes last, so that one that is
// there says that somebody did not get this far (see finish).
func (s *Store) leftovers(ctx context.Context, at subjects, first message) {
	if err := s.clean(ctx, at, first); err != nil {
		s.log.Warn("what a compaction left in the store could not be removed; the next one will", "store", s.shown, "error", err)
	}
}

func (s *Store) clean(ctx context.Context, at subjects, first message) error {
	used := map[string]bool{}
	for _, seg := range first.segments {
		used[at.data+"."+seg.Name] = true
	}
	there, err := s.names(ctx, at.data+".*")
	if err != nil {
		return err
	}
	for _, subject := range there {
		if used[subject] {
			continue
		}
		bounded, cancel := s.within(ctx)
		err := s.stream.Purge(bounded, jetstream.WithPurgeSubject(subject), jetstream.WithPurgeSequence(first.at))
		cancel()
		if err != nil {
			return s.failed(ctx, err)
		}
	}
	if !first.Gone {
		return nil
	}
	bounded, cancel := s.within(ctx)
	defer cancel()
	if err := s.stream.DeleteMsg(bounded, first.at); err != nil && !errors.Is(err, jetstream.ErrMsgNotFound) {
		return fmt.Errorf("message %d: %w", first.at, s.failed(ctx, err))
	}
	return nil
}

// names are the subjects of the stream's messages that fit a filter, as its
// leader has them.
func (s *Store) names(ctx context.Context, filter string) ([]string, error) {
	bounded, cancel := s.within(ctx)
	defer cancel()
	info, err := s.stream.Info(bounded, jetstream.WithSubjectFilter(filter))
	if err != nil {
		return nil, s.failed(ctx, err)
	}
	return slices.Collect(maps.Keys(info.State.Subjects)), nil
}

// finish goes on where somebody who forgot a log, or was to make a large one,
// did not get to the end of it: at is the number of the message that they left,
// which is the last one of the subject. It says once more that the log is gone,
// so that one who is only slow finds that somebody came between.
func (s *Store) finish(ctx context.Context, subject string, at uint64) {
	of := subjects{log: subject, data: s.prefix + ".data." + strings.TrimPrefix(subject, s.prefix+".log.")}
	m := message{meta: meta{Gone: true}}
	switch err := s.publish(ctx, thread.Key{}, of, &m, at, true); {
	case overtaken(err): // they got on, or somebody else is at it
	case err != nil:
		s.log.Warn("what a forgotten log left in the store could not be removed; the next list will", "store", s.shown, "error", err)
	default:
		s.leftovers(ctx, of, m)
	}
}
