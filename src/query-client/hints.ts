/** Waiting for what changes on the server, in place of asking it again and again. */

import type { WatchTopic } from "../../gen/svc/v1/watch_pb.ts";
import type { Context } from "../context/context.ts";

/** Hints of changes, as long as the server gives them. */
export interface Hints {
  /**
   * Resolves with a hint, or after `pauseMs`; with a hint alone, or much later, where the server
   * gives them. Rejects when the command is interrupted.
   */
  next(pauseMs: number): Promise<void>;
  /** Ends the stream. */
  close(): void;
}

/** Milliseconds without a hint after which one looks all the same: hints may be lost. */
const UNHINTED_MS = 10_000;

/** Opens a stream of hints about the environment; without one, `next` is a pause. */
export function followHints(
  { api, clock, progress, signal }: Pick<Context, "api" | "clock" | "progress" | "signal">,
  topics: WatchTopic[],
): Hints {
  const closing = new AbortController();
  let isGiven = false;
  let isDue = false;
  let wake: () => void = () => undefined;

  const read = async (): Promise<void> => {
    const service = await api.watches();
    for await (const { topics: changed } of service.watch({ topics }, { signal: AbortSignal.any([signal, closing.signal]) })) {
      isGiven = true;
      isDue ||= changed.length > 0;
      if (isDue) wake();
    }
  };
  read()
    .catch((error: unknown) => {
      if (!closing.signal.aborted) progress.verbose(`the server gives no hints: ${error instanceof Error ? error.message : error}`);
    })
    .finally(() => {
      isGiven = false;
      wake();
    });

  return {
    async next(pauseMs) {
      if (!isDue) {
        const awake = new AbortController();
        wake = () => awake.abort();
        await clock.sleep(isGiven ? UNHINTED_MS : pauseMs, AbortSignal.any([awake.signal, signal])).catch(() => undefined);
        wake = () => undefined;
      }
      signal.throwIfAborted();
      isDue = false;
    },
    close: () => closing.abort(),
  };
}
