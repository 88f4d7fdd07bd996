import { signal, useSignal } from "@preact/signals";
import type { Conversation } from "../model/conversation";
import { nameOf } from "../model/suggestions";
import { Banner, Notices, Spoken } from "./banner";
import { Chat } from "./chat";
import { Icon, type IconName } from "./icons";
import { Sidebar } from "./sidebar";
import { StatePanel } from "./state";
import { TimelinePanel } from "./timeline";

type Tab = "chat" | "state" | "timeline";
const tabs: { id: Tab; label: string; icon: IconName }[] = [
  { id: "chat", label: "Chat", icon: "chat" },
  { id: "state", label: "State", icon: "state" },
  { id: "timeline", label: "Timeline", icon: "timeline" },
];

/** The page around one conversation: three columns, or one and a bar on a phone. */
export function Shell({ conversation }: { conversation: Conversation }) {
  const menu = useSignal(false);
  // Which one a narrow screen shows; a wide one shows the chat and one of the others.
  const tab = useSignal<Tab>("chat");
  const side = tab.value === "chat" ? lastSide.value : tab.value;
  const choose = (to: Tab) => {
    tab.value = to;
    if (to !== "chat") lastSide.value = to;
  };
  const waiting = conversation.approvals.value.length;
  return (
    <div class="shell" data-tab={tab.value}>
      <a class="skip" href="#message">
        To the message field
      </a>
      <Sidebar conversation={conversation} open={menu} />
      <header class="topbar">
        <button class="button ghost square" type="button" aria-label="Agents and threads" aria-expanded={menu.value} onClick={() => (menu.value = true)}>
          <Icon name="menu" />
        </button>
        <strong>{nameOf(conversation.info)}</strong>
        <Status conversation={conversation} />
      </header>
      <Banner conversation={conversation} />
      <main class="pane chat-pane" aria-label="Conversation">
        <Chat conversation={conversation} />
      </main>
      <aside class="pane side-pane" aria-label={side === "state" ? "State" : "Timeline"}>
        <div class="side-head">
          <div class="segmented" role="tablist" aria-label="Beside the conversation">
            {tabs.slice(1).map((t) => (
              <button key={t.id} type="button" role="tab" id={`tab-${t.id}`} aria-selected={side === t.id} aria-controls="side" tabIndex={side === t.id ? 0 : -1} onClick={() => choose(t.id)} onKeyDown={arrows}>
                {t.label}
              </button>
            ))}
          </div>
          <Status conversation={conversation} />
        </div>
        <div id="side" class="side-body" role="tabpanel" aria-labelledby={`tab-${side}`}>
          {side === "state" ? <StatePanel conversation={conversation} /> : <TimelinePanel conversation={conversation} />}
        </div>
      </aside>
      <nav class="tabbar" aria-label="Parts of the page">
        {tabs.map((t) => (
          <button key={t.id} type="button" aria-current={tab.value === t.id ? "page" : undefined} onClick={() => choose(t.id)}>
            <Icon name={t.icon} />
            <span>{t.label}</span>
            {t.id === "chat" && waiting > 0 && <span class="dot" aria-label="waits for a decision" />}
          </button>
        ))}
      </nav>
      <Notices conversation={conversation} />
      <Spoken conversation={conversation} />
    </div>
  );
}

/** Survives a change of the thread. */
const lastSide = signal<"state" | "timeline">("state");

/** The arrow keys choose between tabs, as everywhere. */
function arrows(event: KeyboardEvent): void {
  if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
  const own = event.currentTarget as HTMLElement;
  const other = (event.key === "ArrowLeft" ? own.previousElementSibling : own.nextElementSibling) as HTMLElement | null;
  other?.click();
  other?.focus();
}

/** One word on how things are. */
function Status({ conversation }: { conversation: Conversation }) {
  const { status } = conversation.connection.value;
  const running = conversation.running.value;
  const [tone, text] =
    running !== "no"
      ? ["busy", running === "mine" ? "Working" : "Working for another viewer"]
      : status === "live"
        ? ["live", "Live"]
        : conversation.lost.value
          ? ["bad", "Offline"]
          : ["idle", "Connecting"];
  return (
    <span class="status" data-tone={tone}>
      <i aria-hidden="true" />
      {text}
    </span>
  );
}
