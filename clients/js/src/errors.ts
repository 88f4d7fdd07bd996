/** One thing that is wrong with a request, in the server's words. */
export interface Problem {
  /** A JSON Pointer into what was sent, or the name of a header or a route. */
  path?: string;
  /** What would be right. */
  message: string;
}

/**
 * A request that the server refused, or a connection that is gone for good.
 * `status` and `payload` have the names that the official client gives its own
 * errors, so code that reads those reads these too.
 */
export class LockstepError extends Error {
  override readonly name = "LockstepError";
  /** The HTTP status; 0 where there was no answer. */
  readonly status: number;
  readonly problems: readonly Problem[];
  readonly payload: unknown;
  /** With 409: the label of the run that has the thread. */
  readonly runId: string | undefined;

  constructor(message: string, status = 0, payload?: unknown) {
    super(message);
    this.status = status;
    this.payload = payload;
    this.problems = problemsOf(payload);
    const runId = member(payload, "runId");
    this.runId = typeof runId === "string" ? runId : undefined;
  }

  /** Reports whether the same request may succeed later without a change. */
  get passing(): boolean {
    return this.status === 0 || this.status === 408 || this.status === 429 || this.status >= 500;
  }
}

/** Reads the error out of a response that is not 2xx. */
export async function refusal(response: Response): Promise<LockstepError> {
  const payload = await bodyOf(response);
  const said = problemsOf(payload).map((p) => (p.path ? `${p.path}: ${p.message}` : p.message));
  const text = said.length > 0 ? said.join("; ") : typeof payload === "string" && payload !== "" ? payload : response.statusText;
  return new LockstepError(`HTTP ${response.status}: ${text}`, response.status, payload);
}

/** Reads a body: JSON where it says so and is, else text. */
export async function bodyOf(response: Response): Promise<unknown> {
  const text = await response.text();
  if (!(response.headers.get("content-type") ?? "").includes("json")) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** The `errors` of an answer; empty where it has none. */
export function problemsOf(payload: unknown): Problem[] {
  const errors = member(payload, "errors");
  if (!Array.isArray(errors)) return [];
  return errors.filter((e): e is Problem => typeof member(e, "message") === "string");
}

/** A member of a value that may be anything. */
export function member(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}

/** Reports whether an error only says that somebody ended the request. */
export function isAbort(error: unknown): boolean {
  return member(error, "name") === "AbortError";
}
