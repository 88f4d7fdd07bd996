package aguipb

import (
	"fmt"
	"math"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/lockstep-go/lockstep/jsondoc"
)

// The messages of agui.proto are named so that a field's JSON name is the name
// of the same member in JSON. So one walk over a document fills any of them, and
// only the places where the two forms differ are spelled out: the common members
// of events, outcomes, contents, tagged unions and patch operations.

// fillEvent fills an event's message from its JSON.
func fillEvent(m protoreflect.Message, doc jsondoc.Value) error {
	fields := m.Descriptor().Fields()
	base := m.Mutable(fields.ByName("base_event")).Message() // present even if empty
	baseFields := base.Descriptor().Fields()
	rest := jsondoc.Object()
	for name, v := range doc.Members() {
		switch name {
		case "type":
			number := baseFields.ByName("type").Enum().Values().ByName(protoreflect.Name(v.Str()))
			base.Set(baseFields.ByName("type"), protoreflect.ValueOfEnum(number.Number()))
		case "timestamp", "rawEvent", "metadata":
			if err := setField(base, baseFields.ByJSONName(name), v); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		default:
			rest = rest.With(name, v)
		}
	}
	return fill(m, rest)
}

// fill fills a message from an object.
func fill(m protoreflect.Message, doc jsondoc.Value) error {
	fields := m.Descriptor().Fields()
	for name, v := range doc.Members() {
		var err error
		switch fd := fields.ByJSONName(name); {
		case fd == nil || onlyHere[fd.Name()]: // not a member that JSON knows
		case name == "outcome":
			err = fillOutcome(m, v)
		case name == "content" && fields.ByName("content_parts") != nil:
			err = fillContent(m, v)
		case name == "op":
			err = setOperation(m, fd, v.Str())
		default:
			err = setField(m, fd, v)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// onlyHere are fields that have no member of their name in the same object of
// the JSON form; one that is called so there is nobody's.
var onlyHere = map[protoreflect.Name]bool{
	"base_event": true, "content_parts": true, "activity_content": true,
	"interrupts": true, "pending_tool_call_ids": true, "interrupt_ids": true,
}

// fillOutcome lays an outcome flat.
func fillOutcome(m protoreflect.Message, outcome jsondoc.Value) error {
	fields := m.Descriptor().Fields()
	for name, v := range outcome.Members() {
		fd := fields.ByJSONName(name)
		if name == "type" {
			fd = fields.ByName("outcome")
		}
		if fd == nil {
			continue
		}
		if err := setField(m, fd, v); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// fillContent puts a content where its kind belongs.
func fillContent(m protoreflect.Message, v jsondoc.Value) error {
	field := protoreflect.Name("content")
	switch v.Kind() {
	case jsondoc.KindArray:
		field = "content_parts"
	case jsondoc.KindObject:
		field = "activity_content"
	}
	return setField(m, m.Descriptor().Fields().ByName(field), v)
}

func setOperation(m protoreflect.Message, fd protoreflect.FieldDescriptor, op string) error {
	v := fd.Enum().Values().ByName(protoreflect.Name(strings.ToUpper(op)))
	if v == nil {
		return fmt.Errorf("%q is no patch operation", op)
	}
	m.Set(fd, protoreflect.ValueOfEnum(v.Number()))
	return nil
}

func setField(m protoreflect.Message, fd protoreflect.FieldDescriptor, v jsondoc.Value) error {
	if fd.IsList() {
		list := m.Mutable(fd).List()
		for i, item := range v.Items() {
			if fd.Kind() != protoreflect.MessageKind {
				list.Append(scalar(fd, item))
				continue
			}
			if err := fillMessage(list.AppendMutable().Message(), item); err != nil {
				return fmt.Errorf("%d: %w", i, err)
			}
		}
		return nil
	}
	if fd.Kind() == protoreflect.MessageKind {
		return fillMessage(m.Mutable(fd).Message(), v)
	}
	m.Set(fd, scalar(fd, v))
	return nil
}

func scalar(fd protoreflect.FieldDescriptor, v jsondoc.Value) protoreflect.Value {
	switch fd.Kind() {
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(v.Bool())
	case protoreflect.Int64Kind:
		n, _ := v.Int64()
		return protoreflect.ValueOfInt64(n)
	}
	return protoreflect.ValueOfString(valid(v.Str()))
}

// valid makes a string that protobuf takes: UTF-8, nothing else.
func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// fillMessage fills one of the messages that are not events.
func fillMessage(m protoreflect.Message, v jsondoc.Value) error {
	switch target := m.Interface().(type) {
	case *structpb.Value:
		made, err := value(v)
		if err != nil {
			return err
		}
		proto.Merge(target, made)
		return nil
	case *structpb.Struct:
		made, err := object(v)
		if err != nil {
			return err
		}
		proto.Merge(target, made)
		return nil
	}
	if m.Descriptor().Oneofs().Len() > 0 && !m.Descriptor().Oneofs().Get(0).IsSynthetic() {
		// A tagged union: its type is the field, its other members are inside.
		tag, _ := v.Get("type")
		arm := m.Descriptor().Fields().ByName(protoreflect.Name(tag.Str()))
		if arm == nil {
			return fmt.Errorf("there is no protobuf form of the type %q", tag.Str())
		}
		return fill(m.Mutable(arm).Message(), v.Without("type"))
	}
	return fill(m, v)
}

// value makes a protobuf value of a document.
func value(v jsondoc.Value) (*structpb.Value, error) {
	switch v.Kind() {
	case jsondoc.KindBool:
		return structpb.NewBoolValue(v.Bool()), nil
	case jsondoc.KindString:
		return structpb.NewStringValue(valid(v.Str())), nil
	case jsondoc.KindNumber:
		f, ok := v.Float64()
		if !ok || math.IsInf(f, 0) {
			return nil, fmt.Errorf("the number %.40s is out of a double's range", v.NumberText())
		}
		return structpb.NewNumberValue(f), nil
	case jsondoc.KindArray:
		list := &structpb.ListValue{Values: make([]*structpb.Value, 0, v.Len())}
		for i, item := range v.Items() {
			made, err := value(item)
			if err != nil {
				return nil, fmt.Errorf("%d: %w", i, err)
			}
			list.Values = append(list.Values, made)
		}
		return structpb.NewListValue(list), nil
	case jsondoc.KindObject:
		made, err := object(v)
		if err != nil {
			return nil, err
		}
		return structpb.NewStructValue(made), nil
	}
	return structpb.NewNullValue(), nil
}

func object(v jsondoc.Value) (*structpb.Struct, error) {
	out := &structpb.Struct{Fields: make(map[string]*structpb.Value, v.Len())}
	for name, member := range v.Members() {
		made, err := value(member)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		out.Fields[valid(name)] = made
	}
	return out, nil
}
