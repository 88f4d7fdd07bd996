package jsondoc

// MergePatch applies a JSON Merge Patch (RFC 7396): members of patch replace
// those of doc, null removes, anything that is no object replaces the whole.
// A merge patch cannot set a member to null and cannot change one item of an
// array; [Patch] can. An absent patch changes nothing.
func MergePatch(doc, patch Value) Value {
	if patch.n == nil {
		return doc
	}
	if patch.Kind() != KindObject {
		return patch
	}
	if doc.Kind() != KindObject {
		doc = newObject(noNames, nil)
	}
	edits := make([]Member, 0, patch.Len())
	for name, x := range patch.Members() {
		if x.IsNull() {
			x = Value{}
		} else {
			old, _ := doc.Get(name)
			x = MergePatch(old, x)
		}
		edits = append(edits, Member{name, x})
	}
	return doc.withAll(&editor{owner: &owner{}}, edits)
}
