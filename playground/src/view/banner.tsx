import { useEffect, useState } from "preact/hooks";
import type { Conversation } from "../model/conversation";
import { Icon } from "./icons";

/** What stands in the way: a lost connection, or a run that failed. */
export function Banner({ conversation }: { conversation: Conversation }) {
  const lost = conversation.lost.value;
  const failure = conversation.failure.value;
  return (
    <div class="banners">
      {lost && (
        <div class="banner" data-tone="warning" role="status">
          <Icon name="warning" />
          <p>
            <strong>{lost.status === "waiting" ? "The connection is lost." : "The server refused."}</strong>{" "}
            {lost.status === "waiting" ? <Countdown key={lost.attempt} time={lost.retryIn} /> : lost.error.message}
          </p>
          <button class="button small" type="button" onClick={() => conversation.reconnect()}>
            Try now
          </button>
        </div>
      )}
      {failure && (
        <div class="banner" data-tone="error" role="alert">
          <Icon name="warning" />
          <p>
            <strong>{failure.title}.</strong> {failure.text}
          </p>
          <button class="button ghost square" type="button" aria-label="Put away" onClick={() => (conversation.failure.value = null)}>
            <Icon name="close" />
          </button>
        </div>
      )}
    </div>
  );
}

function Countdown({ time }: { time: number }) {
  const [left, setLeft] = useState(Math.ceil(time / 1000));
  useEffect(() => {
    const timer = setInterval(() => setLeft((n) => Math.max(0, n - 1)), 1000);
    return () => clearInterval(timer);
  }, []);
  return <span>{left > 0 ? `Trying again in ${left} s.` : "Trying again…"}</span>;
}

/** What is worth saying once, and goes by itself. */
export function Notices({ conversation }: { conversation: Conversation }) {
  return (
    <div class="notices" role="status">
      {conversation.notices.value.map((n) => (
        <div key={n.id} class="notice" data-tone={n.tone}>
          <p>{n.text}</p>
          {n.action && (
            <button
              class="button small"
              type="button"
              onClick={() => {
                conversation.dismiss(n.id);
                n.action!.run();
              }}
            >
              {n.action.label}
            </button>
          )}
          <button class="button ghost square tiny" type="button" aria-label="Put away" onClick={() => conversation.dismiss(n.id)}>
            <Icon name="close" size={14} />
          </button>
        </div>
      ))}
    </div>
  );
}

/** For screen readers: how a run goes, without the stream of its letters. */
export function Spoken({ conversation }: { conversation: Conversation }) {
  return (
    <div class="sr-only" role="status" aria-live="polite">
      {conversation.spoken.value}
    </div>
  );
}
