import { signal, type Signal } from "@preact/signals";
import { at, below, parent, tokens } from "../json/pointer";
import { attempt, isFixed, type Send, type Trouble } from "../model/edit";
import type { Marks } from "../model/marks";
import { hasInside, outline, page } from "../model/outline";

/** What a tree shows and how it is changed. Without `edit` it can only be read. */
export interface TreeContext {
  doc: unknown;
  marks: Marks;
  /** Pointers of places that are predictions. */
  predicted: readonly string[];
  /** Pointers of places that clients may not write. `*` is any step. */
  fixed: readonly string[];
  /** The agent is at work: predictions are being written, and not waiting. */
  writing: boolean;
  /** The position of what is shown now. */
  position(): string | undefined;
  edit?: Send;
  /** Brings back what was removed last; again, what was before it. Missing where there is nothing to bring back. */
  restore?: () => void;
  /** A place that the person shall find the focus at, once. */
  reveal?: Signal<string | null>;
}

/**
 * What a tree remembers while its document changes: which places are open, where
 * the keyboard is, and what is being done there. By place and not by element,
 * because elements go when a list becomes a table.
 */
export class TreeState {
  /** The newest context; drawn by who got it, so no signal. */
  context: TreeContext;
  /** The item that Tab comes to. */
  readonly current = signal("");
  /** The places whose values are being edited: more than one where one is still being saved, or was refused. */
  readonly editing = signal<readonly string[]>([]);
  /** The place to which something is being added. */
  readonly adding = signal<string | null>(null);
  /** What became of the last thing that was tried without an editor. */
  readonly trouble = signal<{ path: string; trouble: Trouble } | null>(null);
  /** The item that gets the focus as soon as it is there. */
  readonly wanted = signal<string | null>(null);
  private readonly opened = new Map<string, Signal<boolean>>();
  private readonly limits = new Map<string, Signal<number>>();
  /** What is under way, with the position it was asked at. */
  private readonly asked = new Set<string>();
  private planned: { doc: unknown; open: ReadonlySet<string> } | null = null;

  constructor(context: TreeContext) {
    this.context = context;
  }

  /** Whether a place is open. It is decided when the place is first shown; after that only a person changes it. */
  open(path: string): Signal<boolean> {
    const known = this.opened.get(path);
    if (known) return known;
    const { doc } = this.context;
    if (this.planned === null || this.planned.doc !== doc) this.planned = { doc, open: outline(doc) };
    const open = signal(this.planned.open.has(path));
    this.opened.set(path, open);
    return open;
  }

  /** How many children of a place are shown. */
  limit(path: string): Signal<number> {
    const limit = this.limits.get(path) ?? signal(page);
    this.limits.set(path, limit);
    return limit;
  }

  /** Shows more of a place, and goes to the first that was not shown. */
  more(path: string): void {
    const value = at(this.context.doc, path);
    const limit = this.limit(path);
    if (hasInside(value)) this.wanted.value = below(path, Array.isArray(value) ? limit.value : (Object.keys(value)[limit.value] ?? ""));
    limit.value *= 5;
  }

  /** Reports whether a person may change a place and everything in it. */
  editable(path: string): boolean {
    return this.context.edit !== undefined && !isFixed(this.context.fixed, path);
  }

  /** Reports whether a place can be taken away: what the state is made of stays. */
  removable(path: string): boolean {
    return this.editable(path) && (tokens(path).length > 1 || Array.isArray(this.context.doc));
  }

  /** What Enter does: changes a value, opens or closes what has an inside. */
  activate(path: string): void {
    const value = at(this.context.doc, path);
    if (hasInside(value)) this.toggle(path);
    else this.change(path);
  }

  toggle(path: string): void {
    const open = this.open(path);
    open.value = !open.value;
  }

  /** Begins to change a value; of yes and no the other one is meant. */
  change(path: string): void {
    const value = at(this.context.doc, path);
    if (hasInside(value) || !this.editable(path)) return;
    this.trouble.value = null;
    if (typeof value === "boolean") void this.send(path, { op: "replace", path, value: !value });
    else if (!this.editing.value.includes(path)) this.editing.value = [...this.editing.value, path];
  }

  /** Begins to add to a place, or beside a value. */
  add(path: string): void {
    const to = hasInside(at(this.context.doc, path)) ? path : parent(path);
    if (!this.editable(to)) return;
    this.trouble.value = null;
    this.open(to).value = true;
    this.adding.value = to;
  }

  remove(path: string): void {
    if (this.removable(path)) void this.send(path, { op: "remove", path });
  }

  /** Ends the edit of a place, and gives the focus back to it. */
  done(path: string): void {
    this.left(path);
    this.want(path);
  }

  /** Ends the edit of a place, and of no other: its answer may come when the person is at the next. */
  left(path: string): void {
    this.editing.value = this.editing.value.filter((p) => p !== path);
  }

  /** Ends adding to a place, and gives the focus to `path`: what was added, or the place itself; null: to none. */
  added(to: string, path: string | null): void {
    if (this.adding.value !== to) return; // the person is at something else
    this.adding.value = null;
    if (path !== null) this.want(path);
  }

  /** Gives the focus to an item, unless the person writes somewhere else. */
  private want(path: string): void {
    if (this.editing.value.length === 0) this.wanted.value = path;
  }

  private async send(path: string, op: Parameters<Send>[0][number]): Promise<void> {
    const base = this.context.position();
    // The same once more on what is still shown is no second wish.
    const key = `${base} ${JSON.stringify(op)}`;
    if (this.asked.has(key)) return;
    this.asked.add(key);
    this.trouble.value = null;
    const trouble = await attempt(this.context.edit!, [op], base, path);
    this.asked.delete(key);
    if (trouble) this.trouble.value = { path, trouble };
  }
}
