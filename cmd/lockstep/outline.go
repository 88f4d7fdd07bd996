package main

import (
	"fmt"
	"strings"

	"github.com/lockstep-go/lockstep/jsondoc"
)

// outline writes a document for people: members as lines, texts of a list
// numbered, flat objects of a list in one line each.
func outline(v jsondoc.Value) string {
	if v.IsAbsent() {
		return "(no state)\n"
	}
	// Names and texts come from elsewhere; see printable.
	var b strings.Builder
	if isContainer(v) && v.Len() > 0 {
		block(&b, v, "")
	} else {
		b.WriteString(inline(v) + "\n")
	}
	return printable(b.String(), true)
}

func isContainer(v jsondoc.Value) bool {
	return v.Kind() == jsondoc.KindObject || v.Kind() == jsondoc.KindArray
}

func block(b *strings.Builder, v jsondoc.Value, indent string) {
	if v.Kind() == jsondoc.KindObject {
		for name, member := range v.Members() {
			entry(b, indent+name+":", member, indent+"  ")
		}
		return
	}
	for i, item := range v.Items() {
		switch {
		case item.Kind() == jsondoc.KindObject && flat(item) && item.Len() > 0:
			var parts []string
			for _, member := range item.Members() {
				parts = append(parts, inline(member))
			}
			fmt.Fprintf(b, "%s- %s\n", indent, strings.Join(parts, " · "))
		case isContainer(item):
			entry(b, indent+"-", item, indent+"  ")
		default:
			fmt.Fprintf(b, "%s%d. %s\n", indent, i+1, inline(item))
		}
	}
}

func entry(b *strings.Builder, head string, v jsondoc.Value, indent string) {
	if text := inline(v); !isContainer(v) || v.Len() == 0 || short(v) {
		if strings.Contains(text, "\n") {
			text = "|\n" + indent + strings.ReplaceAll(text, "\n", "\n"+indent)
		}
		fmt.Fprintf(b, "%s %s\n", head, text)
		return
	}
	fmt.Fprintln(b, head)
	block(b, v, indent)
}

// short lists of short texts fit on the line of their name.
func short(v jsondoc.Value) bool {
	if v.Kind() != jsondoc.KindArray {
		return false
	}
	n := 0
	for _, item := range v.Items() {
		if isContainer(item) {
			return false
		}
		n += len(inline(item))
	}
	return v.Len() <= 4 && n <= 40
}

func flat(v jsondoc.Value) bool {
	for _, member := range v.Members() {
		if isContainer(member) || strings.Contains(member.Str(), "\n") {
			return false
		}
	}
	return true
}

func inline(v jsondoc.Value) string {
	if v.Kind() == jsondoc.KindString {
		return v.Str()
	}
	if v.Kind() == jsondoc.KindArray && v.Len() > 0 {
		var parts []string
		for _, item := range v.Items() {
			parts = append(parts, inline(item))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return v.String()
}
