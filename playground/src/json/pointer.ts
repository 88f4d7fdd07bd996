// RFC 6901: the path of a place in a document.

/** The steps of a pointer; none for the whole document. */
export function tokens(pointer: string): string[] {
  if (pointer === "") return [];
  return pointer.slice(1).split("/").map((t) => t.replaceAll("~1", "/").replaceAll("~0", "~"));
}

/** The pointer of a member or an item below another one. */
export function below(pointer: string, step: string | number): string {
  return `${pointer}/${String(step).replaceAll("~", "~0").replaceAll("/", "~1")}`;
}

/** The pointer of what holds a place; the whole document holds itself. */
export function parent(pointer: string): string {
  return pointer.slice(0, Math.max(0, pointer.lastIndexOf("/")));
}

/** Reports whether a place is another one or lies in it. */
export function within(pointer: string, outer: string): boolean {
  return pointer === outer || pointer.startsWith(`${outer}/`);
}

/** The value at a place; undefined where there is none. */
export function at(doc: unknown, pointer: string): unknown {
  let value = doc;
  for (const step of tokens(pointer)) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, step)) return undefined;
    value = (value as Record<string, unknown>)[step];
  }
  return value;
}

export type Doc = Record<string, unknown>;

/** Reports whether a value is an object with members. */
export function isObject(value: unknown): value is Doc {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A member's name as a person would write it: `special_preferences` is "Special preferences". */
export function label(name: string): string {
  const words = name
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .replace(/[_\-.]+/g, " ")
    .trim();
  if (words === "") return name === "" ? "(no name)" : name;
  return words[0]!.toUpperCase() + words.slice(1);
}

/** A place as a person would say it: `/recipe/ingredients/0/name` is "Ingredients › 1 › Name". */
export function place(pointer: string, doc?: unknown): string {
  let value = doc;
  const words = tokens(pointer).map((step) => {
    const word = Array.isArray(value) || (doc === undefined && /^\d+$/.test(step)) ? (step === "-" ? "new" : String(Number(step) + 1)) : label(step);
    value = at(value, below("", step));
    return word;
  });
  return words.length === 0 ? "Everything" : words.join(" › ");
}
