package nats

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Two ways lead to a stream's messages. The API is answered by the stream's
// leader and so says what is true now, one message at a time. Direct gets are
// answered by any server that has a copy, many messages at a time, and a copy
// may be behind. So the leader is asked for the last message of a log, and
// copies for those that it builds on: they join or they do not, and numbers of
// a stream are given once.

// errMissing says that a server has not the messages that were asked for: its
// copy is behind, or a compaction took them away meanwhile.
var errMissing = errors.New("messages of the log are missing; the stream is damaged, or messages were removed from it by other means")

// last asks the stream's leader for the last message of a subject. There is
// none where its number is 0.
func (s *Store) last(ctx context.Context, subject string) (message, error) {
	request, err := json.Marshal(map[string]string{"last_by_subj": subject})
	if err != nil {
		return message{}, err
	}
	bounded, cancel := s.within(ctx)
	defer cancel()
	answer, err := s.conn.RequestWithContext(bounded, "$JS.API.STREAM.MSG.GET."+s.prefix, request)
	if err != nil {
		return message{}, s.failed(ctx, err)
	}
	var got struct {
		Error   *jetstream.APIError `json:"error"`
		Message struct {
			Seq    uint64 `json:"seq"`
			Header []byte `json:"hdrs"`
			Body   []byte `json:"data"`
		} `json:"message"`
	}
	if err := json.Unmarshal(answer.Data, &got); err != nil {
		return message{}, fmt.Errorf("the server's answer: %w", err)
	}
	switch {
	case got.Error != nil && got.Error.ErrorCode == jetstream.JSErrCodeMessageNotFound:
		return message{}, nil
	case got.Error != nil:
		return message{}, s.failed(ctx, got.Error)
	}
	header, err := natsgo.DecodeHeadersMsg(got.Message.Header)
	if err != nil {
		return message{}, fmt.Errorf("message %d of the stream: %w", got.Message.Seq, err)
	}
	return decode(got.Message.Seq, header, got.Message.Body)
}

// direct asks whatever server has a copy of the stream.
type direct struct {
	Seq      uint64   `json:"seq,omitempty"` // the message, or where to begin
	LastFor  []string `json:"multi_last,omitempty"`
	UpTo     uint64   `json:"up_to_seq,omitempty"`
	MaxBytes int      `json:"max_bytes,omitempty"`
}

// chain returns the messages of a log that have its entries behind a number, up
// to and with last, which is the present one. from is an end of the log that
// the caller knows and does not want again; it may be an end of another log.
// chain fails with errMissing where the messages do not join: then a compaction
// took some away, or a copy of the stream is behind.
func (s *Store) chain(ctx context.Context, subject string, from end, after uint64, last message) ([]message, error) {
	if from.head.Seq > after {
		from = end{}
	}
	list := []message{last} // the newest first
	for oldest, known := last, false; oldest.After > after && len(oldest.Back) > 0 && !known; oldest = list[len(list)-1] {
		wanted := oldest.before()
		if i := slices.Index(wanted, from.at); i >= 0 {
			wanted, known = wanted[:i], true
		}
		got, err := s.get(ctx, wanted)
		if err != nil {
			return nil, err
		}
		for _, seq := range wanted {
			msg, next := got[seq], list[len(list)-1]
			if msg == nil {
				return nil, errMissing
			}
			m, err := decode(seq, msg.Header, msg.Data)
			if err != nil {
				return nil, err
			}
			if msg.Header.Get(jetstream.SubjectHeader) != subject || m.Epoch != next.Epoch || m.Seq != next.After {
				return nil, errMissing
			}
			list = append(list, m)
		}
	}
	slices.Reverse(list)
	return list, nil
}

// partsAtOnce is how many messages of a segment are asked for at once.
const partsAtOnce = 16

// content returns the entries of a segment.
func (s *Store) content(ctx context.Context, seg segment) ([]byte, error) {
	out := make([]byte, 0, max(seg.Size, 0))
	for some := range slices.Chunk(seg.Parts, partsAtOnce) {
		got, err := s.get(ctx, some)
		if err != nil {
			return nil, err
		}
		for _, seq := range some {
			if got[seq] == nil {
				return nil, errMissing
			}
			out = append(out, got[seq].Data...)
		}
	}
	if len(out) != seg.Size || checksum(out) != seg.Sum {
		return nil, fmt.Errorf("entries %d to %d of the log are damaged: their checksum is another one", seg.First, seg.Last)
	}
	return out, nil
}

// get returns messages by their numbers, which it asks for at once. It fails
// with errMissing where one is not there.
func (s *Store) get(ctx context.Context, seqs []uint64) (map[uint64]*natsgo.Msg, error) {
	if len(seqs) == 0 {
		return nil, nil
	}
	var requests [][]byte
	for _, seq := range seqs {
		text, err := json.Marshal(direct{Seq: seq})
		if err != nil {
			return nil, err
		}
		requests = append(requests, text)
	}
	out := make(map[uint64]*natsgo.Msg, len(seqs))
	return out, s.ask(ctx, "$JS.API.DIRECT.GET."+s.prefix, requests, func(status string, msg *natsgo.Msg) (more bool, err error) {
		switch status {
		case "":
			seq, err := strconv.ParseUint(msg.Header.Get(jetstream.SequenceHeader), 10, 64)
			if err != nil {
				return false, fmt.Errorf("the server's answer has no number: %w", err)
			}
			out[seq] = msg
			return len(out) < len(seqs), nil
		case "404":
			return false, errMissing
		}
		return false, fmt.Errorf("the server answers a read with %s %s", status, msg.Header.Get("Description"))
	})
}

// ask sends requests that may have many answers and calls each with them, until
// it wants no more. A status is an answer that is no message, empty for one.
func (s *Store) ask(ctx context.Context, subject string, requests [][]byte, each func(status string, msg *natsgo.Msg) (more bool, err error)) error {
	inbox := s.conn.NewInbox()
	sub, err := s.conn.SubscribeSync(inbox)
	if err != nil {
		return s.failed(ctx, err)
	}
	defer func() { _ = sub.Unsubscribe() }() // it fails only where the connection is closed
	// What can come is bounded by what is asked for.
	if err := sub.SetPendingLimits(-1, -1); err != nil {
		return s.failed(ctx, err)
	}
	for _, text := range requests {
		if err := s.conn.PublishRequest(subject, inbox, text); err != nil {
			return s.failed(ctx, err)
		}
	}
	for {
		bounded, cancel := s.within(ctx)
		msg, err := sub.NextMsgWithContext(bounded)
		cancel()
		if err != nil {
			return s.failed(ctx, err)
		}
		if more, err := each(msg.Header.Get("Status"), msg); !more || err != nil {
			return err
		}
	}
}
