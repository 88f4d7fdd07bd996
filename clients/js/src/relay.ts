import { EventType, type BaseEvent, type RunFinishedEvent, type RunStartedEvent } from "@ag-ui/client";
import { Observable, type Subscriber } from "rxjs";
import { runOf, type Item } from "./feed.js";
import { isTerminal, Order } from "./order.js";
import type { Frame } from "./sse.js";

/**
 * Hands the frames of one run to one pipeline of the official client, which
 * wants RUN_STARTED first and one run only. It is there that a position is
 * taken: an event that was handed on gets applied, one that was not did not.
 */
export class Relay {
  /** A frame of this run had a position, so the server is one of ours. */
  positioned = false;
  /** Resolves when `positioned` becomes true. */
  readonly placed: Promise<void>;
  /** It is to be stopped as soon as the server knows it. */
  unwanted = false;
  /** Any frame has been handed on. */
  seen = false;
  /** The pipeline ended before the run: it was detached, or did not take an event. */
  cut = false;
  /** What came too early: the beginning of the next run. */
  rest: Item | undefined;
  /** Resolves when the pipeline listens. */
  readonly observed: Promise<void>;

  private readonly order = new Order();
  private readonly moved: (frame: Frame, terminal: boolean) => void;
  private run: RunStartedEvent | undefined;
  private out: Subscriber<BaseEvent> | undefined;
  private listens!: () => void;
  private places!: () => void;

  /** `moved` is told of each frame right before it is handed on. */
  constructor(moved: (frame: Frame, terminal: boolean) => void) {
    this.moved = moved;
    this.observed = new Promise((resolve) => (this.listens = resolve));
    this.placed = new Promise((resolve) => (this.places = resolve));
  }

  /** The run's events; for one subscriber. */
  observe(): Observable<BaseEvent> {
    return new Observable((out) => {
      this.out = out;
      this.listens();
    });
  }

  /** Hands an item on. True: the run is over, and the observable complete. */
  take(item: Item): boolean {
    if (item.kind === "event") return this.emit(item.frame);
    if (!this.run) return item.frames.map((f) => this.emit(f)).includes(true);
    return this.resume(item.frames);
  }

  /** Goes on with snapshots in the middle of a run. */
  private resume(prelude: Frame[]): boolean {
    for (const end of this.order.close()) this.out?.next(end);
    const idle = prelude.some((f) => isTerminal(f.event));
    if (idle || runOf(prelude) === this.run?.runId) {
      // Its RUN_STARTED is the one that the pipeline has had.
      return prelude.slice(1).map((f) => this.emit(f)).includes(true);
    }
    // Our run is over, and how it ended is no longer known; its messages and
    // state are in the snapshots of the run that is active now.
    this.rest = { kind: "prelude", frames: prelude };
    this.out?.next({ type: EventType.RUN_FINISHED, threadId: this.run?.threadId, runId: this.run?.runId } as RunFinishedEvent);
    this.out?.complete();
    return true;
  }

  private emit(frame: Frame): boolean {
    const { event } = frame;
    const { out } = this;
    if (!out || out.closed) {
      this.cut = true;
      return true;
    }
    const over = isTerminal(event);
    if (event.type === EventType.RUN_STARTED) this.run = event as RunStartedEvent;
    this.seen = true;
    if (frame.id !== undefined) {
      this.positioned = true;
      this.places();
    }
    this.order.see(event);
    this.moved(frame, over);
    out.next(event);
    if (over) out.complete();
    return over;
  }
}
