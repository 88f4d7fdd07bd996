// What the page computes, without a browser. The sources are TypeScript, so Vite
// loads them, as it does for the page.
import test, { after, before, describe } from "node:test";
import assert from "node:assert/strict";
import path from "node:path";
import { fileURLToPath } from "node:url";
import jsonpatch from "fast-json-patch";
import { createServer } from "vite";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");
const m = {};
let vite;
before(async () => {
  vite = await createServer({ root, configFile: path.join(root, "vite.config.ts"), appType: "custom", logLevel: "error", server: { middlewareMode: true, hmr: false, ws: false, watch: null }, optimizeDeps: { noDiscovery: true } });
  for (const name of ["json/diff", "json/patch", "json/pointer", "model/marks", "model/own", "model/timeline", "model/clienttools", "model/approvals", "model/edit", "model/fields", "model/outline"]) {
    m[name.split("/")[1]] = await vite.ssrLoadModule(`/src/${name}.ts`);
  }
});
after(() => vite.close());

/** Numbers that look drawn, and are the same each time. */
function drawing(seed) {
  return (n) => (seed = (seed * 1103515245 + 12345) % 2147483648) % n;
}

function document(draw, depth = 0) {
  const kind = draw(depth < 3 ? 6 : 4);
  if (kind === 4) return Array.from({ length: draw(4) }, () => document(draw, depth + 1));
  if (kind === 5) return Object.fromEntries(Array.from({ length: draw(4) }, (_, i) => [["a", "b/c", "", "d~e"][i], document(draw, depth + 1)]));
  return [null, draw(5), ["", "x", "long enough"][draw(3)], draw(2) === 0][kind];
}

describe("patches", () => {
  test("apply does what the official client's library does, and changes nothing in place", () => {
    const draw = drawing(7);
    for (let i = 0; i < 500; i++) {
      const [a, b] = [document(draw), document(draw)];
      if (typeof a !== "object" || typeof b !== "object" || a === null || b === null || Array.isArray(a) !== Array.isArray(b)) continue;
      const patch = jsonpatch.compare(a, b);
      const copy = structuredClone(a);
      assert.deepEqual(m.patch.apply(a, patch), b);
      assert.deepEqual(a, copy);
    }
  });

  for (const [name, doc, op, want] of [
    ["append", { l: [1] }, { op: "add", path: "/l/-", value: 2 }, { l: [1, 2] }],
    ["insert", { l: [1, 3] }, { op: "add", path: "/l/1", value: 2 }, { l: [1, 2, 3] }],
    ["the whole", { a: 1 }, { op: "replace", path: "", value: 5 }, 5],
    ["null is a value", { a: 1 }, { op: "replace", path: "/a", value: null }, { a: null }],
    ["move", { a: { b: 1 }, c: 2 }, { op: "move", from: "/a/b", path: "/d" }, { a: {}, c: 2, d: 1 }],
    ["copy", { a: [1] }, { op: "copy", from: "/a", path: "/b" }, { a: [1], b: [1] }],
    ["escapes", { "a/b": { "c~d": 1 } }, { op: "remove", path: "/a~1b/c~0d" }, { "a/b": {} }],
  ]) {
    test(name, () => assert.deepEqual(m.patch.apply(doc, [op]), want));
  }

  for (const [name, doc, op] of [
    ["nothing to replace", {}, { op: "replace", path: "/a", value: 1 }],
    ["nothing to remove", { l: [] }, { op: "remove", path: "/l/0" }],
    ["no such parent", {}, { op: "add", path: "/a/b", value: 1 }],
    ["an index that is none", { l: [1] }, { op: "add", path: "/l/01", value: 1 }],
    ["an inherited member", {}, { op: "remove", path: "/toString" }],
    ["a test that fails", { a: 1 }, { op: "test", path: "/a", value: 2 }],
  ]) {
    test(`refused: ${name}`, () => assert.throws(() => m.patch.apply(doc, [op])));
  }

  test("what did not change is shared", () => {
    const a = { x: { y: [1, 2] }, z: [{ q: 1 }] };
    const b = m.patch.apply(a, [{ op: "replace", path: "/x/y/0", value: 5 }]);
    assert.equal(b.z, a.z);
    const again = m.patch.share(a, structuredClone(a));
    assert.equal(again, a);
    const next = m.patch.share(a, { x: { y: [1, 3] }, z: [{ q: 1 }] });
    assert.equal(next.z, a.z);
    assert.deepEqual(next.x, { y: [1, 3] });
  });
});

describe("differences", () => {
  test("no difference where two are equal, and the right ones where not", () => {
    const draw = drawing(3);
    for (let i = 0; i < 500; i++) {
      const [a, b] = [document(draw), document(draw)];
      assert.deepEqual(m.diff.changes(a, structuredClone(a)), []);
      const list = m.diff.changes(a, b);
      assert.equal(list.length === 0, m.patch.same(a, b));
      for (const c of list) {
        if ("after" in c) assert.deepEqual(m.pointer.at(b, c.path), c.after);
        else assert.ok("before" in c);
      }
    }
  });

  test("an item in the middle is one change", () => {
    assert.deepEqual(m.diff.changes({ l: ["a", "c"] }, { l: ["a", "b", "c"] }), [{ path: "/l/1", after: "b" }]);
    assert.deepEqual(m.diff.changes({ l: ["a", "b", "c"] }, { l: ["a", "c"] }), [{ path: "/l/1", before: "b" }]);
    assert.deepEqual(m.diff.changes({ l: [{ n: 1 }, { n: 2 }] }, { l: [{ n: 1 }, { n: 3 }] }), [{ path: "/l/1/n", before: 2, after: 3 }]);
  });

  test("words add up to both texts", () => {
    const draw = drawing(11);
    const text = () => Array.from({ length: draw(12) }, () => ["the ", "fox\n", "ran ", "home. "][draw(4)]).join("");
    for (let i = 0; i < 300; i++) {
      const [a, b] = [text(), text()];
      const pieces = m.diff.words(a, b);
      assert.equal(pieces.filter((p) => p.kind !== "new").map((p) => p.text).join(""), a);
      assert.equal(pieces.filter((p) => p.kind !== "gone").map((p) => p.text).join(""), b);
    }
    assert.deepEqual(m.diff.words("a fox ran", "a dragon ran").map((p) => `${p.kind} ${p.text}`), ["same a ", "gone fox", "new dragon", "same  ran"]);
  });

  test("texts that are too long to compare word by word are shown one after the other", () => {
    const long = (w) => `${w} `.repeat(3000);
    assert.deepEqual(m.diff.words(long("a"), long("b")).map((p) => p.kind).filter((k) => k !== "same"), ["gone", "new"]);
  });
});

describe("marks", () => {
  test("an item that comes or goes takes the marks behind it along", () => {
    const doc = { l: ["a", "b", "c"] };
    let marks = new m.marks.Marks().patched([{ op: "replace", path: "/l/1", value: "B" }], doc, "you");
    assert.equal(marks.get("/l/1").who, "you");
    marks = marks.patched([{ op: "add", path: "/l/0", value: "z" }], doc, "agent");
    assert.equal(marks.get("/l/0").who, "agent");
    assert.equal(marks.get("/l/1"), undefined);
    assert.equal(marks.get("/l/2").who, "you");
    marks = marks.patched([{ op: "remove", path: "/l/0" }], { l: ["z", "a", "B", "c"] }, "viewer");
    assert.equal(marks.get("/l/1").who, "you");
    assert.equal(marks.get("/l").who, "viewer");
    assert.equal(marks.newest("/l").who, "viewer");
  });

  test("an edit of this page's is told from others', before and after its answer", () => {
    const own = new m.own.OwnEdits();
    const edit = own.begin(["/list/1"]);
    assert.equal(own.made(["/title"], "e-5"), false);
    assert.equal(own.made(["/list/3"], "e-6"), edit, "an item may be another one by then");
    edit.taken.push({ n: 6, from: 0, to: 1 }, { n: 10, from: 1, to: 2 });
    assert.deepEqual(own.settle(edit, "e-12"), [{ n: 6, from: 0, to: 1 }], "what was too far from it was another's");
    assert.equal(own.made(["/title"], "e-10"), true);
    assert.equal(own.made(["/list/1"], "e-13"), false);
    const refused = own.begin(["/title"]);
    refused.taken.push({ n: 14, from: 2, to: 3 });
    assert.deepEqual(own.settle(refused), [{ n: 14, from: 2, to: 3 }]);
    assert.equal(own.made(["/title"], "e-15"), false);
    const marks = new m.marks.Marks().patched([{ op: "replace", path: "/a", value: 1 }, { op: "replace", path: "/b", value: 1 }], { a: 0, b: 0 }, "you").givenTo("viewer", 0, 1);
    assert.deepEqual([marks.get("/a").who, marks.get("/b").who], ["viewer", "you"]);
  });

  test("an item that is appended is marked where it is", () => {
    const marks = new m.marks.Marks().patched([{ op: "add", path: "/l/-", value: 1 }], { l: [0] }, "agent");
    assert.equal(marks.get("/l/1").who, "agent");
  });

  test("few changes are worth a word, many or predicted ones are not", () => {
    const doc = { a: 0, b: 0, c: 0, d: 0 };
    const patch = (names) => [...names].map((n) => ({ op: "replace", path: `/${n}`, value: 1 }));
    assert.equal(new m.marks.Marks().patched(patch("a"), doc, "you").get("/a").said, true);
    assert.equal(new m.marks.Marks().patched(patch("abcd"), doc, "you").get("/a").said, false);
    assert.equal(new m.marks.Marks().patched(patch("a"), doc, "agent", true).get("/a").said, false);
  });
});

describe("the timeline", () => {
  const delta = (call, value, predicted = true) => ({
    type: "STATE_DELTA",
    delta: [{ op: "add", path: "/x", value }],
    metadata: { lockstep: { position: "e-1", revision: 1, by: "agent", call, predicted } },
  });
  const events = [
    { type: "RUN_STARTED", threadId: "t", runId: "r", input: { messages: [{ id: "1", role: "user", content: "hello" }] } },
    { type: "STATE_SNAPSHOT", snapshot: { a: 1 } },
    { type: "TOOL_CALL_START", toolCallId: "c", toolCallName: "write" },
    { type: "TOOL_CALL_ARGS", toolCallId: "c", delta: '{"x":' },
    delta("c", 1),
    { type: "TOOL_CALL_ARGS", toolCallId: "c", delta: "12}" },
    delta("c", 12),
    { type: "TOOL_CALL_END", toolCallId: "c" },
    delta("c", 13, false),
    { type: "RUN_FINISHED", threadId: "t", runId: "r" },
  ];
  const filled = () => {
    const t = new m.timeline.Timeline();
    for (const e of events) t.add(e, 0);
    return t;
  };

  test("what only goes on is one line, however it is interleaved", () => {
    const lines = filled().entries.map((e) => `${e.title} ${e.count} ${e.detail}`.trim());
    assert.deepEqual(lines, ["Run started 1 hello", "State 1 1", "Tool called 1 write", 'Arguments 2 {"x":12}', "State changed 2 X", "Arguments complete 1", "State changed 1 X", "Run finished 1"]);
  });

  test("the state at each point, asked for in any order", () => {
    const want = [undefined, { a: 1 }, { a: 1 }, { a: 1 }, { a: 1, x: 1 }, { a: 1, x: 1 }, { a: 1, x: 12 }, { a: 1, x: 12 }, { a: 1, x: 13 }, { a: 1, x: 13 }];
    const t = filled();
    want.forEach((state, n) => assert.deepEqual(t.stateAt(n), state, `forward ${n}`));
    want.toReversed().forEach((state, i) => assert.deepEqual(t.stateAt(want.length - 1 - i), state, `backward ${i}`));
    assert.deepEqual(t.stateAtRunStart(0), { a: 1 });
  });

  test("the oldest go where there are too many, and numbers stay", () => {
    const t = filled();
    for (let i = 0; i < 20_000; i++) t.add({ type: "CUSTOM", name: "n", value: i });
    assert.ok(t.start > 0);
    assert.equal(t.event(t.length - 1).value, 19_999);
    assert.equal(t.event(0), undefined);
    assert.ok(t.entries.every((e) => e.last >= t.start));
    assert.equal(t.stateAt(t.length - 1), undefined);
  });
});

describe("calls", () => {
  test("arguments can be read at every cut", () => {
    const full = { steps: [{ description: 'say "hi"', n: 1 }, { description: "b, c" }], done: true };
    const text = JSON.stringify(full);
    let most = 0;
    for (let i = 0; i <= text.length; i++) {
      const got = m.clienttools.argumentsOf({ id: "c", name: "t", text: text.slice(0, i) });
      const steps = got.steps ?? [];
      assert.ok(steps.length >= most, `at ${i}: ${steps.length} after ${most}`);
      most = steps.length;
      steps.forEach((s, n) => assert.ok(s.description === undefined || full.steps[n].description.startsWith(s.description)));
    }
    assert.deepEqual(m.clienttools.argumentsOf({ id: "c", name: "t", text }), full);
  });

  test("what waits for a decision", () => {
    const messages = [
      { id: "1", role: "user", content: "write" },
      { id: "2", role: "assistant", toolCalls: [{ id: "w", type: "function", function: { name: "write_document", arguments: '{"document":"b"}' } }] },
      { id: "3", role: "tool", toolCallId: "w", content: "Waiting for approval." },
      { id: "4", role: "assistant", toolCalls: [{ id: "k", type: "function", function: { name: "confirm_changes", arguments: "{}" } }] },
    ];
    const base = { interrupts: [], messages, running: false, before: { document: "a" }, after: { document: "b" }, predicted: ["/document"] };
    const [older, ...more] = m.approvals.approvals(base);
    assert.equal(more.length, 0);
    assert.deepEqual([older.id, older.older, older.call.id], ["k", true, "w"]);
    assert.deepEqual(older.changes, [{ path: "/document", before: "a", after: "b" }]);
    assert.deepEqual(m.approvals.approvals({ ...base, running: true }), []);
    // Listed as an interrupt too, after a reload: one question, not two.
    const [listed, ...others] = m.approvals.approvals({ ...base, interrupts: [{ id: "k", reason: "tool_call", toolCallId: "w", message: "Shall it?" }] });
    assert.equal(others.length, 0);
    assert.deepEqual([listed.title, listed.older, listed.call.id], ["Shall it?", true, "w"]);
    // Of several at once each has its own call and its own changes.
    const two = [
      { id: "1", role: "user", content: "write" },
      { id: "2", role: "assistant", toolCalls: ["w", "v"].map((id) => ({ id, type: "function", function: { name: `write_${id}`, arguments: "{}" } })) },
      { id: "3", role: "assistant", toolCalls: ["w", "v"].map((id) => ({ id: `k${id}`, type: "function", function: { name: "confirm_changes", arguments: JSON.stringify({ function_call_id: id }) } })) },
    ];
    const both = m.approvals.approvals({
      interrupts: [], messages: two, running: false, before: { w: 1, v: 1, x: 1 }, after: { w: 2, v: 2, x: 2 }, predicted: ["/w", "/v", "/x"],
      owners: new Map([["w", ["/w/deep"]], ["v", ["/v"]]]),
    });
    assert.deepEqual(both.map((a) => [a.id, a.call.id, a.changes.map((c) => c.path)]), [["kw", "w", ["/w", "/x"]], ["kv", "v", ["/v", "/x"]]]);
    // Answered, or passed over by a new message: nothing waits.
    assert.deepEqual(m.approvals.approvals({ ...base, messages: [...messages, { id: "5", role: "tool", toolCallId: "k", content: "{}" }] }), []);
    assert.deepEqual(m.approvals.approvals({ ...base, messages: [...messages, { id: "5", role: "user", content: "no" }] }), []);
  });
});

describe("words for places", () => {
  for (const [path, want] of [
    ["", "Everything"],
    ["/recipe/special_preferences", "Recipe › Special preferences"],
    ["/recipe/ingredients/0/name", "Recipe › Ingredients › 1 › Name"],
    ["/a~1b/cookTime", "A/b › Cook Time"],
  ]) {
    test(path || "the whole", () => assert.equal(m.pointer.place(path), want));
  }
});

test("thousands of changes at once are marked where they lie at the top", () => {
  const list = Array.from({ length: 5000 }, (_, i) => ({ path: `/rows/${i}/at`, after: i }));
  const marks = new m.marks.Marks().replaced([{ path: "/title", after: 1 }], "you").replaced(list, "agent");
  assert.deepEqual([marks.get("/rows")?.who, marks.get("/rows/7/at"), marks.get("/title")], ["agent", undefined, undefined]);
  assert.ok(marks.get("/rows").n > 1, "newer than what was");
});

describe("forms", () => {
  const read = (schema, draft) => {
    const faults = {};
    const value = m.fields.read(m.fields.shapeOf(schema), draft, true, faults);
    return Object.keys(faults).length > 0 ? faults : { value };
  };
  for (const [name, schema, draft, want] of [
    ["a text", { type: "string" }, " a ", { value: " a " }],
    ["no text", { type: "string" }, "", { "": "This is needed." }],
    ["too short, in letters and not in units", { type: "string", minLength: 2 }, "\u{1F35D}", { "": "At least 2 characters." }],
    ["too long", { type: "string", maxLength: 1 }, "ab", { "": "At most 1 characters; these are 2." }],
    ["a pattern", { type: "string", pattern: "^a+$" }, "b", { "": "Must look like ^a+$" }],
    ["a pattern that no browser reads", { type: "string", pattern: "(?x)" }, "b", { value: "b" }],
    ["a uuid", { type: "string", format: "uuid" }, "1", { "": "Must be a UUID." }],
    ["a uri", { type: "string", format: "uri" }, "https://example.com", { value: "https://example.com" }],
    ["a format of somebody's", { type: "string", format: "colour" }, "x", { value: "x" }],
    ["a number", { type: "number", exclusiveMinimum: 0, exclusiveMaximum: 1 }, " .5 ", { value: 0.5 }],
    ["a number at its bound", { type: "number", exclusiveMaximum: 1 }, "1", { "": "Less than 1." }],
    ["in steps", { type: "number", multipleOf: 0.1 }, "0.3", { value: 0.3 }],
    ["between steps", { type: "number", multipleOf: 0.1 }, "0.35", { "": "A multiple of 0.1." }],
    ["more digits than a double has", { type: "integer" }, "9007199254740993", { "": "This number has more digits than a browser can keep." }],
    ["no number", { type: "number" }, "x", { "": "Must be a number." }],
    ["yes", { type: "boolean" }, "true", { value: true }],
    ["a choice that is no text", { enum: [1, null, "x"] }, "1", { value: null }],
    ["choices with names", { oneOf: [{ const: "a" }, { const: "b" }] }, "1", { value: "b" }],
    ["alternatives", { anyOf: [{ type: "string" }, { type: "number" }] }, "[1]", { value: [1] }],
    ["nullable", { type: ["string", "null"] }, "x", { value: "x" }],
    ["anything that is no JSON", {}, "{", undefined],
    ["members", { type: "object", required: ["a"], properties: { a: { type: "string" }, b: { type: "number" } } }, { a: "x", b: "" }, { value: { a: "x" } }],
    ["an optional part that is begun", { type: "object", properties: { p: { type: "object", required: ["a"], properties: { a: { type: "string" }, b: { type: "string" } } } } }, { p: { a: "", b: "x" } }, { "/p/a": "This is needed." }],
    ["an optional part that is not", { type: "object", properties: { p: { type: "object", required: ["a"], properties: { a: { type: "string" } } } } }, { p: { a: "" } }, { value: {} }],
    ["too few items", { type: "array", minItems: 2, items: { type: "string" } }, ["a"], { "": "Add at least 2." }],
    ["a wrong item", { type: "array", items: { type: "integer" } }, ["1", "x"], { "/1": "Must be a number." }],
    ["by reference", { $ref: "#/$defs/a~1b", $defs: { "a/b": { type: "integer" } } }, "7", { value: 7 }],
  ]) {
    test(name, () => {
      const got = read(schema, draft);
      if (want === undefined) assert.match(got[""], /^Must be JSON/);
      else assert.deepEqual(got, want);
    });
  }

  test("a schema that contains itself ends, and one that points at itself too", () => {
    const tree = { $ref: "#/$defs/n", $defs: { n: { type: "object", properties: { kids: { type: "array", items: { $ref: "#/$defs/n" } } } } } };
    assert.equal(m.fields.shapeOf(tree).kind, "object");
    assert.equal(m.fields.shapeOf({ $ref: "#" }).kind, "json");
  });

  test("a value as fields says the same value again", () => {
    const draw = drawing(11);
    for (let i = 0; i < 300; i++) {
      const value = { it: document(draw) };
      const shape = m.fields.shapeOfValue(value);
      const faults = {};
      assert.deepEqual(m.fields.read(shape, m.fields.draftOf(shape), true, faults), value);
      assert.deepEqual(faults, {});
    }
  });
});

describe("forms for what is there", () => {
  const shapeOfValue = (value, schema) => m.fields.shapeOfValue(value, schema);
  const draftOf = (shape) => m.fields.draftOf(shape);
  const read = (...args) => m.fields.read(...args);
  const schemaLike = (value, draw) => {
    if (Array.isArray(value)) return { type: "array", items: value.length > 0 ? schemaLike(value[0], draw) : {} };
    if (value === null) return { type: ["string", "null"] };
    if (typeof value !== "object") return draw() < 0.1 ? {} : { type: typeof value };
    const names = Object.keys(value).filter(() => draw() < 0.8); // what it does not name may be there all the same
    return { type: "object", properties: Object.fromEntries(names.map((n) => [n, schemaLike(value[n], draw)])), required: names.filter(() => draw() < 0.5) };
  };

  test("begin with exactly that, whatever the schema says", () => {
    const draw = drawing(12);
    for (let i = 0; i < 300; i++) {
      const [value, other] = [{ it: document(draw) }, { it: document(draw) }];
      for (const schema of [schemaLike(value, draw), schemaLike(other, draw), document(draw)]) {
        const shape = shapeOfValue(value, schema);
        const faults = {};
        assert.deepEqual(read(shape, draftOf(shape), true, faults), value);
        assert.deepEqual(faults, {});
      }
    }
  });

  const step = { type: "object", required: ["text"], properties: { text: { type: "string", description: "What to do" }, state: { enum: ["open", "done"] }, minutes: { type: "integer", minimum: 1 } } };
  const schema = { type: "object", required: ["steps"], properties: { steps: { type: "array", minItems: 1, items: { $ref: "#/$defs/step" } }, note: { type: "string" }, open: { type: "object" } }, $defs: { step } };
  const tasks = { steps: [{ text: "Boil", state: "open" }, { text: "Mix", minutes: 2 }], open: { a: 1 }, more: "x" };

  test("have the schema's choices, bounds and words, and what it does not name", () => {
    const shape = shapeOfValue(tasks, schema);
    assert.deepEqual(shape.members.map(({ name, shape: s, required }) => [name, s.kind, required]), [["steps", "list", true], ["note", "text", false], ["open", "object", true], ["more", "text", true]]);
    assert.deepEqual(shape.members[0].shape.item.members.map(({ name, shape: s, required }) => [name, s.kind, required, s.help]), [["text", "text", true, "What to do"], ["state", "choice", false, ""], ["minutes", "number", false, ""]]);
    const faults = {};
    const draft = draftOf(shape);
    draft.steps[1].minutes = "0";
    read(shape, draft, true, faults);
    assert.deepEqual(faults, { "/steps/1/minutes": "At least 1." });
  });

  test("lose nothing where items have more than the schema names", () => {
    const value = { steps: [{ text: "Boil", by: "Ann" }, { text: "Mix", by: "Bo" }] };
    const shape = shapeOfValue(value, schema);
    assert.deepEqual(read(shape, draftOf(shape), true, {}), value);
  });

  test("leave a text that is emptied empty, and what was not there away", () => {
    const shape = shapeOfValue({ steps: tasks.steps, note: "x" }, schema);
    assert.deepEqual(read(shape, { ...draftOf(shape), note: "" }, true, {}), { steps: tasks.steps, note: "" });
  });
});

describe("what of a document is open at first", () => {
  const shown = (doc) => {
    const open = m.outline.outline(doc);
    const count = (value, path) => (typeof value !== "object" || value === null ? 1 : 1 + (open.has(path) ? Object.keys(value).slice(0, m.outline.page).reduce((n, k) => n + count(value[k], m.pointer.below(path, k)), 0) : 0));
    return { open, lines: count(doc, "") };
  };
  test("all of what is small", () => assert.deepEqual([...shown({ a: { b: [1, { c: 2 }] }, d: {} }).open], ["", "/a", "/d", "/a/b", "/a/b/1"]));
  test("not much of what is large, however it is made", () => {
    const many = (n, f) => Array.from({ length: n }, (_, i) => f(i));
    for (const doc of [
      many(10_000, (i) => i),
      many(10_000, (i) => ({ i, j: i })),
      Object.fromEntries(many(100, (i) => [`k${i}`, many(100, (j) => j)])),
      many(100, () => many(10, () => many(10, () => [1]))),
    ]) {
      const { lines } = shown(doc);
      assert.ok(lines < 1100, `${lines} lines`);
    }
  });
  test("nothing below the fifth level", () => {
    const { open } = shown({ a: { b: { c: { d: { e: { f: 1 } } } } } });
    assert.deepEqual([open.has("/a/b/c/d"), open.has("/a/b/c/d/e")], [true, false]);
  });
  test("places that only the agent changes", () => {
    for (const [path, want] of [["/a", false], ["/list", true], ["/list/0", true], ["/list/0/price", true], ["/list/0/price/x", true], ["/list/0/name", false]]) {
      assert.equal(m.edit.isFixed(["/list/*/price"], path), want, path);
    }
  });
});
