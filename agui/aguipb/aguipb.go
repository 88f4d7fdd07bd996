// Package aguipb is the protobuf transport of AG-UI 1.0: the same events in
// other bytes. A request's body stays JSON; only the events that come back are
// protobuf, and only if the Accept header names the media type.
//
// A frame is the length of an Event message, four bytes, big-endian, and the
// message. There are no ids, no comments and no end mark.
//
// What protobuf cannot carry is lost or refused, unlike in JSON:
//
//   - Numbers are doubles. Digits beyond that are lost (9007199254740993 arrives
//     as 9007199254740992); a number beyond their range is an error.
//   - The order of an object's members is not kept.
//   - Optional lists that are empty arrive as absent.
//   - Half of a surrogate pair arrives as U+FFFD.
//   - Members and events that the protocol does not know are left out.
//   - Positions: a frame has no id.
package aguipb

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"mime"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/agui/aguipb/internal/wire"
	"github.com/lockstep-go/lockstep/jsondoc"
)

// MediaType is the exact content type. Official clients read anything else,
// the same type with a parameter included, as SSE, and then see no events.
const MediaType = "application/vnd.ag-ui.event+proto"

// DefaultMaxFrame is the largest frame that official clients take.
const DefaultMaxFrame = 10 << 20

// olderArms is how many kinds of event clients of 0.0.x know in protobuf.
const olderArms = 16

// Accepts reports whether an Accept header asks for protobuf by name. "*/*"
// does not: it comes from programs that know nothing of it.
func Accepts(header string) bool {
	for part := range strings.SplitSeq(header, ",") {
		name, params, err := mime.ParseMediaType(part)
		if err != nil || name != MediaType {
			continue
		}
		q := 1.0
		if text, ok := params["q"]; ok {
			if q, err = strconv.ParseFloat(text, 64); err != nil {
				q = 0
			}
		}
		return q > 0
	}
	return false
}

// Append appends e as one Event message. An event that the version does not
// know in protobuf appends nothing. The error says which value of the event
// protobuf cannot carry; dst is unchanged then.
func Append(dst []byte, e agui.Event, v agui.Version) ([]byte, error) {
	if _, unknown := e.(*agui.Unknown); unknown {
		return dst, nil
	}
	text := agui.AppendEvent(nil, e, v)
	if len(text) == 0 {
		return dst, nil
	}
	doc, err := jsondoc.Parse(text, &jsondoc.ParseOptions{KeepLast: true, ReplaceInvalid: true, MaxDepth: 10000})
	if err != nil { // only what the caller put into a Value can cause it
		return dst, fmt.Errorf("aguipb: %s: %w", e.EventType(), err)
	}
	envelope := (&wire.Event{}).ProtoReflect()
	arm := armOf(e.EventType())
	if arm == nil || v == agui.V0 && arm.Number() > olderArms {
		return dst, nil
	}
	if err := fillEvent(envelope.Mutable(arm).Message(), doc); err != nil {
		return dst, fmt.Errorf("aguipb: %s: %w", e.EventType(), err)
	}
	out, err := proto.MarshalOptions{Deterministic: true}.MarshalAppend(dst, envelope.Interface())
	if err != nil {
		return dst, fmt.Errorf("aguipb: %s: %w", e.EventType(), err)
	}
	return out, nil
}

// armOf returns the field of Event that carries events of type t.
func armOf(t agui.EventType) protoreflect.FieldDescriptor {
	return wire.File_agui_aguipb_internal_wire_agui_proto.Messages().ByName("Event").Fields().
		ByName(protoreflect.Name(strings.ToLower(string(t))))
}

// AppendFrame appends e as a frame; see [Append].
func AppendFrame(dst []byte, e agui.Event, v agui.Version) ([]byte, error) {
	head := len(dst)
	out, err := Append(append(dst, 0, 0, 0, 0), e, v)
	size := len(out) - head - 4
	if err != nil || size == 0 {
		return dst, err
	}
	if int64(size) > 1<<32-1 {
		return dst, fmt.Errorf("aguipb: %s: %d bytes do not fit in a frame", e.EventType(), size)
	}
	binary.BigEndian.PutUint32(out[head:], uint32(size))
	return out, nil
}

// Format makes an [agui.Writer] send protobuf.
func Format() *agui.Format {
	return &agui.Format{
		ContentType: MediaType,
		AppendFrame: func(dst []byte, _ string, e agui.Event, v agui.Version) ([]byte, error) {
			return AppendFrame(dst, e, v)
		},
	}
}

// ErrUnknownEvent is returned for a message of a kind that this package does not
// know: it is newer. Official clients pass over it.
var ErrUnknownEvent = errors.New("aguipb: the event is of a kind that is not known here")

// Decode reads one Event message. Other errors than [ErrUnknownEvent] wrap
// protobuf's, or a [*agui.DecodeError] whose offset is of no use: it counts the
// bytes of the same event in JSON.
func Decode(data []byte, opts *agui.DecodeOptions) (agui.Event, error) {
	envelope := &wire.Event{}
	if err := (proto.UnmarshalOptions{RecursionLimit: recursion(opts)}).Unmarshal(data, envelope); err != nil {
		return nil, fmt.Errorf("aguipb: %w", err)
	}
	m := envelope.ProtoReflect()
	arm := m.WhichOneof(m.Descriptor().Oneofs().Get(0))
	if arm == nil {
		return nil, ErrUnknownEvent
	}
	typ := strings.ToUpper(string(arm.Name()))
	doc, err := readEvent(m.Get(arm).Message(), typ)
	if err != nil {
		return nil, fmt.Errorf("aguipb: %s: %w", typ, err)
	}
	e, err := agui.DecodeEvent(doc.AppendJSON(nil), opts)
	if err != nil {
		return nil, fmt.Errorf("aguipb: %w", err)
	}
	return e, nil
}

// recursion bounds how deep messages lie within one another: a JSON level is up
// to four of them.
func recursion(opts *agui.DecodeOptions) int {
	depth := agui.DefaultMaxDepth
	if opts != nil && opts.MaxDepth > 0 {
		depth = opts.MaxDepth
	}
	return 4*depth + 16
}

// ReadEvents reads a stream of frames, as [agui.ReadEvents] reads SSE, with the
// same errors. A stream that ends inside a frame is incomplete, also with Bare.
// Reader.MaxFrame bounds a frame, 0 means [DefaultMaxFrame]; the other reader
// options mean nothing here. Data is the Event message; there are no ids.
func ReadEvents(r io.Reader, opts *agui.EventsOptions) iter.Seq2[agui.Received, error] {
	if opts == nil {
		opts = &agui.EventsOptions{}
	}
	return func(yield func(agui.Received, error) bool) {
		in := &frameReader{src: r, most: opts.Reader.MaxFrame}
		if in.most <= 0 {
			in.most = DefaultMaxFrame
		}
		decode := func(data []byte) (agui.Event, error) {
			e, err := Decode(data, &opts.Decode)
			if err == ErrUnknownEvent {
				if opts.Decode.Report != nil {
					opts.Decode.Report(agui.Deviation{Reason: "unknown event type"})
				}
				return nil, nil
			}
			return e, err
		}
		agui.ReadFrames(in.next, decode, opts)(yield)
	}
}

// frameReader splits a stream into frames.
type frameReader struct {
	src  io.Reader
	most int
	buf  []byte
}

func (f *frameReader) next() (agui.Frame, error) {
	var head [4]byte
	if _, err := io.ReadFull(f.src, head[:]); err != nil {
		return agui.Frame{}, err // io.EOF between frames, io.ErrUnexpectedEOF inside
	}
	size := int64(binary.BigEndian.Uint32(head[:]))
	if size > int64(f.most) {
		return agui.Frame{}, &agui.LimitError{What: "protobuf frame", Limit: f.most}
	}
	// Grown by what arrives, not by what is announced.
	f.buf = f.buf[:0]
	for int64(len(f.buf)) < size {
		if len(f.buf) == cap(f.buf) {
			f.buf = append(f.buf, 0)[:len(f.buf)]
		}
		n := min(int64(cap(f.buf)), size)
		got, err := io.ReadFull(f.src, f.buf[len(f.buf):n])
		f.buf = f.buf[:len(f.buf)+got]
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return agui.Frame{}, err
		}
	}
	return agui.Frame{Data: f.buf}, nil
}
