package nats

import (
	"slices"
	"strings"
	"testing"

	natsgo "github.com/nats-io/nats.go"
	"pgregory.net/rapid"

	"github.com/lockstep-go/lockstep/thread"
)

// FuzzDecode: whatever stands in a stream, it is a message or an error, and a
// message that is stored again is the same one.
func FuzzDecode(f *testing.F) {
	f.Add(`{"v":1,"epoch":"e","seq":3,"after":2,"back":[7,1],"key":{"id":"dA"}}`, []byte("{}\n"))
	f.Add(`{"v":1,"gone":true}`, []byte(nil))
	f.Add(`{"v":1,"preface":39,"epoch":"e"}`, []byte(`{"key":{"id":"dA=="},"segments":[{"name":"x","first":1,"last":2,"size":3,"sum":4,"parts":[5]}]}`))
	f.Add(`{"v":2}`, []byte("x"))
	f.Add(`{"v":1,"preface":-1,"back":[1,18446744073709551615]}`, []byte("x"))
	f.Fuzz(func(t *testing.T, header string, body []byte) {
		m, err := decode(1, natsgo.Header{metaHeader: {header}}, body)
		if err != nil {
			return
		}
		m.before()
		m.end()
		for text := m.lines; len(text) > 0; {
			_, rest, err := nextLine(text)
			if err != nil {
				break
			}
			text = rest
		}
		key := thread.Key{ID: "t"}
		msg, err := encode("subject", key, &m)
		if err != nil {
			t.Fatal(err)
		}
		again, err := decode(1, msg.Header, msg.Data)
		if err != nil {
			t.Fatal(err)
		}
		if again.Epoch != m.Epoch || again.Seq != m.Seq || !slices.Equal(again.Back, m.Back) || string(again.lines) != string(m.lines) || len(again.segments) != len(m.segments) {
			t.Fatalf("%+v\nis stored as\n%+v", m, again)
		}
	})
}

// FuzzAddress: no URL makes an error that shows what stands before the @.
func FuzzAddress(f *testing.F) {
	f.Add("nats://", "@127.0.0.1:4222?replicas=3&prefix=x")
	f.Add("tls://ann:", "@a,b:1?creds=f")
	f.Fuzz(func(t *testing.T, begin, end string) {
		const word = "hidden-word"
		_, err := parseAddress(begin + word + "@" + end)
		if err != nil && strings.Contains(err.Error(), word) && !strings.Contains(begin+"@"+end, "?") && strings.HasPrefix(begin, "nats://") {
			t.Fatal(err)
		}
	})
}

// TestBack is the law of going back: from the last message on, each of the log's
// messages is met once, the newest first, in a number of steps that backMost
// bounds.
func TestBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		stream := map[uint64]message{}
		var want []uint64
		at, now := uint64(0), end{}
		for range rapid.IntRange(1, 300).Draw(t, "messages") {
			at += rapid.Uint64Range(1, 1<<40).Draw(t, "distance")
			m := message{at: at, meta: meta{Epoch: "e", Back: now.back}}
			if len(m.Back) > backMost {
				t.Fatalf("message %d names %d messages", at, len(m.Back))
			}
			stream[at], now = m, m.end()
			want = append(want, at)
		}
		slices.Reverse(want)
		got, steps := []uint64{now.at}, 0
		for m := stream[now.at]; len(m.Back) > 0; m = stream[got[len(got)-1]] {
			got = append(got, m.before()...)
			steps++
		}
		if !slices.Equal(got, want) {
			t.Fatalf("back it goes\n%v, want\n%v", got, want)
		}
		if most := len(want)/backMost + 1; steps > most {
			t.Fatalf("%d steps for %d messages, want at most %d", steps, len(want), most)
		}
	})
}

// TestTokens: subjects of keys are apart, and are single tokens.
func TestTokens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) thread.Key {
			part := rapid.StringN(0, 6, -1)
			return thread.Key{Agent: part.Draw(t, name), Principal: part.Draw(t, name), ID: part.Draw(t, name)}
		}
		s := Store{prefix: "p"}
		a, b := draw("a"), draw("b")
		if (a == b) != (s.subjects(a) == s.subjects(b)) {
			t.Fatalf("%q and %q", a, b)
		}
		for _, subject := range []string{s.subjects(a).log, s.subjects(a).data} {
			if strings.Count(subject, ".") != 3 || strings.ContainsAny(subject, "*> \t\r\n") {
				t.Fatalf("%q is no subject of four tokens", subject)
			}
		}
	})
}
