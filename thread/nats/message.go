package nats

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"

	natsgo "github.com/nats-io/nats.go"

	"github.com/lockstep-go/lockstep/thread"
)

// metaHeader is the header that says what a message of a log is.
const metaHeader = "Lockstep"

// formVersion changes when a message of the old form would be read wrongly by
// the new code.
const formVersion = 1

// meta is the value of metaHeader, as JSON. The names are for ever.
type meta struct {
	Version int `json:"v"`
	// Epoch and Seq are where the log ends behind this message.
	Epoch string `json:"epoch,omitempty"`
	Seq   uint64 `json:"seq,omitempty"`
	// Updated is thread.Listed's, in Unix milliseconds.
	Updated int64 `json:"updated,omitempty"`
	// After is where the log ended before this message, and Back the messages
	// that go before it: the stream's number of the last one, then how much
	// less the next older one's is, and so on. It is not all of them: the
	// oldest that it names names more (see backMost). It is empty in the
	// message that the log begins with.
	After uint64   `json:"after,omitempty"`
	Back  []uint64 `json:"back,omitempty"`
	// Preface is how many bytes of the body go before its entries.
	Preface int `json:"preface,omitempty"`
	// Gone says that the log was forgotten: this message holds nothing.
	Gone bool `json:"gone,omitempty"`
	// Key is the log's, nil where it is so long that it stands in the preface.
	Key *storedKey `json:"key,omitempty"`
}

// storedKey is a thread.Key. Its parts are any bytes, so JSON has them in
// base64.
type storedKey struct {
	Agent     []byte `json:"agent,omitempty"`
	Principal []byte `json:"principal,omitempty"`
	ID        []byte `json:"id"`
}

func storeKey(k thread.Key) *storedKey {
	return &storedKey{Agent: []byte(k.Agent), Principal: []byte(k.Principal), ID: []byte(k.ID)}
}

func (k *storedKey) key() thread.Key {
	return thread.Key{Agent: string(k.Agent), Principal: string(k.Principal), ID: string(k.ID)}
}

// backMost is how many messages one message names at most. So a log is read from
// its end with one question for that many messages, wherever in the stream they
// are: nothing is searched, however much of other logs lies between.
const backMost = 32

// longKey is how many bytes a key may have to stand in the header. A server
// takes 64 KB of headers at most.
const longKey = 4 << 10

// preface is the JSON that goes before the entries of a body, where there is
// something to say.
type preface struct {
	Key      *storedKey `json:"key,omitempty"`
	Segments []segment  `json:"segments,omitempty"`
}

// segment is a run of entries that is kept outside the log's messages, because
// it is large or because a compaction left it where it was. It goes before the
// entries of the body.
type segment struct {
	Name  string   `json:"name"`  // last token of its messages' subject
	First uint64   `json:"first"` // numbers of its entries
	Last  uint64   `json:"last"`
	Size  int      `json:"size"`  // of all parts together
	Sum   uint32   `json:"sum"`   // CRC-32C of all parts together
	Parts []uint64 `json:"parts"` // the stream's numbers of its messages
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(data []byte) uint32 { return crc32.Checksum(data, castagnoli) }

// message is a stored message of a log. The zero message is none.
type message struct {
	meta
	at       uint64 // the stream's number
	segments []segment
	key      *storedKey // of the preface
	lines    []byte     // entries, each with its line end
}

// decode reads a stored message.
func decode(at uint64, header natsgo.Header, body []byte) (message, error) {
	m := message{at: at}
	fail := func(format string, args ...any) (message, error) {
		return message{}, fmt.Errorf("message %d of the stream: "+format, append([]any{at}, args...)...)
	}
	text := header.Get(metaHeader)
	if text == "" {
		return fail("it has no header %q; is the stream another program's?", metaHeader)
	}
	if err := json.Unmarshal([]byte(text), &m.meta); err != nil {
		return fail("its header %q: %w", metaHeader, err)
	}
	if m.Version != formVersion {
		return fail("it has version %d, this program reads version %d; use the program that wrote it", m.Version, formVersion)
	}
	if m.Preface < 0 || m.Preface > len(body) {
		return fail("its preface is longer than its body")
	}
	if m.Preface > 0 {
		var p preface
		if err := json.Unmarshal(body[:m.Preface], &p); err != nil {
			return fail("its preface: %w", err)
		}
		m.segments, m.key = p.Segments, p.Key
	}
	m.lines = body[m.Preface:]
	return m, nil
}

// encode makes the message that can be published. It sets m.Preface, and where
// the key stands.
func encode(subject string, key thread.Key, m *message) (*natsgo.Msg, error) {
	m.Version = formVersion
	p := preface{Segments: m.segments}
	switch k := storeKey(key); {
	case m.Gone: // nothing of a log that was forgotten stays, its name neither
	case len(key.Agent)+len(key.Principal)+len(key.ID) > longKey:
		p.Key = k
	default:
		m.Key = k
	}
	var body []byte
	if p.Key != nil || len(p.Segments) > 0 {
		text, err := json.Marshal(p)
		if err != nil {
			return nil, err
		}
		body = append(text, '\n')
	}
	m.Preface = len(body)
	head, err := json.Marshal(m.meta)
	if err != nil {
		return nil, err
	}
	return &natsgo.Msg{Subject: subject, Header: natsgo.Header{metaHeader: {string(head)}}, Data: append(body, m.lines...)}, nil
}

// before are the stream's numbers of the messages that m names, the newest
// first.
func (m *message) before() []uint64 {
	out := make([]uint64, len(m.Back))
	at := uint64(0)
	for i, n := range m.Back {
		if i == 0 {
			at = n
		} else {
			at -= min(n, at)
		}
		out[i] = at
	}
	return out
}

// end is where a log ends: what an append needs to know of it. The zero end is
// that of no log.
type end struct {
	at   uint64   // the stream's number of the log's last message; what an append expects
	back []uint64 // meta.Back of the next message
	head thread.Head
	// updated is thread.Listed's, in Unix milliseconds.
	updated int64
}

// there reports whether there is a log.
func (e end) there() bool { return e.head.Epoch != "" }

// end is where the log ends behind the message.
func (m *message) end() end {
	if m.Gone || m.at == 0 {
		return end{at: m.at}
	}
	e := end{at: m.at, updated: m.Updated, head: thread.Head{Epoch: m.Epoch, Seq: m.Seq}}
	e.back = []uint64{m.at}
	if n := len(m.Back); n > 0 && n < backMost {
		e.back = append(append(e.back, m.at-m.Back[0]), m.Back[1:]...)
	}
	return e
}

// line appends an entry to a text of entries.
func line(dst []byte, e thread.Entry) []byte { return append(thread.AppendEntry(dst, e), '\n') }

// nextLine cuts the first line off a text of entries.
func nextLine(text []byte) (first, rest []byte, err error) {
	i := bytes.IndexByte(text, '\n')
	if i < 0 {
		return nil, nil, fmt.Errorf("the last entry has no line end")
	}
	return text[:i], text[i+1:], nil
}

// subjects are those of a key.
type subjects struct {
	log  string // its log's
	data string // its segments', without their names
}

// owner is the token of an agent's principal.
func owner(agent, principal string) string {
	return token(agent, principal)[:22] // 128 bits: a collision would only make a list longer to look through
}

// token makes one token of strings. Keys may be of any bytes and length,
// subjects may not. It has all 256 bits, so that nobody finds two keys of one
// token.
func token(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write(binary.AppendUvarint(nil, uint64(len(p))))
		h.Write([]byte(p))
	}
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}

func (s *Store) subjects(key thread.Key) subjects {
	name := owner(key.Agent, key.Principal) + "." + token(key.Agent, key.Principal, key.ID)
	return subjects{log: s.prefix + ".log." + name, data: s.prefix + ".data." + name}
}
