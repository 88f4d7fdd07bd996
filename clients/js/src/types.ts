import type { AgentCapabilities, BaseEvent, Interrupt, Message, State } from "@ag-ui/client";
import type { Problem } from "./errors.js";

/** One RFC 6902 operation. */
export type Operation =
  | { op: "add" | "replace" | "test"; path: string; value: unknown }
  | { op: "remove"; path: string }
  | { op: "move" | "copy"; path: string; from: string };

/** A place where two edits met. */
export interface Conflict {
  /** JSON Pointer of the place. */
  path: string;
  /** The place exists only as a prediction of the agent, and cannot be edited yet. */
  predicted?: boolean;
}

/** What a merge had to choose; see `LockstepAgent.onConflict`. */
export interface ConflictReport {
  paths: string[];
  /** Whose value stayed: `client` is the person's, `server` the agent's. */
  policy: string;
}

/** What became of an edit. */
export type EditOutcome =
  | {
      status: "applied";
      position: string;
      revision: number;
      /** The state had moved since the edit's base, and both changes were kept. */
      merged: boolean;
    }
  | {
      status: "conflict";
      /** Why, in the server's words. */
      message?: string;
      conflicts: Conflict[];
      /** What the state is now, and where: make the edit anew on this. */
      state: State;
      position: string;
      revision: number;
    }
  /** The place may not be written by clients. */
  | { status: "forbidden"; errors: Problem[] }
  /** The patch does not apply, or its result breaks the state's schema. */
  | { status: "invalid"; errors: Problem[] };

/** What became of an undo. */
export type UndoOutcome =
  | {
      status: "undone";
      position: string;
      revision: number;
      /** Places that somebody changed since; they keep their later value. */
      conflicts: Conflict[];
    }
  /** A run is active, a proposal is open, or nothing is left to undo. */
  | { status: "refused"; reason: string };

/** A thread as the server has it, at one position. */
export interface Hydrated {
  threadId: string;
  position: string;
  /** The first position that the log can be read from; see `LockstepAgent.history`. */
  oldest?: string;
  revision: number;
  state: State;
  /** JSON Pointers of values that are still predictions. */
  predicted: string[];
  messages: Message[];
  interrupts: Interrupt[];
  activeRun: { runId: string; startedAt: string } | null;
}

/** One line of a list of threads. */
export interface ThreadInfo {
  threadId: string;
  /** When it changed last, RFC 3339. */
  updated: string;
  title: string;
  activeRun: { runId: string; startedAt: string } | null;
  interrupts: Interrupt[];
}

/** A page of threads, the newest first. */
export interface ThreadPage {
  threads: ThreadInfo[];
  /** Hand it to `threads()` for the next page; null on the last one. */
  next: string | null;
}

/** What an agent can do, with what Lockstep adds under `custom`. */
export type Capabilities = AgentCapabilities & {
  custom?: {
    /** JSON Schema of the state that clients see. */
    stateSchema?: Record<string, unknown>;
    /** JSON Pointers of places that clients may read and not write. */
    stateAccess?: string[];
  };
};

/** How the connection of `follow` is. */
export type Connection =
  /** Nobody follows, or a run of one's own has the thread. */
  | { status: "idle" }
  | { status: "connecting" }
  | { status: "live" }
  /** The connection is lost; the next try begins `retryIn` milliseconds from now. */
  | { status: "waiting"; attempt: number; retryIn: number; error: Error }
  /** Trying again would not help: the server refused. */
  | { status: "failed"; error: Error };

/** Where a state event stands, and whose change it is. */
export interface StateMark {
  position: string;
  revision: number;
  by: "agent" | "user" | "system";
  /** The id of the tool call that the change comes from. */
  call?: string;
  /** The value is a prediction: it may still be taken back. */
  predicted?: boolean;
}

/** An event of a thread's log. */
export interface Logged {
  /** `EPOCH-SEQ`. */
  position: string;
  event: BaseEvent;
}

/** Reads the mark of a STATE_SNAPSHOT or STATE_DELTA; undefined where there is none. */
export function markOf(event: BaseEvent): StateMark | undefined {
  const metadata = (event as { metadata?: { lockstep?: StateMark } }).metadata;
  const mark = metadata?.lockstep;
  return typeof mark?.position === "string" ? mark : undefined;
}
