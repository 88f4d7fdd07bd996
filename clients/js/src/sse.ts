import type { BaseEvent } from "@ag-ui/client";
import { LockstepError } from "./errors.js";

/** One frame of a stream: an event, and the position that it stands for. */
export interface Frame {
  /** `EPOCH-SEQ`. Frames that were made for one viewer have none. */
  id?: string;
  event: BaseEvent;
}

/** As in the official client: a frame larger than this fails the stream. */
const maxFrame = 10 * 1024 * 1024;

/**
 * Reads the frames of a Server-Sent Events body. The official client's reader
 * does the same but forgets the ids, without which nobody can go on where a
 * connection broke. A frame that the body's end cuts off is dropped: it comes
 * again with the next connection.
 *
 * `idle` bounds the silence in milliseconds. The server sends a comment at least
 * every 15 s, so a longer silence is a connection that is dead without knowing.
 */
export async function* frames(body: ReadableStream<Uint8Array>, idle: number): AsyncGenerator<Frame, void, undefined> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let tail = "";
  try {
    for (;;) {
      const { done, value } = await within(reader.read(), idle);
      if (done) return;
      tail += decoder.decode(value, { stream: true });
      // Only what is new can hold the separator, so a large frame that comes in
      // many pieces is not searched again from its beginning.
      if (!tail.includes("\n\n", Math.max(0, tail.length - value.length - 1))) {
        if (tail.length > maxFrame) throw new LockstepError("a frame of the stream is larger than 10 MB");
        continue;
      }
      const parts = tail.split("\n\n");
      tail = parts.pop() ?? "";
      for (const part of parts) {
        const frame = parse(part);
        if (frame) yield frame;
      }
    }
  } finally {
    // Not awaited: a dead connection's cancel may never answer.
    reader.cancel().catch(() => undefined);
  }
}

function parse(text: string): Frame | undefined {
  let data: string | undefined;
  let id: string | undefined;
  for (const line of text.split("\n")) {
    if (line.startsWith("data:")) {
      const rest = line.slice(line.startsWith("data: ") ? 6 : 5);
      data = data === undefined ? rest : `${data}\n${rest}`;
    } else if (line.startsWith("id:")) {
      id = line.slice(3).trim();
    }
  }
  if (data === undefined) return undefined;
  const event: unknown = JSON.parse(data);
  if (typeof event !== "object" || event === null || typeof (event as BaseEvent).type !== "string") {
    throw new LockstepError("the stream has a frame that is no AG-UI event");
  }
  return id ? { id, event: event as BaseEvent } : { event: event as BaseEvent };
}

function within<T>(promise: Promise<T>, time: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new LockstepError(`nothing came for ${time / 1000} s`)), time);
    promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
