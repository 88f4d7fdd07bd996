import { effect, signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { agents, locked, token, type AgentInfo } from "../model/api";
import { Conversation } from "../model/conversation";
import { go, here } from "../model/place";
import { nameOf } from "../model/suggestions";
import { TokenPrompt } from "./token";
import { Shell } from "./shell";
import { Logo } from "./icons";
import { threads } from "./threads";

export const agentList = signal<AgentInfo[]>([]);
export const conversation = signal<Conversation | null>(null);
const problem = signal("");

async function load(): Promise<void> {
  try {
    const list = await agents();
    problem.value = "";
    agentList.value = list;
    if (list.length === 0) problem.value = "This server has no agents.";
  } catch (e) {
    if (locked.value === "no") problem.value = e instanceof TypeError ? "The server could not be reached." : String((e as Error).message);
  }
}

/** The thread in the address is the one that is open; without one, a new one. */
effect(() => {
  const list = agentList.value;
  const { agent, thread } = here.value;
  if (list.length === 0) return;
  const info = list.find((a) => a.path === agent) ?? list[0]!;
  const last = conversation.peek();
  if (last?.info === info && (thread === "" ? last.fresh : last.agent.threadId === thread)) return;
  last?.close();
  const next = new Conversation(info, thread);
  next.onChange = () => {
    // Only what is used gets an address, so that a reload asks for nothing that is not there.
    if (here.peek().thread === "" && conversation.peek() === next) go({ agent: info.path, thread: next.agent.threadId }, true);
    void threads.refresh(next.agent);
  };
  conversation.value = next;
  document.title = `${nameOf(info)} – Lockstep`;
  void next.open();
  void threads.refresh(next.agent);
});

export function App() {
  const key = token.value;
  useEffect(() => void load(), [key]);
  if (locked.value !== "no") return <TokenPrompt />;
  const open = conversation.value;
  if (open) return <Shell key={`${open.info.path} ${open.agent.threadId}`} conversation={open} />;
  return (
    <main class="splash">
      <Logo size={44} />
      {problem.value ? (
        <>
          <p role="alert">{problem.value}</p>
          <button class="button" type="button" onClick={() => void load()}>
            Try again
          </button>
        </>
      ) : (
        <p class="muted">Loading…</p>
      )}
    </main>
  );
}
