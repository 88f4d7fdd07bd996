import type { ResumeEntry } from "@ag-ui/client";
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { Change } from "../json/diff";
import { short, words } from "../json/diff";
import { isObject, label, place } from "../json/pointer";
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
      {changes.map((c) => (
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

function Difference({ change: { before, after } }: { change: Change }) {
  if (typeof before === "string" && typeof after === "string" && (before.length > 40 || after.length > 40)) {
    return (
      <p class="text">
        {words(before, after).map((p, i) => (p.kind === "same" ? <span key={i}>{p.text}</span> : p.kind === "new" ? <ins key={i}>{p.text}</ins> : <del key={i}>{p.text}</del>))}
      </p>
    );
  }
  return (
    <p class="text">
      {before !== undefined && <del>{whole(before)}</del>}
      {before !== undefined && after !== undefined && " "}
      {after !== undefined && <ins>{whole(after)}</ins>}
    </p>
  );
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
