package agentsfile

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lockstep-go/lockstep/jsondoc"
)

// document is a YAML document as JSON, with the lines that its places came from.
type document struct {
	file  string
	value jsondoc.Value
	lines map[jsondoc.Pointer]int
	nodes int
	env   func(string) (string, bool)
}

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

// fault is an Error at a place.
func (d *document) fault(at jsondoc.Pointer, format string, args ...any) error {
	line := 0
	for p := at; line == 0; {
		line = d.lines[p]
		i := strings.LastIndexByte(string(p), '/')
		if i < 0 {
			break
		}
		p = p[:i]
	}
	return &Error{File: d.file, Line: line, Key: strings.Join(at.Tokens(), "."), Reason: fmt.Sprintf(format, args...)}
}

// parse reads YAML into JSON. Numbers keep their digits; a member that is there
// twice is an error, which YAML's own rules want and few readers find.
func parse(file string, text []byte, env func(string) (string, bool)) (*document, error) {
	d := &document{file: file, lines: map[jsondoc.Pointer]int{}, env: env}
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil {
		return nil, d.syntax(err)
	}
	if root.Kind == 0 {
		return nil, &Error{File: file, Reason: "the file is empty; it begins with agents:"}
	}
	var err error
	d.value, err = d.convert(root.Content[0], "", nil)
	return d, err
}

var yamlLine = regexp.MustCompile(`^(?:yaml: )?line (\d+): (.*)$`)

func (d *document) syntax(err error) error {
	e := &Error{File: d.file, Reason: "this is not YAML: " + strings.TrimPrefix(err.Error(), "yaml: ")}
	if m := yamlLine.FindStringSubmatch(err.Error()); m != nil {
		e.Line, _ = strconv.Atoi(m[1])
		e.Reason = "this is not YAML: " + m[2]
	}
	return e
}

func (d *document) convert(n *yaml.Node, at jsondoc.Pointer, open []*yaml.Node) (jsondoc.Value, error) {
	if _, known := d.lines[at]; !known {
		d.lines[at] = n.Line
	}
	if d.nodes++; d.nodes > maxNodes {
		return jsondoc.Value{}, d.fault(at, "the file has more than %d values with its aliases written out", maxNodes)
	}
	switch n.Kind {
	case yaml.AliasNode:
		for _, o := range open {
			if o == n.Alias {
				return jsondoc.Value{}, d.fault(at, "the alias *%s contains itself", n.Value)
			}
		}
		return d.convert(n.Alias, at, append(open, n.Alias))
	case yaml.MappingNode:
		return d.mapping(n, at, append(open, n))
	case yaml.SequenceNode:
		items := make([]jsondoc.Value, len(n.Content))
		for i, item := range n.Content {
			var err error
			if items[i], err = d.convert(item, at.Index(i), append(open, n)); err != nil {
				return jsondoc.Value{}, err
			}
		}
		return jsondoc.Array(items...), nil
	}
	return d.scalar(n, at)
}

func (d *document) mapping(n *yaml.Node, at jsondoc.Pointer, open []*yaml.Node) (jsondoc.Value, error) {
	var members []jsondoc.Member
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if key.Kind != yaml.ScalarNode {
			return jsondoc.Value{}, d.fault(at, "a key is a plain name (line %d)", key.Line)
		}
		if key.Tag == "!!merge" {
			return jsondoc.Value{}, d.fault(at, "merge keys (<<, line %d) are not supported; write the members out", key.Line)
		}
		inner := at.Child(key.Value)
		if line, twice := seen[key.Value]; twice {
			d.lines[inner] = key.Line
			return jsondoc.Value{}, d.fault(inner, "the key is there twice; the first is in line %d", line)
		}
		seen[key.Value] = key.Line
		d.lines[inner] = key.Line
		v, err := d.convert(n.Content[i+1], inner, open)
		if err != nil {
			return v, err
		}
		members = append(members, jsondoc.Member{Name: key.Value, Value: v})
	}
	return jsondoc.Object(members...), nil
}

func (d *document) scalar(n *yaml.Node, at jsondoc.Pointer) (jsondoc.Value, error) {
	switch n.ShortTag() {
	case "!!null":
		return jsondoc.Null, nil
	case "!!bool":
		var b bool
		if err := n.Decode(&b); err != nil {
			return jsondoc.Value{}, d.fault(at, "%q is neither true nor false", n.Value)
		}
		return jsondoc.Bool(b), nil
	case "!!int", "!!float":
		if v, err := jsondoc.ParseString(n.Value); err == nil && v.Kind() == jsondoc.KindNumber {
			return v, nil
		}
		var f float64
		if err := n.Decode(&f); err != nil {
			return jsondoc.Value{}, d.fault(at, "%q is no number that JSON has", n.Value)
		}
		v, err := jsondoc.From(f)
		if err != nil {
			return v, d.fault(at, "%q is no number that JSON has", n.Value)
		}
		return v, nil
	}
	text, err := d.expand(n.Value, at)
	return jsondoc.String(text), err
}

var reference = regexp.MustCompile(`\$?\$\{([^}]*)\}`)

// expand puts the environment in: ${NAME}. $${NAME} is ${NAME} itself.
func (d *document) expand(s string, at jsondoc.Pointer) (string, error) {
	if !strings.Contains(s, "${") {
		return s, nil
	}
	var failed error
	out := reference.ReplaceAllStringFunc(s, func(m string) string {
		if strings.HasPrefix(m, "$$") {
			return m[1:]
		}
		name := m[2 : len(m)-1]
		v, ok := d.env(name)
		if !ok && failed == nil {
			failed = d.fault(at, "the environment has no %s; set it, or write $${%s} for the text itself", name, name)
		}
		return v
	})
	return out, failed
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
