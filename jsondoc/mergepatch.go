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
	for name, x := range patch.Members() {
		if x.IsNull() {
			doc = doc.Without(name)
			continue
		}
		old, _ := doc.Get(name)
		doc = doc.With(name, MergePatch(old, x))
	}
	return doc
}
