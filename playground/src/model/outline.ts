// How much of a document is shown at first. What is small is all open; of what is
// large, as much from the top as a person can look through and a browser can draw
// with every change.
import { below, isObject, type Doc } from "../json/pointer";

/** The most children of one place that are shown at once, until more are asked for. */
export const page = 100;
/** How many values are shown before places stay closed. */
const budget = 600;
/** What lies deeper is closed, however little it is. */
const deepest = 4;

/** The columns of an array that can be a table; null of one that cannot. */
export function columnsOf(list: readonly unknown[]): string[] | null {
  const columns: string[] = [];
  for (const row of list) {
    if (!isObject(row)) return null;
    for (const [name, v] of Object.entries(row)) {
      if (typeof v === "object" && v !== null) return null;
      if (!columns.includes(name)) columns.push(name);
      if (columns.length > 5) return null;
    }
  }
  return columns.length > 0 ? columns : null;
}

/** Reports whether a value has an inside. */
export function hasInside(value: unknown): value is Doc | unknown[] {
  return typeof value === "object" && value !== null;
}

/** How many places an object or a list holds. */
export function countOf(value: Doc | unknown[]): number {
  return Array.isArray(value) ? value.length : Object.keys(value).length;
}

/** The places of a document that are open at first, nearest to the top first. */
export function outline(doc: unknown): ReadonlySet<string> {
  const open = new Set<string>();
  let left = budget;
  let level: [string, unknown][] = [["", doc]];
  for (let depth = 0; depth <= deepest && level.length > 0; depth++) {
    const next: [string, unknown][] = [];
    for (const [path, value] of level) {
      if (!hasInside(value)) continue;
      const columns = Array.isArray(value) ? columnsOf(value) : null;
      const cost = Math.min(page, countOf(value)) * (columns?.length ?? 1);
      // The whole document has nothing that could be closed.
      if (path !== "" && cost > left) continue;
      left -= cost;
      open.add(path);
      if (columns) continue; // a table's cells have no inside
      const names = Array.isArray(value) ? Array.from({ length: Math.min(page, value.length) }, (_, i) => i) : Object.keys(value).slice(0, page);
      for (const name of names) next.push([below(path, name), (value as Doc)[name]]);
    }
    level = next;
  }
  return open;
}
