import type { Message } from "@ag-ui/client";
import { useEffect, useRef } from "preact/hooks";
import { confirmTool } from "../model/approvals";
import type { Conversation } from "../model/conversation";
import { nameOf, suggestions } from "../model/suggestions";
import { Approvals } from "./approval";
import { Composer } from "./composer";
import { Markdown } from "./markdown";
import { ToolCard } from "./toolcard";

/** The conversation, what it waits for, and where one writes. */
export function Chat({ conversation }: { conversation: Conversation }) {
  const messages = conversation.messages.value;
  const running = conversation.running.value !== "no";
  const scroller = useRef<HTMLDivElement>(null);
  const stuck = useRef(true);
  const empty = conversation.loaded.value && messages.length === 0 && !running;
  useEffect(() => {
    const box = scroller.current!;
    // Who has scrolled up reads; who is at the end wants to stay there.
    if (stuck.current) box.scrollTop = box.scrollHeight;
  });
  useEffect(() => {
    const box = scroller.current!;
    box.style.background = conversation.background.value;
  }, [conversation.background.value]);
  const last = messages.at(-1);
  const thinking = running && !(last?.role === "assistant" && (last.content || last.toolCalls?.length));
  return (
    <>
      <div
        ref={scroller}
        class="messages"
        data-painted={conversation.background.value !== ""}
        role="log"
        aria-live="off"
        aria-label="Messages"
        tabIndex={0}
        onScroll={(e) => {
          const box = e.currentTarget;
          stuck.current = box.scrollHeight - box.scrollTop - box.clientHeight < 60;
        }}
      >
        <div class="column">
          {empty && <Welcome conversation={conversation} />}
          {messages.map((m) => (
            <Line key={m.id} message={m} messages={messages} conversation={conversation} />
          ))}
          {thinking && (
            <p class="thinking" aria-hidden="true">
              <i />
              <i />
              <i />
            </p>
          )}
          <Approvals conversation={conversation} />
        </div>
      </div>
      <Composer conversation={conversation} />
    </>
  );
}

function Welcome({ conversation }: { conversation: Conversation }) {
  const { info } = conversation;
  return (
    <section class="welcome">
      <h1>{nameOf(info)}</h1>
      <p>{info.description ? `${info.description}.` : "Ask this agent something."}</p>
      <ul class="starters">
        {suggestions(info, false).map((s) => (
          <li key={s}>
            <button type="button" onClick={() => void conversation.send(s)}>
              {s}
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Line({ message: m, messages, conversation }: { message: Message; messages: Message[]; conversation: Conversation }) {
  switch (m.role) {
    case "user":
      return (
        <article class="message user" aria-label="You">
          <div class="bubble" dir="auto">{textOf(m.content)}</div>
        </article>
      );
    case "assistant":
      // The question of a confirm_changes call is asked below.
      if (!m.content && !m.toolCalls?.some((c) => c.function.name !== confirmTool)) return null;
      return (
        <article class="message assistant" aria-label="Agent">
          {m.toolCalls
            ?.filter((c) => c.function.name !== confirmTool)
            .map((c) => (
              <ToolCard key={c.id} call={c} messages={messages} conversation={conversation} />
            ))}
          {m.content && <Markdown text={m.content} />}
        </article>
      );
    case "reasoning":
      return (
        <details class="reasoning">
          <summary>Thoughts</summary>
          <Markdown text={m.content} />
        </details>
      );
    default:
      return null; // results are shown with their calls, instructions are not for people
  }
}

/** A message's words; what is not text is named. */
function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return (content as { type: string; text?: string }[]).map((p) => (p.type === "text" ? p.text : `[${p.type}]`)).join("\n");
}
