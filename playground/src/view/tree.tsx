import { useComputed } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { below, isObject, label, type Doc } from "../json/pointer";
import { columnsOf, countOf, hasInside } from "../model/outline";
import { AddItem, AddMember, Complaint, Editor } from "./editor";
import { Icon } from "./icons";
import { heir, itemOf, itemsOf, moreOf, press } from "./treekeys";
import { Flash, isPredicted, Lock, Tag, tagOf } from "./treemarks";
import { TreeState, type TreeContext } from "./treestate";

interface NodeProps {
  tree: TreeState;
  /** The newest, also in `tree`: here, so that a change of it alone is drawn. */
  context: TreeContext;
  path: string;
  value: unknown;
  depth: number;
}

/** Where a child stands among its siblings. */
interface Child extends NodeProps {
  name: string;
  index: number;
  count: number;
}

/**
 * A document as an ARIA tree: one stop for Tab, and keys from there (treekeys.ts).
 * A list of flat objects looks like a table and is a part of the tree all the
 * same, its rows and cells being items: a grid inside of a tree would be a second
 * widget with other keys, which screen readers do not announce, and a treegrid has
 * the same columns everywhere, which a document has not. Each cell says its column.
 *
 * The buttons are for a pointer; every one has a key, so Tab passes them by.
 */
export function Tree({ context, name }: { context: TreeContext; name: string }) {
  const tree = useMemo(() => new TreeState(context), []);
  tree.context = context;
  const root = useRef<HTMLDivElement>(null);
  useFocus(tree, root);
  const { doc } = context;
  return (
    <div ref={root} class="tree" role="tree" aria-label={name} aria-describedby={context.edit ? "tree-keys" : undefined} onKeyDown={(e) => press(tree, e)} onClick={(e) => click(tree, e)}>
      {hasInside(doc) ? <Children tree={tree} context={context} path="" value={doc} depth={0} role="none" /> : <Item tree={tree} context={context} path="" value={doc} depth={0} name="Value" title="Value" index={0} count={1} />}
      {tree.adding.value === "" && hasInside(doc) && <Adder tree={tree} context={context} path="" value={doc} />}
      {context.edit && (
        <p id="tree-keys" class="sr-only">
          Enter changes a value, Delete removes it, plus adds one.
        </p>
      )}
    </div>
  );
}

/** A click that no pointer made is a screen reader's, on the item itself. */
function click(tree: TreeState, event: MouseEvent): void {
  const { path } = (event.target as HTMLElement).dataset;
  if (event.detail === 0 && path !== undefined && !path.startsWith(moreOf(""))) tree.activate(path);
}

/**
 * Keeps the focus where the person is: the document changes under it, and what
 * has it may go. A browser gives the focus of what is gone to nobody.
 */
function useFocus(tree: TreeState, root: { current: HTMLDivElement | null }): void {
  const held = useRef(false);
  const before = useRef<string[]>([]);
  const { editing, adding, wanted, current } = tree;
  const { reveal } = tree.context;
  void [editing.value, adding.value, wanted.value, reveal?.value]; // looked at again when they change
  useLayoutEffect(() => {
    const box = root.current!;
    // A browser tells the end of what is taken away like a leave to nowhere. So
    // only who goes somewhere else has left.
    const at = (e: Event) => {
      const to = e.target as Element;
      held.current = box.contains(to);
      const item = held.current && e.type === "focusin" && to.closest<HTMLElement>("[role=treeitem]");
      if (item) current.value = item.dataset.path!;
    };
    document.addEventListener("focusin", at);
    document.addEventListener("pointerdown", at, true);
    return () => {
      document.removeEventListener("focusin", at);
      document.removeEventListener("pointerdown", at, true);
    };
  }, []);
  const settle = () => {
    const box = root.current;
    if (!box) return;
    const { activeElement } = document;
    const free = activeElement === null || activeElement === document.body;
    const mine = box.contains(activeElement) || (free && held.current);
    if (reveal?.value != null) {
      wanted.value = reveal.value;
      reveal.value = null;
    }
    if (wanted.value !== null) {
      const item = itemOf(box, wanted.value);
      // Who went somewhere else meanwhile is left there.
      if (item || !(mine || free)) wanted.value = null;
      if (item && (mine || free)) item.focus();
    }
    if (!editing.value.every((p) => itemOf(box, p))) editing.value = editing.value.filter((p) => itemOf(box, p));
    if (free && held.current && document.activeElement === activeElement) heir(box, current.value, before.current)?.focus({ preventScroll: true });
    // Tab finds the tree even where its last item is gone.
    else if (!itemOf(box, current.value)) current.value = itemsOf(box)[0]?.dataset.path ?? "";
    before.current = box.contains(document.activeElement) ? itemsOf(box).map((i) => i.dataset.path!) : [];
  };
  useLayoutEffect(() => {
    settle();
    // Parts that are drawn by themselves are drawn after this one.
    queueMicrotask(settle);
  });
}

/** What every item of the tree has. */
function useItem({ tree, context, path, depth, index, count }: Omit<Child, "name" | "value">, name: string) {
  const tabIndex = useComputed(() => (tree.current.value === path ? 0 : -1));
  return {
    role: "treeitem" as const,
    "data-path": path,
    "data-predicted": isPredicted(context, path),
    tabIndex,
    "aria-label": name,
    "aria-level": depth + 1,
    "aria-setsize": count,
    "aria-posinset": index + 1,
  };
}

/** What an object or a list holds. `role`: of the element around it. */
function Children({ tree, context, path, value, depth, role }: NodeProps & { role: "group" | "none" }) {
  if (Array.isArray(value)) {
    const columns = columnsOf(value);
    if (columns) return <Table tree={tree} context={context} path={path} value={value as Doc[]} columns={columns} depth={depth} role={role} />;
    return (
      <Paged tree={tree} context={context} path={path} depth={depth} names={value.map((_, i) => String(i))} role={role} ordered>
        {(i, index) => <Item key={i} tree={tree} context={context} path={below(path, i)} name={`Item ${index + 1}`} value={value[index]} depth={depth} index={index} count={value.length} />}
      </Paged>
    );
  }
  const doc = value as Doc;
  const names = Object.keys(doc);
  return (
    <Paged tree={tree} context={context} path={path} depth={depth} names={names} role={role}>
      {(name, index) => <Item key={name} tree={tree} context={context} path={below(path, name)} name={label(name)} title={name} value={doc[name]} depth={depth} index={index} count={names.length} />}
    </Paged>
  );
}

/** One place: a line where its value fits one, else a part of its own. `title`: its name as it is written; items of a list have none. */
function Item(props: Child & { title?: string }) {
  return hasInside(props.value) ? <Part {...props} value={props.value} /> : <Leaf {...props} />;
}

function Part({ tree, context, path, name, title, value, depth, index, count }: Child & { title?: string; value: Doc | unknown[] }) {
  const open = tree.open(path).value;
  const adding = useComputed(() => tree.adding.value === path).value;
  const size = countOf(value);
  const editable = tree.editable(path);
  const locked = !editable && context.edit !== undefined;
  const gist = title === undefined && !open ? gistOf(value) : "";
  const said = [name, gist, size === 0 ? "empty" : size === 1 ? "1 value" : `${size} values`, locked && "read only", tagOf(context, path, depth)];
  const item = useItem({ tree, context, path, depth, index, count }, said.filter(Boolean).join(", "));
  return (
    <li {...item} class="entry part" aria-expanded={size === 0 ? undefined : open}>
      <div class="head">
        <Flash context={context} path={path} />
        <span class="twist" aria-hidden="true" data-open={open} onClick={() => tree.toggle(path)}>
          <Icon name="chevron" size={14} />
          <span class="name" title={title === undefined ? undefined : path}>
            {title === undefined ? index + 1 : name}
          </span>
          {gist && <span class="gist">{gist}</span>}
          <span class="count">{size}</span>
        </span>
        <Tag context={context} path={path} depth={depth} closed={!open} />
        {locked && <Lock />}
        {editable && (
          <button class="button ghost square tiny plus" type="button" tabIndex={-1} aria-label={`Add to ${name}`} onClick={() => tree.add(path)}>
            <Icon name="plus" size={14} />
          </button>
        )}
        <Remove tree={tree} path={path} name={name} />
      </div>
      <Trouble tree={tree} path={path} />
      {open && (
        <div class="inside" data-deep={depth >= 8}>
          {size > 0 ? <Children tree={tree} context={context} path={path} value={value} depth={depth + 1} role="group" /> : <p class="none">Empty</p>}
          {adding && <Adder tree={tree} context={context} path={path} value={value} />}
        </div>
      )}
    </li>
  );
}

/** What a closed item of a list is about: the first text in it. */
function gistOf(value: Doc | unknown[]): string {
  const first = Object.values(value).find((v) => typeof v === "string" && v.trim() !== "") as string | undefined;
  return first === undefined ? "" : first.length > 60 ? `${first.slice(0, 59)}…` : first;
}

function Leaf({ tree, context, path, name, title, value, depth, index, count }: Child & { title?: string }) {
  const long = title !== undefined && typeof value === "string" && (value.length > 90 || value.includes("\n"));
  const item = useItem({ tree, context, path, depth, index, count }, sayLeaf({ tree, context }, path, title === undefined ? "" : name, value, depth));
  return (
    <li {...item} class={title === undefined ? "entry item" : long ? "entry long" : "entry"} aria-checked={typeof value === "boolean" ? value : undefined}>
      <Flash context={context} path={path} />
      {title === undefined ? (
        <span class="index" aria-hidden="true">
          {index + 1}
        </span>
      ) : (
        <span class="name" aria-hidden="true" title={path}>
          {name}
        </span>
      )}
      {long && <Tag context={context} path={path} depth={depth} />}
      <Scalar tree={tree} context={context} path={path} value={value} name={name} />
      {!long && <Tag context={context} path={path} depth={depth} />}
      <Remove tree={tree} path={path} name={name} />
      <Trouble tree={tree} path={path} />
    </li>
  );
}

/** The longest text that an item is called by; the whole of it is in its editor. */
const longestName = 600;

function sayLeaf({ tree, context }: Pick<NodeProps, "tree" | "context">, path: string, name: string, value: unknown, depth: number): string {
  const text = value === "" ? "empty" : typeof value === "boolean" ? (value ? "yes" : "no") : String(value);
  const cut = text.length > longestName ? `${text.slice(0, longestName)}…` : text;
  const locked = context.edit !== undefined && !tree.editable(path);
  return [name === "" ? cut : `${name}: ${cut}`, locked && "read only", tagOf(context, path, depth)].filter(Boolean).join(", ");
}

/** The most of a text that is drawn in the tree, in characters. */
const longestText = 20_000;

/** A value that has no inside, or the field in its place. A click begins to change it. */
function Scalar({ tree, context, path, value, name }: { tree: TreeState; context: TreeContext; path: string; value: unknown; name: string }) {
  const editing = useComputed(() => tree.editing.value.includes(path)).value;
  if (editing && context.edit) return <Editor context={context} path={path} value={value} name={name} done={() => tree.done(path)} left={() => tree.left(path)} op="replace" />;
  const editable = tree.editable(path);
  const begin = editable ? () => tree.change(path) : undefined;
  if (typeof value === "boolean") {
    return (
      <span class="switch" data-on={value} data-editable={editable} onClick={begin}>
        <i aria-hidden="true" />
        {value ? "yes" : "no"}
      </span>
    );
  }
  const text = String(value);
  return (
    <span class="value" dir="auto" data-kind={value === null ? "null" : typeof value} data-editable={editable} onClick={begin}>
      {text === "" ? <em>empty</em> : text.length > longestText ? `${text.slice(0, longestText)}…` : text}
      {text.length > longestText && <em> {(text.length - longestText).toLocaleString("en")} more characters</em>}
    </span>
  );
}

/** Objects of one flat shape, as rows. */
function Table({ tree, context, path, value, columns, depth, role }: { tree: TreeState; context: TreeContext; path: string; value: Doc[]; columns: string[]; depth: number; role: "group" | "none" }) {
  const shown = value.slice(0, tree.limit(path).value);
  return (
    <>
      <div class="table" role="none">
        <table role={role}>
          <thead aria-hidden="true">
            <tr>
              {columns.map((c) => (
                <th key={c}>{label(c)}</th>
              ))}
              {context.edit && <th />}
            </tr>
          </thead>
          {shown.map((row, i) => (
            <Row key={i} tree={tree} context={context} path={below(path, i)} value={row} name={`row ${i + 1}`} columns={columns} short={columns.map((c) => shortColumn(value, c))} depth={depth} index={i} count={value.length} />
          ))}
        </table>
      </div>
      {shown.length < value.length && (
        <ul role={role}>
          <More tree={tree} context={context} path={path} depth={depth} count={value.length} shown={shown.length} />
        </ul>
      )}
    </>
  );
}

/** A row is an item, and a group of its cells: in HTML a table may have many bodies. */
function Row({ tree, context, path, value, name, columns, short, depth, index, count }: Child & { value: Doc; columns: string[]; short: boolean[] }) {
  const gist = columns.map((c) => (value[c] === undefined || value[c] === "" ? "" : String(value[c]).slice(0, longestName))).filter(Boolean);
  const item = useItem({ tree, context, path, depth, index, count }, gist.length === 0 ? `Row ${index + 1}, empty` : gist.join(", "));
  return (
    <tbody {...item}>
      <tr role="group">
        {columns.map((c, i) =>
          Object.hasOwn(value, c) ? (
            <Cell key={c} tree={tree} context={context} path={below(path, c)} row={path} value={value[c]} name={label(c)} depth={depth + 1} index={i} count={columns.length} short={short[i]!} />
          ) : (
            <td key={c} role="none" />
          ),
        )}
        {context.edit && (
          <td class="act" role="none">
            <Remove tree={tree} path={path} name={name} />
            <Trouble tree={tree} path={path} />
          </td>
        )}
      </tr>
    </tbody>
  );
}

function Cell({ tree, context, path, row, value, name, depth, index, count, short }: Child & { row: string; short: boolean }) {
  const item = useItem({ tree, context, path, depth, index, count }, sayLeaf({ tree, context }, path, name, value, depth));
  return (
    <td {...item} data-short={short} aria-checked={typeof value === "boolean" ? value : undefined}>
      <Flash context={context} path={path} or={row} />
      <Scalar tree={tree} context={context} path={path} value={value} name={name} />
      <Trouble tree={tree} path={path} />
    </td>
  );
}

/** A column of pictures and single letters needs no width. */
function shortColumn(list: Doc[], name: string): boolean {
  return list.every((row) => String(row[name] ?? "").length <= 3);
}

interface PagedProps {
  tree: TreeState;
  context: TreeContext;
  path: string;
  depth: number;
  names: string[];
  role: "group" | "none";
  ordered?: boolean;
  children(name: string, index: number): ComponentChildren;
}

function Paged({ tree, context, path, depth, names, role, ordered = false, children }: PagedProps) {
  const shown = names.slice(0, tree.limit(path).value);
  const List = ordered ? "ol" : "ul";
  return (
    <List class="entries" role={role}>
      {shown.map(children)}
      {shown.length < names.length && <More tree={tree} context={context} path={path} depth={depth} count={names.length} shown={shown.length} />}
    </List>
  );
}

/** The item behind the last that is shown. */
function More({ tree, context, path, depth, count, shown }: { tree: TreeState; context: TreeContext; path: string; depth: number; count: number; shown: number }) {
  const text = `${(count - shown).toLocaleString("en")} more`;
  const item = useItem({ tree, context, path: moreOf(path), depth, index: shown, count }, `${text}, Enter shows them`);
  return (
    <li {...item} class="more" onClick={() => tree.more(path)}>
      <span class="button ghost small">Show {text}</span>
    </li>
  );
}

function Remove({ tree, path, name }: { tree: TreeState; path: string; name: string }) {
  if (!tree.removable(path)) return null;
  return (
    <span class="remove">
      <button class="button ghost square tiny" type="button" tabIndex={-1} aria-label={`Remove ${name}`} onClick={() => tree.remove(path)}>
        <Icon name="close" size={13} />
      </button>
    </span>
  );
}

/** Why something was not done here. */
function Trouble({ tree, path }: { tree: TreeState; path: string }) {
  const trouble = useComputed(() => (tree.trouble.value?.path === path ? tree.trouble.value.trouble : null)).value;
  return trouble && <Complaint trouble={trouble} />;
}

/** The form for one more of what a place holds. */
function Adder({ tree, context, path, value }: { tree: TreeState; context: TreeContext; path: string; value: Doc | unknown[] }) {
  const added = (at: string) => tree.added(path, at);
  const left = () => tree.added(path, path);
  if (Array.isArray(value)) return <AddItem context={context} path={path} list={value} added={added} left={() => tree.added(path, null)} />;
  return isObject(value) ? <AddMember context={context} path={path} taken={Object.keys(value)} names={[]} added={added} left={left} /> : null;
}
