package state

import (
	"crypto/rand"
	"errors"
	"strconv"
	"strings"

	"github.com/lockstep-go/lockstep/internal/schema"
	"github.com/lockstep-go/lockstep/jsondoc"
)

// conceal answers for a document in which a client wrote server-only members
// what the client would get if nobody had ever heard of them (S9): the error of
// a closed schema, or none. next is the visible state that the edit leads to;
// full is the client's document, visible the same without those members.
//
// They are checked under names that no schema knows, beside the real ones, and
// the error is told in the client's own names. Checking against the public
// schema instead would not do: it leaves out what could give a name away.
func (m *Model) conceal(now, next, visible, full jsondoc.Value) error {
	d := disguise{names: map[string]string{}}
	strange := d.hide(full, []*rule{m.access.root})
	err := m.Check(now, m.restore(now, merge(visible, strange, orEmpty(next))))
	var broken *schema.Error
	if !errors.As(err, &broken) {
		return err
	}
	told := &schema.Error{Violations: make([]schema.Violation, len(broken.Violations))}
	for i, v := range broken.Violations {
		for name, own := range d.names {
			v.Path = jsondoc.Pointer(strings.ReplaceAll(string(v.Path), name, string(jsondoc.Path(own))[1:]))
			v.Reason = strings.ReplaceAll(v.Reason, name, own)
		}
		told.Violations[i] = v
	}
	return told
}

// disguise gives members that are server-only names of its own.
type disguise struct{ names map[string]string }

// strangeName begins the names, which nobody can guess.
var strangeName = "x-" + strings.ToLower(rand.Text()) + "-"

func (d disguise) hide(v jsondoc.Value, rules []*rule) jsondoc.Value {
	if len(rules) == 0 {
		return v
	}
	switch v.Kind() {
	case jsondoc.KindObject:
		members := make([]jsondoc.Member, 0, v.Len())
		for name, member := range v.Members() {
			if at := below(rules, name); concealed(member, at) {
				own := name
				name = strangeName + strconv.Itoa(len(d.names)) + "-"
				d.names[name] = own
			} else {
				member = d.hide(member, at)
			}
			members = append(members, jsondoc.Member{Name: name, Value: member})
		}
		return jsondoc.Object(members...)
	case jsondoc.KindArray:
		items := make([]jsondoc.Value, 0, v.Len())
		for i, item := range v.Items() {
			items = append(items, d.hide(item, below(rules, itoa(i))))
		}
		return jsondoc.Array(items...)
	}
	return v
}
