import type { ResumeEntry } from "@ag-ui/client";
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { Change } from "../json/diff";
import { short, words } from "../json/diff";
import { below, isObject, label, place } from "../json/pointer";
import type { Approval } from "../model/approvals";
import { argumentsOf } from "../model/clienttools";
import type { Conversation } from "../model/conversation";
import { shapeOf, shapeOfValue } from "../model/fields";
import { Form } from "./form";
import { Icon } from "./icons";

type Answer = Omit<ResumeEntry, "interruptId">;

/** Everything that waits for a decision. All of it goes to the server in one answer, because the protocol wants it so. */
export function Approvals({ conversation }: { conversation: Conversation }) {
  const list = conversation.approvals.value;
  const decided = useSignal<Record<string, Answer>>({});
  const box = useRef<HTMLDivElement>(null);
  const open = list.filter((a) => !decided.value[a.id]).length;
  const decide = (approval: Approval, answer: Answer) => {
    const all = { ...decided.value, [approval.id]: answer };
    if (list.some((a) => !all[a.id])) {
      decided.value = all;
      // The card that had the focus is gone: on to the next that is open.
      requestAnimationFrame(() => box.current?.querySelector<HTMLElement>(".approval:not(.settled) :is(input, select, textarea, button)")?.focus());
      return;
    }
    decided.value = {};
    void conversation.resume(list.map((a) => ({ interruptId: a.id, ...all[a.id]! })));
  };
  const undecide = (id: string) => {
    const { [id]: _, ...rest } = decided.value;
    decided.value = rest;
  };
  return (
    <div ref={box} class="approvals">
      {list.length > 1 && (
        <p class="muted decided" role="status">
          {open === list.length ? `${list.length} decisions are asked for. They go out together.` : `${list.length - open} of ${list.length} decided. They go out together with the last one.`}
        </p>
      )}
      {list.map((a) => {
        const answer = decided.value[a.id];
        return answer ? <Decided key={a.id} approval={a} answer={answer} change={() => undecide(a.id)} /> : <Card key={a.id} approval={a} decide={(entry) => decide(a, entry)} />;
      })}
    </div>
  );
}

/** A decision that waits for the others. */
function Decided({ approval, answer, change }: { approval: Approval; answer: Answer; change(): void }) {
  const { approved, editedArgs } = (answer.payload ?? {}) as { approved?: boolean; editedArgs?: unknown };
  const yes = answer.status === "resolved" && (approval.kind === "input" || approved === true);
  const word = answer.status === "cancelled" ? "Not answered" : approval.kind === "input" ? "Answered" : !yes ? "Rejected" : editedArgs ? "Approved with your changes" : "Approved";
  return (
    <section class="card approval settled" data-yes={yes} aria-label={`Decided: ${approval.title}`}>
      <Icon name={yes ? "check" : "close"} size={16} />
      <p>
        <strong>{word}</strong> <span class="muted">{approval.title}</span>
      </p>
      <button class="button ghost small" type="button" aria-label={`Change: ${approval.title}`} onClick={change}>
        Change
      </button>
    </section>
  );
}

function Card({ approval, decide }: { approval: Approval; decide(answer: Answer): void }) {
  const editing = useSignal(false);
  const box = useRef<HTMLElement>(null);
  useEffect(() => box.current?.scrollIntoView({ block: "nearest", behavior: "smooth" }), []);
  const expired = approval.expiresAt !== undefined && Date.parse(approval.expiresAt) <= Date.now();
  const yes = (payload: unknown) => decide({ status: "resolved", payload });
  return (
    <section ref={box} class="card approval" aria-label={`Waits for your decision: ${approval.title}`}>
      <header>
        <span class="pulse" aria-hidden="true" />
        <h2>{approval.title}</h2>
      </header>
      {expired ? (
        <div class="actions">
          <p class="muted">This question has expired.</p>
          <button class="button" type="button" onClick={() => decide({ status: "cancelled" })}>
            Put it away
          </button>
        </div>
      ) : approval.kind === "input" ? (
        <Form shape={approval.schema ? shapeOf(approval.schema) : anything} name="Answer" submit="Send" cancel="Do not answer" onSubmit={yes} onCancel={() => decide({ status: "cancelled" })} />
      ) : editing.value && approval.call ? (
        <Form
          shape={shapeOfValue(argumentsOf(approval.call), argumentsSchema(approval), approval.schema)}
          name="Arguments"
          submit="Approve this version"
          cancel="Cancel"
          onSubmit={(editedArgs) => yes({ approved: true, editedArgs })}
          onCancel={() => (editing.value = false)}
        />
      ) : (
        <>
          {approval.changes.length > 0 ? <Differences changes={approval.changes} /> : approval.call && <Arguments args={argumentsOf(approval.call)} />}
          <div class="actions">
            <button class="button primary" type="button" onClick={() => yes({ approved: true })}>
              <Icon name="check" size={16} /> Approve
            </button>
            {approval.call && (
              <button class="button" type="button" onClick={() => (editing.value = true)}>
                Edit
              </button>
            )}
            <button class="button danger" type="button" onClick={() => yes({ approved: false })}>
              Reject
            </button>
          </div>
        </>
      )}
    </section>
  );
}

/** What the arguments may be: a part of what the answer may be. */
function argumentsSchema({ schema }: Approval): unknown {
  const properties = schema?.properties;
  return isObject(properties) ? properties.editedArgs : undefined;
}

/** The answer to a question that does not say what it wants. */
const anything = shapeOf({ type: "string" });

/** What would change, place by place. */
export function Differences({ changes }: { changes: readonly Change[] }) {
  return (
    <dl class="differences">
      {changes.flatMap(parts).map((c) => (
        <div key={c.path}>
          <dt>{place(c.path)}</dt>
          <dd>
            <Difference change={c} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** An object that is all new, or all gone, as its members: each has a name of its own. */
function parts(change: Change): Change[] {
  const { path, before, after } = change;
  if (after !== undefined && before !== undefined) return [change];
  const value = after ?? before;
  if (!isObject(value) || Object.keys(value).length === 0) return [change];
  return Object.entries(value).flatMap(([name, v]) => parts({ path: below(path, name), ...(after === undefined ? { before: v } : { after: v }) }));
}

function Difference({ change }: { change: Change }) {
  const { after } = change;
  // From nothing to a text is a new text, however the nothing is written.
  const before = change.before === "" && after !== "" ? undefined : change.before;
  if (typeof before === "string" && typeof after === "string" && (before.length > 40 || after.length > 40)) {
    return (
      <p class="text">
        {words(before, after).map((p, i, all) => (p.kind === "same" ? <span key={i}>{around(p.text, i === 0, i === all.length - 1)}</span> : <Piece key={i} kind={p.kind} text={p.text} />))}
      </p>
    );
  }
  if (before === undefined || after === undefined) {
    const New = before === undefined ? "ins" : "del";
    return (
      <p class="text">
        <New class="block">{whole(before ?? after)}</New>
      </p>
    );
  }
  return (
    <p class="text">
      <del>{whole(before)}</del> <ins>{whole(after)}</ins>
    </p>
  );
}

/** Words that came or went. The space around them is no word, and gets no colour. */
function Piece({ kind, text }: { kind: "new" | "gone"; text: string }) {
  const [, head = "", middle = "", tail = ""] = /^(\s*)(.*?)(\s*)$/su.exec(text) ?? [];
  const Mark = kind === "new" ? "ins" : "del";
  return (
    <>
      {head}
      {middle && <Mark>{middle}</Mark>}
      {kind === "new" && tail}
    </>
  );
}

/** How much of what stayed is shown beside what changed, in characters. */
const context = 90;

/** What stayed, cut to what stands next to a change. */
function around(text: string, first: boolean, last: boolean): string {
  if (text.length <= 2 * context + 40) return text;
  // Between words, where there are any.
  const head = first ? "" : text.slice(0, context).replace(/\S*$/, "");
  const tail = last ? "" : text.slice(-context).replace(/^\S*/, "");
  return `${head}…${tail}`;
}

function whole(value: unknown): string {
  if (typeof value === "string") return value;
  if (isObject(value)) {
    return Object.entries(value)
      .map(([name, v]) => `${label(name)}: ${typeof v === "string" ? v : short(v, 2000)}`)
      .join("\n");
  }
  if (Array.isArray(value)) return value.map((v) => `• ${short(v, 400)}`).join("\n");
  return String(value);
}

function Arguments({ args }: { args: Record<string, unknown> }) {
  return (
    <dl class="differences">
      {Object.entries(args).map(([name, value]) => (
        <div key={name}>
          <dt>{label(name)}</dt>
          <dd>
            <p class="text">{whole(value)}</p>
          </dd>
        </div>
      ))}
    </dl>
  );
}
