import { EventType, type BaseEvent } from "@ag-ui/client";
import { markOf, type Operation } from "@lockstep-go/client";
import { signal } from "@preact/signals";
import { short } from "../json/diff";
import { apply } from "../json/patch";
import { place } from "../json/pointer";

export type Kind = "run" | "state" | "tool" | "text" | "other";

/** One line of the list: an event, or several that only go on with each other. */
export interface Entry {
  kind: Kind;
  title: string;
  detail: string;
  /** Whose doing it is, where the event says so. */
  by?: string;
  predicted?: boolean;
  bad?: boolean;
  /** Numbers of its first and last event. */
  first: number;
  last: number;
  count: number;
  /** When the first arrived, in milliseconds; absent for what was there before. */
  time?: number;
}

/** The most events that are kept; the oldest half goes. */
const most = 20_000;

/** The events of a thread, as lines for a person, and the state at each of them. */
export class Timeline {
  /** Grows with each event: read it to be drawn again. */
  readonly version = signal(0);
  entries: Entry[] = [];

  private events: BaseEvent[] = [];
  /** The line of each event. */
  private lines: Entry[] = [];
  /** The number of events[0]. */
  private offset = 0;
  /** Lines that may still go on, by what they are about. */
  private open = new Map<string, Entry>();
  private memo: { n: number; state: unknown } | undefined;

  get length(): number {
    return this.offset + this.events.length;
  }

  /** The number of the oldest event that is kept. */
  get start(): number {
    return this.offset;
  }

  event(n: number): BaseEvent | undefined {
    return this.events[n - this.offset];
  }

  /** The line that holds an event. */
  entryOf(n: number): Entry | undefined {
    return this.lines[n - this.offset];
  }

  add(event: BaseEvent, time?: number): void {
    const n = this.length;
    this.events.push(event);
    const key = streamOf(event);
    const going = key === undefined ? undefined : this.open.get(key);
    if (going) {
      going.last = n;
      going.count++;
      const { delta } = event as Loose;
      this.lines.push(going);
      going.detail = typeof delta === "string" ? short(going.detail + delta, 120) : describe(event).detail;
    } else {
      // Whatever does not go on with something else ends what went on.
      if (key === undefined) this.open.clear();
      const entry: Entry = { ...describe(event), first: n, last: n, count: 1, ...(time === undefined ? {} : { time }) };
      this.entries.push(entry);
      this.lines.push(entry);
      if (key !== undefined) this.open.set(key, entry);
    }
    if (this.events.length > most) this.forget();
    this.version.value++;
  }

  private forget(): void {
    const gone = this.events.length - most / 2;
    this.events = this.events.slice(gone);
    this.lines = this.lines.slice(gone);
    this.offset += gone;
    this.entries = this.entries.filter((e) => e.last >= this.offset);
    this.memo = undefined;
  }

  /** The state right after an event; undefined where no snapshot before it is kept. */
  stateAt(n: number): unknown {
    if (this.memo?.n === n) return this.memo.state;
    let i = Math.min(n - this.offset, this.events.length - 1);
    const deltas: Operation[][] = [];
    for (; i >= 0; i--) {
      // Walking forward along the list, the state before is usually known.
      if (this.memo && this.memo.n === this.offset + i) break;
      const event = this.events[i]!;
      if (event.type === EventType.STATE_SNAPSHOT) break;
      if (event.type === EventType.STATE_DELTA) deltas.push((event as BaseEvent & { delta: Operation[] }).delta);
    }
    if (i < 0) return undefined;
    const from = this.events[i]!;
    let state = from.type === EventType.STATE_SNAPSHOT ? (from as BaseEvent & { snapshot: unknown }).snapshot : this.memo!.state;
    for (const delta of deltas.reverse()) {
      try {
        state = apply(state, delta);
      } catch {
        // As the official client: a patch that does not apply changes nothing.
      }
    }
    this.memo = { n, state };
    return state;
  }

  /** The state that a run began with; n is the number of its RUN_STARTED. */
  stateAtRunStart(n: number): unknown {
    if (n < this.offset) return undefined;
    for (let i = n - this.offset + 1; i < this.events.length; i++) {
      const event = this.events[i]!;
      if (event.type === EventType.STATE_SNAPSHOT) return (event as BaseEvent & { snapshot: unknown }).snapshot;
      if (event.type === EventType.RUN_STARTED) return undefined;
    }
    return undefined;
  }

  /** The number of the newest event that fits; -1 where none does. */
  findLast(fits: (event: BaseEvent) => boolean): number {
    const i = this.events.findLastIndex(fits);
    return i < 0 ? -1 : i + this.offset;
  }
}

type Loose = BaseEvent & Record<string, unknown>;

/** What an event goes on with: text with text, arguments with arguments, a prediction with itself. */
function streamOf(event: BaseEvent): string | undefined {
  const e = event as Loose;
  switch (e.type) {
    case EventType.TEXT_MESSAGE_CONTENT:
    case EventType.REASONING_MESSAGE_CONTENT:
      return `text ${String(e.messageId)}`;
    case EventType.TOOL_CALL_ARGS:
      return `args ${String(e.toolCallId)}`;
    case EventType.STATE_DELTA: {
      const mark = markOf(event);
      return mark?.predicted ? `delta ${mark.call ?? ""}` : undefined;
    }
    default:
      return undefined;
  }
}

type Line = Pick<Entry, "kind" | "title" | "detail" | "by" | "predicted" | "bad">;

function describe(event: BaseEvent): Line {
  const e = event as Loose;
  const s = (name: string) => (typeof e[name] === "string" ? (e[name] as string) : "");
  switch (e.type) {
    case EventType.RUN_STARTED:
      return started(e);
    case EventType.RUN_FINISHED: {
      const outcome = (e.outcome as { type?: string } | undefined)?.type ?? "success";
      const words: Record<string, string> = { interrupt: "waits for a decision", cancelled: "was stopped" };
      return { kind: "run", title: "Run finished", detail: words[outcome] ?? usage(e) };
    }
    case EventType.RUN_ERROR:
      return { kind: "run", title: "Run failed", detail: [s("code"), s("message")].filter(Boolean).join(": "), bad: true };
    case EventType.STEP_STARTED:
    case EventType.STEP_FINISHED:
      return { kind: "run", title: e.type === EventType.STEP_STARTED ? "Step started" : "Step finished", detail: s("stepName") };
    case EventType.STATE_SNAPSHOT:
      return { kind: "state", title: "State", detail: short(e.snapshot, 80) || "empty", ...whose(event) };
    case EventType.STATE_DELTA: {
      const paths = (e.delta as Operation[]).map((op) => place(op.path));
      return { kind: "state", title: "State changed", detail: short(paths, 80), ...whose(event) };
    }
    case EventType.MESSAGES_SNAPSHOT:
      return { kind: "text", title: "Messages", detail: `${(e.messages as unknown[]).length} in all` };
    case EventType.TEXT_MESSAGE_START:
      return { kind: "text", title: "Text begins", detail: s("role") };
    case EventType.TEXT_MESSAGE_CONTENT:
      return { kind: "text", title: "Text", detail: s("delta") };
    case EventType.TEXT_MESSAGE_END:
      return { kind: "text", title: "Text ends", detail: "" };
    case EventType.TOOL_CALL_START:
      return { kind: "tool", title: "Tool called", detail: s("toolCallName") };
    case EventType.TOOL_CALL_ARGS:
      return { kind: "tool", title: "Arguments", detail: s("delta") };
    case EventType.TOOL_CALL_END:
      return { kind: "tool", title: "Arguments complete", detail: "" };
    case EventType.TOOL_CALL_RESULT:
      return { kind: "tool", title: "Tool result", detail: short(e.content, 80) };
    case EventType.CUSTOM:
      return { kind: "other", title: s("name"), detail: short(e.value, 80), bad: s("name") === "lockstep.conflict" };
    default: {
      const words = String(e.type).toLowerCase().replaceAll("_", " ");
      return { kind: words.startsWith("reasoning") ? "text" : "other", title: words[0]!.toUpperCase() + words.slice(1), detail: s("delta") };
    }
  }
}

function started(e: Loose): Line {
  const id = String(e.runId);
  if (id.startsWith("edit-")) return { kind: "run", title: "Edit", detail: "" };
  // Only what is made for one viewer lacks the input.
  if (e.input === undefined) return { kind: "run", title: "Attached", detail: "the thread as it was at this moment" };
  const { messages } = e.input as { messages?: { role: string; content?: unknown }[] };
  const asked = messages?.findLast((m) => m.role === "user")?.content;
  return { kind: "run", title: "Run started", detail: typeof asked === "string" ? short(asked, 80) : "" };
}

function usage(e: Loose): string {
  const list = (e.usage as { totalTokens?: number }[] | undefined) ?? [];
  const total = list.reduce((sum, u) => sum + (u.totalTokens ?? 0), 0);
  return total > 0 ? `${total.toLocaleString("en")} tokens` : "";
}

function whose(event: BaseEvent): Pick<Entry, "by" | "predicted"> {
  const mark = markOf(event);
  return mark ? { by: mark.by, predicted: mark.predicted === true } : {};
}
