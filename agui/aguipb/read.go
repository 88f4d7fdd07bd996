package aguipb

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/lockstep-go/lockstep/jsondoc"
)

// readEvent makes an event's JSON of its message. typ is what the envelope says.
func readEvent(m protoreflect.Message, typ string) (jsondoc.Value, error) {
	fields := m.Descriptor().Fields()
	baseField := fields.ByName("base_event")
	if !m.Has(baseField) {
		return jsondoc.Value{}, errors.New("base_event is missing")
	}
	base := m.Get(baseField).Message()
	says := base.Descriptor().Fields().ByName("type")
	named := says.Enum().Values().ByNumber(base.Get(says).Enum())
	if named == nil || string(named.Name()) != typ {
		return jsondoc.Value{}, fmt.Errorf("base_event.type is %d, which is another event's", base.Get(says).Enum())
	}
	out := []jsondoc.Member{{Name: "type", Value: jsondoc.String(typ)}}
	for _, part := range []protoreflect.Message{m, base} {
		members, err := readMembers(part)
		if err != nil {
			return jsondoc.Value{}, err
		}
		for _, member := range members {
			if member.Name != "baseEvent" && member.Name != "type" {
				out = append(out, member)
			}
		}
	}
	return jsondoc.Object(out...), nil
}

// required are the lists that JSON must have even if they are empty.
var required = map[protoreflect.Name]bool{"delta": true, "patch": true, "messages": true}

// readMembers makes the members of a message's JSON.
func readMembers(m protoreflect.Message) ([]jsondoc.Member, error) {
	var out []jsondoc.Member
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		fd := fields.Get(i)
		switch {
		case fd.Name() == "base_event":
			continue
		case fd.Name() == "outcome":
			if text := m.Get(fd).String(); text != "" {
				outcome, err := readOutcome(m, text)
				if err != nil {
					return nil, err
				}
				out = append(out, jsondoc.Member{Name: "outcome", Value: outcome})
			}
			continue
		case ofOutcome(fd):
			continue
		case fd.Name() == "content" && fields.ByName("content_parts") != nil:
			content, err := readContent(m)
			if err != nil {
				return nil, err
			}
			if !content.IsAbsent() {
				out = append(out, jsondoc.Member{Name: "content", Value: content})
			}
			continue
		case fd.Name() == "content_parts" || fd.Name() == "activity_content":
			continue
		case fd.HasPresence() && !m.Has(fd):
			continue
		case fd.IsList() && m.Get(fd).List().Len() == 0 && !required[fd.Name()]:
			continue
		}
		v, err := readField(fd, m.Get(fd))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", fd.JSONName(), err)
		}
		out = append(out, jsondoc.Member{Name: fd.JSONName(), Value: v})
	}
	return out, nil
}

// ofOutcome reports whether a field is part of an outcome that was laid flat.
func ofOutcome(fd protoreflect.FieldDescriptor) bool {
	switch fd.Name() {
	case "interrupts", "pending_tool_call_ids", "interrupt_ids":
		return true
	}
	return false
}

func readOutcome(m protoreflect.Message, typ string) (jsondoc.Value, error) {
	out := []jsondoc.Member{{Name: "type", Value: jsondoc.String(typ)}}
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		fd := fields.Get(i)
		if !ofOutcome(fd) || m.Get(fd).List().Len() == 0 {
			continue
		}
		v, err := readField(fd, m.Get(fd))
		if err != nil {
			return jsondoc.Value{}, fmt.Errorf("outcome: %w", err)
		}
		out = append(out, jsondoc.Member{Name: fd.JSONName(), Value: v})
	}
	return jsondoc.Object(out...), nil
}

// readContent reads a content from wherever its kind puts it. Without any, a
// message whose role takes parts has none of them; an assistant says nothing.
func readContent(m protoreflect.Message) (jsondoc.Value, error) {
	fields := m.Descriptor().Fields()
	text, parts, activity := fields.ByName("content"), fields.ByName("content_parts"), fields.ByName("activity_content")
	var found []protoreflect.FieldDescriptor
	for _, fd := range []protoreflect.FieldDescriptor{text, parts, activity} {
		if fd != nil && m.Has(fd) {
			found = append(found, fd)
		}
	}
	switch len(found) {
	case 1:
		return readField(found[0], m.Get(found[0]))
	case 0:
		if role := fields.ByName("role"); activity != nil && m.Get(role).String() != "user" && m.Get(role).String() != "tool" {
			return jsondoc.Value{}, nil
		}
		return jsondoc.Array(), nil
	}
	return jsondoc.Value{}, fmt.Errorf("content is given twice, as %s and %s", found[0].Name(), found[1].Name())
}

func readField(fd protoreflect.FieldDescriptor, v protoreflect.Value) (jsondoc.Value, error) {
	if !fd.IsList() {
		return readValue(fd, v)
	}
	list := v.List()
	items := make([]jsondoc.Value, 0, list.Len())
	for i := range list.Len() {
		item, err := readValue(fd, list.Get(i))
		if err != nil {
			return jsondoc.Value{}, fmt.Errorf("%d: %w", i, err)
		}
		if !item.IsAbsent() {
			items = append(items, item)
		}
	}
	return jsondoc.Array(items...), nil
}

func readValue(fd protoreflect.FieldDescriptor, v protoreflect.Value) (jsondoc.Value, error) {
	switch fd.Kind() {
	case protoreflect.BoolKind:
		return jsondoc.Bool(v.Bool()), nil
	case protoreflect.Int64Kind:
		return jsondoc.Int(v.Int()), nil
	case protoreflect.StringKind:
		return jsondoc.String(v.String()), nil
	case protoreflect.EnumKind: // only the patch operations: types are read apart
		if named := fd.Enum().Values().ByNumber(v.Enum()); named != nil {
			return jsondoc.String(strings.ToLower(string(named.Name()))), nil
		}
		return jsondoc.String(strconv.Itoa(int(v.Enum()))), nil
	}
	return readMessage(v.Message())
}

// readMessage reads one of the messages that are not events; a part whose kind
// is not known here is absent.
func readMessage(m protoreflect.Message) (jsondoc.Value, error) {
	switch v := m.Interface().(type) {
	case *structpb.Value:
		return document(v)
	case *structpb.Struct:
		return documentObject(v)
	}
	if unions := m.Descriptor().Oneofs(); unions.Len() > 0 && !unions.Get(0).IsSynthetic() {
		arm := m.WhichOneof(unions.Get(0))
		if arm == nil {
			return jsondoc.Value{}, nil
		}
		members, err := readMembers(m.Get(arm).Message())
		if err != nil {
			return jsondoc.Value{}, err
		}
		tag := jsondoc.Member{Name: "type", Value: jsondoc.String(string(arm.Name()))}
		return jsondoc.Object(append([]jsondoc.Member{tag}, members...)...), nil
	}
	members, err := readMembers(m)
	return jsondoc.Object(members...), err
}

// document makes a document of a protobuf value.
func document(v *structpb.Value) (jsondoc.Value, error) {
	switch kind := v.GetKind().(type) {
	case *structpb.Value_BoolValue:
		return jsondoc.Bool(kind.BoolValue), nil
	case *structpb.Value_StringValue:
		return jsondoc.String(kind.StringValue), nil
	case *structpb.Value_NumberValue:
		return number(kind.NumberValue)
	case *structpb.Value_ListValue:
		items := make([]jsondoc.Value, 0, len(kind.ListValue.GetValues()))
		for i, item := range kind.ListValue.GetValues() {
			made, err := document(item)
			if err != nil {
				return jsondoc.Value{}, fmt.Errorf("%d: %w", i, err)
			}
			items = append(items, made)
		}
		return jsondoc.Array(items...), nil
	case *structpb.Value_StructValue:
		return documentObject(kind.StructValue)
	}
	return jsondoc.Null, nil
}

// documentObject orders the members by name: a map has no order to keep.
func documentObject(s *structpb.Struct) (jsondoc.Value, error) {
	members := make([]jsondoc.Member, 0, len(s.GetFields()))
	for _, name := range slices.Sorted(maps.Keys(s.GetFields())) {
		made, err := document(s.GetFields()[name])
		if err != nil {
			return jsondoc.Value{}, fmt.Errorf("%s: %w", name, err)
		}
		members = append(members, jsondoc.Member{Name: name, Value: made})
	}
	return jsondoc.Object(members...), nil
}

// number spells a double as JavaScript would: whole numbers without exponent.
func number(f float64) (jsondoc.Value, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return jsondoc.Value{}, fmt.Errorf("%v is no JSON number", f)
	}
	format := byte('f')
	if abs := math.Abs(f); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	return jsondoc.Number(strconv.FormatFloat(f, format, -1, 64))
}
