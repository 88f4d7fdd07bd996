import type { EditOutcome, Operation } from "@lockstep-go/client";
import { useSignal, type Signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { at, below, isObject, label, tokens } from "../json/pointer";
import { short } from "../json/diff";
import { Icon } from "./icons";
import type { TreeContext } from "./tree";

/** Why an edit was not made, and what can be done about it. */
type Trouble = { kind: "conflict"; theirs: unknown; position: string } | { kind: "predicted" } | { kind: "refused"; text: string };

/** A value that has no inside. A click, or Enter, begins to change it. */
export function Scalar({ context, path, value, name }: { context: TreeContext; path: string; value: unknown; name: string }) {
  const editing = useSignal(false);
  const base = useRef<string | undefined>(undefined);
  const button = useRef<HTMLButtonElement>(null);
  const fixed = !context.edit || readOnly(context, path);
  const begin = () => {
    // What is read against is what is seen now, not what comes while one types.
    base.current = context.position();
    editing.value = true;
  };
  const done = () => {
    editing.value = false;
    requestAnimationFrame(() => button.current?.focus());
  };
  if (editing.value) {
    return <Editor context={context} path={path} value={value} base={base.current} name={name} done={done} op="replace" />;
  }
  if (typeof value === "boolean" && !fixed) return <Switch context={context} path={path} value={value} name={name} />;
  const text = value === null ? "null" : String(value);
  const kind = value === null ? "null" : typeof value;
  if (fixed) {
    return (
      <span class="value" data-kind={kind}>
        {text === "" ? <em>empty</em> : text}
      </span>
    );
  }
  return (
    <button ref={button} type="button" class="value" data-kind={kind} aria-label={`${name}: ${text === "" ? "empty" : text}. Edit`} onClick={begin}>
      {text === "" ? <em>empty</em> : text}
    </button>
  );
}

function Switch({ context, path, value, name }: { context: TreeContext; path: string; value: boolean; name: string }) {
  const trouble = useSignal<Trouble | null>(null);
  const flip = async () => {
    trouble.value = await attempt(context, [{ op: "replace", path, value: !value }], context.position(), path);
  };
  return (
    <span class="with-trouble">
      <button type="button" role="switch" class="switch" aria-checked={value} aria-label={name} onClick={() => void flip()}>
        <i aria-hidden="true" />
        {value ? "yes" : "no"}
      </button>
      {trouble.value && <Complaint trouble={trouble.value} />}
    </span>
  );
}

interface EditorProps {
  context: TreeContext;
  path: string;
  value: unknown;
  base: string | undefined;
  name: string;
  op: "replace" | "add";
  done(): void;
}

/** A field in the place of a value. Enter saves, Escape leaves it as it was. */
function Editor({ context, path, value, base, name, op, done }: EditorProps) {
  const field = useRef<HTMLTextAreaElement>(null);
  const draft = useSignal(value === null || value === undefined ? "" : String(value));
  const was = useRef(draft.value);
  const trouble = useSignal<Trouble | null>(null);
  // Taking the field away blurs it, and a blur saves: once is enough.
  const over = useRef(false);
  useEffect(() => {
    field.current!.focus();
    field.current!.select();
  }, []);
  const leave = () => {
    over.current = true;
    done();
  };
  useEffect(() => {
    const box = field.current!;
    box.style.height = "auto";
    box.style.height = `${box.scrollHeight + 2}px`;
  }, [draft.value]);
  const save = async (on: string | undefined) => {
    if (over.current) return;
    if (op === "replace" && draft.value === was.current) return leave();
    const parsed = read(draft.value, value);
    if (parsed instanceof Error) {
      trouble.value = { kind: "refused", text: parsed.message };
      return;
    }
    over.current = true;
    trouble.value = await attempt(context, [{ op, path, value: parsed }], on, path);
    if (trouble.value === null) done();
    else over.current = false;
  };
  return (
    <span class="editor">
      <textarea
        ref={field}
        class="input"
        rows={1}
        aria-label={name}
        aria-invalid={trouble.value !== null}
        value={draft.value}
        onInput={(e) => {
          draft.value = e.currentTarget.value;
          if (trouble.value?.kind === "refused") trouble.value = null;
        }}
        onKeyDown={(e) => {
          if (e.key === "Escape") {
            e.stopPropagation();
            leave();
          } else if (e.key === "Enter" && !e.shiftKey && !e.isComposing) {
            e.preventDefault();
            void save(base);
          }
        }}
        onBlur={(e) => {
          // To a button that answers the trouble: not away from the edit.
          if (trouble.value === null && !(e.relatedTarget as Element | null)?.closest(".editor")) void save(base);
        }}
      />
      {trouble.value === null ? (
        <small class="muted">Enter saves, Esc leaves it, Shift+Enter is a new line</small>
      ) : trouble.value.kind === "conflict" ? (
        <Conflict theirs={trouble.value.theirs} mine={() => void save((trouble.value as { position: string }).position)} leave={leave} />
      ) : (
        <>
          <Complaint trouble={trouble.value} />
          <span class="actions">
            <button class="button small" type="button" onClick={() => void save(context.position())}>
              Try again
            </button>
            <button class="button small" type="button" onClick={leave}>
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

function Complaint({ trouble }: { trouble: Trouble }) {
  const text = trouble.kind === "refused" ? trouble.text : trouble.kind === "predicted" ? "The agent is still writing this. It can be changed as soon as it has finished." : "Changed meanwhile by somebody else.";
  return (
    <span class="error" role="alert">
      {text}
    </span>
  );
}

/** Sends an edit. Null: it is made. */
async function attempt(context: TreeContext, patch: Operation[], base: string | undefined, path: string): Promise<Trouble | null> {
  let outcome: EditOutcome;
  try {
    outcome = await context.edit!(patch, base);
  } catch (e) {
    return { kind: "refused", text: (e as Error).message };
  }
  switch (outcome.status) {
    case "applied":
      return null;
    case "conflict":
      if (outcome.conflicts.some((c) => c.predicted)) return { kind: "predicted" };
      if (outcome.conflicts.length === 0) return { kind: "refused", text: outcome.message ?? "The state has moved on." };
      return { kind: "conflict", theirs: at(outcome.state, path), position: outcome.position };
    case "forbidden":
      return { kind: "refused", text: "Only the agent may change this." };
    case "invalid":
      return { kind: "refused", text: outcome.errors.map((e) => e.message).join("; ") || "This value is not allowed here." };
  }
}

/** Reads what was typed as the kind of value that was there. */
function read(text: string, was: unknown): unknown {
  if (typeof was === "string") return text;
  if (typeof was === "number") {
    const n = Number(text.trim());
    return text.trim() === "" || Number.isNaN(n) ? new Error("This is a number.") : n;
  }
  return loose(text);
}

/** JSON where it is some, else a text. */
function loose(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Takes a member or an item away. */
export function Remove({ context, path, name }: { context: TreeContext; path: string; name: string }) {
  const trouble = useSignal<Trouble | null>(null);
  const remove = async () => {
    trouble.value = await attempt(context, [{ op: "remove", path }], context.position(), path);
  };
  return (
    <span class="remove">
      <button class="button ghost square tiny" type="button" aria-label={`Remove ${name}`} onClick={() => void remove()}>
        <Icon name="close" size={13} />
      </button>
      {trouble.value && <Complaint trouble={trouble.value} />}
    </span>
  );
}

/** Adds an item like the ones that are there. `open`: it is being asked for. */
export function AddItem({ context, path, list, open }: { context: TreeContext; path: string; list: unknown[]; open: Signal<boolean> }) {
  const trouble = useSignal<Trouble | null>(null);
  const base = useRef<string | undefined>(undefined);
  const like = list.at(-1);
  const noun = label(tokens(path).at(-1) ?? "item").toLowerCase();
  useEffect(() => {
    if (!open.value) return;
    base.current = context.position();
    if (!isObject(like)) return;
    // A row is there at once, and its cells are edited like all others.
    open.value = false;
    void attempt(context, [{ op: "add", path: below(path, "-"), value: blank(like) }], base.current, path).then((t) => (trouble.value = t));
  }, [open.value]);
  if (open.value && !isObject(like)) {
    const value = typeof like === "number" ? 0 : typeof like === "string" || like === undefined ? "" : null;
    return <Editor context={context} path={below(path, "-")} value={value} base={context.position()} name={`New item of ${noun}`} op="add" done={() => (open.value = false)} />;
  }
  return trouble.value ? <Complaint trouble={trouble.value} /> : null;
}

/** A value of the same shape with nothing in it. */
function blank(value: unknown): unknown {
  if (Array.isArray(value)) return [];
  if (isObject(value)) return Object.fromEntries(Object.entries(value).map(([n, v]) => [n, blank(v)]));
  return typeof value === "string" ? "" : typeof value === "number" ? 0 : typeof value === "boolean" ? false : null;
}

/** Adds a member: a name and a value. `names` are offered. Without `open` it brings its own button. */
export function AddMember({ context, path, taken, names, open: asked }: { context: TreeContext; path: string; taken: string[]; names: string[]; open?: Signal<boolean> }) {
  const own = useSignal(false);
  const open = asked ?? own;
  const name = useSignal("");
  const text = useSignal("");
  const trouble = useSignal<Trouble | null>(null);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (open.value) field.current?.focus();
  }, [open.value]);
  if (!open.value) {
    if (asked) return null;
    return (
      <span class="add">
        <button
          class="button ghost small"
          type="button"
          onClick={() => {
            name.value = names[0] ?? "";
            text.value = "";
            trouble.value = null;
            open.value = true;
          }}
        >
          <Icon name="plus" size={14} /> Add a value
        </button>
      </span>
    );
  }
  const save = async (event: SubmitEvent) => {
    event.preventDefault();
    if (taken.includes(name.value)) {
      trouble.value = { kind: "refused", text: `There is a value called ${name.value} already.` };
      return;
    }
    const at = below(path, name.value);
    trouble.value = await attempt(context, [{ op: "add", path: at, value: loose(text.value) }], context.position(), at);
    if (trouble.value === null) open.value = false;
  };
  return (
    <form class="add-member" onSubmit={(e) => void save(e)} onKeyDown={(e) => e.key === "Escape" && (open.value = false)}>
      <input ref={field} class="input" aria-label="Name" placeholder="Name" required value={name.value} onInput={(e) => (name.value = e.currentTarget.value)} />
      <input class="input" aria-label="Value" placeholder="Text, or JSON" value={text.value} onInput={(e) => (text.value = e.currentTarget.value)} />
      <button class="button small primary" type="submit">
        Add
      </button>
      <button class="button small" type="button" onClick={() => (open.value = false)}>
        Cancel
      </button>
      {trouble.value && <Complaint trouble={trouble.value} />}
    </form>
  );
}

/** Reports whether a place is one that only the agent changes. */
function readOnly(context: TreeContext, path: string): boolean {
  return context.fixed.some((f) => {
    const pattern = f.split("/");
    const steps = path.split("/");
    return pattern.length <= steps.length && pattern.every((p, i) => p === "*" || p === steps[i]);
  });
}
