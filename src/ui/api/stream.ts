/**
 * Calls of methods that answer with a stream: Connect's streaming protocol in JSON over `fetch`.
 */

import { type CallScope, type ConnectErrorJson, callError, callHeaders, unreachable } from "./call.ts";
import { createFrameReader, frameOf } from "./frames.ts";
import type { StreamMethod, StreamMethods } from "./methods.ts";

/**
 * Calls a method and hands over its messages as they come; ends when the stream does. Rejects with
 * CallError, also when the stream breaks off, and with an AbortError when `signal` ends it.
 */
export async function stream<M extends StreamMethod>(
  method: M,
  request: StreamMethods[M][0],
  scope: CallScope,
  onMessage: (message: StreamMethods[M][1]) => void,
  signal: AbortSignal,
): Promise<void> {
  try {
    const response = await fetch(`/svc.v1.${method}`, {
      method: "POST",
      headers: callHeaders("application/connect+json", scope),
      body: frameOf(JSON.stringify(request)),
      signal,
    });
    if (!response.ok || !response.body)
      throw callError(await response.json().catch(() => ({ message: `The server answered ${response.status}.` })));
    if (!(await readFrames(response.body, onMessage))) throw unreachable();
  } catch (error) {
    if (signal.aborted || !(error instanceof TypeError)) throw error;
    throw unreachable();
  }
}

/** Whether the stream came to its end. */
async function readFrames<T>(body: ReadableStream<Uint8Array>, onMessage: (message: T) => void): Promise<boolean> {
  const reader = body.getReader();
  const read = createFrameReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return false;
    for (const { isEnd, text } of read(value)) {
      const message = JSON.parse(text) as unknown;
      if (!isEnd) {
        onMessage(message as T);
        continue;
      }
      const { error } = message as { readonly error?: ConnectErrorJson };
      if (error) throw callError(error);
      return true;
    }
  }
}
