// The keyboard in a tree, as the ARIA practices have it for trees, and between the
// cells of a row as in every table.
import { parent } from "../json/pointer";
import type { TreeState } from "./treestate";

const selector = "[role=treeitem]";

/** Names the item that shows more of a place; no pointer is like it. */
export function moreOf(path: string): string {
  return `more:${path}`;
}

/** The items of a tree that are shown, in their order. */
export function itemsOf(root: HTMLElement): HTMLElement[] {
  return [...root.querySelectorAll<HTMLElement>(selector)];
}

/** The item of a place; undefined where it is not shown. */
export function itemOf(root: HTMLElement, path: string): HTMLElement | undefined {
  return root.querySelector<HTMLElement>(`[data-path="${CSS.escape(path)}"]`) ?? undefined;
}

const isCell = (item: HTMLElement) => item.tagName === "TD";

/** The item in which another one lies. */
function outer(item: HTMLElement): HTMLElement | null {
  return item.parentElement!.closest<HTMLElement>(selector);
}

/** Answers a key. What is typed into a field or at a button in the tree is theirs. */
export function press(tree: TreeState, event: KeyboardEvent): void {
  const root = event.currentTarget as HTMLElement;
  const item = event.target as HTMLElement;
  if (item.getAttribute("role") !== "treeitem" || event.altKey || event.isComposing) return;
  const command = event.ctrlKey || event.metaKey;
  if (command && event.key.toLowerCase() === "z" && !event.shiftKey && tree.context.restore) tree.context.restore(); // the notice of it goes, and is far from here
  else if (command && event.key !== "Home" && event.key !== "End") return; // the browser's
  else if (!act(tree, item, event.key) && !move(tree, root, item, event.key, command) && !type(root, item, event.key)) return;
  event.preventDefault();
  event.stopPropagation();
}

function act(tree: TreeState, item: HTMLElement, key: string): boolean {
  const more = item.dataset.path!.startsWith(moreOf(""));
  const path = more ? item.dataset.path!.slice(moreOf("").length) : item.dataset.path!;
  const row = item.closest<HTMLElement>("tbody");
  switch (key) {
    case "Enter":
    case " ":
      if (more) tree.more(path);
      else tree.activate(path);
      return true;
    case "F2":
      if (!more) tree.change(path);
      return true;
    case "Delete":
      if (!more) tree.remove(path);
      return true;
    case "+":
    case "Insert":
      // Beside a row, not into it: a row of a table has the table's columns.
      tree.add(row ? parent(row.dataset.path!) : path);
      return true;
    default:
      return false;
  }
}

function move(tree: TreeState, root: HTMLElement, item: HTMLElement, key: string, far: boolean): boolean {
  const to = target(tree, root, item, key, far);
  if (to === undefined) return false;
  to?.focus();
  return true;
}

/** Where a key leads to. Null: nowhere, but it is a key of trees; undefined: it is none. */
function target(tree: TreeState, root: HTMLElement, item: HTMLElement, key: string, far: boolean): HTMLElement | null | undefined {
  // A row's cells lie beside each other and not below each other.
  const lines = itemsOf(root).filter((i) => !isCell(i));
  const line = isCell(item) ? outer(item)! : item;
  const step = (by: number) => {
    const row = (by > 0 ? line.nextElementSibling : line.previousElementSibling) as HTMLElement | null;
    const cell = isCell(item) && row?.tagName === "TBODY" ? row.querySelector<HTMLElement>(`td${selector}:nth-child(${(item as HTMLTableCellElement).cellIndex + 1})`) : undefined;
    return cell ?? lines[lines.indexOf(line) + by] ?? null;
  };
  const cells = isCell(item) ? itemsOf(line) : [];
  const beside = cells[cells.indexOf(item) + (key === "ArrowRight" ? 1 : -1)];
  const expanded = item.getAttribute("aria-expanded");
  switch (key) {
    case "ArrowDown":
      return step(1);
    case "ArrowUp":
      return step(-1);
    case "ArrowRight":
      if (isCell(item)) return beside ?? null;
      if (expanded === "false") return tree.toggle(item.dataset.path!), null;
      return itemsOf(item)[0] ?? null;
    case "ArrowLeft":
      if (isCell(item)) return beside ?? line;
      if (expanded === "true") return tree.toggle(item.dataset.path!), null;
      return outer(item);
    case "Home":
      return (isCell(item) && !far ? cells[0] : lines[0]) ?? null;
    case "End":
      return (isCell(item) && !far ? cells.at(-1) : lines.at(-1)) ?? null;
    default:
      return undefined;
  }
}

let typed = "";
let typedAt = 0;

/** Goes to the next item that begins with what is typed. */
function type(root: HTMLElement, item: HTMLElement, key: string): boolean {
  if ([...key].length !== 1 || key === " ") return false;
  const now = performance.now();
  typed = now - typedAt > 700 ? key : typed + key;
  typedAt = now;
  const lines = itemsOf(root);
  const from = lines.indexOf(item) + (typed.length > 1 ? 0 : 1);
  const found = [...lines.slice(from), ...lines.slice(0, from)].find((i) => i.ariaLabel?.toLowerCase().startsWith(typed.toLowerCase()));
  found?.focus();
  return true;
}

/** The item that takes the place of one that is gone: what came behind it, else what was before it, else what held it. */
export function heir(root: HTMLElement, gone: string, before: readonly string[]): HTMLElement | undefined {
  for (let path = gone.startsWith(moreOf("")) ? gone.slice(moreOf("").length) : gone; ; path = parent(path)) {
    const place = before.indexOf(path);
    const siblings = (list: readonly string[]) => list.filter((p) => parent(p) === parent(path));
    const order = [path, ...siblings(before.slice(place + 1)), ...siblings(before.slice(0, Math.max(0, place))).reverse()];
    for (const p of order) {
      const item = itemOf(root, p);
      if (item) return item;
    }
    if (path === "") return itemsOf(root)[0];
  }
}
