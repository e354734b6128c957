/** Answers that are streams of messages: server-sent events, a JSON document each. */

import type { Fields } from "../../../domain/mcp/json-rpc.ts";
import { SAFE_HEADERS } from "./respond.ts";

/** Milliseconds between two comments that keep the connection. */
const BEAT_MS = 15_000;
/** Most messages that wait for a reader who is slow; further ones that may be lost are. */
const MOST_WAITING = 64;
const COMMENT = new TextEncoder().encode(":\n\n");

/** The writing end of a stream. */
export interface EventSink {
  /** Aborted when the reader has gone. */
  readonly signal: AbortSignal;
  /** Sends a message, unless the reader is too slow for it. */
  readonly offer: (message: Fields) => void;
  /** Sends a message, however slow the reader is. */
  readonly send: (message: Fields) => void;
}

/**
 * A stream that ends when `write` has ended, which never rejects.
 * @param signal aborted when the reader has gone
 */
export function eventStream(signal: AbortSignal, write: (sink: EventSink) => Promise<void>): Response {
  const gone = new AbortController();
  const over = AbortSignal.any([signal, gone.signal]);
  let beating: ReturnType<typeof setInterval> | undefined;
  const body = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        let isOpen = true;
        const put = (bytes: Uint8Array): void => {
          if (isOpen && !over.aborted) controller.enqueue(bytes);
        };
        const send = (message: Fields): void => put(new TextEncoder().encode(`event: message\ndata: ${JSON.stringify(message)}\n\n`));
        const hasRoom = (): boolean => (controller.desiredSize ?? 0) > -MOST_WAITING;
        beating = setInterval(() => hasRoom() && put(COMMENT), BEAT_MS);
        put(COMMENT);
        const end = (): void => {
          isOpen = false;
          clearInterval(beating);
          if (!gone.signal.aborted) controller.close();
        };
        void write({ signal: over, send, offer: (message) => hasRoom() && send(message) }).then(end, end);
      },
      cancel() {
        clearInterval(beating);
        gone.abort();
      },
    },
    { highWaterMark: 1 },
  );
  return new Response(body, { headers: { ...SAFE_HEADERS, "content-type": "text/event-stream", "x-accel-buffering": "no" } });
}
