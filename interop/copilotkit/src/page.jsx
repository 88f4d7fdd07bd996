// What somebody who follows CopilotKit's guide ends up with: the chat, beside it
// the agent's state with one field to type into, and a card for approvals.
// ?agent=NAME chooses the agent, ?thread=ID the thread that a reload comes back to.
import { useEffect } from "react";
import { createRoot } from "react-dom/client";
import { CopilotChat, CopilotKitProvider, useAgent, useInterrupt } from "@copilotkit/react-core/v2";
import "@copilotkit/react-core/v2/styles.css";

const query = new URLSearchParams(location.search);
const agentId = query.get("agent");
const threadId = query.get("thread");

// The tests read it: each state that React has put on the page, once, in order.
const shown = (window.shown = []);

function State() {
  const { agent } = useAgent({ agentId });
  const state = agent.state ?? {};
  const text = JSON.stringify(state);
  // An effect runs when the page shows it; the agent's own events would say too much.
  useEffect(() => {
    if (shown.at(-1) !== text) shown.push(text);
  }, [text]);
  const rename = (title) => agent.setState({ ...state, recipe: { ...state.recipe, title } });
  return (
    <section style={{ padding: "1rem", width: "28rem", overflow: "auto" }}>
      <p role="status">{agent.isRunning ? "running" : "idle"}</p>
      <label>
        Title <input value={state.recipe?.title ?? ""} onChange={(e) => rename(e.target.value)} />
      </label>
      <pre style={{ whiteSpace: "pre-wrap" }}>{JSON.stringify(state, null, 2)}</pre>
    </section>
  );
}

function Approval() {
  const card = useInterrupt({
    agentId,
    renderInChat: false,
    render: ({ interrupt, resolve, cancel }) => (
      <section aria-label="Approval" style={{ padding: "1rem" }}>
        <p>{interrupt?.message}</p>
        <button onClick={() => resolve({ accepted: true })}>Approve</button>
        <button onClick={() => cancel()}>Cancel</button>
      </section>
    ),
  });
  return card ?? null;
}

function App() {
  return (
    <CopilotKitProvider
      runtimeUrl="/api/copilotkit"
      showDevConsole={false}
      onError={(e) => console.error("CopilotKit:", e?.code, e?.error?.message)}
    >
      <main style={{ display: "flex", height: "100vh", fontFamily: "sans-serif" }}>
        <div>
          <State />
          <Approval />
        </div>
        <div style={{ flex: 1, minWidth: 0 }}>
          <CopilotChat agentId={agentId} threadId={threadId} />
        </div>
      </main>
    </CopilotKitProvider>
  );
}

createRoot(document.getElementById("page")).render(<App />);
