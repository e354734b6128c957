import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { QueryResponseJson } from "../../../../gen/svc/v1/query_pb.ts";
import { CallError } from "../../api/call.ts";
import { durationText } from "../../parts/duration.tsx";
import { durationMs } from "../define/feature-text.ts";

/** A query that is run on request, and its last answer. */
export interface QueryRun<Answer> {
  readonly answer: Answer | undefined;
  readonly error: CallError | undefined;
  readonly isRunning: boolean;
  readonly start: (ask: (signal: AbortSignal) => Promise<Answer>) => Promise<void>;
  readonly cancel: () => void;
  /** Forgets the answer. */
  readonly clear: () => void;
}

/** Runs queries, one at a time: a new one ends the one before, and so does leaving the page. */
export function useQueryRun<Answer = QueryResponseJson>(): QueryRun<Answer> {
  const answer = useSignal<Answer | undefined>(undefined);
  const error = useSignal<CallError | undefined>(undefined);
  const running = useSignal<AbortController | undefined>(undefined);
  const latest = useRef<AbortController | undefined>(undefined);
  const cancel = () => {
    latest.current?.abort();
    latest.current = undefined;
    running.value = undefined;
  };
  useEffect(() => cancel, []);
  const start = async (ask: (signal: AbortSignal) => Promise<Answer>) => {
    cancel();
    const own = new AbortController();
    latest.current = own;
    running.value = own;
    error.value = undefined;
    try {
      const response = await ask(own.signal);
      if (latest.current === own) answer.value = response;
    } catch (thrown) {
      if (latest.current !== own) return;
      answer.value = undefined;
      error.value = thrown instanceof CallError ? thrown : new CallError("unknown", String(thrown));
    } finally {
      if (latest.current === own) cancel();
    }
  };
  return {
    answer: answer.value,
    error: error.value,
    isRunning: running.value !== undefined,
    start,
    cancel,
    clear() {
      cancel();
      answer.value = undefined;
      error.value = undefined;
    },
  };
}

/** What an answer came to in a sentence. */
export function summaryText({ data = [], meta }: QueryResponseJson): string {
  const failed = data.filter(({ error }) => error).length;
  const hits = data.filter((result) => result.meta?.cacheHit).length;
  const count = data.length === 1 ? "1 feature" : `${data.length} features`;
  return `${count} in ${durationText(durationMs(meta?.executionDuration))}, ${hits} stored, ${failed} failed`;
}
