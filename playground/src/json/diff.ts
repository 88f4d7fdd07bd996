import { below, isObject, type Doc } from "./pointer";
import { same } from "./patch";

/** A place where two documents differ. `before` or `after` is absent where it was not or is no more. */
export interface Change {
  path: string;
  before?: unknown;
  after?: unknown;
}

/** The smallest places at which two documents differ, in the order of the newer one. */
export function changes(before: unknown, after: unknown, path = ""): Change[] {
  if (before === after || same(before, after)) return [];
  if (isObject(before) && isObject(after)) {
    const out: Change[] = [];
    for (const name of Object.keys(after)) {
      out.push(...(Object.hasOwn(before, name) ? changes(before[name], after[name], below(path, name)) : [added(below(path, name), after[name])]));
    }
    for (const name of Object.keys(before)) {
      if (!Object.hasOwn(after, name)) out.push({ path: below(path, name), before: before[name] });
    }
    return out;
  }
  if (Array.isArray(before) && Array.isArray(after)) return items(before, after, path);
  return [{ path, before, after }];
}

function added(path: string, after: unknown): Change {
  return { path, after };
}

/** Items are compared from both ends; what is left in the middle by place. */
function items(before: unknown[], after: unknown[], path: string): Change[] {
  let head = 0;
  while (head < before.length && head < after.length && same(before[head], after[head])) head++;
  let tail = 0;
  while (tail < before.length - head && tail < after.length - head && same(before[before.length - 1 - tail], after[after.length - 1 - tail])) tail++;
  const out: Change[] = [];
  const gone = before.length - tail;
  const come = after.length - tail;
  for (let i = head; i < come; i++) {
    out.push(...(i < gone ? changes(before[i], after[i], below(path, i)) : [added(below(path, i), after[i])]));
  }
  for (let i = Math.max(head, come); i < gone; i++) out.push({ path: below(path, i), before: before[i] });
  return out;
}

/** A piece of a text: both have it, or only the one or the other. */
export interface Piece {
  kind: "same" | "gone" | "new";
  text: string;
}

/** The most word pairs that are compared; longer texts are shown one after the other. */
const most = 1_000_000;

/** How a text became another one, word by word. */
export function words(before: string, after: string): Piece[] {
  const a = before.match(/\s+|[^\s]+/g) ?? [];
  const b = after.match(/\s+|[^\s]+/g) ?? [];
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  const x = a.slice(head, a.length - tail);
  const y = b.slice(head, b.length - tail);
  const out: Piece[] = [];
  const push = (kind: Piece["kind"], text: string) => {
    const last = out.at(-1);
    if (last?.kind === kind) last.text += text;
    else if (text !== "") out.push({ kind, text });
  };
  push("same", a.slice(0, head).join(""));
  if (x.length * y.length > most) {
    push("gone", x.join(""));
    push("new", y.join(""));
  } else {
    const common = table(x, y);
    let i = 0;
    let j = 0;
    while (i < x.length || j < y.length) {
      if (i < x.length && j < y.length && x[i] === y[j]) push("same", (i++, y[j++]!));
      else if (j >= y.length || (i < x.length && common(i + 1, j) >= common(i, j + 1))) push("gone", x[i++]!);
      else push("new", y[j++]!);
    }
  }
  push("same", a.slice(a.length - tail).join(""));
  return out;
}

/** The length of the longest common sequence of each pair of tails. */
function table(x: string[], y: string[]): (i: number, j: number) => number {
  const width = y.length + 1;
  const cells = new Uint32Array((x.length + 1) * width);
  for (let i = x.length - 1; i >= 0; i--) {
    for (let j = y.length - 1; j >= 0; j--) {
      cells[i * width + j] = x[i] === y[j] ? cells[(i + 1) * width + j + 1]! + 1 : Math.max(cells[(i + 1) * width + j]!, cells[i * width + j + 1]!);
    }
  }
  return (i, j) => cells[i * width + j]!;
}

/** A value in one line, for lists of changes. */
export function short(value: unknown, most = 120): string {
  if (value === undefined) return "—";
  const text = typeof value === "string" ? value : Array.isArray(value) ? value.map((v) => short(v)).join(", ") : isObject(value) ? Object.values(value as Doc).map((v) => short(v)).join(" · ") : String(value);
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}
