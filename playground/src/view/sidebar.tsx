import type { Signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { Conversation } from "../model/conversation";
import { go } from "../model/place";
import { nameOf } from "../model/suggestions";
import { agentList, conversation as shown } from "./app";
import { Icon, Logo } from "./icons";
import { isDark, toggle } from "./theme";
import { threads } from "./threads";

/** Agents and threads; on a narrow screen a drawer. */
export function Sidebar({ conversation, open }: { conversation: Conversation; open: Signal<boolean> }) {
  const close = useRef<HTMLButtonElement>(null);
  const { info, agent } = conversation;
  useEffect(() => {
    if (open.value) close.current?.focus();
  }, [open.value]);
  const shut = () => (open.value = false);
  const to = (path: string, thread: string) => {
    shut();
    go({ agent: path, thread });
  };
  return (
    <>
      {open.value && <div class="scrim" onClick={shut} />}
      <nav class="sidebar" data-open={open.value} aria-label="Agents and threads" onKeyDown={(e) => e.key === "Escape" && shut()}>
        <div class="brand">
          <Logo />
          <span>Lockstep</span>
          <button ref={close} class="button ghost square only-narrow" type="button" aria-label="Close" onClick={shut}>
            <Icon name="close" />
          </button>
        </div>
        <label class="picker">
          <span>Agent</span>
          <select class="input" value={info.path} onChange={(e) => to(e.currentTarget.value, "")}>
            {agentList.value.map((a) => (
              <option key={a.path} value={a.path}>
                {nameOf(a)}
              </option>
            ))}
          </select>
        </label>
        <p class="about">{info.description}</p>
        <div class="threads-head">
          <h2>Threads</h2>
          <button class="button small" type="button" onClick={() => to(info.path, "")}>
            <Icon name="plus" size={15} /> New
          </button>
        </div>
        <ThreadList conversation={conversation} to={(thread) => to(info.path, thread)} />
        <div class="sidebar-foot">
          <button class="button ghost" type="button" onClick={toggle}>
            <Icon name={isDark() ? "sun" : "moon"} /> {isDark() ? "Light" : "Dark"}
          </button>
          <span class="muted mono" title="This thread's id">
            {agent.threadId.length > 16 ? `${agent.threadId.slice(0, 15)}…` : agent.threadId}
          </span>
        </div>
      </nav>
    </>
  );
}

function ThreadList({ conversation, to }: { conversation: Conversation; to(thread: string): void }) {
  const { agent, info } = conversation;
  const list = threads.list.value;
  const remove = async (thread: string) => {
    if (!confirm("Forget this thread, with its messages and its state? This cannot be undone.")) return;
    try {
      await agent.deleteThread(thread);
    } catch (e) {
      conversation.fail("The thread could not be forgotten", e);
      return;
    }
    // Whoever has gone to another one meanwhile stays there.
    const now = shown.peek();
    if (now?.info !== info) return;
    if (thread === now.agent.threadId) to("");
    else await threads.refresh(now.agent);
  };
  if (list.length === 0) return <p class="empty-list">Conversations with this agent will be listed here.</p>;
  return (
    <ul class="threads">
      {list.map((t) => (
        <li key={t.threadId} data-current={t.threadId === agent.threadId}>
          <button type="button" class="thread" aria-current={t.threadId === agent.threadId ? "page" : undefined} onClick={() => to(t.threadId)}>
            <span class="title">{t.title || "Untitled"}</span>
            <span class="when">
              {t.activeRun ? <em>working</em> : t.interrupts.length > 0 ? <em>waits for you</em> : ago(t.updated)}
            </span>
          </button>
          <button class="button ghost square tiny remove" type="button" aria-label={`Forget the thread ${t.title || t.threadId}`} onClick={() => void remove(t.threadId)}>
            <Icon name="trash" size={15} />
          </button>
        </li>
      ))}
      {threads.next.value && (
        <li>
          <button class="button ghost" type="button" onClick={() => void threads.more(agent)}>
            Older threads
          </button>
        </li>
      )}
    </ul>
  );
}

const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });

/** How long ago, in the largest unit that fits. */
function ago(time: string): string {
  const seconds = (Date.parse(time) - Date.now()) / 1000;
  if (Number.isNaN(seconds)) return "";
  if (seconds > -45) return "just now";
  if (seconds > -3600) return relative.format(Math.round(seconds / 60), "minute");
  if (seconds > -86_400) return relative.format(Math.round(seconds / 3600), "hour");
  return relative.format(Math.round(seconds / 86_400), "day");
}
