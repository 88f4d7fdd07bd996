import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { Conversation } from "../model/conversation";
import { suggestions } from "../model/suggestions";
import { Icon } from "./icons";

/** Where one writes, with what one could write. */
export function Composer({ conversation }: { conversation: Conversation }) {
  const text = conversation.draft;
  const field = useRef<HTMLTextAreaElement>(null);
  const running = conversation.running.value;
  const waiting = conversation.approvals.value;
  // An open interrupt must be answered first; the older kind may be talked over.
  const blocked = waiting.some((a) => !a.older);
  const loaded = conversation.loaded.value;
  const begun = loaded && conversation.messages.value.length > 0;
  // Asked to be sent before the thread was there: what is typed stays, and goes then.
  const due = useSignal(false);
  useEffect(() => {
    const box = field.current!;
    box.style.height = "auto";
    box.style.height = `${Math.min(box.scrollHeight, 180)}px`;
  }, [text.value]);
  useEffect(() => {
    if (matchMedia("(min-width: 900px)").matches) field.current?.focus();
  }, []);
  const was = useRef(blocked);
  useEffect(() => {
    // What had the focus was the last decision, which is gone.
    if (was.current && !blocked && document.activeElement === document.body && matchMedia("(min-width: 900px)").matches) field.current?.focus();
    was.current = blocked;
  }, [blocked]);
  const send = () => {
    const message = text.value.trim();
    if (message === "" || running !== "no" || blocked) return;
    due.value = !loaded;
    if (!loaded) return;
    text.value = "";
    void conversation.send(message);
  };
  useEffect(() => {
    if (!loaded || !due.value) return;
    // What is found may wait for a decision first, or be at work: then the text waits here.
    due.value = false;
    send();
  }, [loaded]);
  return (
    <footer class="composer">
      <div class="column">
        {begun && running === "no" && waiting.length === 0 && (
          <ul class="chips" aria-label="Suggestions">
            {suggestions(conversation.info, true).map((s) => (
              <li key={s}>
                <button type="button" onClick={() => void conversation.send(s)}>
                  {s}
                </button>
              </li>
            ))}
          </ul>
        )}
        <p class="later" role="status">
          {due.value && "The conversation is still being loaded. Your message goes out as soon as it is here."}
        </p>
        <form
          class="write"
          onSubmit={(e) => {
            e.preventDefault();
            send();
          }}
        >
          <textarea
            ref={field}
            id="message"
            rows={1}
            aria-label="Message"
            placeholder={blocked ? "Decide first, then go on here" : "Write a message"}
            dir="auto"
            disabled={blocked}
            value={text.value}
            onInput={(e) => {
              text.value = e.currentTarget.value;
              if (text.value.trim() === "") due.value = false;
            }}
            onKeyDown={(e) => {
              // Enter also ends the choice of a character in some languages.
              if (e.key === "Enter" && !e.shiftKey && !e.isComposing) {
                e.preventDefault();
                send();
              }
            }}
          />
          {running !== "no" ? (
            // Two buttons, though one stands where the other was: a click that begins on one does not end on the other.
            <button key="stop" class="button round stop" type="button" aria-label="Stop the agent" onClick={() => conversation.stop()}>
              <Icon name="stop" />
            </button>
          ) : (
            <button key="send" class="button round primary" type="submit" aria-label="Send" disabled={text.value.trim() === "" || blocked}>
              <Icon name="send" />
            </button>
          )}
        </form>
      </div>
    </footer>
  );
}
