/** The sinks of a deployment, with what is recorded of them. */

import { ErrorCode } from "../../../gen/svc/v1/error_pb.ts";
import type { SinkResolver } from "../../../gen/svc/v1/graph_pb.ts";
import type { Clock } from "../../context/clock.ts";
import { durationToMs } from "../../domain/proto-time.ts";
import { formatMicros } from "../../domain/timestamp.ts";
import { newId } from "../identifier.ts";
import type { Log } from "../log.ts";
import type { MetricRecorder } from "../metrics/recorder.ts";
import type { PythonPool } from "../python/pool.ts";
import type { JobErrorRecorder } from "../stores/telemetry/store.ts";
import { BufferedSink, type DropReason, type SinkObserver } from "./buffered-sink.ts";
import type { RowSinks } from "./row-sinks.ts";

const DEFAULT_TIMEOUT_MS = 10_000;
/** Most characters of an error that are kept. */
const MAX_ERROR = 2_000;
/** Milliseconds between two errors about rows that a full buffer did not take. */
const TELL_EVERY_MS = 60_000;

const WHY: Readonly<Record<DropReason, string>> = {
  full: "more wait than fit: the sink is slower than its rows come",
  failed: "the sink failed for them again and again",
  stopped: "the deployment stopped before they were handed over",
};

/** What the sinks of a deployment need. */
export interface RowSinksOptions {
  readonly deployment: { readonly id: string; readonly environmentId: string; readonly branch: string; readonly tag: string };
  /** Those that exist in the environment. */
  readonly sinks: readonly SinkResolver[];
  readonly pool: Pick<PythonPool, "call">;
  readonly metrics: MetricRecorder;
  /** Absent = errors are not kept. */
  readonly recordError?: JobErrorRecorder | undefined;
  readonly clock: Clock;
  readonly log: Log;
}

/** Makes them; undefined when there are none. */
export function createRowSinks(options: RowSinksOptions): RowSinks | undefined {
  if (options.sinks.length === 0) return undefined;
  const sinks = options.sinks.map((sink) => ({ namespace: sink.columns[0]?.split(".", 1)[0] ?? "", buffer: bufferOf(sink, options) }));
  const byNamespace = Map.groupBy(sinks, ({ namespace }) => namespace);
  const known = new Map([...byNamespace].map(([namespace, own]) => [namespace, own.map(({ buffer }) => buffer)]));
  return {
    of: (namespace) => known.get(namespace) ?? [],
    async drain() {
      await Promise.all(sinks.map(({ buffer }) => buffer.drain()));
    },
  };
}

function bufferOf(sink: SinkResolver, options: RowSinksOptions): BufferedSink {
  const { fqn, parameter, columns, tags, bufferSize, timeout } = sink;
  return new BufferedSink({
    ...{ fqn, parameter, columns, tags, bufferSize, pool: options.pool, observer: observerOf(fqn, options) },
    debounceMs: sink.debounce ? durationToMs(sink.debounce) : 0,
    maxDelayMs: sink.maxDelay ? durationToMs(sink.maxDelay) : 0,
    timeoutMs: timeout ? durationToMs(timeout) : DEFAULT_TIMEOUT_MS,
    callContext() {
      const now = options.clock.now();
      const id = newId("req", now);
      return {
        now: [formatMicros(BigInt(Math.round(now)) * 1000n)],
        context: { queryId: id, traceId: "", tags: [], queryContext: {} },
        origin: { operation: "", queryName: "", correlationId: "" },
      };
    },
  });
}

function observerOf(fqn: string, { clock, deployment, log, metrics, recordError }: RowSinksOptions): SinkObserver {
  const { id: deploymentId, environmentId, branch, tag } = deployment;
  const labels = { resolver: fqn, deployment: tag || deploymentId, branch, operation: "sink" } as const;
  const own = { sink: fqn, deployment: labels.deployment, branch };
  const calls = metrics.counter("resolver.count", environmentId, labels);
  const latency = metrics.histogram("resolver.latency", environmentId, labels);
  const rowsTaken = metrics.counter("sink.rows", environmentId, own);
  let toldAt = Number.NEGATIVE_INFINITY;
  let untold = 0;
  const record = (operationId: string, message: string, failedRows: number): void =>
    recordError?.({
      ...{
        environmentId,
        deploymentId,
        branch,
        operationId,
        operationKind: "sink",
        queryName: "",
        resolver: fqn,
      },
      ...{ message: message.slice(0, MAX_ERROR), failedRows },
    });
  return {
    called({ id, rows, ms, error }) {
      calls.add();
      latency.observe(ms / 1000);
      if (!error) return rowsTaken.add(rows);
      metrics.counter("resolver.errors", environmentId, { ...labels, code: ErrorCode[error.code] ?? "" }).add();
      record(id, error.message, rows);
    },
    dropped(rows, reason) {
      metrics.counter("sink.dropped", environmentId, { ...own, reason }).add(rows);
      untold += rows;
      const now = performance.now();
      if (reason === "full" && now - toldAt < TELL_EVERY_MS) return;
      toldAt = now;
      record(newId("req", clock.now()), `${untold} ${untold === 1 ? "row was" : "rows were"} dropped: ${WHY[reason]}`, untold);
      log.warning("rows of a sink were dropped", { sink: fqn, deployment: deploymentId, rows: untold, reason });
      untold = 0;
    },
  };
}
