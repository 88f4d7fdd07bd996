package agui

import (
	"strings"

	"github.com/lockstep-go/lockstep/jsondoc"
)

// Content is what a message says: a text, or a list of parts, or nothing. The
// zero value is absent, which is not the empty text. Contents are compared with
// [Content.Equal].
type Content struct {
	text  string
	parts []ContentPart
	kind  contentKind
}

type contentKind uint8

const (
	contentAbsent contentKind = iota
	contentText
	contentParts
)

// Text makes a text content; "" is the empty text, not an absent one.
func Text(s string) Content { return Content{text: s, kind: contentText} }

// Parts makes a content of parts, which it keeps without copying.
func Parts(parts ...ContentPart) Content {
	if parts == nil {
		parts = []ContentPart{}
	}
	return Content{parts: parts, kind: contentParts}
}

// IsAbsent reports whether there is no content at all.
func (c Content) IsAbsent() bool { return c.kind == contentAbsent }

// IsParts reports whether the content is a list of parts.
func (c Content) IsParts() bool { return c.kind == contentParts }

// Parts returns the parts: those of a list as they are, a text as one text
// part, nothing for an absent content. The slice is not to be changed.
func (c Content) Parts() []ContentPart {
	switch c.kind {
	case contentText:
		return []ContentPart{{Type: PartText, Text: c.text}}
	case contentParts:
		return c.parts
	}
	return nil
}

// Text returns the text, or the text parts joined with a line feed. What is not
// text is left out.
func (c Content) Text() string {
	if c.kind != contentParts {
		return c.text
	}
	var b strings.Builder
	for i := range c.parts {
		if c.parts[i].Type != PartText {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(c.parts[i].Text)
	}
	return b.String()
}

// Equal reports whether two contents are written the same.
func (c Content) Equal(o Content) bool {
	if c.kind != o.kind || c.text != o.text || len(c.parts) != len(o.parts) {
		return false
	}
	return c.kind != contentParts || string(c.appendJSON(nil)) == string(o.appendJSON(nil))
}

// AppendJSON appends the content as JSON; an absent one as "".
func (c Content) AppendJSON(dst []byte) []byte { return c.appendJSON(dst) }

// appendJSON appends the content; an absent one as "", for places where one is
// required.
func (c Content) appendJSON(dst []byte) []byte {
	if c.kind != contentParts {
		return appendString(dst, c.text)
	}
	dst = append(dst, '[')
	for i := range c.parts {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = c.parts[i].AppendJSON(dst)
	}
	return append(dst, ']')
}

// PartType says what a content part is.
type PartType string

// The part types of AG-UI 1.0.
const (
	PartText     PartType = "text"
	PartImage    PartType = "image"
	PartAudio    PartType = "audio"
	PartVideo    PartType = "video"
	PartDocument PartType = "document"
)

// partBinary is the part type before 1.0 for everything that is not text.
const partBinary = "binary"

func (t PartType) media() bool {
	return t == PartImage || t == PartAudio || t == PartVideo || t == PartDocument
}

func knownPart(t string) bool { return PartType(t) == PartText || PartType(t).media() }

// ContentPart is one part of a content.
type ContentPart struct {
	Type     PartType
	ID       string        // optional
	Text     string        // of a text part
	Source   *Source       // of any other part
	Metadata jsondoc.Value // any JSON but null; optional
	Extra    jsondoc.Value // unknown members, see [DecodeOptions.KeepUnknown]
	// Unknown is the whole part where its type or its source's type is not
	// known. It is written instead of everything else.
	Unknown jsondoc.Value

	mimeType, url, data, filename string // of a binary part while it is read
	isBinary                      bool
}

// AppendJSON appends the part as JSON.
func (p *ContentPart) AppendJSON(dst []byte) []byte {
	if !p.Unknown.IsAbsent() {
		return p.Unknown.AppendJSON(dst)
	}
	dst = append(dst, `{"type":`...)
	dst = appendString(dst, string(p.Type))
	dst = appendOptionalString(dst, "id", p.ID)
	if p.Type == PartText {
		dst = appendMember(dst, "text", p.Text)
	}
	if p.Source != nil {
		dst = append(dst, `,"source":`...)
		dst = p.Source.AppendJSON(dst)
	}
	dst = appendOptional(dst, "metadata", p.Metadata)
	dst = appendExtra(dst, p.Extra)
	return append(dst, '}')
}

func (p *ContentPart) member(d *decoder, key []byte) bool {
	switch string(key) {
	case "type":
		d.sameTag(string(p.Type))
	case "id":
		p.ID = d.optionalString(nullRefused)
	case "text":
		if p.Type != PartText {
			return false
		}
		d.has |= 1
		p.Text = d.string()
	case "source":
		if p.Type == PartText {
			return false
		}
		d.has |= 2
		p.Source = d.source()
	case "metadata":
		rule := nullRefused
		if d.history && p.Type != PartText {
			rule = nullTolerated
		}
		p.Metadata = d.anyNotNull(rule)
	default:
		return p.binaryMember(d, key)
	}
	return true
}

// binaryMember reads the members that only the retired binary part has.
func (p *ContentPart) binaryMember(d *decoder, key []byte) bool {
	if p.Type != partBinary {
		return false
	}
	switch string(key) {
	case "mimeType":
		p.mimeType = d.string()
	case "url":
		p.url = d.optionalString(nullRefused)
	case "data":
		p.data = d.optionalString(nullRefused)
	case "filename":
		p.filename = d.optionalString(nullRefused)
	default:
		return false
	}
	return true
}

func (p *ContentPart) finish(d *decoder) {
	switch {
	case p.Type == PartText:
		d.require(1, "text")
	case p.Type.media():
		d.require(2, "source")
	}
}

func (p *ContentPart) extra() *jsondoc.Value { return &p.Extra }

// upgrade turns a binary part into the part that replaced it, by its MIME type.
// A part that has only a provider's id becomes a file source, which the
// official client cannot do: it has no such part left to send.
func (p *ContentPart) upgrade() bool {
	p.isBinary = true
	switch prefix, _, _ := strings.Cut(p.mimeType, "/"); prefix {
	case "image", "audio", "video":
		p.Type = PartType(prefix)
	default:
		p.Type = PartDocument
	}
	switch {
	case p.data != "":
		p.Source = &Source{Type: SourceData, Value: p.data, MimeType: p.mimeType}
	case p.url != "":
		p.Source = &Source{Type: SourceURL, Value: p.url, MimeType: p.mimeType}
	case p.ID != "":
		p.Source = &Source{Type: SourceFile, Value: p.ID, MimeType: p.mimeType}
	default:
		return false
	}
	p.ID = ""
	if p.filename != "" {
		p.Metadata = jsondoc.Object(jsondoc.Member{Name: "filename", Value: jsondoc.String(p.filename)})
	}
	p.mimeType, p.url, p.data, p.filename = "", "", "", ""
	return true
}

// SourceType says where the bytes of a part are.
type SourceType string

// The source types of AG-UI 1.0.
const (
	SourceData SourceType = "data" // base64 in Value
	SourceURL  SourceType = "url"  // an address in Value
	SourceFile SourceType = "file" // a provider's handle in Value; new in 1.0
)

func knownSource(t string) bool {
	return t == string(SourceData) || t == string(SourceURL) || t == string(SourceFile)
}

// Source is where the bytes of a part are.
type Source struct {
	Type     SourceType
	Value    string        // required
	MimeType string        // required for data
	Provider string        // of a file: whose handle it is; optional
	Extra    jsondoc.Value // unknown members, see [DecodeOptions.KeepUnknown]
}

// AppendJSON appends the source as JSON.
func (s *Source) AppendJSON(dst []byte) []byte {
	dst = append(dst, `{"type":`...)
	dst = appendString(dst, string(s.Type))
	dst = appendMember(dst, "value", s.Value)
	dst = appendOptionalString(dst, "provider", s.Provider)
	if s.Type == SourceData {
		dst = appendMember(dst, "mimeType", s.MimeType)
	} else {
		dst = appendOptionalString(dst, "mimeType", s.MimeType)
	}
	dst = appendExtra(dst, s.Extra)
	return append(dst, '}')
}

func (s *Source) member(d *decoder, key []byte) bool {
	switch string(key) {
	case "type":
		d.sameTag(string(s.Type))
	case "value":
		d.has |= 1
		s.Value = d.string()
	case "mimeType":
		d.has |= 2
		if s.Type == SourceData {
			s.MimeType = d.string()
		} else {
			s.MimeType = d.optionalString(nullRefused)
		}
	case "provider":
		if s.Type != SourceFile {
			return false
		}
		s.Provider = d.optionalString(nullRefused)
	default:
		return false
	}
	return true
}

func (s *Source) finish(d *decoder) {
	d.require(1, "value")
	if s.Type == SourceData {
		d.require(2, "mimeType")
	}
}

func (s *Source) extra() *jsondoc.Value { return &s.Extra }

// source reads a source; nil if its type is unknown.
func (d *decoder) source() *Source {
	name, _, ok := d.union("type", knownSource)
	if !ok {
		return nil
	}
	s := &Source{Type: SourceType(name)}
	d.object(s)
	return s
}

// content reads a required content.
func (d *decoder) content() Content {
	switch d.peek() {
	case '"':
		return Text(d.string())
	case '[':
		return Content{parts: d.parts(), kind: contentParts}
	}
	d.fail("must be a string or an array of content parts, not " + d.kind())
	return Content{}
}

// parts reads content parts. A part of unknown type, or with a source of
// unknown type, is dropped, or kept whole.
func (d *decoder) parts() []ContentPart {
	out := []ContentPart{}
	known := func(t string) bool { return knownPart(t) || t == partBinary && (d.history || !d.opts.Strict) }
	binaries := false
	d.array(func(int) {
		start := d.pos
		name, whole, ok := d.union("type", known)
		if !ok {
			if !whole.IsAbsent() {
				out = append(out, ContentPart{Type: PartType(name), Unknown: whole})
			}
			return
		}
		p := ContentPart{Type: PartType(name)}
		d.object(&p)
		if d.err != nil {
			return
		}
		if p.Type == partBinary {
			d.report(start, "retired content part")
			if p.data == "" && p.url == "" && d.opts.Strict || !p.upgrade() {
				return // the official client has nothing to make of it
			}
			binaries = true
		}
		if p.Type.media() && p.Source == nil { // its source is of unknown type
			if d.opts.KeepUnknown {
				end := d.pos
				d.pos = start
				p = ContentPart{Type: p.Type, Unknown: d.any()}
				d.pos = end
			} else {
				return
			}
		}
		out = append(out, p)
	})
	if binaries {
		out = withoutCopies(out)
	}
	return out
}

// withoutCopies removes upgraded binary parts that are also there in their
// modern form: clients in between sent both.
func withoutCopies(parts []ContentPart) []ContentPart {
	kept := parts[:0:0]
	for i := range parts {
		if parts[i].isBinary && hasModern(parts, &parts[i]) {
			continue
		}
		p := parts[i]
		p.isBinary = false
		kept = append(kept, p)
	}
	return kept
}

func hasModern(parts []ContentPart, binary *ContentPart) bool {
	name, named := binary.Metadata.Get("filename")
	for i := range parts {
		p := &parts[i]
		if p.isBinary || p.Type != binary.Type || p.Source == nil ||
			p.Source.Type != binary.Source.Type || p.Source.Value != binary.Source.Value || p.Source.MimeType != binary.Source.MimeType {
			continue
		}
		if other, ok := p.Metadata.Get("filename"); !named || ok && other.Str() == name.Str() {
			return true
		}
	}
	return false
}
