import type { Message, ToolCall } from "@ag-ui/client";
import { useSignal } from "@preact/signals";
import { argumentsOf, calls, type Call } from "../model/clienttools";
import type { Conversation } from "../model/conversation";
import { label } from "../json/pointer";
import { Icon } from "./icons";

interface Props {
  call: ToolCall;
  messages: Message[];
  conversation: Conversation;
}

/** A tool call: as what it means where the page knows it, else as a line that opens. */
export function ToolCard({ call, messages, conversation }: Props) {
  const found = calls(messages).find((c) => c.id === call.id)!;
  switch (call.function.name) {
    case "generate_haiku":
      return <Haiku call={found} />;
    case "get_weather":
      return <Weather call={found} />;
    case "generate_task_steps":
      if (conversation.info.name === "human_in_the_loop") return <Steps call={found} conversation={conversation} messages={messages} />;
  }
  return <Plain call={found} conversation={conversation} />;
}

function Plain({ call, conversation }: { call: Call; conversation: Conversation }) {
  const waits = conversation.approvals.value.some((a) => a.call?.id === call.id);
  const running = conversation.running.value !== "no" && call.result === undefined;
  const state = running ? "writing" : waits ? "waits for you" : call.result === undefined ? "not run" : "done";
  return (
    <details class="tool" data-state={state}>
      <summary>
        {running ? <span class="spinner" aria-hidden="true" /> : <Icon name={state === "done" ? "check" : "tool"} size={15} />}
        <span>{label(call.name)}</span>
        <span class="muted">{state}</span>
        <Icon name="chevron" size={14} />
      </summary>
      <h3>Arguments</h3>
      <pre>{pretty(call.text)}</pre>
      {call.result !== undefined && (
        <>
          <h3>Result</h3>
          <pre>{pretty(call.result)}</pre>
        </>
      )}
    </details>
  );
}

function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((v): v is string => typeof v === "string") : [];
}

function Haiku({ call }: { call: Call }) {
  const args = argumentsOf(call);
  const japanese = texts(args.japanese);
  const english = texts(args.english);
  const gradient = typeof args.gradient === "string" ? args.gradient : "";
  return (
    <figure
      class="haiku"
      ref={(box) => {
        // As a property, which the policy allows and the browser checks; never as markup.
        if (box && CSS.supports("background", gradient) && !gradient.includes("url(")) box.style.background = gradient;
      }}
    >
      <div lang="ja">
        {japanese.map((l, i) => (
          <p key={i}>{l}</p>
        ))}
      </div>
      <figcaption>
        {english.map((l, i) => (
          <p key={i}>{l}</p>
        ))}
      </figcaption>
    </figure>
  );
}

function Weather({ call }: { call: Call }) {
  const { location } = argumentsOf(call);
  let report: Record<string, unknown> = {};
  try {
    report = JSON.parse(call.result ?? "{}") as Record<string, unknown>;
  } catch {
    // The result is a sentence, which the answer repeats.
  }
  const of = (...names: string[]) => names.map((n) => report[n]).find((v) => v !== undefined);
  const temperature = of("temperature");
  return (
    <section class="weather" aria-label={`Weather in ${String(location ?? "")}`}>
      <div>
        <h3>{String(location ?? "…")}</h3>
        <p class="muted">{call.result === undefined ? "Looking it up…" : String(of("conditions") ?? "")}</p>
      </div>
      {temperature !== undefined && <p class="degrees">{`${Math.round(Number(temperature))}°`}</p>}
      {call.result !== undefined && (
        <dl>
          <Figure name="Humidity" value={of("humidity")} unit="%" />
          <Figure name="Wind" value={of("windSpeed", "wind_speed")} unit="km/h" />
          <Figure name="Feels like" value={of("feelsLike", "feels_like")} unit="°" />
        </dl>
      )}
    </section>
  );
}

function Figure({ name, value, unit }: { name: string; value: unknown; unit: string }) {
  if (typeof value !== "number") return null;
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        {value}
        {unit === "°" ? unit : ` ${unit}`}
      </dd>
    </div>
  );
}

interface Step {
  description: string;
  status: string;
}

function Steps({ call, conversation, messages }: { call: Call; conversation: Conversation; messages: Message[] }) {
  const off = useSignal<number[]>([]);
  const args = argumentsOf(call);
  const steps = (Array.isArray(args.steps) ? (args.steps as Partial<Step>[]) : []).filter((s): s is Step => typeof s?.description === "string");
  // A later message of the person's has passed it over.
  const mine = messages.findIndex((m) => m.role === "assistant" && m.toolCalls?.some((c) => c.id === call.id));
  const passed = call.result !== undefined || messages.slice(mine + 1).some((m) => m.role === "user");
  const ready = !passed && conversation.running.value === "no";
  const chosen = (i: number) => !off.value.includes(i);
  const answered = answerOf(call.result);
  const count = steps.filter((_, i) => chosen(i)).length;
  return (
    <fieldset class="card steps" disabled={!ready}>
      <legend>{passed ? "The plan" : "Which steps shall I take?"}</legend>
      {steps.map((s, i) => (
        <label key={i}>
          <input
            type="checkbox"
            checked={answered ? answered.includes(s.description) : chosen(i)}
            onChange={() => (off.value = chosen(i) ? [...off.value, i] : off.value.filter((n) => n !== i))}
          />
          <span>{s.description}</span>
        </label>
      ))}
      {passed ? (
        <p class="muted">{answered === null ? "Passed over." : answered.length === 0 ? "You rejected the plan." : `You chose ${answered.length} of ${steps.length} steps.`}</p>
      ) : (
        <div class="actions">
          <button
            class="button primary"
            type="button"
            disabled={count === 0}
            onClick={() => void conversation.answerCall(call.id, { accepted: true, steps: steps.filter((_, i) => chosen(i)) })}
          >
            Go ahead with {count}
          </button>
          <button class="button" type="button" onClick={() => void conversation.answerCall(call.id, { accepted: false })}>
            Reject
          </button>
        </div>
      )}
    </fieldset>
  );
}

/** The steps that somebody chose; null where nobody answered in this form. */
function answerOf(result: string | undefined): string[] | null {
  if (result === undefined) return null;
  try {
    const { accepted, steps } = JSON.parse(result) as { accepted?: boolean; steps?: Step[] };
    return accepted ? (steps ?? []).map((s) => s.description) : [];
  } catch {
    return null;
  }
}
