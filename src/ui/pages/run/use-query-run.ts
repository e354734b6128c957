import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { QueryRequestJson, QueryResponseJson } from "../../../../gen/svc/v1/query_pb.ts";
import { CallError, type CallScope, call } from "../../api/call.ts";
import { durationText } from "../../parts/duration.tsx";
import { durationMs } from "../define/feature-text.ts";

/** A query that is run on request, and its last answer. */
export interface QueryRun {
  readonly answer: QueryResponseJson | undefined;
  readonly error: CallError | undefined;
  readonly isRunning: boolean;
  /** What the last run came to, for screen readers. */
  readonly said: string;
  readonly start: (request: QueryRequestJson, scope: CallScope) => Promise<void>;
  readonly cancel: () => void;
}

/** Runs queries, one at a time: a new one ends the one before, and so does leaving the page. */
export function useQueryRun(): QueryRun {
  const answer = useSignal<QueryResponseJson | undefined>(undefined);
  const error = useSignal<CallError | undefined>(undefined);
  const running = useSignal<AbortController | undefined>(undefined);
  const latest = useRef<AbortController | undefined>(undefined);
  const cancel = () => {
    latest.current?.abort();
    latest.current = undefined;
    running.value = undefined;
  };
  useEffect(() => cancel, []);
  const start = async (request: QueryRequestJson, scope: CallScope) => {
    cancel();
    const own = new AbortController();
    latest.current = own;
    running.value = own;
    error.value = undefined;
    try {
      const response = await call("QueryService/Query", request, scope, own.signal);
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
    said: answer.value ? summaryText(answer.value) : "",
    start,
    cancel,
  };
}

/** What an answer came to in a sentence. */
export function summaryText({ data = [], meta }: QueryResponseJson): string {
  const failed = data.filter(({ error }) => error).length;
  const hits = data.filter((result) => result.meta?.cacheHit).length;
  const count = data.length === 1 ? "1 feature" : `${data.length} features`;
  return `${count} in ${durationText(durationMs(meta?.executionDuration))}, ${hits} stored, ${failed} failed`;
}
