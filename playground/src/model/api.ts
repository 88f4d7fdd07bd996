import { signal } from "@preact/signals";

/** One agent of the server, under one of its paths. */
export interface AgentInfo {
  path: string;
  name: string;
  description: string;
}

const tokenKey = "lockstep.token";

/** The bearer token: only for this tab, and only while it is open. */
export const token = signal(sessionStorage.getItem(tokenKey) ?? "");
/** The server has refused a request for want of a token, or of the right one. */
export const locked = signal<"no" | "missing" | "wrong">("no");

/** Keeps a token for this tab and lets requests try again. */
export function unlock(value: string): void {
  sessionStorage.setItem(tokenKey, value);
  token.value = value;
  locked.value = "no";
}

/** fetch with the token. A 401 makes the page ask for one. */
export async function request(url: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  if (token.value !== "") headers.set("Authorization", `Bearer ${token.value}`);
  const response = await fetch(url, { ...init, headers });
  if (response.status === 401) locked.value = token.value === "" ? "missing" : "wrong";
  return response;
}

/** The agents of this server. One that has several paths is listed once. */
export async function agents(): Promise<AgentInfo[]> {
  const response = await request("/agents");
  if (!response.ok) throw new Error(`the list of agents was refused (HTTP ${response.status})`);
  const { agents } = (await response.json()) as { agents: (AgentInfo & { description?: string })[] };
  const byName = new Map<string, AgentInfo>();
  for (const a of agents) {
    // The last path wins: the first is often just "/".
    byName.set(a.name, { ...a, description: a.description ?? "" });
  }
  return [...byName.values()];
}
