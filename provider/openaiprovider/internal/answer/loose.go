package answer

import (
	"bytes"
	"encoding/json"
	"strconv"
	"time"
	"unicode/utf16"
	"unicode/utf8"
)

// The types here read members that servers send in several forms. Each takes
// everything: a member that makes no sense is as good as none, and no reason to lose
// the answer.

// integer is a whole number: as such, in quotes, or with a fraction of zero.
type integer struct {
	n   int
	set bool
}

func (v *integer) UnmarshalJSON(data []byte) error {
	*v = integer{}
	if len(data) < 10 { // nearly all there are, without a detour
		n := 0
		for i, c := range data {
			if c < '0' || c > '9' {
				break
			}
			n = 10*n + int(c-'0')
			if i == len(data)-1 {
				*v = integer{n, true}
				return nil
			}
		}
	}
	f, err := strconv.ParseFloat(string(bytes.Trim(data, `"`)), 64)
	if err == nil && f == float64(int(f)) {
		*v = integer{int(f), true}
	}
	return nil
}

// time is the number as seconds since 1970, zero if it is none.
func (v integer) time() time.Time {
	if v.n <= 0 {
		return time.Time{}
	}
	return time.Unix(int64(v.n), 0).UTC()
}

// word is a string, or the JSON text of something else; null is empty.
type word string

func (w *word) UnmarshalJSON(data []byte) error {
	switch data[0] {
	case '"':
		*w = word(unquote(data))
	case 'n':
		*w = ""
	default:
		*w = word(data)
	}
	return nil
}

// unquote is the text of a JSON string that is known to be one.
func unquote(data []byte) string {
	if inner := data[1 : len(data)-1]; bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) {
		return string(inner)
	}
	var text string
	_ = json.Unmarshal(data, &text)
	return text
}

// fragment is a piece of a text that goes on in another event. Servers that cut texts
// by UTF-16 units send one half of a surrogate pair in each of two pieces; Go strings
// cannot hold halves, so they are kept beside the text.
type fragment struct {
	text       string
	head, tail rune // the half that the piece begins or ends with, or 0
	parts      []struct {
		Text     string   `json:"text"`
		Thinking fragment `json:"thinking"`
	}
}

func (f *fragment) UnmarshalJSON(data []byte) error {
	*f = fragment{}
	switch data[0] {
	case 'n':
	case '"':
		inner := data[1 : len(data)-1]
		if h := half(inner); utf16.IsSurrogate(h) && h >= 0xDC00 {
			f.head, inner = h, inner[6:]
		}
		if n := len(inner) - 6; n >= 0 {
			if h := half(inner[n:]); utf16.IsSurrogate(h) && h < 0xDC00 && !escaped(inner[:n]) {
				f.tail, inner = h, inner[:n]
			}
		}
		if len(inner) < len(data)-2 {
			data = append(append([]byte{'"'}, inner...), '"')
		}
		f.text = unquote(data)
	case '[': // the content of some reasoning models
		if json.Unmarshal(data, &f.parts) == nil {
			return nil
		}
		fallthrough
	default: // arguments that are the object itself
		f.text = string(data)
	}
	return nil
}

// half reads a \uXXXX escape at the beginning of text, 0 if there is none.
func half(text []byte) rune {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0
	}
	n, _ := strconv.ParseUint(string(text[2:6]), 16, 16)
	return rune(n)
}

// escaped reports whether what follows text is behind an odd number of backslashes.
func escaped(text []byte) bool {
	n := len(text) - len(bytes.TrimRight(text, `\`))
	return n%2 == 1
}

// pair joins the fragments of one text.
type pair struct{ high rune }

// join returns what f adds to the text. Half of a pair waits for the other half.
func (p *pair) join(f fragment) string {
	text := f.text
	if f.head == 0 && f.tail == 0 && (p.high == 0 || text == "") {
		return text
	}
	if p.high != 0 || f.head != 0 {
		text = string(utf16.DecodeRune(p.high, f.head)) + text // U+FFFD if one is missing
	}
	p.high = f.tail
	return text
}

// said reports whether a member is there and not null.
func said(raw json.RawMessage) bool { return len(raw) > 0 && raw[0] != 'n' }
