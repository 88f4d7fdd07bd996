import type { EditOutcome, Operation } from "@lockstep-go/client";
import { useSignal, type Signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { below, isObject, label, within, type Doc } from "../json/pointer";
import type { Marks, Who } from "../model/marks";
import { AddItem, AddMember, Remove, Scalar } from "./editor";
import { Icon } from "./icons";

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
  edit?: (patch: Operation[], base: string | undefined) => Promise<EditOutcome>;
}

interface NodeProps {
  context: TreeContext;
  path: string;
  value: unknown;
  depth: number;
}

/** The most children that are shown at once. */
const page = 100;

/** A document as a page of labels and values; what has an inside opens and closes. */
export function Tree({ context }: { context: TreeContext }) {
  const { doc } = context;
  if (!isObject(doc)) return <Inside context={context} path="" value={doc} depth={0} />;
  return <Members context={context} path="" value={doc} depth={0} />;
}

function Members({ context, path, value, depth }: NodeProps & { value: Doc }) {
  return (
    <Paged names={Object.keys(value)}>
      {(name) => <Member key={name} context={context} path={below(path, name)} name={name} value={value[name]} depth={depth} />}
    </Paged>
  );
}

/** A member of an object: a line where its value fits one, else a part of its own. */
function Member({ context, path, name, value, depth }: NodeProps & { name: string }) {
  const open = useSignal(depth < 4);
  const adding = useSignal(false);
  const simple = typeof value !== "object" || value === null;
  const long = typeof value === "string" && (value.length > 90 || value.includes("\n"));
  const editable = canEdit(context, path);
  const title = (
    <span class="name" title={path}>
      {label(name)}
    </span>
  );
  if (simple) {
    return (
      <li class={long ? "entry long" : "entry"} data-predicted={isPredicted(context, path)}>
        <Flash context={context} path={path} />
        {title}
        {long && <Tag context={context} path={path} depth={depth} />}
        <Scalar context={context} path={path} value={value} name={label(name)} />
        {!long && <Tag context={context} path={path} depth={depth} />}
        {editable && depth > 0 && <Remove context={context} path={path} name={label(name)} />}
      </li>
    );
  }
  const count = Array.isArray(value) ? value.length : Object.keys(value).length;
  return (
    <li class="entry part" data-predicted={isPredicted(context, path)}>
      <div class="head">
        <Flash context={context} path={path} />
        <button type="button" class="twist" aria-expanded={open.value} onClick={() => (open.value = !open.value)}>
          <Icon name="chevron" size={14} />
          {title}
          <span class="count">{count}</span>
        </button>
        <Tag context={context} path={path} depth={depth} closed={!open.value} />
        {!editable && context.edit && <Lock />}
        {editable && (
          <button
            class="button ghost square tiny plus"
            type="button"
            aria-label={`Add to ${label(name)}`}
            onClick={() => {
              open.value = true;
              adding.value = true;
            }}
          >
            <Icon name="plus" size={14} />
          </button>
        )}
        {editable && depth > 0 && <Remove context={context} path={path} name={label(name)} />}
      </div>
      {open.value && <Inside context={context} path={path} value={value} depth={depth + 1} adding={adding} />}
    </li>
  );
}

/** What an object, an array or a lone value holds. `adding` opens the form for one more. */
function Inside({ context, path, value, depth, adding }: NodeProps & { adding?: Signal<boolean> }) {
  const own = useSignal(false);
  const more = adding ?? own;
  const editable = canEdit(context, path);
  if (Array.isArray(value)) {
    const columns = table(value);
    return (
      <div class="inside">
        {value.length === 0 ? <p class="none">Empty</p> : columns ? <Table context={context} path={path} value={value as Doc[]} columns={columns} /> : <Items context={context} path={path} value={value} depth={depth} />}
        {editable && <AddItem context={context} path={path} list={value} open={more} />}
        {editable && !adding && <Plus open={more} />}
      </div>
    );
  }
  if (isObject(value)) {
    return (
      <div class="inside">
        {Object.keys(value).length === 0 ? <p class="none">Empty</p> : <Members context={context} path={path} value={value} depth={depth} />}
        {editable && <AddMember context={context} path={path} taken={Object.keys(value)} names={[]} open={more} />}
        {editable && !adding && <Plus open={more} />}
      </div>
    );
  }
  return <Scalar context={context} path={path} value={value} name="Value" />;
}

/** For what has no head of its own to put it in. */
function Plus({ open }: { open: Signal<boolean> }) {
  return (
    <button class="button ghost small" type="button" onClick={() => (open.value = true)}>
      <Icon name="plus" size={14} /> Add
    </button>
  );
}

/** Values in their order. */
function Items({ context, path, value, depth }: NodeProps & { value: unknown[] }) {
  return (
    <Paged names={value.map((_, i) => String(i))} ordered>
      {(i) => {
        const at = below(path, i);
        const item = value[Number(i)];
        const name = `Item ${Number(i) + 1}`;
        const simple = typeof item !== "object" || item === null;
        return (
          <li key={i} class="entry item" data-predicted={isPredicted(context, at)}>
            <Flash context={context} path={at} />
            <span class="index" aria-hidden="true">
              {Number(i) + 1}
            </span>
            {simple ? <Scalar context={context} path={at} value={item} name={name} /> : <Inside context={context} path={at} value={item} depth={depth + 1} />}
            <Tag context={context} path={at} depth={depth} />
            {canEdit(context, at) && <Remove context={context} path={at} name={name} />}
          </li>
        );
      }}
    </Paged>
  );
}

/** Objects of one flat shape, as rows. */
function Table({ context, path, value, columns }: { context: TreeContext; path: string; value: Doc[]; columns: string[] }) {
  const all = useSignal(false);
  const shown = all.value ? value : value.slice(0, page);
  return (
    <div class="table">
      <table>
        <thead>
          <tr>
            {columns.map((c) => (
              <th key={c} scope="col">
                {label(c)}
              </th>
            ))}
            {context.edit && (
              <th>
                <span class="sr-only">Actions</span>
              </th>
            )}
          </tr>
        </thead>
        <tbody>
          {shown.map((row, i) => {
            const at = below(path, i);
            return (
              <tr key={i} data-predicted={isPredicted(context, at)}>
                {columns.map((c) => {
                  const cell = below(at, c);
                  return (
                    <td key={c} data-short={shortColumn(value, c)}>
                      <Flash context={context} path={cell} or={at} />
                      {Object.hasOwn(row, c) && <Scalar context={context} path={cell} value={row[c]} name={`${label(c)} of row ${i + 1}`} />}
                    </td>
                  );
                })}
                {context.edit && <td class="act">{canEdit(context, at) && <Remove context={context} path={at} name={`row ${i + 1}`} />}</td>}
              </tr>
            );
          })}
        </tbody>
      </table>
      {shown.length < value.length && <More count={value.length - shown.length} show={() => (all.value = true)} />}
    </div>
  );
}

/** The columns of an array that can be a table; null of one that cannot. */
function table(list: unknown[]): string[] | null {
  const columns: string[] = [];
  for (const row of list) {
    if (!isObject(row)) return null;
    for (const [name, v] of Object.entries(row)) {
      if (typeof v === "object" && v !== null) return null;
      if (!columns.includes(name)) columns.push(name);
    }
  }
  return columns.length > 0 && columns.length <= 5 ? columns : null;
}

/** A column of pictures and single letters needs no width. */
function shortColumn(list: Doc[], name: string): boolean {
  return list.every((row) => String(row[name] ?? "").length <= 3);
}

function Paged({ names, ordered = false, children }: { names: string[]; ordered?: boolean; children(name: string): ComponentChildren }) {
  const all = useSignal(false);
  const shown = all.value ? names : names.slice(0, page);
  const List = ordered ? "ol" : "ul";
  return (
    <>
      <List class="entries">{shown.map(children)}</List>
      {shown.length < names.length && <More count={names.length - shown.length} show={() => (all.value = true)} />}
    </>
  );
}

function More({ count, show }: { count: number; show(): void }) {
  return (
    <button class="button ghost small" type="button" onClick={show}>
      Show {count} more
    </button>
  );
}

function Lock() {
  return (
    <span class="lock" title="Only the agent changes this">
      <Icon name="lock" size={13} />
      <span class="sr-only">Read only</span>
    </span>
  );
}

const whoSays: Record<Who, string> = { agent: "agent", you: "you", viewer: "another viewer", system: "" };

/** The light that a change leaves for a moment, in the colour of whose it is. */
function Flash({ context, path, or }: { context: TreeContext; path: string; or?: string }) {
  const mark = context.marks.get(path) ?? (or === undefined ? undefined : context.marks.get(or));
  if (!mark || mark.who === "system") return null;
  return <span key={mark.n} class="flash" data-who={mark.who} aria-hidden="true" />;
}

/** In words: who changed a place, or that it is a prediction. */
function Tag({ context, path, depth, closed = false }: { context: TreeContext; path: string; depth: number; closed?: boolean }) {
  // Of a prediction it is said once, where the eye finds it.
  if (depth === 0 && context.predicted.some((p) => within(p, path) || within(path, p))) {
    return (
      <span class="tag predicted">
        <i aria-hidden="true" />
        {context.writing ? "writing" : "proposed"}
      </span>
    );
  }
  const mark = closed ? context.marks.newest(path) : context.marks.get(path);
  if (!mark || mark.who === "system" || !mark.said) return null;
  return (
    <span key={mark.n} class="tag passing" data-who={mark.who}>
      {whoSays[mark.who]}
    </span>
  );
}

function isPredicted(context: TreeContext, path: string): boolean {
  return context.predicted.some((p) => within(path, p));
}

/** Reports whether a person may change a place: nothing in or around it is read-only. */
function canEdit(context: TreeContext, path: string): boolean {
  if (!context.edit) return false;
  return !context.fixed.some((f) => {
    const pattern = f.split("/");
    const steps = path.split("/");
    return pattern.slice(0, steps.length).every((p, i) => p === "*" || p === steps[i]);
  });
}
