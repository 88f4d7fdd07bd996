import type { BaseEvent } from "@ag-ui/client";
import { LockstepError, refusal } from "./errors.js";
import { frames, type Frame } from "./sse.js";
import type { Connection } from "./types.js";

/** How often and how long a lost connection is tried again. */
export interface Retry {
  /** Milliseconds before the first try; doubled with each. Default 200. */
  first?: number;
  /** The longest wait in milliseconds. Default 5000. */
  most?: number;
  /** Tries in a row without a single event before giving up. Default: no end. */
  attempts?: number;
  /** The longest silence in milliseconds before a connection counts as lost. Default 45000. */
  idle?: number;
}

/**
 * What a feed says: one event that goes on, or the beginning of a body that
 * could not go on, as a whole: snapshots of everything at the last frame's id.
 */
export type Item = { kind: "event"; frame: Frame } | { kind: "prelude"; frames: Frame[] };

export interface FeedOptions {
  /** Opens a body that goes on after a position, or begins with a prelude. */
  open(after: string | undefined, signal: AbortSignal): Promise<Response>;
  /** Where to go on; read anew for each connection. */
  after(): string | undefined;
  /** Ends with a run instead of going on for ever. */
  once?: boolean;
  retry: Retry;
  signal: AbortSignal;
  onConnection?(connection: Connection): void;
}

/**
 * Reads a thread's events, over as many connections as it takes, each event
 * once. It ends when the signal fires, when a `once` body ends by itself, and
 * with an error where the server refuses.
 */
export async function* feed(o: FeedOptions): AsyncGenerator<Item, void, undefined> {
  const { first = 200, most = 5000, attempts = Infinity, idle = 45_000 } = o.retry;
  for (let attempt = 0; !o.signal.aborted; ) {
    let error: Error;
    try {
      o.onConnection?.({ status: "connecting" });
      const response = await o.open(o.after(), o.signal);
      if (!response.ok) throw await refusal(response);
      if (!response.body) throw new LockstepError("the answer has no body");
      o.onConnection?.({ status: "live" });
      let prelude: Frame[] | undefined;
      let begun = false;
      for await (const frame of frames(response.body, idle)) {
        attempt = 0;
        // A prelude is only ever the beginning of a body; its frames have no id,
        // except the last.
        if (!begun && frame.id === undefined) prelude = [];
        begun = true;
        if (!prelude) {
          yield { kind: "event", frame };
        } else {
          prelude.push(frame);
          if (frame.id === undefined) continue;
          yield { kind: "prelude", frames: prelude };
          prelude = undefined;
        }
        if (o.signal.aborted) return;
      }
      if (o.once) return;
      // A live body that ends was cut by the server for a reason (its position
      // got too old, it stops): going on at once is right the first time only.
      error = new LockstepError("the server closed the connection");
    } catch (e) {
      if (o.signal.aborted) return;
      error = e instanceof Error ? e : new Error(String(e));
      if (e instanceof LockstepError && !e.passing) throw e;
    }
    if (++attempt > attempts) throw error;
    const retryIn = Math.min(most, first * 2 ** (attempt - 1)) * (0.5 + Math.random() / 2);
    o.onConnection?.({ status: "waiting", attempt, retryIn, error });
    await pause(retryIn, o.signal);
  }
}

/** Waits, or less long where the signal fires or the machine is on line again. */
function pause(time: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      globalThis.removeEventListener?.("online", done);
      resolve();
    };
    const timer = setTimeout(done, time);
    signal.addEventListener("abort", done);
    globalThis.addEventListener?.("online", done);
    if (signal.aborted) done();
  });
}

/** The run that a prelude shows. */
export function runOf(prelude: Frame[]): string | undefined {
  return (prelude[0]?.event as BaseEvent & { runId?: string }).runId;
}
