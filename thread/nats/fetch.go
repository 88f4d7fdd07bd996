package nats

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
	NextFor  string   `json:"next_by_subj,omitempty"`
	LastFor  []string `json:"multi_last,omitempty"`
	UpTo     uint64   `json:"up_to_seq,omitempty"`
	Batch    int      `json:"batch,omitempty"`
	MaxBytes int      `json:"max_bytes,omitempty"`
}

// A page is what one request asks for.
const (
	pageMessages = 1000
	pageBytes    = 4 << 20
	partsAtOnce  = 8
)

// chain returns the messages of a log up to and with last, which is the present
// one: from the log's first one on, or those behind from, where that is an end
// of the log as it still is. It fails with errMissing where they do not join.
func (s *Store) chain(ctx context.Context, subject string, from end, last message) ([]message, error) {
	prev, next := uint64(0), last.end().root
	if from.root == next {
		prev, next = from.at, from.at+1
	}
	if last.Prev == prev {
		return []message{last}, nil
	}
	var out []message
	for prev != last.Prev {
		before := next
		err := s.answers(ctx, []direct{{Seq: next, NextFor: subject, Batch: pageMessages, MaxBytes: pageBytes}}, func(seq uint64, msg *natsgo.Msg) error {
			if seq >= last.at {
				return nil
			}
			m, err := decode(seq, msg.Header, msg.Data)
			if err != nil {
				return err
			}
			if m.Prev != prev || m.end().root != last.end().root {
				return errMissing
			}
			out, prev, next = append(out, m), seq, seq+1
			return nil
		})
		if err != nil {
			return nil, err
		}
		if next == before {
			return nil, errMissing
		}
	}
	return append(out, last), nil
}

// content returns the entries of a segment.
func (s *Store) content(ctx context.Context, seg segment) ([]byte, error) {
	parts := make(map[uint64][]byte, len(seg.Parts))
	for left := seg.Parts; len(left) > 0; {
		n := min(len(left), partsAtOnce)
		var requests []direct
		for _, seq := range left[:n] {
			requests = append(requests, direct{Seq: seq})
		}
		err := s.answers(ctx, requests, func(seq uint64, msg *natsgo.Msg) error {
			parts[seq] = msg.Data
			return nil
		})
		if err != nil {
			return nil, err
		}
		left = left[n:]
	}
	var out []byte
	if len(seg.Parts) > 1 {
		size := 0
		for _, p := range parts {
			size += len(p)
		}
		out = make([]byte, 0, size)
	}
	for _, seq := range seg.Parts {
		part, ok := parts[seq]
		if !ok {
			return nil, errMissing
		}
		if len(seg.Parts) == 1 {
			out = part
		} else {
			out = append(out, part...)
		}
	}
	if len(out) != seg.Size || checksum(out) != seg.Sum {
		return nil, fmt.Errorf("entries %d to %d of the log are damaged: their checksum is another one", seg.First, seg.Last)
	}
	return out, nil
}

// answers sends requests at once and calls each with the messages that come,
// and their numbers in the stream, in the order in which they come. It fails
// with errMissing where a request finds nothing.
func (s *Store) answers(ctx context.Context, requests []direct, each func(seq uint64, msg *natsgo.Msg) error) error {
	var texts [][]byte
	for _, r := range requests {
		text, err := json.Marshal(r)
		if err != nil {
			return err
		}
		texts = append(texts, text)
	}
	open := len(requests)
	return s.ask(ctx, "$JS.API.DIRECT.GET."+s.prefix, texts, func(status string, msg *natsgo.Msg) (more bool, err error) {
		switch status {
		case "": // a message
		case "204": // the end of a batch
			open--
			return open > 0, nil
		case "404":
			return false, errMissing
		default:
			return false, fmt.Errorf("the server answers a read with %s %s", status, msg.Header.Get("Description"))
		}
		seq, err := strconv.ParseUint(msg.Header.Get(jetstream.SequenceHeader), 10, 64)
		if err != nil {
			return false, fmt.Errorf("the server's answer has no number: %w", err)
		}
		if msg.Header.Get("Nats-Num-Pending") == "" { // no batch: it was all
			open--
		}
		return open > 0, each(seq, msg)
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
