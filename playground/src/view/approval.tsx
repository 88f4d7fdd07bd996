import type { ResumeEntry } from "@ag-ui/client";
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { Change } from "../json/diff";
import { short, words } from "../json/diff";
import { below, isObject, label, place } from "../json/pointer";
import { editable, type Approval } from "../model/approvals";
import type { Conversation } from "../model/conversation";
import { Form, type FieldValues } from "./form";
import { Icon } from "./icons";

/** Everything that waits for a decision. All of it goes to the server in one answer, because the protocol wants it so. */
export function Approvals({ conversation }: { conversation: Conversation }) {
  const list = conversation.approvals.value;
  const decided = useSignal<Record<string, ResumeEntry>>({});
  const decide = (approval: Approval, entry: Omit<ResumeEntry, "interruptId">) => {
    if (approval.older) {
      const { approved } = (entry.payload ?? {}) as { approved?: boolean };
      void conversation.answerCall(approval.id, { accepted: approved === true });
      return;
    }
    decided.value = { ...decided.value, [approval.id]: { interruptId: approval.id, ...entry } };
    const all = list.filter((a) => !a.older).map((a) => decided.value[a.id]);
    if (all.every((e) => e !== undefined)) {
      decided.value = {};
      void conversation.resume(all as ResumeEntry[]);
    }
  };
  return (
    <>
      {list.map((a) =>
        decided.value[a.id] ? (
          <p key={a.id} class="muted decided">
            Decided. The answer goes out with the others.
          </p>
        ) : (
          <Card key={a.id} approval={a} conversation={conversation} decide={(entry) => decide(a, entry)} />
        ),
      )}
    </>
  );
}

type Decide = (entry: Omit<ResumeEntry, "interruptId">) => void;

function Card({ approval, decide }: { approval: Approval; conversation: Conversation; decide: Decide }) {
  const editing = useSignal(false);
  const box = useRef<HTMLElement>(null);
  useEffect(() => box.current?.scrollIntoView({ block: "nearest", behavior: "smooth" }), []);
  const expired = approval.expiresAt !== undefined && Date.parse(approval.expiresAt) <= Date.now();
  const yes = (payload: Record<string, unknown>) => decide({ status: "resolved", payload });
  return (
    <section ref={box} class="card approval" aria-label="Waits for your decision">
      <header>
        <span class="pulse" aria-hidden="true" />
        <h2>{approval.title}</h2>
      </header>
      {approval.kind === "input" ? (
        <Form
          schema={approval.schema}
          values={{}}
          submit="Send"
          onSubmit={(v) => yes(v)}
          onCancel={() => decide({ status: "cancelled" })}
        />
      ) : editing.value && approval.call ? (
        <Form
          schema={undefined}
          values={editable(approval.call)}
          submit="Approve this version"
          onSubmit={(v: FieldValues) => yes({ approved: true, editedArgs: v })}
          onCancel={() => (editing.value = false)}
        />
      ) : (
        <>
          {approval.changes.length > 0 ? <Differences changes={approval.changes} /> : approval.call && <Arguments args={editable(approval.call)} />}
          {expired ? (
            <div class="actions">
              <p class="muted">This question has expired.</p>
              <button class="button" type="button" onClick={() => decide({ status: "cancelled" })}>
                Put it away
              </button>
            </div>
          ) : (
            <div class="actions">
              <button class="button primary" type="button" onClick={() => yes({ approved: true })}>
                <Icon name="check" size={16} /> Approve
              </button>
              {!approval.older && approval.call && (
                <button class="button" type="button" onClick={() => (editing.value = true)}>
                  Edit
                </button>
              )}
              <button class="button danger" type="button" onClick={() => yes({ approved: false })}>
                Reject
              </button>
            </div>
          )}
        </>
      )}
    </section>
  );
}

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
        {words(before, after).map((p, i, all) => (p.kind === "same" ? <span key={i}>{around(p.text, i === 0, i === all.length - 1)}</span> : p.kind === "new" ? <ins key={i}>{p.text}</ins> : <del key={i}>{p.text}</del>))}
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
