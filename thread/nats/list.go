package nats

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/lockstep-go/lockstep/thread"
)

// List implements thread.Store. There is no index that could fall behind the
// logs: each log's last message says whose it is and when it was appended to,
// and a consumer gets these headers. It takes time with the number of the
// principal's threads, whatever the limit is.
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

// scan finds logs by the last two tokens of their subjects, and returns those
// that are wanted by their subjects.
//
// Appends and compactions go on meanwhile. A log whose last message was replaced
// before its turn came does not get lost: the consumer delivers, behind what was
// there when it began, what is new. So the scan ends where the stream was when
// the first new message came, and of two messages of a log the second counts.
func (s *Store) scan(ctx context.Context, tokens string, want func(lastOf) bool) (map[string]lastOf, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	begin, err := s.length(ctx)
	if err != nil {
		return nil, s.failed(ctx, err)
	}
	name, pending, err := s.lastOfEach(ctx, s.prefix+".log."+tokens)
	if err != nil {
		return nil, s.failed(ctx, err)
	}
	defer func() {
		bounded, cancel := s.within(context.WithoutCancel(ctx))
		defer cancel()
		// Where it fails the server removes the consumer by itself.
		_ = s.stream.DeleteConsumer(bounded, name)
	}()
	var stop uint64
	out := map[string]lastOf{}
	for pending > 0 {
		messages, left, err := s.pull(ctx, name)
		if err != nil {
			return nil, err
		}
		for _, m := range messages {
			switch l, err := s.lastOf(ctx, m); {
			case errors.Is(err, errMissing):
				delete(out, m.subject)
			case err != nil:
				return nil, err
			case want(l):
				out[m.subject] = l
			default:
				delete(out, m.subject)
			}
		}
		if len(messages) == 0 {
			break
		}
		last := messages[len(messages)-1].at
		if stop == 0 && last > begin {
			if stop, err = s.length(ctx); err != nil {
				return nil, s.failed(ctx, err)
			}
		}
		if stop > 0 && last >= stop {
			break
		}
		pending = left
	}
	return out, nil
}

// headed is the last message of a log without its body.
type headed struct {
	message
	subject string
}

// pull takes the next messages from a consumer, and says how many are left.
func (s *Store) pull(ctx context.Context, consumer string) (out []headed, left uint64, err error) {
	request := fmt.Appendf(nil, `{"batch":%d,"no_wait":true}`, pageMessages)
	err = s.ask(ctx, "$JS.API.CONSUMER.MSG.NEXT."+s.prefix+"."+consumer, [][]byte{request}, func(status string, msg *natsgo.Msg) (more bool, err error) {
		switch status {
		case "":
		case "404": // there are no more
			left = 0
			return false, nil
		default:
			return false, fmt.Errorf("the server answers a list with %s %s", status, msg.Header.Get("Description"))
		}
		about, err := msg.Metadata()
		if err != nil {
			return false, err
		}
		m, err := decode(about.Sequence.Stream, msg.Header, nil, true)
		if err != nil {
			return false, err
		}
		out, left = append(out, headed{m, msg.Subject}), about.NumPending
		return left > 0 && len(out) < pageMessages, nil
	})
	return out, left, err
}

// lastOf is what a message says about its log. It fails with errMissing where
// there is no log any more.
func (s *Store) lastOf(ctx context.Context, m headed) (lastOf, error) {
	l := lastOf{updated: time.UnixMilli(m.Updated).UTC()}
	switch {
	case m.Gone:
		s.finish(ctx, m.subject, m.message)
		return l, errMissing
	case m.Key != nil:
		l.key = m.Key.key()
		return l, nil
	}
	whole, err := s.last(ctx, m.subject, false) // for the key, which is long
	switch {
	case err != nil:
		return l, err
	case whole.at == 0 || whole.Gone:
		return l, errMissing
	case whole.key == nil:
		return l, fmt.Errorf("message %d of the stream names no thread", whole.at)
	}
	l.key = whole.key.key()
	return l, nil
}

// length is the number of the stream's last message.
func (s *Store) length(ctx context.Context) (uint64, error) {
	bounded, cancel := s.within(ctx)
	defer cancel()
	info, err := s.stream.Info(bounded)
	if err != nil {
		return 0, err
	}
	return info.State.LastSeq, nil
}

// lastOfEach makes a consumer of the last message of each subject, without its
// body, and says how many these are.
func (s *Store) lastOfEach(ctx context.Context, filter string) (name string, pending uint64, err error) {
	bounded, cancel := s.within(ctx)
	defer cancel()
	consumer, err := s.stream.CreateConsumer(bounded, jetstream.ConsumerConfig{
		Description:       "Lockstep lists threads",
		DeliverPolicy:     jetstream.DeliverLastPerSubjectPolicy,
		AckPolicy:         jetstream.AckNonePolicy,
		FilterSubject:     filter,
		HeadersOnly:       true,
		MemoryStorage:     true,
		Replicas:          1,
		InactiveThreshold: 30 * time.Second,
	})
	if err != nil {
		return "", 0, err
	}
	info := consumer.CachedInfo()
	return info.Name, info.NumPending, nil
}
