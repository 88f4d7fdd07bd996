package nats

import (
	"context"
	"errors"
	"fmt"
	"strings"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// layout is kept in the stream's metadata, so that a later layout is not
// mistaken for this one.
const layout = "1"

// wanted is the stream's configuration. What follows on it: RePublish tells of
// every message once it is stored, a rollup replaces a log by one message, and a
// limit that an operator sets refuses new messages instead of dropping old ones.
func wanted(prefix string, replicas int) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:        prefix,
		Description: "threads of Lockstep; not to be edited by hand",
		Subjects:    []string{prefix + ".log.>", prefix + ".data.>"},
		Retention:   jetstream.LimitsPolicy,
		Discard:     jetstream.DiscardNew,
		Storage:     jetstream.FileStorage,
		Replicas:    max(replicas, 1),
		AllowRollup: true,
		AllowDirect: true,
		RePublish:   &jetstream.RePublish{Source: ">", Destination: prefix + ".new.>", HeadersOnly: true},
		Metadata:    map[string]string{"lockstep.layout": layout},
	}
}

// openStream finds the store's stream, or makes it.
func (s *Store) openStream(ctx context.Context, replicas int) error {
	js, err := jetstream.New(s.conn, jetstream.WithDefaultTimeout(answerTime))
	if err != nil {
		return err
	}
	s.js = js
	want := wanted(s.prefix, replicas)
	// Another process may make it between the two calls, hence the second look.
	for range 2 {
		s.stream, err = js.Stream(ctx, s.prefix)
		if !errors.Is(err, jetstream.ErrStreamNotFound) {
			break
		}
		if s.stream, err = js.CreateStream(ctx, want); !errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
			break
		}
	}
	switch {
	case errors.Is(err, jetstream.ErrJetStreamNotEnabled), errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount):
		return errors.New("JetStream is not enabled there; start the server with -js, or enable it for the account")
	case errors.Is(err, natsgo.ErrNoResponders):
		return errors.New("JetStream does not answer there: it is not enabled (start the server with -js), or its cluster has no leader yet")
	case err != nil:
		return fmt.Errorf("stream %s: %w", s.prefix, err)
	}
	got := s.stream.CachedInfo().Config
	if wrong := unfit(got, want); wrong != "" {
		return fmt.Errorf("stream %s %s; use another prefix, or repair the stream's configuration", s.prefix, wrong)
	}
	if replicas != 0 && got.Replicas != replicas {
		return fmt.Errorf("stream %s has %d replicas and the store's URL asks for %d; change the stream (nats stream edit) or the URL", s.prefix, got.Replicas, replicas)
	}
	s.replicas = got.Replicas
	return nil
}

// unfit says why a stream that is there cannot keep threads, or nothing. Limits
// of size, replicas, compression and placement are the operator's.
func unfit(got, want jetstream.StreamConfig) string {
	switch {
	case got.Metadata["lockstep.layout"] != layout:
		if v := got.Metadata["lockstep.layout"]; v != "" {
			return fmt.Sprintf("has layout %s, and this program knows %s", v, layout)
		}
		return "is not Lockstep's"
	case strings.Join(got.Subjects, " ") != strings.Join(want.Subjects, " "):
		return "has the subjects " + strings.Join(got.Subjects, " ")
	case got.Retention != want.Retention:
		return "drops messages that were read (retention)"
	case got.MaxAge != 0:
		return "drops messages by their age (max age); --retain forgets whole threads instead"
	case got.MaxMsgsPerSubject > 0:
		return "keeps only some messages of each thread (max messages per subject)"
	case got.Discard != want.Discard:
		return "drops old messages when it is full (discard old); use discard new"
	case !got.AllowRollup || got.DenyPurge || got.DenyDelete || got.Sealed:
		return "cannot be compacted (allow rollup, no deny of purge and delete)"
	case !got.AllowDirect:
		return "cannot be read directly (allow direct)"
	case got.NoAck:
		return "does not acknowledge (no ack)"
	case got.RePublish == nil || got.RePublish.Source != want.RePublish.Source || got.RePublish.Destination != want.RePublish.Destination:
		return "does not tell of new messages (republish > to " + want.RePublish.Destination + ", headers only)"
	}
	return ""
}
