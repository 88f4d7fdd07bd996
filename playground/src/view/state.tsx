import { useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { isObject, label } from "../json/pointer";
import type { Conversation } from "../model/conversation";
import { Icon } from "./icons";
import { AddValue } from "./editor";
import { Tree } from "./tree";
import type { TreeContext } from "./treestate";

const none: readonly string[] = [];

/** The state as it is, and everything that one can do with it. */
export function StatePanel({ conversation }: { conversation: Conversation }) {
  const state = conversation.state.value;
  const running = conversation.running.value !== "no";
  const waiting = conversation.approvals.value.length > 0;
  const restorable = conversation.removed.value.length > 0;
  const undoing = useSignal(false);
  const custom = conversation.capabilities.value?.custom;
  const fixed = custom?.stateAccess ?? none;
  const marks = conversation.marks.value;
  const predicted = conversation.predicted.value;
  // The same one as long as it says the same: a text that streams beside the tree
  // draws nothing in it.
  const context = useMemo<TreeContext>(
    () => ({
      doc: state,
      marks,
      predicted,
      fixed,
      writing: running,
      position: () => conversation.position,
      edit: (patch, base) => conversation.edit(patch, base),
      ...(restorable && { restore: () => void conversation.bringBack() }),
      reveal: conversation.reveal,
    }),
    [conversation, state, marks, predicted, fixed, running, restorable],
  );
  const empty = !isObject(state) || Object.keys(state).length === 0;
  const undo = async () => {
    undoing.value = true;
    await conversation.undo();
    undoing.value = false;
  };
  return (
    <section class="state" aria-label="Shared state">
      <div class="tools" hidden={empty}>
        <p class="muted">Shared with the agent. Select a value to change it.</p>
        <button class="button small" type="button" disabled={running || waiting || undoing.value} onClick={() => void undo()} title="Take back what the agent changed last; your own edits stay">
          <Icon name="undo" size={15} /> Undo agent
        </button>
      </div>
      {empty ? (
        conversation.loaded.value && <Empty conversation={conversation} context={context} />
      ) : (
        <>
          <Tree context={context} name="State" />
          <AddValue context={context} path="" taken={Object.keys(state)} added={(path) => (conversation.reveal.value = path)} names={offered(conversation).filter((n) => !Object.hasOwn(state, n))} />
        </>
      )}
    </section>
  );
}

function Empty({ conversation, context }: { conversation: Conversation; context: TreeContext }) {
  const keeps = conversation.capabilities.value?.state?.persistentState !== false;
  const names = offered(conversation);
  return (
    <div class="empty">
      <Icon name="state" size={34} />
      <h2>{keeps ? "Nothing here yet" : "This agent shares no state"}</h2>
      <p>
        {keeps
          ? `What the agent and you work on together appears here while it is written${names.length > 0 ? `: ${names.map(label).join(", ").toLowerCase()}` : ""}. Both of you can change it.`
          : "It answers in the conversation. Choose another agent to see state grow."}
      </p>
      {keeps && names.length > 0 && <AddValue context={context} path="" taken={[]} names={names} />}
    </div>
  );
}

/** The members that the state's schema knows. */
function offered(conversation: Conversation): string[] {
  const properties = conversation.capabilities.value?.custom?.stateSchema?.properties;
  return isObject(properties) ? Object.keys(properties) : [];
}
