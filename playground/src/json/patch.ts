import type { Operation } from "@lockstep-go/client";
import { isObject, tokens, type Doc } from "./pointer";

/**
 * Applies a patch without touching the document: what did not change is shared
 * with the old one, so a view can tell by identity. Throws where an operation
 * does not apply; the official client then leaves the state as it was.
 */
export function apply(doc: unknown, patch: readonly Operation[]): unknown {
  return patch.reduce(one, doc);
}

function one(doc: unknown, op: Operation): unknown {
  const path = tokens(op.path);
  switch (op.op) {
    case "add":
      return put(doc, path, op.value, true);
    case "replace":
      return put(doc, path, op.value, false);
    case "remove":
      return take(doc, path);
    case "move": {
      const value = get(doc, tokens(op.from));
      return put(take(doc, tokens(op.from)), path, value, true);
    }
    case "copy":
      return put(doc, path, get(doc, tokens(op.from)), true);
    case "test":
      if (!same(get(doc, path), op.value)) throw new Error(`${op.path} is not what the patch expects`);
      return doc;
  }
}

function get(doc: unknown, path: string[]): unknown {
  return path.reduce((value, step) => {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, step)) throw new Error(`there is nothing at ${step}`);
    return (value as Doc)[step];
  }, doc);
}

function put(doc: unknown, path: string[], value: unknown, insert: boolean): unknown {
  const [step, ...rest] = path;
  if (step === undefined) return value;
  if (Array.isArray(doc)) {
    const i = step === "-" ? doc.length : Number(step);
    const most = insert && rest.length === 0 ? doc.length : doc.length - 1;
    if (!/^(0|[1-9]\d*|-)$/.test(step) || i > most) throw new Error(`there is no item ${step}`);
    if (insert && rest.length === 0) return doc.toSpliced(i, 0, value);
    return doc.with(i, put(doc[i], rest, value, insert));
  }
  if (!isObject(doc)) throw new Error(`there is nothing below ${step}`);
  if ((rest.length > 0 || !insert) && !Object.hasOwn(doc, step)) throw new Error(`there is no member ${step}`);
  return { ...doc, [step]: rest.length > 0 ? put(doc[step], rest, value, insert) : value };
}

function take(doc: unknown, path: string[]): unknown {
  const [step, ...rest] = path;
  if (step === undefined) return null;
  if (typeof doc !== "object" || doc === null || !Object.hasOwn(doc, step)) throw new Error(`there is nothing at ${step}`);
  if (rest.length > 0) {
    const inner = take((doc as Doc)[step], rest);
    return Array.isArray(doc) ? doc.with(Number(step), inner) : { ...doc, [step]: inner };
  }
  if (Array.isArray(doc)) return doc.toSpliced(Number(step), 1);
  const { [step]: _, ...left } = doc as Doc;
  return left;
}

/** Reports whether two documents are equal, whatever the order of their members. */
export function same(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null || Array.isArray(a) !== Array.isArray(b)) return false;
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((n) => Object.hasOwn(b, n) && same((a as Doc)[n], (b as Doc)[n]));
}

/** `next`, with every part that equals its counterpart in `last` taken from there. */
export function share(last: unknown, next: unknown): unknown {
  if (last === next || typeof last !== "object" || typeof next !== "object" || last === null || next === null) return next;
  if (Array.isArray(last) !== Array.isArray(next)) return next;
  if (Array.isArray(next)) {
    const was = last as unknown[];
    const out = next.map((v, i) => share(was[i], v));
    return out.length === was.length && out.every((v, i) => v === was[i]) ? last : out;
  }
  const out: Doc = {};
  const names = Object.keys(next);
  const wasNames = Object.keys(last);
  let equal = names.length === wasNames.length;
  names.forEach((n, i) => {
    out[n] = share((last as Doc)[n], (next as Doc)[n]);
    equal &&= wasNames[i] === n && out[n] === (last as Doc)[n];
  });
  return equal ? last : out;
}
