package jsondoc

// DiffOptions configures [Diff]. The zero value is the default.
type DiffOptions struct {
	// Identity names the members that tell items of an array apart, in the
	// order of preference; nil means id, key.
	Identity []string
	// Numbers says which numbers count as unchanged; the default is [ByText].
	Numbers NumberRule
}

// Diff returns a patch that turns a into b.
func Diff(a, b Value, opts *DiffOptions) Patch {
	if opts == nil {
		opts = &DiffOptions{}
	}
	d := differ{rule: opts.Numbers}
	d.diff(a.orNull(), b.orNull(), "")
	return d.patch
}

type differ struct {
	rule  NumberRule
	patch Patch
}

func (d *differ) diff(a, b Value, at Pointer) {
	if Same(a, b) {
		return
	}
	switch {
	case a.Kind() == KindObject && b.Kind() == KindObject:
		for name := range a.Members() {
			if _, ok := b.Get(name); !ok {
				d.patch = append(d.patch, Operation{Op: "remove", Path: at.Child(name)})
			}
		}
		for name, y := range b.Members() {
			if x, ok := a.Get(name); ok {
				d.diff(x, y, at.Child(name))
			} else {
				d.patch = append(d.patch, Operation{Op: "add", Path: at.Child(name), Value: y})
			}
		}
	case a.Kind() == KindArray && b.Kind() == KindArray:
		n, m := a.Len(), b.Len()
		for i := n - 1; i >= m; i-- {
			d.patch = append(d.patch, Operation{Op: "remove", Path: at.Index(i)})
		}
		for i := range min(n, m) {
			d.diff(a.Item(i), b.Item(i), at.Index(i))
		}
		for i := n; i < m; i++ {
			d.patch = append(d.patch, Operation{Op: "add", Path: at.Index(i), Value: b.Item(i)})
		}
	case !equal(a, b, d.rule):
		d.patch = append(d.patch, Operation{Op: "replace", Path: at, Value: b})
	}
}
