import type { Operation } from "@lockstep-go/client";
import type { Change } from "../json/diff";
import { at, parent, tokens, within } from "../json/pointer";

/** Whose change a place shows. */
export type Who = "agent" | "you" | "viewer" | "system";

export interface Mark {
  who: Who;
  /** Grows with each change, so that a view can start its highlight anew. */
  n: number;
  /** Worth a word, and not only a light: one of few, and no part of a prediction. */
  said: boolean;
}

/** More changes than this at once are not each worth a word. */
const few = 3;

/** More changes than this at once are marked where they lie at the top: a light on each of thousands says nothing, and takes long. */
const many = 300;

/** Who changed which place last. A value: each change makes a new one. */
export class Marks {
  private readonly map: ReadonlyMap<string, Mark>;
  readonly n: number;

  constructor(map: ReadonlyMap<string, Mark> = new Map(), n = 0) {
    this.map = map;
    this.n = n;
  }

  /** The mark of exactly this place. */
  get(path: string): Mark | undefined {
    return this.map.get(path);
  }

  /** The newest mark in a place, for one whose inside is not shown. */
  newest(path: string): Mark | undefined {
    let found: Mark | undefined;
    for (const [p, mark] of this.map) {
      if (within(p, path) && (!found || mark.n > found.n)) found = mark;
    }
    return found;
  }

  /** After a patch. `doc` is the document before it. */
  patched(patch: readonly Operation[], doc: unknown, who: Who, predicted = false): Marks {
    if (patch.length > many) return this.flooded(patch.map((op) => op.path), who);
    const said = !predicted && patch.length <= few;
    const map = new Map(this.map);
    let n = this.n;
    for (const op of patch) {
      if (op.op === "test") continue;
      const into = at(doc, parent(op.path));
      if (Array.isArray(into) && (op.op === "add" || op.op === "remove")) shift(map, op.path, op.op === "add" ? 1 : -1);
      if (op.op === "move") drop(map, op.from);
      drop(map, op.path);
      // What is gone cannot be marked; what held it has changed.
      map.set(op.op === "remove" ? parent(op.path) : appended(op.path, into), { who, n: ++n, said });
    }
    return new Marks(map, n);
  }

  /** With the marks behind one and up to another one as somebody else's. */
  givenTo(who: Who, from: number, to: number): Marks {
    return new Marks(new Map([...this.map].map(([path, mark]) => [path, mark.n > from && mark.n <= to ? { ...mark, who } : mark])), this.n);
  }

  /** After more changes than anybody looks at one by one. */
  private flooded(paths: readonly string[], who: Who): Marks {
    const n = this.n + 1;
    const tops = new Set(paths.map((p) => p.split("/", 2).join("/")));
    return new Marks(new Map([...tops].slice(0, many).map((top) => [top, { who, n, said: false }])), n);
  }

  /** After a snapshot that differs from what was there. */
  replaced(list: readonly Change[], who: Who, predicted = false): Marks {
    if (list.length > many) return this.flooded(list.map((c) => c.path), who);
    const said = !predicted && list.length <= few;
    const map = new Map(this.map);
    let n = this.n;
    for (const change of list) {
      drop(map, change.path);
      map.set("after" in change ? change.path : parent(change.path), { who, n: ++n, said });
    }
    return new Marks(map, n);
  }
}

function drop(map: Map<string, Mark>, path: string): void {
  for (const p of map.keys()) {
    if (within(p, path)) map.delete(p);
  }
}

/** `/list/-` names the item behind the last one. */
function appended(path: string, list: unknown): string {
  return path.endsWith("/-") && Array.isArray(list) ? `${parent(path)}/${list.length}` : path;
}

/** Moves the marks of the items behind one that came or went. */
function shift(map: Map<string, Mark>, path: string, by: number): void {
  const list = parent(path);
  const from = Number(tokens(path).at(-1));
  if (Number.isNaN(from)) return; // behind the last: nothing moves
  const moved: [string, Mark][] = [];
  for (const [p, mark] of map) {
    if (!p.startsWith(`${list}/`)) continue;
    const [step = "", ...rest] = p.slice(list.length + 1).split("/");
    const i = Number(step);
    if (Number.isNaN(i) || i < from) continue;
    map.delete(p);
    if (by > 0 || i > from) moved.push([[list, String(i + by), ...rest].join("/"), mark]);
  }
  for (const [p, mark] of moved) map.set(p, mark);
}
