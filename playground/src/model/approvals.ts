import type { Interrupt, Message } from "@ag-ui/client";
import { changes, type Change } from "../json/diff";
import { at, label, within } from "../json/pointer";
import { argumentsOf, calls, unanswered, type Call } from "./clienttools";

/** Something that waits for a person's decision. */
export interface Approval {
  /** The interrupt's id; in the older way the id of the confirm_changes call. */
  id: string;
  /** Asked by an unanswered confirm_changes call; may be talked over. */
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
  /** Which call's arguments a place was predicted from: places by call. */
  owners?: ReadonlyMap<string, readonly string[]>;
}

export const confirmTool = "confirm_changes";

/** What waits for a decision now. */
export function approvals(s: Situation): Approval[] {
  if (s.running) return [];
  const all = calls(s.messages);
  const list: Approval[] = s.interrupts.map((i) => {
    const named = all.find((c) => c.id === i.toolCallId);
    const call = named?.name === confirmTool ? writer(all, named) : named;
    const input = i.reason === "input_required";
    return {
      id: i.id,
      older: named?.name === confirmTool || all.some((c) => c.id === i.id && c.name === confirmTool),
      kind: input ? "input" : "approve",
      title: i.message ?? (call ? `May I run ${label(call.name).toLowerCase()}?` : "The agent asks for your decision."),
      call,
      changes: input ? [] : proposal(s, call?.id),
      schema: i.responseSchema as Record<string, unknown> | undefined,
      expiresAt: i.expiresAt,
    };
  });
  for (const asked of unanswered(s.messages)) {
    if (asked.name !== confirmTool || s.interrupts.some((i) => i.toolCallId === asked.id || i.id === asked.id)) continue;
    const call = writer(all, asked);
    list.push({ id: asked.id, older: true, kind: "approve", title: "Keep these changes?", call, changes: proposal(s, call?.id), schema: undefined, expiresAt: undefined });
  }
  return list;
}

/** The call that a confirm_changes call asks about: the one it names, else the one before it. */
function writer(all: Call[], confirm: Call): Call | undefined {
  const { function_call_id: id } = argumentsOf(confirm);
  return all.find((c) => c.id === id) ?? all[all.findIndex((c) => c.id === confirm.id) - 1];
}

/** What a call would change. Where it is not known whose a prediction is, it is everybody's. */
function proposal(s: Situation, call: string | undefined): Change[] {
  return s.predicted.flatMap((path) => {
    const owners = [...(s.owners ?? [])].filter(([, paths]) => paths.some((p) => within(p, path) || within(path, p)));
    if (owners.length > 0 && !owners.some(([id]) => id === call)) return [];
    const after = at(s.after, path);
    const before = s.before === undefined ? undefined : at(s.before, path);
    if (before === undefined) return after === undefined ? [] : [{ path, after }];
    return changes(before, after, path);
  });
}
