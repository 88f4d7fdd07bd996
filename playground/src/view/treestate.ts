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
  /** The place whose value is being edited. */
  readonly editing = signal<string | null>(null);
  /** The place to which something is being added. */
  readonly adding = signal<string | null>(null);
  /** What became of the last thing that was tried without an editor. */
  readonly trouble = signal<{ path: string; trouble: Trouble } | null>(null);
  /** The item that gets the focus as soon as it is there. */
  readonly wanted = signal<string | null>(null);
  private readonly opened = new Map<string, Signal<boolean>>();
  private readonly limits = new Map<string, Signal<number>>();
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
    else this.editing.value = path;
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

  /** Ends what is being done, and gives the focus back to where it was done. */
  done(path: string): void {
    this.editing.value = null;
    this.adding.value = null;
    this.wanted.value = path;
  }

  private async send(path: string, op: Parameters<Send>[0][number]): Promise<void> {
    this.trouble.value = null;
    const trouble = await attempt(this.context.edit!, [op], this.context.position(), path);
    if (trouble) this.trouble.value = { path, trouble };
  }
}
