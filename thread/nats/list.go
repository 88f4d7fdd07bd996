package nats

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/lockstep-go/lockstep/thread"
)

// List implements thread.Store. There is no index that could fall behind the
// logs: each log's last message says whose it is and when it was appended to. It
// takes time with the number of the principal's threads, whatever the limit is.
func (s *Store) List(ctx context.Context, agent, principal string, after thread.Listed, limit int) ([]thread.Listed, error) {
	logs, err := s.scan(ctx, owner(agent, principal)+".*", func(l lastOf) bool {
		one := thread.Listed{ID: l.key.ID, Updated: l.updated}
		return l.key.Agent == agent && l.key.Principal == principal && (after == thread.Listed{} || newestFirst(after, one) < 0)
	})
	if err != nil {
		return nil, s.wrap(ctx, thread.Key{}, err)
	}
	out := make([]thread.Listed, 0, len(logs))
	for _, l := range logs {
		out = append(out, thread.Listed{ID: l.key.ID, Updated: l.updated})
	}
	slices.SortFunc(out, newestFirst)
	return out[:min(len(out), max(limit, 0))], nil
}

func newestFirst(a, b thread.Listed) int {
	return cmp.Or(b.Updated.Compare(a.Updated), strings.Compare(a.ID, b.ID))
}

// Stale implements thread.Store. It looks at the last message of every log.
func (s *Store) Stale(ctx context.Context, before time.Time, limit int) ([]thread.Key, error) {
	logs, err := s.scan(ctx, "*.*", func(l lastOf) bool { return l.updated.Before(before) })
	if err != nil {
		return nil, s.wrap(ctx, thread.Key{}, err)
	}
	old := slices.SortedFunc(maps.Values(logs), func(a, b lastOf) int { return a.updated.Compare(b.updated) })
	var out []thread.Key
	for _, l := range old[:min(len(old), max(limit, 0))] {
		out = append(out, l.key)
	}
	return out, nil
}

// lastOf is what the last message of a log says about it.
type lastOf struct {
	key     thread.Key
	updated time.Time
}

// pageBytes is how many bytes one answer has, about.
const pageBytes = 4 << 20

// manySubjects is how many subjects one request names: a server gives the last
// messages of at most 1024.
const manySubjects = 512

// scan finds logs by the last two tokens of their subjects, and returns those
// that are wanted by their subjects. It sees every append that was acknowledged
// before it began.
//
// A consumer of the last message of each subject would do without the messages'
// bodies. But where one of these messages is replaced before its turn comes, the
// server (2.15) says that there are no more. So last messages are kept small
// (see tailBytes), and are got directly.
func (s *Store) scan(ctx context.Context, tokens string, want func(lastOf) bool) (map[string]lastOf, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	filter := s.prefix + ".log." + tokens
	begin, err := s.length(ctx)
	if err != nil {
		return nil, err
	}
	out := map[string]lastOf{}
	each := func(subject string, stored time.Time, m message) {
		l := lastOf{updated: time.UnixMilli(m.Updated).UTC()}
		switch {
		case m.Gone:
			if time.Since(stored) > s.patience {
				s.finish(ctx, subject, m.at)
			}
			return
		case m.Key != nil:
			l.key = m.Key.key()
		case m.key != nil:
			l.key = m.key.key()
		}
		if want(l) {
			out[subject] = l
		}
	}
	err = s.lastOfEach(ctx, []string{filter}, begin, each)
	if !errors.Is(err, errTooMany) {
		return out, err
	}
	names, err := s.names(ctx, filter)
	if err != nil {
		return nil, err
	}
	for some := range slices.Chunk(names, manySubjects) {
		if err := s.lastOfEach(ctx, some, begin, each); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// errTooMany says that more subjects fit than a server answers for at once.
var errTooMany = errors.New("nats: too many logs for one request")

// lastOfEach calls each with the last message of each subject, as a copy of the
// stream has it that is not behind the number atLeast.
func (s *Store) lastOfEach(ctx context.Context, filters []string, atLeast uint64, each func(subject string, stored time.Time, m message)) error {
	var wait pause
	for {
		type found struct {
			subject string
			stored  time.Time
			message message
		}
		var list []found
		next, upTo, left := uint64(0), uint64(0), true
		for left {
			request, err := json.Marshal(direct{Seq: next, LastFor: filters, UpTo: upTo, MaxBytes: pageBytes})
			if err != nil {
				return err
			}
			err = s.ask(ctx, "$JS.API.DIRECT.GET."+s.prefix, [][]byte{request}, func(status string, msg *natsgo.Msg) (more bool, err error) {
				number := func(name string) (n uint64) {
					if err == nil {
						n, err = strconv.ParseUint(msg.Header.Get(name), 10, 64)
					}
					return n
				}
				switch status {
				case "":
					seq := number(jetstream.SequenceHeader)
					if err != nil {
						return false, err
					}
					m, err := decode(seq, msg.Header, msg.Data)
					// Without a time it is of long ago, which does no harm.
					stored, _ := time.Parse(time.RFC3339Nano, msg.Header.Get(jetstream.TimeStampHeaer))
					list = append(list, found{msg.Header.Get(jetstream.SubjectHeader), stored, m})
					next = seq + 1
					return true, err
				case "204": // the end of a page
					left, upTo = number("Nats-Num-Pending") > 0, number("Nats-UpTo-Sequence")
					return false, err
				case "404": // no more
					left = false
					return false, nil
				case "413":
					return false, errTooMany
				}
				return false, fmt.Errorf("the server answers a list with %s %s", status, msg.Header.Get("Description"))
			})
			if err != nil {
				return err
			}
		}
		if upTo == 0 { // a copy that has nothing does not say how far it is
			there, err := s.any(ctx, filters)
			if err != nil || !there {
				return err
			}
		}
		if upTo >= atLeast {
			for _, f := range list {
				each(f.subject, f.stored, f.message)
			}
			return nil
		}
		if wait.took > s.lag {
			return &unavailable{errors.New("a copy of the stream is behind")}
		}
		if err := wait.take(ctx); err != nil {
			return err
		}
	}
}

// any reports whether the stream's leader has messages of subjects.
func (s *Store) any(ctx context.Context, filters []string) (bool, error) {
	for _, filter := range filters {
		if names, err := s.names(ctx, filter); err != nil || len(names) > 0 {
			return true, err
		}
	}
	return false, nil
}

// length is the number of the stream's last message.
func (s *Store) length(ctx context.Context) (uint64, error) {
	bounded, cancel := s.within(ctx)
	defer cancel()
	info, err := s.stream.Info(bounded)
	if err != nil {
		return 0, s.failed(ctx, err)
	}
	return info.State.LastSeq, nil
}
