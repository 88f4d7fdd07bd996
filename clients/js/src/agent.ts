import {
  EventType,
  HttpAgent,
  type AgentCapabilities,
  type AgentSubscriber,
  type BaseEvent,
  type HttpAgentConfig,
  type Message,
  type RunAgentInput,
  type RunAgentResult,
} from "@ag-ui/client";
import { Observable, type Subscriber } from "rxjs";
import { isAbort, LockstepError, member, refusal } from "./errors.js";
import { feed, type Item, type Retry } from "./feed.js";
import { Follower } from "./follow.js";
import { Relay } from "./relay.js";
import { Routes } from "./routes.js";
import { frames, type Frame } from "./sse.js";
import {
  markOf,
  type Capabilities,
  type ConflictReport,
  type Connection,
  type EditOutcome,
  type Hydrated,
  type Logged,
  type Operation,
  type ThreadPage,
  type UndoOutcome,
} from "./types.js";

/** What a LockstepAgent is made of: the official client's options, and three more. */
export interface LockstepAgentConfig extends HttpAgentConfig {
  /**
   * Runs outlive a lost connection for the server's linger time, and this
   * client attaches to them again. Default true. False: a run ends with its
   * connection, as with a stock client.
   */
  attach?: boolean;
  /** How lost connections are tried again. */
  retry?: Retry;
}

/** The handle of `LockstepAgent.follow`. */
export interface Following {
  /** Ends it; resolves when nothing of it is left. */
  stop(): Promise<void>;
  /** Resolves when it has ended, by `stop` or because the server refused. */
  readonly ended: Promise<void>;
}

/** Up to where a thread has been shown here. */
interface Place {
  thread: string;
  position: string;
  revision: number | undefined;
  /** `boundary`: a run has ended there, so a new pipeline can go on after it;
   *  `run`: the pipeline that is in this run can; `gap`: neither, what was shown
   *  after it is not all there. */
  in: "boundary" | "run" | "gap";
}

type RunParameters = NonNullable<Parameters<HttpAgent["runAgent"]>[0]>;
type Listener<T> = (value: T) => void;

/** How often a run's own connection is tried again before the run counts as lost to us. */
const runAttempts = 8;

/** The longest silence; the server sends a comment every 15 s at least. */
const defaultIdle = 45_000;

/**
 * An official `HttpAgent` that stays on one state with a Lockstep server.
 * Everything that takes an `HttpAgent` takes it: `runAgent`, `subscribe`,
 * `setState` and so on mean what they mean there.
 *
 * What it adds: it knows the position of everything it was shown and posts it,
 * so that the server knows which of its state is an edit; a run survives a lost
 * connection; `follow` shows what others do on the thread; and edits, undo, stop
 * and the list of threads are methods.
 */
export class LockstepAgent extends HttpAgent {
  /** See `LockstepAgentConfig.attach`. */
  attach: boolean;
  /** See `LockstepAgentConfig.retry`. */
  retry: Retry;

  // The official clone() makes an object without running a constructor, so
  // fields that begin with # would be missing from it. Hence `private`.
  private at: Place | undefined;
  private linked: Connection;
  private following: Follower | undefined;
  private ownRun: Relay | undefined;
  /** How many of the requests are under way during which a follower rests. */
  private alone: number;
  /** The server has been seen to be one of ours. */
  private ours: boolean;
  private arrivals: Set<() => void>;
  private connections: Set<Listener<Connection>>;
  private reports: Set<Listener<ConflictReport>>;

  constructor(config: LockstepAgentConfig) {
    super(config);
    this.attach = config.attach ?? true;
    this.retry = config.retry ?? {};
    this.linked = { status: "idle" };
    this.alone = 0;
    this.ours = false;
    this.arrivals = new Set();
    this.connections = new Set();
    this.reports = new Set();
  }

  /** A copy that shares nothing with this one, and follows nobody. */
  override clone(): LockstepAgent {
    const cloned = super.clone() as LockstepAgent;
    cloned.attach = this.attach;
    cloned.retry = { ...this.retry };
    cloned.at = this.at && { ...this.at };
    cloned.linked = { status: "idle" };
    cloned.alone = 0;
    cloned.ours = this.ours;
    cloned.arrivals = new Set();
    cloned.connections = new Set();
    cloned.reports = new Set();
    return cloned;
  }

  /** The position of the last event that was applied here; undefined on a new thread. */
  get position(): string | undefined {
    return this.place?.position;
  }

  /** The revision of the state at `position`, as far as it is known. */
  get revision(): number | undefined {
    return this.place?.revision;
  }

  /** How `follow`'s connection is. */
  get connection(): Connection {
    return this.linked;
  }

  /** Calls back whenever `connection` changes. Returns the way to end that. */
  onConnection(listener: Listener<Connection>): () => void {
    return listen(this.connections, listener);
  }

  /** Calls back when a merge had to choose between two edits. Returns the way to end that. */
  onConflict(listener: Listener<ConflictReport>): () => void {
    return listen(this.reports, listener);
  }

  // What the official client calls.

  /**
   * Runs the agent. While `follow` is on, it rests until the run is over, so
   * that each event comes once.
   */
  override async runAgent(parameters?: RunParameters, subscriber?: AgentSubscriber): Promise<RunAgentResult> {
    return this.undisturbed(async () => {
      try {
        return await super.runAgent(parameters, subscriber);
      } finally {
        this.ownRun = undefined;
        this.lost();
        this.arrived();
      }
    });
  }

  /** Adds a user message and runs. Unlike addMessage and runAgent one after the other, nothing can come between. */
  async send(message: string | Message, parameters?: RunParameters, subscriber?: AgentSubscriber): Promise<RunAgentResult> {
    return this.undisturbed(() => {
      this.addMessage(typeof message === "string" ? { id: crypto.randomUUID(), role: "user", content: message } : message);
      return this.runAgent(parameters, subscriber);
    });
  }

  /** Attaches once: the thread as it is, and the rest of a running run. See `follow` for more than that. */
  override async connectAgent(parameters?: RunParameters, subscriber?: AgentSubscriber): Promise<RunAgentResult> {
    return this.undisturbed(async () => {
      try {
        return await this.look(parameters, subscriber);
      } finally {
        this.lost();
      }
    });
  }

  /** connectAgent, but attaching answers nothing, so open interrupts must not be in its way. */
  private look(parameters?: RunParameters, subscriber?: AgentSubscriber): Promise<RunAgentResult> {
    const open = this.pendingInterrupts;
    this.pendingInterrupts = [];
    const looking = super.connectAgent(parameters, subscriber);
    if (open !== undefined) this.pendingInterrupts = open;
    return looking;
  }

  override run(input: RunAgentInput): Observable<BaseEvent> {
    return new Observable((out) => {
      const closed = new AbortController();
      void this.post(input, out, closed.signal);
      return () => closed.abort();
    });
  }

  protected override connect(input: RunAgentInput): Observable<BaseEvent> {
    const followed = this.following?.relay;
    if (followed) return followed.observe();
    return new Observable((out) => {
      const closed = new AbortController();
      // A stock caller wants the thread as it is, not only what is new in it.
      if (this.at) this.at = { ...this.at, in: "gap" };
      void this.drain(this.open(input, true, closed.signal), this.relay(out)).then(
        () => out.complete(),
        (e: unknown) => out.error(e),
      );
      return () => closed.abort();
    });
  }

  /**
   * Stops the thread's run at the server. Its stream goes on to its end: the
   * predictions are taken back, and the outcome is `cancelled`. A run that the
   * server does not know yet is stopped as soon as it does, or at a second call
   * left to itself: its connection is closed. So is that to a server which is no
   * Lockstep server.
   */
  override abortRun(): void {
    const own = this.ownRun;
    // Before the request: an event that comes while it is under way does not say
    // which of the two, the run or the stop, came to the server first.
    const known = own?.positioned;
    const close = () => own && this.ownRun === own && super.abortRun();
    this.stopRun().then((stopped) => {
      // Not known to the server, though it had sent events: the run has just
      // ended, and its last ones are on their way.
      if (stopped || known || !own) return;
      // Closing would be too late for a request that is half there: the run would
      // begin all the same, and go on.
      if (!this.ours || own.unwanted) return close();
      own.unwanted = true;
      void own.placed.then(() => {
        if (this.ownRun === own) this.stopRun().catch(close);
      });
    }, close);
  }

  override getCapabilities(): Promise<AgentCapabilities> {
    return this.capabilities();
  }

  protected override prepareRunAgentInput(parameters?: RunParameters): RunAgentInput {
    const input = super.prepareRunAgentInput(parameters);
    const given = (input.forwardedProps ?? {}) as Record<string, unknown>;
    const lockstep: Record<string, unknown> = {};
    if (this.attach) lockstep.attach = true;
    if (this.place) lockstep.base = this.place.position;
    Object.assign(lockstep, member(given, "lockstep"));
    if (Object.keys(lockstep).length > 0) input.forwardedProps = { ...given, lockstep };
    return input;
  }

  // What is new.

  /**
   * Follows the thread until stopped: everything that happens on it, whoever
   * does it, goes through the same subscribers as one's own runs, each run as a
   * `connectAgent` of its own. Connections that break are made again without a
   * gap or a repetition; where that is not possible any more, snapshots come.
   */
  follow(): Following {
    if (this.following) throw new LockstepError("this agent follows its thread already");
    const follower = new Follower({
      feed: (signal) => this.open(this.prepareRunAgentInput(), false, signal),
      relay: () => this.relay(),
      show: () => this.look(),
      detach: () => this.detachActiveRun(),
      lost: () => this.lost(),
      link: (connection) => this.link(connection),
    }, this.alone);
    this.following = follower;
    void follower.ended.then(() => {
      if (this.following === follower) this.following = undefined;
      this.arrived();
    });
    return follower;
  }

  /**
   * Fetches the thread and shows it: messages, state and open interrupts become
   * this agent's. Null: there is no such thread, and nothing changes. While a run
   * of one's own is active nothing changes either: the run brings it.
   */
  async hydrate(): Promise<Hydrated | null> {
    return this.undisturbed(async () => {
      const got = await this.peek();
      if (!got || got.threadId !== this.threadId || this.ownRun) return got;
      this.pendingInterrupts = got.interrupts;
      this.at = { thread: got.threadId, position: got.position, revision: got.revision, in: got.activeRun ? "gap" : "boundary" };
      this.setMessages(got.messages);
      this.setState(got.state);
      return got;
    });
  }

  /** Fetches the thread and changes nothing here. Null: there is no such thread. */
  peek(): Promise<Hydrated | null> {
    return this.routes().hydrate(this.threadId);
  }

  /**
   * Changes the state, also while a run is active. `change` is a list of RFC 6902
   * operations, or an object that is merged (RFC 7396: null removes a member).
   * `base` is the position that the change was made on, by default the newest one
   * shown here; give the one at which the person began to edit.
   */
  async edit(change: Operation[] | Record<string, unknown>, base: string | undefined = this.position): Promise<EditOutcome> {
    const outcome = await this.routes().edit(this.threadId, change, base);
    if (outcome.status === "applied") await this.catchUp();
    return outcome;
  }

  /** Takes back what the agent changed in its newest run; again: further back. */
  async undo(): Promise<UndoOutcome> {
    const outcome = await this.routes().undo(this.threadId);
    if (outcome.status === "undone") await this.catchUp();
    return outcome;
  }

  /**
   * Resolves when everything up to a position, as that of an edit's answer, is
   * shown here: the answer may come before the event. At once where nobody
   * brings it: without `follow` and without a run.
   */
  async reached(position: string): Promise<void> {
    const thread = this.threadId;
    const behind = () => (this.following || this.ownRun) && this.threadId === thread && isBefore(this.position, position);
    while (behind()) await new Promise<void>((resolve) => this.arrivals.add(resolve));
    // What has been handed on is applied in this turn of the event loop.
    await new Promise((resolve) => setTimeout(resolve));
  }

  /** Stops the active run. False: there is none. */
  stopRun(): Promise<boolean> {
    return this.routes().stop(this.threadId);
  }

  /** What the agent can do, and the schema of its state. */
  capabilities(): Promise<Capabilities> {
    return this.routes().capabilities();
  }

  /** The caller's threads, the newest first; the next page with an earlier one's `next`. */
  threads(after?: string | null): Promise<ThreadPage> {
    return this.routes().threads(after);
  }

  /**
   * The thread's log after a position and up to the one shown here, without
   * applying anything. By default from as far back as the server has it: older
   * runs are compacted, and cannot be read event by event any more.
   */
  async *history(after?: string, signal: AbortSignal = new AbortController().signal): AsyncGenerator<Logged, void, undefined> {
    const end = this.position;
    const from = after ?? (await this.peek())?.oldest;
    if (end === undefined || from === undefined || from === end) return;
    const { protocolVersion } = this.prepareRunAgentInput();
    const response = await this.routes().events(this.threadId, { after: from, once: true, version: protocolVersion, signal });
    if (!response.ok) throw await refusal(response);
    if (!response.body) return;
    for await (const { id, event } of frames(response.body, this.retry.idle ?? defaultIdle)) {
      if (id !== undefined) yield { position: id, event };
      if (id === end) return;
    }
  }

  /** Forgets a thread, by default this one. False: there is none. */
  async deleteThread(thread: string = this.threadId): Promise<boolean> {
    const was = await this.routes().forget(thread);
    if (thread === this.threadId) this.at = undefined;
    return was;
  }

  // How it works.

  private get place(): Place | undefined {
    return this.at?.thread === this.threadId ? this.at : undefined;
  }

  private routes(): Routes {
    return new Routes({ url: this.url, headers: this.headers, fetch: (url, init) => this.fetch(url, init) });
  }

  /**
   * Does something while nobody else shows events: a follower rests until it is
   * over, also one that begins meanwhile, or each event would be applied twice.
   */
  private async undisturbed<T>(work: () => Promise<T>): Promise<T> {
    this.alone++;
    const follower = this.following;
    // Without a follower nothing is awaited first: callers may abort at once.
    if (follower) await follower.rest();
    try {
      return await work();
    } finally {
      this.alone--;
      this.following?.goOn();
    }
  }

  private arrived(): void {
    const waiting = [...this.arrivals];
    this.arrivals.clear();
    for (const resolve of waiting) resolve();
  }

  /** After a change of one's own: where nobody brings it, fetch it. */
  private async catchUp(): Promise<void> {
    if (!this.following && !this.ownRun) await this.hydrate();
  }

  /** Posts a run and hands its events on, over more than one connection if it must. */
  private async post(input: RunAgentInput, out: Subscriber<BaseEvent>, closed: AbortSignal): Promise<void> {
    const relay = this.relay(out);
    this.ownRun = relay;
    const init = this.requestInit(input);
    const signal = init.signal ? AbortSignal.any([closed, init.signal]) : closed;
    let answered = false;
    try {
      const response = await this.fetch(this.url, { ...init, signal });
      if (!response.ok) throw await refusal(response);
      if (!response.body) throw new LockstepError("the answer has no body");
      answered = true;
      if (await this.carry(response.body, relay, signal)) return;
      if (!relay.seen || relay.positioned) {
        await this.drain(this.open(input, true, signal), relay);
        if (!out.closed) throw new LockstepError("the connection broke, and the server no longer knows the thread");
        return;
      }
      // A stock server may end a stream without a terminal event, and the
      // official client takes that for the end.
      out.complete();
    } catch (e) {
      if (!answered || !isAbort(e)) return out.error(e);
      // As the official transport ends a stream that was aborted.
      out.next({ type: EventType.RUN_ERROR, message: "Request aborted", code: "abort" } as BaseEvent);
      out.complete();
    }
  }

  /** Hands on what a run's own answer brings. False: it broke off before the end. */
  private async carry(body: ReadableStream<Uint8Array>, relay: Relay, signal: AbortSignal): Promise<boolean> {
    try {
      for await (const frame of frames(body, this.retry.idle ?? defaultIdle)) {
        if (relay.take({ kind: "event", frame })) return true;
      }
      return false;
    } catch (e) {
      if (signal.aborted) throw abortion();
      if (!this.attach) throw e;
      return false;
    }
  }

  /** Hands on what an attachment brings, until the run is over or nothing comes any more. */
  private async drain(items: AsyncIterable<Item>, relay: Relay): Promise<void> {
    for await (const item of items) {
      if (relay.take(item)) return;
    }
  }

  /** Attaches to the thread: until its run ends, or for ever. */
  private open(input: { protocolVersion?: string }, once: boolean, signal: AbortSignal): AsyncGenerator<Item, void, undefined> {
    const thread = this.threadId;
    return feed({
      open: (after, cut) => this.routes().events(thread, { after, once, version: input.protocolVersion, signal: cut }),
      after: () => (this.place?.in === "gap" ? undefined : this.place?.position),
      once,
      // Who waits for one run wants to be told some day; who follows waits.
      retry: { attempts: once ? runAttempts : Infinity, ...this.retry },
      signal,
      ...(once ? {} : { onConnection: (connection: Connection) => this.link(connection) }),
    });
  }

  private link(connection: Connection): void {
    this.linked = connection;
    if (connection.status === "live") this.ours = true;
    for (const listener of this.connections) listener(connection);
  }

  private relay(out?: Subscriber<BaseEvent>): Relay {
    const relay = new Relay((frame, terminal) => this.moved(frame, terminal));
    if (out) relay.observe().subscribe(out);
    return relay;
  }

  /** An event is about to be applied. */
  private moved(frame: Frame, terminal: boolean): void {
    const position = frame.id ?? this.place?.position;
    if (position !== undefined) {
      const revision = markOf(frame.event)?.revision ?? this.place?.revision;
      const where = frame.id === undefined ? "gap" : terminal ? "boundary" : "run";
      this.at = { thread: this.threadId, position, revision, in: where };
      this.ours = true;
      this.arrived();
    }
    const custom = frame.event as { name?: string; value?: ConflictReport };
    if (frame.event.type === EventType.CUSTOM && custom.name === "lockstep.conflict" && custom.value) {
      for (const listener of this.reports) listener(custom.value);
    }
  }

  /** A pipeline has ended; where that was in the middle of a run, nothing goes on from there. */
  private lost(): void {
    if (this.at && this.at.in !== "boundary") this.at = { ...this.at, in: "gap" };
  }
}

function abortion(): DOMException {
  return new DOMException("The operation was aborted.", "AbortError");
}

function listen<T>(listeners: Set<Listener<T>>, listener: Listener<T>): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

/** Reports whether one position comes before another of the same log. None comes before all. */
function isBefore(a: string | undefined, b: string): boolean {
  if (a === undefined) return true;
  const cut = a.lastIndexOf("-") + 1;
  return b.startsWith(a.slice(0, cut)) && Number(a.slice(cut)) < Number(b.slice(cut));
}
