import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { short } from "../json/diff";
import { below, isObject, label, tokens, type Doc } from "../json/pointer";
import { attempt, blank, explain, loose, read, type Trouble } from "../model/edit";
import { Icon } from "./icons";
import type { TreeContext } from "./treestate";

interface EditorProps {
  context: TreeContext;
  path: string;
  value: unknown;
  name: string;
  op: "replace" | "add";
  /** It is over, by a key or a button: the focus goes back. */
  done(): void;
  /** It is over because the person went somewhere else. */
  left(): void;
}

/** A field in the place of a value. Enter saves, Escape leaves it as it was. */
export function Editor({ context, path, value, name, op, done, left }: EditorProps) {
  const box = useRef<HTMLSpanElement>(null);
  const field = useRef<HTMLTextAreaElement>(null);
  const draft = useSignal(value === null || value === undefined ? "" : String(value));
  const was = useRef(draft.value);
  // What is read against is what is seen now, not what comes while one types.
  const base = useRef(context.position());
  const trouble = useSignal<Trouble | null>(null);
  // Taking the field away blurs it, and a blur saves: once is enough.
  const over = useRef(false);
  const saving = useSignal(false);
  useEffect(() => {
    field.current!.focus();
    field.current!.select();
  }, []);
  useEffect(() => {
    const box = field.current!;
    box.style.height = "auto";
    box.style.height = `${box.scrollHeight + 2}px`;
  }, [draft.value]);
  const end = (how: () => void) => {
    over.current = true;
    how();
  };
  const save = async (on: string | undefined, how: () => void) => {
    if (over.current) return;
    if (draft.value === was.current && (op === "replace" || how === left)) return end(how);
    const parsed = read(draft.value, value);
    if (parsed instanceof Error) {
      trouble.value = { kind: "refused", text: parsed.message };
      return;
    }
    over.current = true;
    saving.value = true;
    const found = await attempt(context.edit!, [{ op, path, value: parsed }], on, path);
    saving.value = false;
    // Who went somewhere else meanwhile is not called back.
    const here = box.current?.contains(document.activeElement) ?? false;
    trouble.value = found;
    if (found) over.current = false;
    else if (here) how();
    else left();
  };
  return (
    <span ref={box} class="editor">
      <textarea
        ref={field}
        class="input"
        rows={1}
        dir="auto"
        aria-label={name}
        aria-invalid={trouble.value !== null}
        readOnly={saving.value}
        value={draft.value}
        onInput={(e) => {
          draft.value = e.currentTarget.value;
          if (trouble.value?.kind === "refused") trouble.value = null;
        }}
        onKeyDown={(e) => {
          if (e.key === "Escape") {
            e.stopPropagation();
            end(done);
          } else if (e.key === "Enter" && !e.shiftKey && !e.isComposing) {
            e.preventDefault();
            void save(base.current, done);
          }
        }}
        onBlur={(e) => {
          // To a button that answers the trouble: not away from the edit.
          if (trouble.value === null && !box.current?.contains(e.relatedTarget as Node | null)) void save(base.current, left);
        }}
      />
      {trouble.value === null ? (
        <small class="muted">Enter saves, Esc leaves it, Shift+Enter is a new line</small>
      ) : trouble.value.kind === "conflict" ? (
        <Conflict theirs={trouble.value.theirs} mine={() => void save((trouble.value as { position: string }).position, done)} leave={() => end(done)} />
      ) : (
        <>
          <Complaint trouble={trouble.value} />
          <span class="actions">
            <button class="button small" type="button" onClick={() => void save(context.position(), done)}>
              Try again
            </button>
            <button class="button small" type="button" onClick={() => end(done)}>
              Leave it
            </button>
          </span>
        </>
      )}
    </span>
  );
}

function Conflict({ theirs, mine, leave }: { theirs: unknown; mine(): void; leave(): void }) {
  return (
    <span class="conflict" role="alert">
      <span>
        Changed meanwhile to <q>{short(theirs)}</q>
      </span>
      <span class="actions">
        <button class="button small primary" type="button" onClick={mine}>
          Keep mine
        </button>
        <button class="button small" type="button" onClick={leave}>
          Take theirs
        </button>
      </span>
    </span>
  );
}

export function Complaint({ trouble }: { trouble: Trouble }) {
  return (
    <span class="error" role="alert">
      {explain(trouble)}
    </span>
  );
}

/** Adds an item like the ones that are there. */
export function AddItem({ context, path, list, added, left }: { context: TreeContext; path: string; list: unknown[]; added(path: string): void; left(): void }) {
  const trouble = useSignal<Trouble | null>(null);
  // Rows need not have all columns; a new one has.
  const like = isObject(list.at(-1)) ? (Object.assign({}, ...list.slice(-100).filter(isObject)) as Doc) : list.at(-1);
  const at = below(path, list.length);
  useEffect(() => {
    if (!isObject(like)) return;
    // A row is there at once, and its cells are edited like all others.
    void attempt(context.edit!, [{ op: "add", path: below(path, "-"), value: blank(like) }], context.position(), path).then((t) => {
      if (t === null) added(at);
      else trouble.value = t;
    });
  }, []);
  if (isObject(like)) return trouble.value && <Complaint trouble={trouble.value} />;
  const value = typeof like === "number" ? 0 : typeof like === "string" || like === undefined ? "" : null;
  const noun = label(tokens(path).at(-1) ?? "item").toLowerCase();
  return <Editor context={context} path={below(path, "-")} value={value} name={`New item of ${noun}`} op="add" done={() => added(at)} left={left} />;
}

interface AddMemberProps {
  context: TreeContext;
  path: string;
  taken: string[];
  /** Names that are offered. */
  names: string[];
  added(path: string): void;
  /** It is not wanted any more. */
  left(): void;
}

/** Adds a member: a name and a value. */
export function AddMember({ context, path, taken, names, added, left }: AddMemberProps) {
  const name = useSignal(names[0] ?? "");
  const text = useSignal("");
  const trouble = useSignal<Trouble | null>(null);
  const saving = useRef(false);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  const save = async (event: SubmitEvent) => {
    event.preventDefault();
    if (saving.current) return; // it may be there already: it is its own
    if (taken.includes(name.value)) {
      trouble.value = { kind: "refused", text: `There is a value called ${name.value} already.` };
      return;
    }
    const at = below(path, name.value);
    saving.current = true;
    trouble.value = await attempt(context.edit!, [{ op: "add", path: at, value: loose(text.value) }], context.position(), at);
    saving.current = false;
    if (trouble.value === null) added(at);
  };
  return (
    <form
      class="add-member"
      onSubmit={(e) => void save(e)}
      onKeyDown={(e) => {
        if (e.key !== "Escape") return;
        e.stopPropagation();
        left();
      }}
    >
      <input ref={field} class="input" aria-label="Name" placeholder="Name" required value={name.value} onInput={(e) => (name.value = e.currentTarget.value)} />
      <input class="input" dir="auto" aria-label="Value" placeholder="Text, or JSON" value={text.value} onInput={(e) => (text.value = e.currentTarget.value)} />
      <button class="button small primary" type="submit">
        Add
      </button>
      <button class="button small" type="button" onClick={left}>
        Cancel
      </button>
      {trouble.value && <Complaint trouble={trouble.value} />}
    </form>
  );
}

/** The same behind a button of its own. */
export function AddValue(props: Omit<AddMemberProps, "added" | "left"> & { added?(path: string): void }) {
  const open = useSignal(false);
  const button = useRef<HTMLButtonElement>(null);
  const asked = useRef(false);
  useEffect(() => {
    if (!open.value && asked.current && document.activeElement === document.body) button.current?.focus();
    asked.current = open.value;
  }, [open.value]);
  if (!open.value) {
    return (
      <span class="add">
        <button ref={button} class="button ghost small" type="button" onClick={() => (open.value = true)}>
          <Icon name="plus" size={14} /> Add a value
        </button>
      </span>
    );
  }
  const close = () => (open.value = false);
  return (
    <AddMember
      {...props}
      left={close}
      added={(path) => {
        close();
        props.added?.(path);
      }}
    />
  );
}
