import { bodyOf, LockstepError, member, problemsOf, refusal } from "./errors.js";
import type { Capabilities, EditOutcome, Hydrated, Operation, ThreadPage, UndoOutcome } from "./types.js";

/** How requests are made: the agent's own fetch and headers, read at each request. */
export interface Transport {
  readonly url: string;
  readonly headers: Record<string, string>;
  fetch(url: string, init: RequestInit): Promise<Response>;
}

/**
 * The requests beside the run itself, one method each. They are plain values in,
 * plain values out; what they mean for an agent's own state is the agent's
 * business.
 */
export class Routes {
  private readonly transport: Transport;

  constructor(transport: Transport) {
    this.transport = transport;
  }

  capabilities(): Promise<Capabilities> {
    return this.json<Capabilities>("GET", "/capabilities");
  }

  threads(after?: string | null): Promise<ThreadPage> {
    return this.json<ThreadPage>("GET", "/threads", after ? { after } : {});
  }

  /** The thread as it is now; null where there is none. */
  async hydrate(thread: string): Promise<Hydrated | null> {
    const response = await this.request("GET", path(thread));
    if (response.status === 404) return null;
    if (!response.ok) throw await refusal(response);
    return (await bodyOf(response)) as Hydrated;
  }

  /** A thread's events: live and across runs, or, with `once`, until its run ends. */
  events(thread: string, o: { after?: string | undefined; once?: boolean; version?: string | undefined; signal: AbortSignal }): Promise<Response> {
    const query: Record<string, string> = {};
    if (o.version !== undefined) query.protocolVersion = o.version;
    if (o.after !== undefined) query.after = o.after;
    if (o.once) query.live = "false";
    return this.request("GET", `${path(thread)}/events`, { query, headers: { Accept: "text/event-stream" }, signal: o.signal });
  }

  async edit(thread: string, change: Operation[] | Record<string, unknown>, base: string | undefined): Promise<EditOutcome> {
    const type = Array.isArray(change) ? "application/json-patch+json" : "application/merge-patch+json";
    const headers: Record<string, string> = { "Content-Type": type };
    if (base !== undefined) headers["If-Match"] = `"${base}"`;
    const response = await this.request("PATCH", `${path(thread)}/state`, { headers, body: JSON.stringify(change) });
    if (response.ok) return { status: "applied", ...((await bodyOf(response)) as { position: string; revision: number; merged: boolean }) };
    const copy = response.clone();
    const payload = await bodyOf(response);
    switch (response.status) {
      case 409:
        if (Array.isArray(member(payload, "conflicts"))) return { status: "conflict", ...(payload as object) } as EditOutcome;
        break;
      case 403:
        if (problemsOf(payload).length > 0) return { status: "forbidden", errors: problemsOf(payload) };
        break;
      case 400:
      case 422:
        return { status: "invalid", errors: problemsOf(payload) };
    }
    throw await refusal(copy);
  }

  async undo(thread: string): Promise<UndoOutcome> {
    const response = await this.request("POST", `${path(thread)}/undo`);
    if (response.ok) return { status: "undone", ...((await bodyOf(response)) as { position: string; revision: number; conflicts: [] }) };
    const error = await refusal(response);
    if (response.status === 409) {
      const said = member(error.payload, "message");
      return { status: "refused", reason: typeof said === "string" ? said : error.message };
    }
    throw error;
  }

  /** Stops the active run. False: none is active. */
  stop(thread: string): Promise<boolean> {
    return this.gone(`${path(thread)}/run`);
  }

  /** Forgets a thread. False: there is none. */
  forget(thread: string): Promise<boolean> {
    return this.gone(path(thread));
  }

  private async gone(route: string): Promise<boolean> {
    const response = await this.request("DELETE", route);
    if (response.ok) return true;
    if (response.status === 404) return false;
    throw await refusal(response);
  }

  private async json<T>(method: string, route: string, query: Record<string, string> = {}): Promise<T> {
    const response = await this.request(method, route, { query, headers: { Accept: "application/json" } });
    if (!response.ok) throw await refusal(response);
    return (await bodyOf(response)) as T;
  }

  private async request(method: string, route: string, init: RequestInit & { query?: Record<string, string> } = {}): Promise<Response> {
    const { query = {}, headers, ...rest } = init;
    const [base = "", own = ""] = this.transport.url.split("?", 2);
    const search = new URLSearchParams(own);
    for (const [name, value] of Object.entries(query)) search.set(name, value);
    const url = base.replace(/\/$/, "") + route + (search.size > 0 ? `?${search}` : "");
    try {
      return await this.transport.fetch(url, { method, ...rest, headers: { ...this.transport.headers, ...(headers as Record<string, string>) } });
    } catch (e) {
      if (rest.signal?.aborted) throw e;
      throw new LockstepError(`${method} ${url}: the server could not be reached (${e instanceof Error ? e.message : String(e)})`);
    }
  }
}

function path(thread: string): string {
  // An URL cannot hold these two as a segment, whatever way they are spelled.
  if (thread === "." || thread === "..") throw new LockstepError(`a thread cannot be called ${JSON.stringify(thread)}`);
  return `/threads/${encodeURIComponent(thread)}`;
}
