package state

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/jsonstream"
)

// Config says when what an agent does becomes state. The zero Config keeps no
// state of its own accord: posted state is ignored (agent code can still read it,
// with From(ctx).Posted) until something, a tool or a DataContent, has made state
// on the thread.
type Config struct {
	// Schema describes the state. State that breaks it never becomes state (S8).
	Schema *Schema

	// Initial holds the top-level members that the first posted state lacks,
	// such as jsondoc.MustFrom(MyState{}). Absent: every top-level member of
	// Schema with its default or the empty value of its type. Inside a member
	// that the client posts nothing is filled in.
	Initial jsondoc.Value

	// Predict fills members of the state while a model still writes a tool's
	// arguments. The key is a member of the state, or a JSON Pointer ("/a/b").
	// Several members may name one tool.
	Predict map[string]Prediction

	// Rules make state, and other events, of tools' calls and results and of
	// contents of the agent's.
	Rules []Rule

	// RequireConfirmation pauses a run before a tool that feeds the state by
	// Predict: what it proposes is shown, the run ends with an interrupt, and
	// the tool runs once a person has approved. Tools that need approval by
	// themselves (tool.ApprovalRequired) pause with or without it.
	RequireConfirmation bool

	// ConfirmChanges asks in the way of older front ends instead of by an
	// interrupt: CUSTOM function_approval_request and an unanswered call of
	// confirm_changes. It implies RequireConfirmation.
	ConfirmChanges bool

	// Confirmation words the question and what is said after the decision. Where
	// it has words for that the model is not asked again. Nil: the question of
	// DefaultConfirmation, and the model speaks for itself.
	Confirmation ConfirmationStrategy

	// ConfirmWithin is how long a proposal waits for its decision before it is
	// taken back by itself. Zero: for ever.
	ConfirmWithin time.Duration

	// Access limits what leaves the server and what clients may write.
	Access Access

	// Conflict decides where the agent's result and a person's edit changed
	// the same place. The zero value keeps the person's edit.
	Conflict ConflictPolicy

	// Inject puts the current state before the model.
	Inject Injection

	// MaxBytes bounds the state's JSON. A change that would make it larger is
	// refused like one that breaks the schema. Zero means 4 MB: clients take no
	// frame above 10 MB.
	MaxBytes int
}

const defaultMaxState = 4 << 20

func (m *Model) maxState() int {
	if m.cfg.MaxBytes > 0 {
		return m.cfg.MaxBytes
	}
	return defaultMaxState
}

// Prediction feeds one member of the state from a tool's arguments.
type Prediction struct {
	// Tool is the tool's exact name.
	Tool string

	// Argument is the argument's name, a JSON Pointer into the arguments
	// ("/plan/steps"), or "*" for all arguments as one object.
	Argument string

	// Whole sends the whole value with each change, as front ends expect that
	// were written for whole-value frames. The states are the same without it,
	// with far fewer bytes.
	Whole bool

	// Keep leaves old members in place until the new value names them or ends,
	// so that a form does not flicker. At the end what the new value does not
	// name goes; a text is shown from its beginning again.
	Keep bool
}

// ConflictPolicy decides between a person's edit and an agent's result (S6).
type ConflictPolicy uint8

const (
	// ClientWins keeps the person's edit.
	ClientWins ConflictPolicy = iota
	// AgentWins takes the agent's value.
	AgentWins
	// RejectResult makes the tool call fail; nothing of it is committed.
	RejectResult
)

// String is the policy's name in the agents file and in lockstep.conflict.
func (p ConflictPolicy) String() string {
	switch p {
	case AgentWins:
		return "server"
	case RejectResult:
		return "reject"
	default:
		return "client"
	}
}

// Injection says whether and how the state is put before the model (S7).
type Injection struct {
	// Mode is InjectAuto (the zero value: where there is a schema, an initial
	// state or a prediction), InjectNever, InjectAlways, or InjectAll, which
	// shows server-only members too.
	Mode InjectMode

	// MaxBytes bounds the state's JSON in the prompt. A larger state is shown
	// by its structure. Zero means 64 KB.
	MaxBytes int

	// Render writes the message instead of the standard text.
	Render func(state jsondoc.Value) string
}

// InjectMode is Injection's switch.
type InjectMode uint8

const (
	InjectAuto InjectMode = iota
	InjectNever
	InjectAlways
	InjectAll
)

// Model is a compiled Config: immutable, shared by all runs of an agent, safe
// for concurrent use.
type Model struct {
	cfg     Config
	initial jsondoc.Value
	fields  []field
	access  access
	rules   rules
}

// field is one prediction in its compiled form.
type field struct {
	key    string // as configured; PredictState's state_key
	arg    string // as configured; PredictState's tool_argument, "" for all
	tool   string
	target jsonstream.Target
}

// NewModel checks a configuration. The error names the member and what would
// be right.
func NewModel(cfg Config) (*Model, error) {
	m := &Model{cfg: cfg, initial: cfg.Initial}
	if k := cfg.Initial.Kind(); k != jsondoc.KindAbsent && k != jsondoc.KindObject {
		return nil, fmt.Errorf("state: Config.Initial is %s; front ends need an object", k)
	}
	if m.initial.IsAbsent() && cfg.Schema != nil {
		m.initial = cfg.Schema.Initial()
	}
	for _, key := range slices.Sorted(maps.Keys(cfg.Predict)) {
		f, err := newField(key, cfg.Predict[key])
		if err != nil {
			return nil, err
		}
		m.fields = append(m.fields, f)
	}
	for i, f := range m.fields {
		for _, g := range m.fields[:i] {
			if f.target.Path.Contains(g.target.Path) || g.target.Path.Contains(f.target.Path) {
				return nil, fmt.Errorf("state: Config.Predict: %q and %q feed the same place", g.key, f.key)
			}
		}
	}
	var err error
	if m.access, err = newAccess(cfg.Access); err != nil {
		return nil, err
	}
	var shape jsondoc.Value
	if cfg.Schema != nil {
		shape = cfg.Schema.Document()
	}
	if err = cfg.Access.checkItems(shape, m.initial); err != nil {
		return nil, err
	}
	if m.rules, err = newRules(cfg.Rules); err != nil {
		return nil, err
	}
	return m, nil
}

func newField(key string, p Prediction) (field, error) {
	f := field{key: key, tool: p.Tool, target: jsonstream.Target{Whole: p.Whole, Keep: p.Keep}}
	if p.Tool == "" {
		return f, fmt.Errorf("state: Config.Predict[%q].Tool is empty; name the tool whose arguments feed the state", key)
	}
	var err error
	if f.target.Path, err = pointerOrName(key); err != nil || f.target.Path == "" {
		return f, fmt.Errorf("state: Config.Predict[%q]: the key is a member's name or a JSON Pointer such as /a/b", key)
	}
	switch p.Argument {
	case "*":
	case "":
		return f, fmt.Errorf(`state: Config.Predict[%q].Argument is empty; name the argument, or use "*" for all of them`, key)
	default:
		f.arg = p.Argument
		if f.target.Argument, err = pointerOrName(p.Argument); err != nil {
			return f, fmt.Errorf("state: Config.Predict[%q].Argument: %w", key, err)
		}
	}
	return f, nil
}

// pointerOrName reads "/a/b" as a JSON Pointer and anything else as one name.
func pointerOrName(s string) (jsondoc.Pointer, error) {
	if strings.HasPrefix(s, "/") {
		return jsondoc.ParsePointer(s)
	}
	return jsondoc.Path(s), nil
}

// Config returns what the model was made from.
func (m *Model) Config() Config { return m.cfg }

// Keeps reports whether the configuration itself asks for state. Without it a
// thread has state only once something made it.
func (m *Model) Keeps() bool {
	return m.cfg.Schema != nil || !m.cfg.Initial.IsAbsent() || len(m.fields) > 0 || len(m.cfg.Access) > 0 || len(m.rules.states) > 0
}

// Predicts reports whether the tool's arguments feed the state.
func (m *Model) Predicts(tool string) bool {
	return slices.ContainsFunc(m.fields, func(f field) bool { return f.tool == tool })
}

// Confirms reports whether calls of the tool wait for a person's approval.
func (m *Model) Confirms(tool string) bool {
	return (m.cfg.RequireConfirmation || m.cfg.ConfirmChanges) && m.Predicts(tool)
}

// PredictState is the value of the CUSTOM event of that name, in the form that
// front ends know: state_key, tool, and tool_argument, left out for "*".
// It is absent when nothing is predicted.
func (m *Model) PredictState() jsondoc.Value {
	if len(m.fields) == 0 {
		return jsondoc.Value{}
	}
	list := make([]jsondoc.Value, len(m.fields))
	for i, f := range m.fields {
		v := jsondoc.Object(
			jsondoc.Member{Name: "state_key", Value: jsondoc.String(f.key)},
			jsondoc.Member{Name: "tool", Value: jsondoc.String(f.tool)},
		)
		if f.arg != "" {
			v = v.With("tool_argument", jsondoc.String(f.arg))
		}
		list[i] = v
	}
	return jsondoc.Array(list...)
}

// First is a new thread's first state: what the client posted, and of the
// initial state the members that it lacks. Anything but an object is read as
// no state.
func (m *Model) First(posted jsondoc.Value) jsondoc.Value {
	first := posted
	if first.Kind() != jsondoc.KindObject {
		first = jsondoc.Object()
	}
	for name, v := range m.initial.Members() {
		if _, ok := first.Get(name); !ok {
			first = first.With(name, v)
		}
	}
	return first
}

// defaultModelBytes is Injection.MaxBytes unless configured.
const defaultModelBytes = 64 << 10
