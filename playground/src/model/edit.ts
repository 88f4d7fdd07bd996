// An edit of one place of the state, and what can become of it.
import type { EditOutcome, Operation } from "@lockstep-go/client";
import { at, isObject } from "../json/pointer";

/** Sends an edit that was made on what was shown at `base`. */
export type Send = (patch: Operation[], base: string | undefined) => Promise<EditOutcome>;

/** Why an edit was not made, and what can be done about it. */
export type Trouble = { kind: "conflict"; theirs: unknown; position: string } | { kind: "predicted" } | { kind: "refused"; text: string };

/** Sends an edit of the place `path`. Null: it is made. */
export async function attempt(send: Send, patch: Operation[], base: string | undefined, path: string): Promise<Trouble | null> {
  let outcome: EditOutcome;
  try {
    outcome = await send(patch, base);
  } catch (e) {
    return { kind: "refused", text: (e as Error).message };
  }
  switch (outcome.status) {
    case "applied":
      return null;
    case "conflict":
      if (outcome.conflicts.some((c) => c.predicted)) return { kind: "predicted" };
      if (outcome.conflicts.length === 0) return { kind: "refused", text: outcome.message ?? "The state has moved on." };
      return { kind: "conflict", theirs: at(outcome.state, path), position: outcome.position };
    case "forbidden":
      return { kind: "refused", text: "Only the agent may change this." };
    case "invalid":
      return { kind: "refused", text: outcome.errors.map((e) => e.message).join("; ") || "This value is not allowed here." };
  }
}

/** A trouble in words. */
export function explain(trouble: Trouble): string {
  switch (trouble.kind) {
    case "refused":
      return trouble.text;
    case "predicted":
      return "The agent is still writing this. It can be changed as soon as it has finished.";
    case "conflict":
      return "Changed meanwhile by somebody else.";
  }
}

/** Reads what was typed as the kind of value that was there. */
export function read(text: string, was: unknown): unknown {
  if (typeof was === "string") return text;
  if (typeof was === "number") {
    const n = Number(text.trim());
    return text.trim() === "" || Number.isNaN(n) ? new Error("This is a number.") : n;
  }
  return loose(text);
}

/** JSON where it is some, else a text. */
export function loose(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** A value of the same shape with nothing in it. */
export function blank(value: unknown): unknown {
  if (Array.isArray(value)) return [];
  if (isObject(value)) return Object.fromEntries(Object.entries(value).map(([n, v]) => [n, blank(v)]));
  return typeof value === "string" ? "" : typeof value === "number" ? 0 : typeof value === "boolean" ? false : null;
}

/**
 * Reports whether a place, or something in or around it, is one that only the
 * agent changes. `fixed` are such places; `*` is any step.
 */
export function isFixed(fixed: readonly string[], path: string): boolean {
  const steps = path.split("/");
  return fixed.some((f) => {
    const pattern = f.split("/");
    return pattern.slice(0, steps.length).every((p, i) => p === "*" || p === steps[i]);
  });
}
