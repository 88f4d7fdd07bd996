// What a tree says about a place beside its value: who changed it, that it is only
// a prediction, that it cannot be changed.
import { within } from "../json/pointer";
import type { Who } from "../model/marks";
import { Icon } from "./icons";
import type { TreeContext } from "./treestate";

export function Lock() {
  return (
    <span class="lock" title="Only the agent changes this">
      <Icon name="lock" size={13} />
    </span>
  );
}

const whoSays: Record<Who, string> = { agent: "agent", you: "you", viewer: "another viewer", system: "" };

/** The light that a change leaves for a moment, in the colour of whose it is. */
export function Flash({ context, path, or }: { context: TreeContext; path: string; or?: string }) {
  const mark = context.marks.get(path) ?? (or === undefined ? undefined : context.marks.get(or));
  if (!mark || mark.who === "system") return null;
  return <span key={mark.n} class="flash" data-who={mark.who} aria-hidden="true" />;
}

export function isPredicted(context: TreeContext, path: string): boolean {
  return context.predicted.some((p) => within(path, p));
}

/** Of a prediction it is said once, where the eye finds it. */
function tells(context: TreeContext, path: string, depth: number): boolean {
  return depth === 0 && context.predicted.some((p) => within(p, path) || within(path, p));
}

/** That a place is a prediction, in words; empty where it is none. Who changed a place passes too soon to be a part of its name. */
export function tagOf(context: TreeContext, path: string, depth: number): string {
  return tells(context, path, depth) ? (context.writing ? "writing" : "proposed") : "";
}

/** In words: who changed a place, or that it is a prediction. */
export function Tag({ context, path, depth, closed = false }: { context: TreeContext; path: string; depth: number; closed?: boolean }) {
  if (tells(context, path, depth)) {
    return (
      <span class="tag predicted" aria-hidden="true">
        <i aria-hidden="true" />
        {tagOf(context, path, depth)}
      </span>
    );
  }
  const mark = closed ? context.marks.newest(path) : context.marks.get(path);
  if (!mark || mark.who === "system" || !mark.said) return null;
  return (
    <span key={mark.n} class="tag passing" data-who={mark.who}>
      {whoSays[mark.who]}
    </span>
  );
}
