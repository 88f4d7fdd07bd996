import { signal } from "@preact/signals";

/** Which agent and which thread are open; in the address, so that a reload, a bookmark and a second tab find them. */
export interface Place {
  agent: string;
  /** Empty: a new one. */
  thread: string;
}

function read(): Place {
  const query = new URLSearchParams(location.search);
  return { agent: query.get("agent") ?? "", thread: query.get("thread") ?? "" };
}

export const here = signal<Place>(read());

addEventListener("popstate", () => (here.value = read()));

/** Opens a place. `replace` leaves no entry in the history. */
export function go(to: Place, replace = false): void {
  const query = new URLSearchParams();
  if (to.agent) query.set("agent", to.agent);
  if (to.thread) query.set("thread", to.thread);
  history[replace ? "replaceState" : "pushState"](null, "", `?${query}`);
  here.value = to;
}
