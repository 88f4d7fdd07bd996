package jsondoc

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Pointer is a JSON Pointer (RFC 6901) in its string form: "" is the whole
// document, "/a/0" the first item of the member a. In a token ~1 stands for /
// and ~0 for ~. The empty token is a member name like any other: "/" is the
// member "".
type Pointer string

// ParsePointer checks a pointer that comes from outside.
func ParsePointer(s string) (Pointer, error) {
	if s == "" {
		return "", nil
	}
	if s[0] != '/' {
		return "", fmt.Errorf("pointer %q must be empty or start with /", clip(s))
	}
	for i := 0; i < len(s); i++ {
		if s[i] == '~' && (i+1 == len(s) || s[i+1] != '0' && s[i+1] != '1') {
			return "", fmt.Errorf("pointer %q: ~ at byte %d must be followed by 0 or 1", clip(s), i)
		}
	}
	if !utf8.ValidString(s) {
		return "", fmt.Errorf("pointer %q is not UTF-8", clip(s))
	}
	return Pointer(s), nil
}

// Path returns the pointer with these tokens, which are given unescaped.
func Path(tokens ...string) Pointer {
	p := Pointer("")
	for _, t := range tokens {
		p = p.Child(t)
	}
	return p
}

// Child returns the pointer to a member of what p points to.
func (p Pointer) Child(token string) Pointer {
	return Pointer(appendToken([]byte(p), token))
}

// Index returns the pointer to an item of what p points to.
func (p Pointer) Index(i int) Pointer {
	return p + "/" + Pointer(strconv.Itoa(i))
}

// appendToken appends a slash and the escaped token.
func appendToken(dst []byte, token string) []byte {
	dst = append(dst, '/')
	for i := 0; i < len(token); i++ {
		switch c := token[i]; c {
		case '~':
			dst = append(dst, '~', '0')
		case '/':
			dst = append(dst, '~', '1')
		default:
			dst = append(dst, c)
		}
	}
	return dst
}

// unescape undoes appendToken's escaping. ~01 is ~1, not /: the order matters.
func unescape(token string) string {
	if strings.IndexByte(token, '~') < 0 {
		return token
	}
	return strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
}

// next splits a pointer after its first token: "/a/b" gives "a" and "/b".
func (p Pointer) next() (token string, rest Pointer) {
	s := string(p[1:])
	if i := strings.IndexByte(s, '/'); i >= 0 {
		return unescape(s[:i]), Pointer(s[i:])
	}
	return unescape(s), ""
}

// Tokens returns the pointer's tokens, unescaped; none for the root.
func (p Pointer) Tokens() []string {
	if p == "" {
		return nil
	}
	tokens := strings.Split(strings.TrimPrefix(string(p), "/"), "/")
	for i, t := range tokens {
		tokens[i] = unescape(t)
	}
	return tokens
}

// Parent splits a pointer into what holds the place and the last token,
// unescaped. It is false for the root.
func (p Pointer) Parent() (Pointer, string, bool) {
	i := strings.LastIndexByte(string(p), '/')
	if i < 0 {
		return "", "", false
	}
	return p[:i], unescape(string(p[i+1:])), true
}

// Contains reports whether q is p's place or lies within it.
func (p Pointer) Contains(q Pointer) bool {
	return strings.HasPrefix(string(q), string(p)) && (len(q) == len(p) || q[len(p)] == '/')
}

// arrayIndex reads a token as the position of an item: digits without a leading
// zero (RFC 6901 section 4).
func arrayIndex(token string) (int, bool) {
	if token == "" || len(token) > 9 || token[0] == '0' && len(token) > 1 {
		return 0, false
	}
	n := 0
	for i := 0; i < len(token); i++ {
		if !isDigit(token[i]) {
			return 0, false
		}
		n = n*10 + int(token[i]-'0')
	}
	return n, true
}

// child returns the position of the token's place among v's children.
func (v Value) child(token string) (int, bool) {
	switch v.Kind() {
	case KindObject:
		i := v.n.box.shape.find(token)
		return i, i >= 0
	case KindArray:
		i, ok := arrayIndex(token)
		return i, ok && i < v.n.box.len()
	}
	return 0, false
}

// At returns the value at p, false if there is none. It is false for a p that
// is no pointer, too.
func (v Value) At(p Pointer) (Value, bool) {
	if v.n == nil || p != "" && p[0] != '/' {
		return Value{}, false
	}
	for p != "" {
		var token string
		token, p = p.next()
		i, ok := v.child(token)
		if !ok {
			return Value{}, false
		}
		v = v.n.box.at(i)
	}
	return v, true
}

// SetAt returns a copy of v with x at p, replaced or added. Missing parents are
// made as objects, whatever their token looks like. In an array the index must
// name an item, or be the length or "-", which append. x must not be absent.
func (v Value) SetAt(p Pointer, x Value) (Value, error) {
	if x.n == nil {
		return Value{}, fmt.Errorf("set %q: the value is absent", clip(string(p)))
	}
	if _, err := ParsePointer(string(p)); err != nil {
		return Value{}, err
	}
	if strings.Count(string(p), "/")+int(x.n.height) > hardMaxDepth {
		return Value{}, fmt.Errorf("set %q: nested too deep", clip(string(p)))
	}
	r, err := v.setAt(p, x)
	if err != nil {
		return Value{}, fmt.Errorf("set %q: %w", clip(string(p)), err)
	}
	return r, nil
}

func (v Value) setAt(p Pointer, x Value) (Value, error) {
	if p == "" {
		return x, nil
	}
	token, rest := p.next()
	if v.n == nil {
		v = newObject(noNames, nil)
	}
	var e editor
	if i, ok := v.child(token); ok {
		old := v.n.box.at(i)
		kid, err := old.setAt(rest, x)
		if err != nil {
			return Value{}, err
		}
		return e.replaceKid(v, i, kid, old.n.size), nil
	}
	kid, err := Value{}.setAt(rest, x)
	if err != nil {
		return Value{}, err
	}
	switch v.Kind() {
	case KindObject:
		return e.appendMember(v, token, kid), nil
	case KindArray:
		if i, ok := arrayIndex(token); token == "-" || ok && i == v.Len() {
			return e.insertItem(v, v.Len(), kid), nil
		}
		return Value{}, fmt.Errorf("%q is no index of an array of %d items", clip(token), v.Len())
	}
	return Value{}, fmt.Errorf("a %s has no member %q", v.Kind(), clip(token))
}
