import { useSignal } from "@preact/signals";
import { useId, useMemo, useRef } from "preact/hooks";
import { below, label, tokens } from "../json/pointer";
import { draftOf, read, type Draft, type Faults, type Shape } from "../model/fields";
import { Icon } from "./icons";

interface Props {
  shape: Shape;
  /** What a lone field is called. */
  name: string;
  submit: string;
  cancel: string;
  onSubmit(value: unknown): void;
  onCancel(): void;
}

interface FieldProps {
  id: string;
  shape: Shape;
  path: string;
  name: string;
  required: boolean;
  draft: Draft;
  faults: Faults;
  change(draft: Draft): void;
}

/** A form for a value of some shape. What is wrong is said beside the field, from the first attempt to send it on. */
export function Form({ shape, name, submit, cancel, onSubmit, onCancel }: Props) {
  const id = useId();
  const form = useRef<HTMLFormElement>(null);
  const draft = useSignal<Draft>(useMemo(() => draftOf(shape), []));
  const tried = useSignal(false);
  const faults: Faults = {};
  const value = read(shape, draft.value, true, faults);
  const send = (event: SubmitEvent) => {
    event.preventDefault();
    tried.value = true;
    if (Object.keys(faults).length === 0) return onSubmit(value);
    // The fields know of it only when they are drawn anew.
    requestAnimationFrame(() => form.current?.querySelector<HTMLElement>("[aria-invalid=true]")?.focus());
  };
  const shown = tried.value ? faults : {};
  const count = Object.keys(shown).length;
  return (
    <form ref={form} class="form" noValidate onSubmit={send}>
      <Field id={id} shape={shape} path="" name={name} required draft={draft.value} faults={shown} change={(d) => (draft.value = d)} />
      <p class="sr-only" role="status">
        {count > 0 && (count === 1 ? "One field needs another look." : `${count} fields need another look.`)}
      </p>
      <div class="actions">
        <button class="button primary" type="submit">
          {submit}
        </button>
        <button class="button" type="button" onClick={onCancel}>
          {cancel}
        </button>
      </div>
    </form>
  );
}

function Field(props: FieldProps) {
  switch (props.shape.kind) {
    case "object":
      return <Members {...props} />;
    case "list":
      return <Items {...props} />;
    default:
      return <One {...props} />;
  }
}

function Members({ id, shape, path, name, draft, faults, change }: FieldProps) {
  const given = draft as Record<string, Draft>;
  const fields = shape.members.map((m) => (
    <Field
      key={m.name}
      id={id}
      shape={m.shape}
      path={below(path, m.name)}
      name={label(m.name)}
      required={m.required}
      draft={given[m.name] ?? ""}
      faults={faults}
      change={(d) => change({ ...given, [m.name]: d })}
    />
  ));
  if (path === "") return <>{fields}</>;
  return (
    <fieldset class="group">
      <legend>{name}</legend>
      {shape.help && <p class="muted">{shape.help}</p>}
      {fields}
    </fieldset>
  );
}

function Items({ id, shape, path, name, draft, faults, change }: FieldProps) {
  const list = draft as Draft[];
  const box = useRef<HTMLFieldSetElement>(null);
  const fault = faults[path];
  const add = () => {
    change([...list, draftOf(shape.item!)]);
    requestAnimationFrame(() => box.current?.querySelector<HTMLElement>(".items > li:last-child :is(input, textarea, select)")?.focus());
  };
  const drop = (i: number) => {
    change(list.toSpliced(i, 1));
    requestAnimationFrame(() => box.current?.querySelector<HTMLElement>(":scope > .button")?.focus());
  };
  const button = { id: `${id}${path}`, "aria-invalid": fault !== undefined, "aria-describedby": fault === undefined ? undefined : `${id}${path}-fault` };
  return (
    <fieldset ref={box} class="group">
      <legend>{name}</legend>
      {shape.help && <p class="muted">{shape.help}</p>}
      <ol class="items">
        {list.map((d, i) => (
          <li key={i}>
            <Field id={id} shape={shape.item!} path={below(path, i)} name={`${name} ${i + 1}`} required draft={d} faults={faults} change={(to) => change(list.with(i, to))} />
            <button class="button ghost square tiny" type="button" aria-label={`Remove ${name} ${i + 1}`} onClick={() => drop(i)}>
              <Icon name="close" size={13} />
            </button>
          </li>
        ))}
      </ol>
      <button {...button} class="button small" type="button" aria-label={`Add to ${name}`} onClick={add}>
        <Icon name="plus" size={14} /> Add
      </button>
      <Fault id={button.id} text={fault} />
    </fieldset>
  );
}

const inputTypes: Record<string, "email" | "url" | "date" | "datetime-local"> = { email: "email", uri: "url", date: "date", "date-time": "datetime-local" };

function One({ id, shape, path, name, required, draft, faults, change }: FieldProps) {
  const value = draft as string;
  const own = `${id}${path}`;
  const fault = faults[path];
  const described = [shape.help && `${own}-help`, fault !== undefined && `${own}-fault`].filter(Boolean).join(" ");
  const common = { id: own, class: "input", "aria-required": required && !shape.blank, "aria-invalid": fault !== undefined, "aria-describedby": described || undefined };
  const type = inputTypes[String(shape.schema.format)];
  // One of several types, of which the declarations want to know which.
  const kind = { type: type ?? "text", ...(shape.kind === "number" && { inputMode: "decimal" }) } as { type: "text" };
  return (
    <div class="field">
      {/^\d+$/.test(tokens(path).at(-1) ?? "") ? (
        <label class="sr-only" for={own}>
          {name}
        </label>
      ) : (
        <label for={own}>
          {name}
          {!required && <span class="muted"> optional</span>}
        </label>
      )}
      {shape.kind === "choice" || shape.kind === "boolean" ? (
        <select {...common} value={value} onChange={(e) => change(e.currentTarget.value)}>
          <option value="">Choose…</option>
          {(shape.kind === "boolean" ? [true, false] : shape.choices).map((c, i) => (
            <option key={i} value={shape.kind === "boolean" ? String(c) : String(i)}>
              {c === true ? "Yes" : c === false ? "No" : c === null ? "None" : String(c)}
            </option>
          ))}
        </select>
      ) : shape.kind === "number" || type ? (
        <input {...common} {...kind} value={value} onInput={(e) => change(e.currentTarget.value)} />
      ) : (
        <textarea
          {...common}
          class={shape.kind === "json" ? "input mono" : "input"}
          dir={shape.kind === "json" ? undefined : "auto"}
          rows={Math.min(14, Math.max(shape.kind === "json" ? 2 : 1, value.split("\n").length + Math.floor(value.length / 60)))}
          spellcheck={shape.kind === "text"}
          value={value}
          onInput={(e) => change(e.currentTarget.value)}
        />
      )}
      {shape.help && (
        <p class="muted" id={`${own}-help`}>
          {shape.help}
        </p>
      )}
      <Fault id={own} text={fault} />
    </div>
  );
}

function Fault({ id, text }: { id: string; text: string | undefined }) {
  return text === undefined ? null : (
    <p class="error" id={`${id}-fault`}>
      {text}
    </p>
  );
}
