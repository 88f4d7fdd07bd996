import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import { isObject, label } from "../json/pointer";

export type FieldValues = Record<string, unknown>;

interface Props {
  /** JSON Schema of the answer; its properties are the fields. */
  schema: Record<string, unknown> | undefined;
  /** What the fields begin with; where there is no schema, its members are the fields. */
  values: FieldValues;
  submit: string;
  onSubmit(values: FieldValues): void;
  onCancel(): void;
}

interface Field {
  name: string;
  kind: "text" | "number" | "boolean" | "choice" | "json";
  choices: string[];
  help: string;
  required: boolean;
}

function fields(schema: Record<string, unknown> | undefined, values: FieldValues): Field[] {
  const properties = schema && isObject(schema.properties) ? schema.properties : undefined;
  const required = Array.isArray(schema?.required) ? (schema.required as string[]) : [];
  if (!properties) return Object.entries(values).map(([name, v]) => ({ name, kind: kindOf(v), choices: [], help: "", required: true }));
  return Object.entries(properties).map(([name, p]) => {
    const s = isObject(p) ? p : {};
    const choices = Array.isArray(s.enum) ? s.enum.filter((e): e is string => typeof e === "string") : [];
    const kind = choices.length > 0 ? "choice" : s.type === "string" ? "text" : s.type === "boolean" ? "boolean" : s.type === "number" || s.type === "integer" ? "number" : "json";
    return { name, kind, choices, help: typeof s.description === "string" ? s.description : "", required: required.includes(name) };
  });
}

function kindOf(value: unknown): Field["kind"] {
  return typeof value === "string" ? "text" : typeof value === "number" ? "number" : typeof value === "boolean" ? "boolean" : "json";
}

/** A form for values of some shape: a field for each member, JSON for what has an inside. */
export function Form({ schema, values, submit, onSubmit, onCancel }: Props) {
  const id = useId();
  const list = fields(schema, values);
  const drafts = useSignal<Record<string, string>>(
    Object.fromEntries(list.map((f) => [f.name, f.kind === "json" && values[f.name] !== undefined ? JSON.stringify(values[f.name], null, 2) : String(values[f.name] ?? "")])),
  );
  const error = useSignal("");
  const set = (name: string, value: string) => (drafts.value = { ...drafts.value, [name]: value });
  const send = (event: SubmitEvent) => {
    event.preventDefault();
    const out: FieldValues = {};
    for (const f of list) {
      const draft = drafts.value[f.name] ?? "";
      if (draft === "" && !f.required) continue;
      if (f.kind === "number") {
        out[f.name] = Number(draft);
      } else if (f.kind === "boolean") {
        out[f.name] = draft === "true";
      } else if (f.kind === "json") {
        try {
          out[f.name] = JSON.parse(draft);
        } catch (e) {
          error.value = `${label(f.name)} is not JSON: ${(e as Error).message}`;
          return;
        }
      } else {
        out[f.name] = draft;
      }
    }
    onSubmit(out);
  };
  return (
    <form class="form" onSubmit={send}>
      {list.map((f, i) => {
        const value = drafts.value[f.name] ?? "";
        const common = { id: `${id}-${i}`, class: "input", required: f.required, "aria-describedby": f.help ? `${id}-${i}-help` : undefined };
        return (
          <div key={f.name} class="field">
            <label for={`${id}-${i}`}>{label(f.name)}</label>
            {f.kind === "choice" ? (
              <select {...common} value={value} onChange={(e) => set(f.name, e.currentTarget.value)}>
                <option value="">Choose…</option>
                {f.choices.map((c) => (
                  <option key={c}>{c}</option>
                ))}
              </select>
            ) : f.kind === "boolean" ? (
              <select {...common} value={value} onChange={(e) => set(f.name, e.currentTarget.value)}>
                <option value="">Choose…</option>
                <option value="true">Yes</option>
                <option value="false">No</option>
              </select>
            ) : f.kind === "number" ? (
              <input {...common} type="number" step="any" value={value} onInput={(e) => set(f.name, e.currentTarget.value)} />
            ) : (
              <textarea
                {...common}
                class={f.kind === "json" ? "input mono" : "input"}
                rows={Math.min(14, Math.max(2, value.split("\n").length + Math.floor(value.length / 70)))}
                spellcheck={f.kind === "text"}
                value={value}
                onInput={(e) => set(f.name, e.currentTarget.value)}
              />
            )}
            {f.help && (
              <p class="muted" id={`${id}-${i}-help`}>
                {f.help}
              </p>
            )}
          </div>
        );
      })}
      {error.value && (
        <p class="error" role="alert">
          {error.value}
        </p>
      )}
      <div class="actions">
        <button class="button primary" type="submit">
          {submit}
        </button>
        <button class="button" type="button" onClick={onCancel}>
          Cancel
        </button>
      </div>
    </form>
  );
}
