/**
 * What keeps pages at the present: while the tab is in sight, what it shows is asked for again at
 * intervals, and one stream at most is open. Browsers keep six connections to a host for all tabs,
 * so a hidden tab has none.
 */

import { useEffect } from "preact/hooks";
import { CallError, type CallScope } from "../api/call.ts";
import type { StreamMethod, StreamMethods } from "../api/methods.ts";
import { stream } from "../api/stream.ts";

/** Milliseconds between two looks at what changes. */
const POLL_MS = 5_000;
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 30_000;

/** Calls `look` at intervals while the tab is in sight, and at once when it comes into sight. */
export function useLive(look: () => void, isOn = true): void {
  useEffect(() => {
    if (!isOn) return;
    const ifSeen = () => {
      if (!document.hidden) look();
    };
    const timer = setInterval(ifSeen, POLL_MS * (0.9 + Math.random() / 5));
    document.addEventListener("visibilitychange", ifSeen);
    return () => {
      clearInterval(timer);
      document.removeEventListener("visibilitychange", ifSeen);
    };
  }, [isOn, look]);
}

/** The end of the tab's stream of now. */
let endOpen: (() => void) | undefined;

/**
 * Follows a stream until it ends by itself: it is closed while the tab is hidden, and opened again
 * after a pause that grows when it breaks off. Opening one closes the one before. Returns the way
 * to end it.
 */
export function follow<M extends StreamMethod>(
  method: M,
  request: StreamMethods[M][0],
  scope: CallScope,
  onMessage: (message: StreamMethods[M][1]) => void,
  onEnd: (error?: CallError) => void,
): () => void {
  endOpen?.();
  let running: AbortController | undefined;
  let timer = 0;
  let pause = FIRST_PAUSE_MS;
  let isOver = false;
  const end = (error?: CallError) => {
    if (isOver) return;
    close();
    onEnd(error);
  };
  const open = () => {
    if (isOver || document.hidden || running) return;
    const own = new AbortController();
    running = own;
    const hear = (message: StreamMethods[M][1]) => {
      pause = FIRST_PAUSE_MS;
      onMessage(message);
    };
    stream(method, request, scope, hear, own.signal).then(
      () => end(),
      (error: unknown) => {
        if (own.signal.aborted) return;
        running = undefined;
        if (error instanceof CallError && error.code !== "unreachable") return end(error);
        timer = window.setTimeout(open, pause * (0.75 + Math.random() / 2));
        pause = Math.min(pause * 2, LONGEST_PAUSE_MS);
      },
    );
  };
  const onSight = () => {
    clearTimeout(timer);
    running?.abort();
    running = undefined;
    open();
  };
  const close = () => {
    isOver = true;
    clearTimeout(timer);
    running?.abort();
    document.removeEventListener("visibilitychange", onSight);
    if (endOpen === close) endOpen = undefined;
  };
  document.addEventListener("visibilitychange", onSight);
  endOpen = close;
  open();
  return close;
}
