package agentsfile

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lockstep-go/lockstep/jsondoc"
)

// document is a YAML document as JSON, with the lines that its places came from
// and the mistakes that were found in it so far.
type document struct {
	file   string
	value  jsondoc.Value
	lines  map[jsondoc.Pointer]int
	nodes  int
	env    func(string) (string, bool)
	model  func(string) error
	faults Errors
	told   []jsondoc.Pointer // places with a fault
}

// maxFaults bounds what is told of a file: who mends a hundred mistakes asks again.
const maxFaults = 100

// maxNodes bounds what aliases can make of a small file.
const maxNodes = 100_000

// Error is what is wrong with an agents file.
type Error struct {
	File   string
	Line   int    // 0: not known
	Key    string // as in agents.recipe.tools; empty: the file as a whole
	Reason string
}

func (e *Error) Error() string {
	out := e.File
	if e.Line > 0 {
		out += ":" + strconv.Itoa(e.Line)
	}
	if e.Key != "" {
		out += ": " + e.Key
	}
	return out + ": " + e.Reason
}

// inFile is Error for a reader who knows the file.
func (e *Error) inFile() string {
	out := e.Reason
	if e.Key != "" {
		out = e.Key + ": " + out
	}
	if e.Line > 0 {
		out = "line " + strconv.Itoa(e.Line) + ": " + out
	}
	return out
}

// Errors are all mistakes of a file, in the order of its lines.
type Errors []*Error

// maxTold is how many mistakes fit on a line that people still read.
const maxTold = 5

// Error is one line, for logs and for people: the first mistakes, with the file's
// name once, and how many more there are. All of them are the list itself.
func (e Errors) Error() string {
	var b strings.Builder
	for i, one := range e {
		if i == maxTold {
			fmt.Fprintf(&b, "; and %d more", len(e)-i)
			break
		}
		text := one.Error()
		if i > 0 && one.File == e[0].File {
			text = one.inFile()
		}
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(strings.ReplaceAll(text, "\n", " "))
	}
	return b.String()
}

// Unwrap makes each of them found by errors.As.
func (e Errors) Unwrap() []error {
	out := make([]error, len(e))
	for i, one := range e {
		out[i] = one
	}
	return out
}

// fault notes a mistake at a place. What is wrong because of an earlier mistake at
// the same place, or around it, is not told.
func (d *document) fault(at jsondoc.Pointer, format string, args ...any) {
	if len(d.faults) == maxFaults || slices.ContainsFunc(d.told, func(p jsondoc.Pointer) bool { return p.Contains(at) }) {
		return
	}
	d.told = append(d.told, at)
	d.faults = append(d.faults, &Error{File: d.file, Line: d.line(at), Key: strings.Join(at.Tokens(), "."), Reason: fmt.Sprintf(format, args...)})
}

// line is the line of a place, or of what is around it.
func (d *document) line(at jsondoc.Pointer) int {
	for p := at; ; {
		if line := d.lines[p]; line > 0 {
			return line
		}
		i := strings.LastIndexByte(string(p), '/')
		if i < 0 {
			return 0
		}
		p = p[:i]
	}
}

// wrong reports whether there is a mistake at a place or inside it.
func (d *document) wrong(at jsondoc.Pointer) bool {
	return slices.ContainsFunc(d.told, func(p jsondoc.Pointer) bool { return at.Contains(p) || p.Contains(at) })
}

// err is everything that was found; nil for nothing.
func (d *document) err() error {
	if len(d.faults) == 0 {
		return nil
	}
	slices.SortStableFunc(d.faults, func(a, b *Error) int { return a.Line - b.Line })
	return d.faults
}

// parse reads YAML into JSON. Numbers keep their digits; a member that is there
// twice is a mistake, which YAML's own rules want and few readers find. Behind what
// is no YAML nothing can be read; every other mistake is one of the document's.
func parse(file string, text []byte, env func(string) (string, bool)) (*document, error) {
	d := &document{file: file, lines: map[jsondoc.Pointer]int{}, env: env}
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil {
		return nil, Errors{d.syntax(err)}
	}
	if root.Kind == 0 {
		return nil, Errors{{File: file, Reason: "the file is empty; it begins with agents:"}}
	}
	d.value = d.convert(root.Content[0], "", nil)
	if d.nodes > maxNodes {
		d.told = nil
		d.fault("", "the file has more than %d values with its aliases written out", maxNodes)
		return nil, d.err()
	}
	return d, nil
}

var yamlLine = regexp.MustCompile(`^(?:yaml: )?line (\d+): (.*)$`)

func (d *document) syntax(err error) *Error {
	e := &Error{File: d.file, Reason: "this is not YAML: " + strings.TrimPrefix(err.Error(), "yaml: ")}
	if m := yamlLine.FindStringSubmatch(err.Error()); m != nil {
		e.Line, _ = strconv.Atoi(m[1])
		e.Reason = "this is not YAML: " + m[2]
	}
	return e
}

func (d *document) convert(n *yaml.Node, at jsondoc.Pointer, open []*yaml.Node) jsondoc.Value {
	if _, known := d.lines[at]; !known {
		d.lines[at] = n.Line
	}
	if d.nodes++; d.nodes > maxNodes {
		return jsondoc.Null // parse tells it
	}
	switch n.Kind {
	case yaml.AliasNode:
		for _, o := range open {
			if o == n.Alias {
				d.fault(at, "the alias *%s contains itself", n.Value)
				return jsondoc.Null
			}
		}
		return d.convert(n.Alias, at, append(open, n.Alias))
	case yaml.MappingNode:
		return d.mapping(n, at, append(open, n))
	case yaml.SequenceNode:
		items := make([]jsondoc.Value, len(n.Content))
		for i, item := range n.Content {
			items[i] = d.convert(item, at.Index(i), append(open, n))
		}
		return jsondoc.Array(items...)
	}
	return d.scalar(n, at)
}

func (d *document) mapping(n *yaml.Node, at jsondoc.Pointer, open []*yaml.Node) jsondoc.Value {
	var members []jsondoc.Member
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if key.Kind != yaml.ScalarNode {
			d.fault(at, "a key is a plain name (line %d)", key.Line)
			continue
		}
		if key.Tag == "!!merge" {
			d.fault(at, "merge keys (<<, line %d) are not supported; write the members out", key.Line)
			continue
		}
		inner := at.Child(key.Value)
		if line, twice := seen[key.Value]; twice {
			d.lines[inner] = key.Line
			d.fault(inner, "the key is there twice; the first is in line %d", line)
			continue
		}
		seen[key.Value] = key.Line
		d.lines[inner] = key.Line
		members = append(members, jsondoc.Member{Name: key.Value, Value: d.convert(n.Content[i+1], inner, open)})
	}
	return jsondoc.Object(members...)
}

func (d *document) scalar(n *yaml.Node, at jsondoc.Pointer) jsondoc.Value {
	switch n.ShortTag() {
	case "!!null":
		return jsondoc.Null
	case "!!bool":
		var b bool
		if err := n.Decode(&b); err != nil {
			d.fault(at, "%q is neither true nor false", n.Value)
		}
		return jsondoc.Bool(b)
	case "!!int", "!!float":
		if v, err := jsondoc.ParseString(n.Value); err == nil && v.Kind() == jsondoc.KindNumber {
			return v
		}
		var f float64
		err := n.Decode(&f)
		var v jsondoc.Value
		if err == nil {
			v, err = jsondoc.From(f)
		}
		if err != nil {
			d.fault(at, "%q is no number that JSON has", n.Value)
			return jsondoc.Null
		}
		return v
	}
	return jsondoc.String(d.expand(n.Value, at))
}

var reference = regexp.MustCompile(`\$?\$\{([^}]*)\}`)

// expand puts the environment in: ${NAME}. $${NAME} is ${NAME} itself.
func (d *document) expand(s string, at jsondoc.Pointer) string {
	if !strings.Contains(s, "${") {
		return s
	}
	return reference.ReplaceAllStringFunc(s, func(m string) string {
		if strings.HasPrefix(m, "$$") {
			return m[1:]
		}
		name := m[2 : len(m)-1]
		v, ok := d.env(name)
		if !ok {
			d.fault(at, "the environment has no %s; set it, or write $${%s} for the text itself", name, name)
		}
		return v
	})
}

// readFile reads a file that another one names, or the agents file itself.
func readFile(path string) ([]byte, error) {
	const most = 16 << 20
	info, err := os.Stat(path)
	if err != nil {
		var p *os.PathError
		if errors.As(err, &p) {
			err = p.Err
		}
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if info.Size() > most {
		return nil, fmt.Errorf("%s has %d bytes; %d is the most", path, info.Size(), most)
	}
	return os.ReadFile(path)
}
