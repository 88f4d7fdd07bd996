import type { Interrupt, Message } from "@ag-ui/client";
import { changes, type Change } from "../json/diff";
import { at } from "../json/pointer";
import { argumentsOf, calls, unanswered, type Call } from "./clienttools";

/** Something that waits for a person's decision. */
export interface Approval {
  /** The interrupt's id; in the older way the id of the confirm_changes call. */
  id: string;
  /** Asked by an unanswered confirm_changes call, and answered by a tool message. */
  older: boolean;
  /** `approve`: yes, no, or yes with other arguments; `input`: an answer of some form. */
  kind: "approve" | "input";
  title: string;
  /** The call that would run. */
  call: Call | undefined;
  /** What it would change. */
  changes: Change[];
  /** JSON Schema of the answer, for `input`. */
  schema: Record<string, unknown> | undefined;
  expiresAt: string | undefined;
}

export interface Situation {
  interrupts: readonly Interrupt[];
  messages: readonly Message[];
  running: boolean;
  /** The state without the proposal; undefined where it is not known. */
  before: unknown;
  /** The state as it is shown, the proposal in it. */
  after: unknown;
  predicted: readonly string[];
}

export const confirmTool = "confirm_changes";

/** What waits for a decision now. */
export function approvals(s: Situation): Approval[] {
  if (s.running) return [];
  const all = calls(s.messages);
  const proposed = proposal(s);
  const list: Approval[] = s.interrupts.map((i) => {
    const call = all.find((c) => c.id === i.toolCallId);
    const older = call?.name === confirmTool;
    const input = i.reason === "input_required";
    return {
      id: i.id,
      older: false,
      kind: input ? "input" : "approve",
      title: i.message ?? (call ? `May I run ${call.name}?` : "The agent asks for your decision."),
      call: older ? writer(all, call) : call,
      changes: input ? [] : proposed,
      schema: i.responseSchema as Record<string, unknown> | undefined,
      expiresAt: i.expiresAt,
    };
  });
  const asked = unanswered(s.messages).find((c) => c.name === confirmTool);
  if (asked && !s.interrupts.some((i) => i.toolCallId === asked.id || i.id === asked.id)) {
    list.push({
      id: asked.id,
      older: true,
      kind: "approve",
      title: "Keep these changes?",
      call: writer(all, asked),
      changes: proposed,
      schema: undefined,
      expiresAt: undefined,
    });
  }
  return list;
}

/** The call that a confirm_changes call asks about: the one before it. */
function writer(all: Call[], confirm: Call): Call | undefined {
  return all[all.findIndex((c) => c.id === confirm.id) - 1];
}

function proposal(s: Situation): Change[] {
  return s.predicted.flatMap((path) => {
    const after = at(s.after, path);
    const before = s.before === undefined ? undefined : at(s.before, path);
    if (before === undefined) return after === undefined ? [] : [{ path, after }];
    return changes(before, after, path);
  });
}

/** A call's arguments as a person may change them. */
export function editable(call: Call): Record<string, unknown> {
  return argumentsOf(call);
}
