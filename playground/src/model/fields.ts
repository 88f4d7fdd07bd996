// Which fields a form needs for a JSON Schema, or for a value, and what its answers
// come to. What the fields cannot say (alternatives, open objects) is written as
// JSON. The server checks the answer against the whole schema; here is checked what
// a person can be told beside the field.
import { changes } from "../json/diff";
import { below, isObject, tokens, type Doc } from "../json/pointer";

export interface Shape {
  kind: "text" | "number" | "boolean" | "choice" | "object" | "list" | "json";
  help: string;
  /** What a field begins with. */
  initial: unknown;
  /** An empty field is an empty text, and not nothing. */
  blank: boolean;
  /** The schema of exactly this place, for its bounds. */
  schema: Doc;
  /** Of an object: its members in their order. */
  members: { name: string; shape: Shape; required: boolean }[];
  /** Of a list: what each item is. */
  item: Shape | undefined;
  /** Of a choice. */
  choices: unknown[];
}

/** What is written into the fields: texts, and objects and lists of them. */
export type Draft = string | Draft[] | { [name: string]: Draft };

/** Deeper than this, and in a schema that contains itself, there is a field for JSON. */
const deepest = 6;

/** The shape that a schema asks for. */
export function shapeOf(schema: unknown, root: unknown = schema, depth = 0): Shape {
  const s = resolve(schema, root);
  const shape = (kind: Shape["kind"], more: Partial<Shape> = {}): Shape => ({
    kind,
    help: typeof s.description === "string" ? s.description : "",
    initial: s.default,
    blank: false,
    schema: s,
    members: [],
    item: undefined,
    choices: [],
    ...more,
  });
  const choices = choicesOf(s);
  if (choices) return shape("choice", { choices });
  if (depth > deepest) return shape("json");
  const types = (Array.isArray(s.type) ? s.type : [s.type]).filter((t) => t !== "null");
  switch (types.length === 1 ? types[0] : undefined) {
    case "string":
      return shape("text");
    case "number":
    case "integer":
      return shape("number");
    case "boolean":
      return shape("boolean");
    case "array":
      return isObject(s.items) ? shape("list", { item: shapeOf(s.items, root, depth + 1) }) : shape("json");
    case "object": {
      if (!isObject(s.properties)) return shape("json");
      const required = Array.isArray(s.required) ? s.required : [];
      const members = Object.entries(s.properties).map(([name, p]) => ({ name, shape: shapeOf(p, root, depth + 1), required: required.includes(name) }));
      return shape("object", { members });
    }
    default:
      return shape("json");
  }
}

/** A schema with what it points at in the same document. */
function resolve(schema: unknown, root: unknown): Doc {
  let s: Doc = isObject(schema) ? schema : {};
  for (let i = 0; typeof s.$ref === "string" && i < 16; i++) {
    const { $ref, ...own } = s as Doc & { $ref: string };
    let to: unknown = root;
    for (const step of tokens($ref.replace(/^#/, ""))) to = isObject(to) ? to[step] : undefined;
    s = { ...(isObject(to) ? to : {}), ...own };
  }
  return s;
}

function choicesOf(s: Doc): unknown[] | null {
  const list = Array.isArray(s.enum) ? s.enum : s.const !== undefined ? [s.const] : Array.isArray(s.oneOf ?? s.anyOf) ? (s.oneOf ?? s.anyOf) : null;
  if (!Array.isArray(list) || list.length === 0) return null;
  if (list !== s.enum && s.const === undefined) {
    if (!list.every((c) => isObject(c) && c.const !== undefined)) return null;
    return (list as Doc[]).map((c) => c.const);
  }
  return list.every((c) => typeof c !== "object" || c === null) ? list : null;
}

/**
 * The shape of a value that is there, to be changed: what its schema says of it
 * where such fields can say what is there, else what the value itself shows.
 */
export function shapeOfValue(value: unknown, schema?: unknown, root: unknown = schema, depth = 0): Shape {
  const shape = (kind: Shape["kind"], more: Partial<Shape> = {}): Shape => ({ kind, help: "", initial: value, blank: true, schema: {}, members: [], item: undefined, choices: [], ...more });
  if (schema !== undefined) {
    const said: Shape = { ...shapeOf(schema, root, depth), initial: value, blank: true };
    if (said.kind === "object" && isObject(value)) return { ...said, members: membersOf(value, said, root, depth) };
    if (said.kind !== "json" && says(said, value)) return said;
  }
  if (typeof value === "string") return shape("text");
  if (typeof value === "number") return shape("number");
  if (typeof value === "boolean") return shape("boolean");
  if (depth > deepest) return shape("json");
  if (isObject(value) && Object.keys(value).length > 0) {
    return shape("object", { members: Object.entries(value).map(([name, v]) => ({ name, shape: valueShape(v, depth + 1), required: true })) });
  }
  if (Array.isArray(value) && value.length > 0) {
    // A list of unlike things has no field that fits each.
    const shapes = value.map((v) => valueShape(v, depth + 1));
    if (shapes.every((s) => alike(s, shapes[0]!))) return shape("list", { item: { ...shapes[0]!, initial: undefined } });
  }
  return shape("json");
}

const valueShape = (value: unknown, depth: number) => shapeOfValue(value, undefined, undefined, depth);

/** The members that a schema names, and those that only the value has. */
function membersOf(value: Doc, said: Shape, root: unknown, depth: number): Shape["members"] {
  const properties = said.schema.properties as Doc;
  const named = said.members.map((m) => {
    if (!Object.hasOwn(value, m.name)) return m;
    const shape = shapeOfValue(value[m.name], properties[m.name], root, depth + 1);
    // What has an inside and is there, stays there when it is emptied.
    return { ...m, shape, required: m.required || shape.kind === "object" || shape.kind === "list" };
  });
  const others = Object.keys(value).filter((name) => !Object.hasOwn(properties, name));
  return [...named, ...others.map((name) => ({ name, shape: valueShape(value[name], depth + 1), required: true }))];
}

/** Reports whether the fields of a shape begin with exactly a value. */
function says(shape: Shape, value: unknown): boolean {
  const faults: Faults = {};
  const back = read(shape, draftOf(shape, value), true, faults);
  return Object.keys(faults).length === 0 && changes(value, back).length === 0;
}

function alike(a: Shape, b: Shape): boolean {
  return a.kind === b.kind && a.members.length === b.members.length && a.members.every((m, i) => m.name === b.members[i]!.name && alike(m.shape, b.members[i]!.shape)) && (a.item === undefined) === (b.item === undefined) && (!a.item || alike(a.item, b.item!));
}

/** What the fields of a shape begin with. */
export function draftOf(shape: Shape, value: unknown = shape.initial): Draft {
  switch (shape.kind) {
    case "object":
      return Object.fromEntries(shape.members.map((m) => [m.name, draftOf(m.shape, isObject(value) && Object.hasOwn(value, m.name) ? value[m.name] : m.shape.initial)]));
    case "list":
      return Array.isArray(value) ? value.map((v) => draftOf(shape.item!, v)) : [];
    case "json":
      return value === undefined ? "" : JSON.stringify(value, null, 2);
    case "choice": {
      const i = shape.choices.indexOf(value);
      return i >= 0 ? String(i) : shape.choices.length === 1 ? "0" : "";
    }
    case "text":
      return typeof value === "string" && shape.schema.format === "date-time" ? local(value) : value === undefined || value === null ? "" : String(value);
    default:
      return value === undefined || value === null ? "" : String(value);
  }
}

/** A moment as a field for local time has it. */
function local(text: string): string {
  const at = new Date(text);
  if (Number.isNaN(at.getTime())) return "";
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

/** What is wrong, by the pointer of the field. */
export type Faults = Record<string, string>;

/**
 * What the fields say. `undefined` is nothing, and left out. What is wrong with a
 * field is put into `faults`.
 */
export function read(shape: Shape, draft: Draft, required: boolean, faults: Faults, path = ""): unknown {
  switch (shape.kind) {
    case "object": {
      const out: Doc = {};
      const given = draft as Record<string, Draft>;
      // An object that is optional, and of which nothing is given, is not there.
      if (!required && empty(draft)) return undefined;
      for (const m of shape.members) {
        const value = read(m.shape, given[m.name] ?? "", m.required, faults, below(path, m.name));
        if (value !== undefined) out[m.name] = value;
      }
      return out;
    }
    case "list": {
      const list = draft as Draft[];
      if (!required && list.length === 0) return undefined;
      const { minItems, maxItems } = shape.schema as { minItems?: number; maxItems?: number };
      if (minItems !== undefined && list.length < minItems) faults[path] = minItems === 1 ? "Add at least one." : `Add at least ${minItems}.`;
      if (maxItems !== undefined && list.length > maxItems) faults[path] = `At most ${maxItems}.`;
      return list.map((d, i) => read(shape.item!, d, true, faults, below(path, i)));
    }
    default: {
      const text = draft as string;
      if (text.trim() === "" && !(shape.blank && shape.kind === "text")) {
        if (required) faults[path] = "This is needed.";
        return undefined;
      }
      const value = one(shape, text);
      if (!(value instanceof Error)) return value;
      faults[path] = value.message;
      return undefined;
    }
  }
}

function empty(draft: Draft): boolean {
  return typeof draft === "string" ? draft.trim() === "" : Object.values(draft).every(empty);
}

function one(shape: Shape, text: string): unknown {
  switch (shape.kind) {
    case "number":
      return number(shape.schema, text);
    case "boolean":
      return text === "true";
    case "choice":
      return shape.choices[Number(text)];
    case "json":
      try {
        return JSON.parse(text);
      } catch (e) {
        return new Error(`Must be JSON: ${(e as Error).message}`);
      }
    default:
      return words(shape.schema, text);
  }
}

function number(s: Doc, text: string): number | Error {
  const n = Number(text.trim());
  if (Number.isNaN(n)) return new Error("Must be a number.");
  const whole = s.type === "integer" || (Array.isArray(s.type) && s.type.includes("integer"));
  if (whole && !Number.isInteger(n)) return new Error("Must be a whole number.");
  if (Number.isInteger(n) && !Number.isSafeInteger(n)) return new Error("This number has more digits than a browser can keep.");
  const bound = (name: string) => (typeof s[name] === "number" ? s[name] : undefined);
  const [min, max, over, under, step] = [bound("minimum"), bound("maximum"), bound("exclusiveMinimum"), bound("exclusiveMaximum"), bound("multipleOf")];
  if (min !== undefined && n < min) return new Error(`At least ${min}.`);
  if (max !== undefined && n > max) return new Error(`At most ${max}.`);
  if (over !== undefined && n <= over) return new Error(`More than ${over}.`);
  if (under !== undefined && n >= under) return new Error(`Less than ${under}.`);
  if (step !== undefined && Math.abs(n / step - Math.round(n / step)) > 1e-9) return new Error(`A multiple of ${step}.`);
  return n;
}

const formats: Record<string, [RegExp, string]> = {
  email: [/^[^\s@]+@[^\s@]+\.?[^\s@]*$/, "Must be an address such as ann@example.com."],
  uri: [/^[a-z][a-z0-9+.-]*:\S+$/i, "Must be an address such as https://example.com."],
  date: [/^\d{4}-\d{2}-\d{2}$/, "Must be a date such as 2026-05-31."],
  uuid: [/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i, "Must be a UUID."],
};

function words(s: Doc, text: string): string | Error {
  const length = [...text].length;
  if (typeof s.minLength === "number" && length < s.minLength) return new Error(`At least ${s.minLength} characters.`);
  if (typeof s.maxLength === "number" && length > s.maxLength) return new Error(`At most ${s.maxLength} characters; these are ${length}.`);
  if (typeof s.pattern === "string" && !fits(s.pattern, text)) return new Error(`Must look like ${s.pattern}`);
  if (s.format === "date-time") {
    const at = new Date(text);
    return Number.isNaN(at.getTime()) ? new Error("Must be a day and a time.") : at.toISOString();
  }
  const format = formats[String(s.format)];
  return format && !format[0].test(text) ? new Error(format[1]) : text;
}

/** A pattern that this browser cannot read is the server's to check. */
function fits(pattern: string, text: string): boolean {
  try {
    return new RegExp(pattern, "u").test(text);
  } catch {
    return true;
  }
}
