import { useEffect, useRef } from "preact/hooks";
import { locked, unlock } from "../model/api";
import { Logo } from "./icons";

/** Asks for the token that the server was started with. */
export function TokenPrompt() {
  const field = useRef<HTMLInputElement>(null);
  const wrong = locked.value === "wrong";
  useEffect(() => field.current?.focus(), [wrong]);
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const value = field.current!.value.trim();
    // A reload, because whatever was open was refused.
    if (value !== "") {
      unlock(value);
      location.reload();
    }
  };
  return (
    <main class="splash">
      <form class="token card" onSubmit={submit}>
        <Logo size={40} />
        <h1>This server asks for a token</h1>
        <p class="muted" id="token-help">
          It is the one that <code>lockstep serve --token</code> was started with. This tab keeps it until it is closed.
        </p>
        <label>
          <span>Token</span>
          <input ref={field} class="input" type="password" name="token" autocomplete="off" required aria-describedby="token-help" aria-invalid={wrong} />
        </label>
        {wrong && (
          <p class="error" role="alert">
            The server did not take this token.
          </p>
        )}
        <button class="button primary" type="submit">
          Continue
        </button>
      </form>
    </main>
  );
}
