import { EventType, type BaseEvent, type Interrupt, type Message, type ResumeEntry, type Tool } from "@ag-ui/client";
import { LockstepAgent, LockstepError, markOf, type Capabilities, type Connection, type EditOutcome, type Following, type Operation } from "@lockstep-go/client";
import { batch, computed, signal } from "@preact/signals";
import { changes } from "../json/diff";
import { share } from "../json/patch";
import { at, place, within } from "../json/pointer";
import { locked, request, type AgentInfo } from "./api";
import { approvals } from "./approvals";
import { toolsFor } from "./clienttools";
import { Marks, type Who } from "./marks";
import { OwnEdits, sequence, type OwnEdit } from "./own";
import { Timeline } from "./timeline";

/** Something that is said to the person once. */
export interface Notice {
  id: number;
  tone: "info" | "warning";
  text: string;
  /** What can be done about it. */
  action?: { label: string; run(): void };
}

/** What went wrong, until the next run or until it is put away. */
export interface Failure {
  title: string;
  text: string;
}

/** A value that this person took away, and may bring back. */
interface Removal {
  path: string;
  value: unknown;
  /** Whether it was taken away; the answer may come later than the change itself. */
  made: Promise<boolean>;
  /** The notice that offers it back, once there is one. */
  notice?: number;
}

/**
 * One thread as this page shows it: the official client's agent, and around it
 * what a person wants to know beside the state itself: who changed what, what is
 * only predicted, what waits for a decision, what went wrong.
 */
export class Conversation {
  readonly agent: LockstepAgent;
  readonly info: AgentInfo;
  /** Nothing has happened on the thread yet, as far as is known here. */
  fresh: boolean;

  readonly messages = signal<Message[]>([]);
  readonly state = signal<unknown>({});
  readonly marks = signal(new Marks());
  readonly predicted = signal<string[]>([]);
  readonly interrupts = signal<Interrupt[]>([]);
  readonly connection = signal<Connection>({ status: "idle" });
  /** The connection is lost, also while it is being tried again. */
  readonly lost = signal<Extract<Connection, { status: "waiting" | "failed" }> | null>(null);
  readonly capabilities = signal<Capabilities | null>(null);
  /** Whose run is active, if any. */
  readonly running = signal<"no" | "mine" | "theirs">("no");
  readonly loaded = signal(false);
  readonly failure = signal<Failure | null>(null);
  readonly notices = signal<Notice[]>([]);
  /** Said to screen readers. */
  readonly spoken = signal("");
  readonly background = signal("");
  /** What this person removed and has not brought back, the newest last. */
  readonly removed = signal<readonly Removal[]>([]);
  /** What is written and not sent, or came back unsent. */
  readonly draft = signal("");
  /** The place that came back, or was made, a moment ago. */
  readonly reveal = signal<string | null>(null);
  readonly timeline = new Timeline();

  readonly approvals = computed(() =>
    approvals({
      interrupts: this.interrupts.value,
      messages: this.messages.value,
      running: this.running.value !== "no",
      before: this.before.value,
      after: this.state.value,
      predicted: this.predicted.value,
      owners: this.owners.value,
    }),
  );

  /** Tells the list of threads to look again. */
  onChange: () => void = () => undefined;

  /** The state that the newest run of the agent began with. */
  private readonly before = signal<unknown>(undefined);
  /** The places that the newest run predicted, by call. */
  private readonly owners = signal<ReadonlyMap<string, readonly string[]>>(new Map());
  private readonly own = new OwnEdits();
  private shared: unknown = {};
  /** The marks of what is drawn next: with the state that they are of, and not before. */
  private marking = new Marks();
  private frame = 0;
  private timer = 0;
  /** Up to where the log is drawn. What a person does is done on that, not on what comes next. */
  private drawn: string | undefined;
  private posting = false;
  /** The server has begun the run that was posted. */
  private begun = false;
  /** The newest run has ended, and as it should. */
  private finished = false;
  /** What comes next is what the run begins with. */
  private opening = false;
  /** The message that the server did not take, as far as is known. */
  private unsent: { id: string; text: string } | undefined;
  /** The number of the newest change that is not this page's. */
  private others = 0;
  /** How many runs have begun or ended. */
  private turns = 0;
  /** The thread could not be loaded. */
  private unloaded = false;
  private bringing = Promise.resolve();
  private noticed = 0;
  private closed = false;
  private readonly gone = new AbortController();
  /** What waits until the history is read. */
  private later: [BaseEvent, number][] | null = null;
  private following: Following | undefined;
  private readonly tools: Tool[];

  /** An empty thread id stands for a new one. */
  constructor(info: AgentInfo, thread: string) {
    this.info = info;
    this.fresh = thread === "";
    this.tools = toolsFor(info.name);
    this.agent = new LockstepAgent({ url: info.path, threadId: thread || crypto.randomUUID().slice(0, 13), fetch: request });
    this.agent.subscribe({
      onEvent: ({ event, state }) => void this.event(event, state),
      onMessagesChanged: () => void this.draw(),
      onStateChanged: () => void this.draw(),
      onRunFinishedEvent: () => void this.draw(),
      onRunFailed: ({ error }) => {
        if (this.posting && locked.value === "no") this.fail("The agent could not be asked", error);
        // Said here, so the official client need not log it and throw.
        return { stopPropagation: true } as object;
      },
    });
    this.agent.onConnection((c) => {
      this.connection.value = c;
      if (c.status === "waiting" || c.status === "failed") this.lost.value = c;
      else if (c.status !== "connecting") this.lost.value = null;
      if (c.status === "live") this.arrived();
    });
    this.agent.onConflict(({ paths, policy }) =>
      this.notice("warning", `You and the agent changed ${list(paths)}. ${policy === "server" ? "The agent's" : "Your"} version was kept.`),
    );
  }

  /** Loads the thread, and follows it from there. */
  async open(): Promise<void> {
    this.learn();
    try {
      const got = this.fresh ? null : await this.agent.hydrate();
      if (got) {
        this.predicted.value = got.predicted;
        this.drawNow();
        const read = this.readHistory(got.oldest);
        // Of a thread at rest it ends at once; of a run that is active it may be
        // as late as the next event, and nobody should wait for that.
        if (got.activeRun === null) await read;
      }
    } catch (e) {
      if (locked.value === "no") this.fail("The thread could not be loaded", e);
      this.unloaded = true;
    }
    if (this.closed) return;
    this.loaded.value = true;
    this.following = this.agent.follow();
  }

  private learn(): void {
    void this.agent.capabilities().then(
      (c) => (this.capabilities.value = c),
      () => undefined, // another AG-UI server need not have them
    );
  }

  /** The stream is there. It brings a thread that could not be loaded too. */
  private arrived(): void {
    if (!this.unloaded) return;
    this.unloaded = false;
    this.failure.value = null;
    this.learn();
  }

  /** Puts what has happened before into the timeline; what happens meanwhile comes behind it. */
  private async readHistory(oldest: string | undefined): Promise<void> {
    this.later = [];
    try {
      for await (const { event } of this.agent.history(oldest, this.gone.signal)) this.timeline.add(event);
    } catch {
      // What can be told of the thread is told; only the list is shorter.
    }
    for (const [event, time] of this.later) this.timeline.add(event, time);
    this.later = null;
    this.lookBack();
  }

  /** Finds what the newest run of the agent began with, and what it predicted. */
  private lookBack(): void {
    const start = this.timeline.findLast((e) => isAgentRun(e) && "input" in e);
    this.before.value = this.timeline.stateAtRunStart(start);
    const owners = new Map<string, string[]>();
    for (let n = start < 0 ? this.timeline.length : start; n < this.timeline.length; n++) {
      const event = this.timeline.event(n) as (BaseEvent & { delta?: Operation[] }) | undefined;
      const mark = event && markOf(event);
      if (!mark?.predicted || mark.call === undefined) continue;
      const paths = owners.get(mark.call) ?? [];
      for (const op of event?.delta ?? []) if (!paths.some((p) => within(op.path, p))) paths.push(op.path);
      owners.set(mark.call, paths);
    }
    this.owners.value = owners;
  }

  /** Lets go of the thread; a run that is active goes on for its linger time. */
  close(): void {
    this.closed = true;
    this.onChange = () => undefined; // the list is another one's now
    this.gone.abort();
    void this.following?.stop();
    void this.agent.detachActiveRun();
  }

  // What a person does.

  /** The position of what is drawn: the base of what a person does to it. */
  get position(): string | undefined {
    return this.drawn;
  }

  async send(text: string): Promise<void> {
    // What is asked in the older way may be passed over; the official client, which
    // knows of it after a reload, would insist on an answer.
    const passed = this.approvals.value.filter((a) => a.older).map((a) => a.id);
    this.agent.pendingInterrupts = this.agent.pendingInterrupts.filter((i) => !passed.includes(i.id));
    await this.post({ id: crypto.randomUUID(), role: "user", content: text });
  }

  /** Answers a call of a tool of this page's. */
  async answerCall(call: string, result: unknown): Promise<void> {
    const content = typeof result === "string" ? result : JSON.stringify(result);
    await this.post({ id: crypto.randomUUID(), role: "tool", toolCallId: call, content });
  }

  /** Sends a message. One that the server does not take is not shown as if it had. */
  private async post(message: Message & { content: string }): Promise<void> {
    if (this.posting) return;
    await this.run(() => this.agent.send(message, { tools: this.tools }));
    if (this.begun) return;
    this.agent.setMessages(this.agent.messages.filter((m) => m.id !== message.id));
    this.drawNow();
    if (message.role !== "user") return;
    this.unsent = { id: message.id, text: message.content };
    if (this.draft.value === "") this.draft.value = message.content;
  }

  /** What seemed unsent was there, and only the answer was lost. */
  private found(messages: readonly Message[]): void {
    if (!messages.some((m) => m.id === this.unsent?.id)) return;
    if (this.draft.value === this.unsent!.text) this.draft.value = "";
    this.unsent = undefined;
  }

  /** Answers all that waits for a decision. */
  async resume(entries: ResumeEntry[]): Promise<void> {
    await this.run(() => this.agent.runAgent({ tools: this.tools, resume: entries }));
  }

  stop(): void {
    this.agent.abortRun();
  }

  /** Changes the state. `base` is the position at which the person began to edit. */
  edit(patch: Operation[], base?: string): Promise<EditOutcome> {
    const [only] = patch;
    const value = only && at(this.state.value, only.path);
    const outcome = this.make(patch, base);
    if (patch.length === 1 && only?.op === "remove") this.remember(only.path, value, outcome);
    return outcome;
  }

  private async make(patch: Operation[], base = this.drawn): Promise<EditOutcome> {
    const own = this.own.begin(patch.map((op) => op.path));
    this.fresh = false;
    try {
      const outcome = await this.agent.edit(patch, base);
      this.settled(own, outcome.status === "applied" ? outcome.position : undefined);
      if (outcome.status === "applied") {
        // The answer may come before the change: who did something sees it when it is said to be done.
        await this.agent.reached(outcome.position);
        this.drawNow();
        if (outcome.merged && base !== undefined && this.others > sequence(base)) this.notice("info", "Somebody else changed the state meanwhile. Both changes were kept.");
        this.onChange();
      }
      return outcome;
    } catch (e) {
      this.settled(own);
      throw e;
    }
  }

  /** An edit is made up to a position, or without one not made. */
  private settled(own: OwnEdit, position?: string): void {
    const wrong = this.own.settle(own, position);
    for (const { n, from, to } of wrong) {
      this.marking = this.marking.givenTo("viewer", from, to);
      this.others = Math.max(this.others, n);
    }
    if (wrong.length > 0) this.draw();
  }

  /** A click takes a value away; another one brings it back. */
  private remember(path: string, value: unknown, outcome: Promise<EditOutcome>): void {
    const made = outcome.then(
      (o) => o.status === "applied",
      () => false,
    );
    const removal: Removal = { path, value, made };
    const name = place(path, this.state.value);
    // Before the answer: the change may be seen earlier, and be wanted back by then.
    this.removed.value = [...this.removed.value.slice(-99), removal];
    void made.then((is) => {
      if (!is) this.forget(removal);
      else if (this.removed.value.includes(removal)) removal.notice = this.notice("info", `${name} is removed.`, { label: "Bring it back", run: () => void this.bringBack(removal) });
    });
  }

  /** Brings back what was removed, without an argument the newest; one after the other, because places in lists follow from each other. */
  bringBack(removal = this.removed.value.at(-1)): Promise<void> {
    if (!removal || !this.removed.value.includes(removal)) return this.bringing;
    this.forget(removal);
    this.bringing = this.bringing.then(async () => {
      if (!(await removal.made)) return;
      const { path, value } = removal;
      try {
        const outcome = await this.edit([{ op: "add", path, value }]);
        if (outcome.status === "applied") this.reveal.value = path;
        else this.notice("warning", "It could not be brought back: its place has changed meanwhile.");
      } catch (e) {
        this.fail("It could not be brought back", e);
      }
    });
    return this.bringing;
  }

  private forget(removal: Removal): void {
    this.removed.value = this.removed.value.filter((r) => r !== removal);
    if (removal.notice !== undefined) this.dismiss(removal.notice);
  }

  async undo(): Promise<void> {
    const own = this.own.begin([""]);
    try {
      const outcome = await this.agent.undo();
      this.settled(own, outcome.status === "undone" ? outcome.position : undefined);
      if (outcome.status === "undone") {
        await this.agent.reached(outcome.position);
        this.drawNow();
        const kept = outcome.conflicts.map((c) => c.path);
        this.notice("info", kept.length === 0 ? "The agent's last change is undone." : `The agent's last change is undone, except ${list(kept)}: changed since, and kept.`);
      } else {
        this.notice("info", sentence(outcome.reason));
      }
    } catch (e) {
      this.settled(own);
      this.fail("The change could not be undone", e);
    }
  }

  dismiss(id: number): void {
    this.notices.value = this.notices.value.filter((n) => n.id !== id);
  }

  /** Tries at once what would be tried later. */
  reconnect(): void {
    dispatchEvent(new Event("online"));
    if (this.connection.value.status === "failed") this.following = this.agent.follow();
  }

  // What happens on the thread.

  private async run(start: () => Promise<unknown>): Promise<void> {
    if (this.posting) return;
    this.posting = true;
    this.begun = false;
    this.finished = false;
    this.fresh = false;
    this.failure.value = null;
    this.running.value = "mine";
    try {
      await start();
    } catch (e) {
      if (locked.value === "no") this.fail("The agent could not be asked", e);
    } finally {
      this.posting = false;
      this.running.value = "no";
      this.drawNow();
      this.onChange();
      void this.settle();
    }
    if (this.finished && !this.closed) this.callsOfThePage();
  }

  private event(event: BaseEvent, state: unknown): void {
    if (this.later) this.later.push([event, Date.now()]);
    else this.timeline.add(event, Date.now());
    const mark = markOf(event);
    const e = event as BaseEvent & { runId?: string; delta?: Operation[]; snapshot?: unknown; message?: string; code?: string; outcome?: { type: string }; input?: { messages?: Message[] }; messages?: Message[] };
    const { n: from } = this.marking;
    let guess: OwnEdit | undefined;
    let changed: Who = "you";
    switch (event.type) {
      case EventType.RUN_STARTED:
        this.begun = true;
        this.finished = false;
        this.found(e.input?.messages ?? []);
        if (isAgentRun(event)) {
          this.turns++;
          this.opening = this.posting;
          this.running.value = this.posting ? "mine" : "theirs";
          this.failure.value = null;
          this.spoken.value = "The agent is working.";
          this.onChange();
        }
        break;
      case EventType.STATE_SNAPSHOT: {
        const list = changes(state, e.snapshot);
        const paths = list.map((c) => c.path);
        const [who, own] = this.whose(mark?.by, paths, mark?.position);
        guess = own;
        changed = who;
        this.opening = false;
        this.marking = this.marking.replaced(list, who, mark?.predicted);
        if (mark?.predicted) this.predict(paths);
        else if (mark?.by === "agent") this.predicted.value = [];
        break;
      }
      case EventType.STATE_DELTA: {
        const paths = e.delta!.map((op) => op.path);
        const [who, own] = this.whose(mark?.by, paths, mark?.position);
        guess = own;
        changed = who;
        this.marking = this.marking.patched(e.delta!, state, who, mark?.predicted);
        if (mark?.predicted) this.predict(paths);
        else this.predicted.value = this.predicted.value.filter((p) => !paths.some((q) => within(p, q)));
        break;
      }
      case EventType.MESSAGES_SNAPSHOT:
        this.found(e.messages ?? []);
        break;
      case EventType.RUN_ERROR:
        this.ended();
        if (e.code === "abort") break;
        this.failure.value = { title: "The agent could not finish", text: e.code ? `${e.message ?? ""} (${e.code})` : (e.message ?? "") };
        this.spoken.value = "The agent could not finish.";
        break;
      case EventType.RUN_FINISHED:
        this.finished = e.outcome === undefined || e.outcome.type === "success";
        this.ended();
        if (e.outcome?.type === "interrupt") this.spoken.value = "The agent waits for your decision.";
        else if (e.outcome?.type !== "cancelled") this.spoken.value = this.lastWords();
        break;
    }
    if (mark?.position !== undefined && this.marking.n > from) {
      const n = sequence(mark.position);
      guess?.taken.push({ n, from, to: this.marking.n });
      if (changed !== "you") this.others = Math.max(this.others, n);
    }
    this.draw();
  }

  private ended(): void {
    this.turns++;
    const agents = this.running.value !== "no";
    // Before anything of the end is drawn: what is asked shows whose change it is.
    if (agents && !this.later) this.lookBack();
    if (!this.posting) this.running.value = "no";
    // Of a run of this page's, its end is more than its last event.
    if (!agents || this.posting) return;
    this.onChange();
    void this.settle();
  }

  /** After a run nothing is predicted any more, except a proposal that waits for a decision. */
  private async settle(): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve)); // until the run's last event is applied
    if (this.closed || this.running.value !== "no") return;
    this.drawNow();
    if (this.approvals.value.length === 0) {
      this.predicted.value = [];
      return;
    }
    // Which places are of the proposal, only the server knows for sure.
    const { turns } = this;
    const got = await this.agent.peek().catch(() => null);
    // Not where a run has begun since: what was a proposal may be decided.
    if (got && got.activeRun === null && turns === this.turns && this.running.value === "no") {
      this.predicted.value = got.predicted;
      // The official client takes a question for open until a run ends well.
      this.agent.pendingInterrupts = got.interrupts;
      this.drawNow();
    }
  }

  private predict(paths: string[]): void {
    const known = this.predicted.value;
    const more = paths.filter((p) => !known.some((q) => within(p, q)));
    if (more.length > 0) this.predicted.value = [...known.filter((q) => !more.some((p) => within(q, p))), ...new Set(more)];
  }

  /** Whose change it is, and where that is a guess, which edit it was taken for: its answer tells. */
  private whose(by: string | undefined, paths: string[], position: string | undefined): [Who, OwnEdit?] {
    if (by === "agent" || by === undefined) return ["agent"];
    if (by === "system") return ["system"];
    // What a run of this page's begins with is what was posted with it.
    if (this.opening) return ["you"];
    const made = this.own.made(paths, position);
    return made === false ? ["viewer"] : made === true ? ["you"] : ["you", made];
  }

  /** Draws soon, and once for all that comes until then. */
  private draw(): void {
    if (this.timer !== 0 || this.closed) return;
    // With the next frame; a page in the background may wait long for one.
    this.frame = requestAnimationFrame(() => this.drawNow());
    this.timer = window.setTimeout(() => this.drawNow(), 100);
  }

  private drawNow(): void {
    cancelAnimationFrame(this.frame);
    clearTimeout(this.timer);
    this.timer = 0;
    const { agent } = this;
    this.drawn = agent.position;
    this.shared = share(this.shared, agent.state);
    batch(() => {
      this.messages.value = agent.messages;
      this.state.value = this.shared;
      this.marks.value = this.marking;
      this.interrupts.value = agent.pendingInterrupts;
    });
  }

  private lastWords(): string {
    const last = this.agent.messages.at(-1);
    return last?.role === "assistant" && last.content ? last.content : "The agent is done.";
  }

  /** Runs calls of this page's tools that need nobody. */
  private callsOfThePage(): void {
    const last = this.agent.messages.at(-1);
    if (last?.role !== "assistant") return;
    for (const call of last.toolCalls ?? []) {
      if (call.function.name !== "change_background" || !this.tools.some((t) => t.name === call.function.name)) continue;
      try {
        const { background } = JSON.parse(call.function.arguments) as { background?: unknown };
        if (typeof background !== "string") throw new Error("background is not a text");
        this.background.value = background;
        void this.answerCall(call.id, { status: "success", message: `The background is ${background} now.` });
      } catch (e) {
        void this.answerCall(call.id, `Error: ${String(e)}`);
      }
      return;
    }
  }

  private notice(tone: Notice["tone"], text: string, action?: Notice["action"]): number {
    const id = ++this.noticed;
    this.notices.value = [...this.notices.value.slice(-2), { id, tone, text, ...(action ? { action } : {}) }];
    // Who is offered something needs the time to come to it.
    setTimeout(() => this.dismiss(id), action ? 30_000 : 9000);
    return id;
  }

  fail(title: string, error: unknown): void {
    const e = error as LockstepError;
    const busy = e.status === 409 ? "Another run is active on this thread. Wait for it to end, or stop it." : undefined;
    this.failure.value = { title, text: busy ?? e.problems?.map((p) => p.message).join(" ") ?? String(e.message ?? error) };
  }
}

/** Reports whether an event starts a run of the agent, and not an edit or what a new viewer is shown. */
export function isAgentRun(event: BaseEvent): boolean {
  return event.type === EventType.RUN_STARTED && !/^(edit|attach)-/.test((event as BaseEvent & { runId: string }).runId);
}

function list(paths: string[]): string {
  const words = paths.map((p) => place(p));
  return words.length > 3 ? `${words.slice(0, 3).join(", ")} and ${words.length - 3} more` : words.join(", ");
}

function sentence(text: string): string {
  return text === "" ? text : `${text[0]!.toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? "" : "."}`;
}
