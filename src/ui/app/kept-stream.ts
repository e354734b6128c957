/**
 * A stream that is kept open while the tab is in sight: it is opened again after a pause that grows
 * when it breaks off or falls silent, and closed once the tab has been hidden for a while.
 */

import { CallError, type CallScope } from "../api/call.ts";
import type { StreamMethod, StreamMethods } from "../api/methods.ts";
import { stream } from "../api/stream.ts";
import { isCutOff } from "./cut-off.ts";

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 30_000;
/** Milliseconds of silence after which a stream is taken for dead: servers break it every 15 s. */
const SILENCE_MS = 40_000;
/** Milliseconds that a hidden tab keeps its stream: people look at another one and come back. */
const HIDDEN_MS = 5_000;

/** What is kept open, and who is told. */
export interface KeptStream<M extends StreamMethod> {
  readonly method: M;
  /** Called for every opening, so that a stream goes on where it was. */
  readonly request: () => StreamMethods[M][0];
  readonly scope: CallScope;
  readonly onMessage: (message: StreamMethods[M][1]) => void;
  /** The stream came to its end, or failed in a way that opening it again does not mend. */
  readonly onEnd: (error?: CallError) => void;
  /** It broke off and is opened again after a pause. */
  readonly onBreak?: () => void;
}

/** Opens a stream, and returns the way to close it. */
export function keepOpen<M extends StreamMethod>({ method, request, scope, onMessage, onEnd, onBreak }: KeptStream<M>): () => void {
  let running: AbortController | undefined;
  let opening = 0;
  let hiding = 0;
  let silence = 0;
  let pause = FIRST_PAUSE_MS;
  const close = () => {
    document.removeEventListener("visibilitychange", onSight);
    clearTimeout(hiding);
    rest();
    isCutOff.value = false;
  };
  /** Ends what is open or to be opened. */
  const rest = () => {
    clearTimeout(opening);
    clearTimeout(silence);
    running?.abort();
    running = undefined;
  };
  const again = (from: number) => {
    rest();
    isCutOff.value = true;
    opening = window.setTimeout(open, from * (0.75 + Math.random() / 2));
    pause = Math.min(from * 2, LONGEST_PAUSE_MS);
    onBreak?.();
  };
  const open = () => {
    if (document.hidden || running) return;
    const own = new AbortController();
    running = own;
    const listen = () => {
      clearTimeout(silence);
      silence = window.setTimeout(() => again(FIRST_PAUSE_MS), SILENCE_MS);
    };
    listen();
    const hear = (message: StreamMethods[M][1]) => {
      if (own.signal.aborted) return;
      listen();
      pause = FIRST_PAUSE_MS;
      isCutOff.value = false;
      onMessage(message);
    };
    stream(method, request(), scope, hear, own.signal).then(
      () => {
        if (own.signal.aborted) return;
        close();
        onEnd();
      },
      (error: unknown) => {
        if (own.signal.aborted) return;
        const code = error instanceof CallError ? error.code : "unreachable";
        if (code === "resource_exhausted") return again(LONGEST_PAUSE_MS);
        if (code === "unreachable" || code === "unavailable" || code === "aborted") return again(pause);
        close();
        onEnd(error as CallError);
      },
    );
  };
  const onSight = () => {
    clearTimeout(hiding);
    if (document.hidden) hiding = window.setTimeout(rest, HIDDEN_MS);
    else if (!running) {
      rest();
      open();
    }
  };
  document.addEventListener("visibilitychange", onSight);
  open();
  return close;
}
