import { LockstepError } from "./errors.js";
import type { Item } from "./feed.js";
import type { Relay } from "./relay.js";
import type { Connection } from "./types.js";

/** What a follower needs of its agent. */
export interface Host {
  /** The thread's events, for ever, until the signal fires. */
  feed(signal: AbortSignal): AsyncIterable<Item>;
  relay(): Relay;
  /** Runs one pipeline over what `relay` hands on; resolves when all of it is applied. */
  show(): Promise<unknown>;
  /** Ends the pipeline early. */
  detach(): Promise<void>;
  /** What is shown ends in the middle of a run. */
  lost(): void;
  link(connection: Connection): void;
}

/**
 * Follows a thread: reads its events, and starts a pipeline for each run. It
 * rests while the agent has a run of its own, because that run's answer holds
 * the same events.
 */
export class Follower {
  /** The run that is being shown. */
  relay: Relay | undefined;
  readonly ended: Promise<void>;

  private readonly host: Host;
  private control = new AbortController();
  private reading: Promise<void> = Promise.resolve();
  private shown: Promise<unknown> = Promise.resolve();
  private rests: number;
  private wake: (() => void) | undefined;
  private stopped = false;

  /** `rests`: how often `goOn` will be called before it may begin. */
  constructor(host: Host, rests = 0) {
    this.host = host;
    this.rests = rests;
    this.ended = this.loop();
  }

  async stop(): Promise<void> {
    this.stopped = true;
    this.wake?.();
    await this.hush();
    await this.ended;
  }

  /** Reads nothing until `goOn`, which is called once for each rest. */
  async rest(): Promise<void> {
    this.rests++;
    await this.hush();
  }

  goOn(): void {
    if (--this.rests === 0) this.wake?.();
  }

  private async hush(): Promise<void> {
    this.control.abort();
    if (this.relay) {
      await this.host.detach();
      this.host.lost();
    }
    await this.reading;
  }

  private async loop(): Promise<void> {
    let failures = 0;
    // The agent's field must hold this follower before the first pipeline asks.
    await Promise.resolve();
    while (!this.stopped) {
      if (this.rests > 0) {
        this.host.link({ status: "idle" });
        await new Promise<void>((resolve) => (this.wake = resolve));
        continue;
      }
      this.control = new AbortController();
      const { signal } = this.control;
      let failed: unknown;
      this.reading = this.read(signal).catch((e: unknown) => void (failed = e));
      await this.reading;
      this.relay = undefined;
      if (signal.aborted || failed === undefined) {
        failures = 0;
        continue;
      }
      const error = failed instanceof Error ? failed : new Error(String(failed));
      // Two ways to come here: the server refused, or the official client did
      // not take a stream. Snapshots may help the second, not the first.
      if ((error as { status?: number }).status || ++failures > 3) {
        this.host.link({ status: "failed", error });
        return;
      }
      this.host.lost();
    }
    this.host.link({ status: "idle" });
  }

  private async read(signal: AbortSignal): Promise<void> {
    for await (const item of this.host.feed(signal)) {
      for (let next: Item | undefined = item; next && !signal.aborted; ) next = await this.show(next);
    }
  }

  /** Shows an item; returns what is left of it for another run. */
  private async show(item: Item): Promise<Item | undefined> {
    let { relay } = this;
    if (!relay) {
      relay = this.relay = this.host.relay();
      this.shown = this.host.show();
      this.shown.catch(() => undefined); // it may fail while nobody waits; who waits is told
      await Promise.race([relay.observed, this.shown]);
    }
    if (!relay.take(item)) return undefined;
    // The next run begins with what this one leaves, so all of it must be there.
    await this.shown;
    this.relay = undefined;
    // A subscriber may have swallowed the pipeline's error; the rest of the run
    // cannot be shown all the same.
    if (relay.cut && !this.control.signal.aborted) throw new LockstepError("the client did not take the stream");
    return relay.rest;
  }
}
