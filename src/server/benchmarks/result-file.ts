/** The results of a benchmark, and their file of JSON. */

import type { WindowedPercentile } from "../../domain/load/comparison.ts";
import type { BenchmarkPlan } from "./benchmark-plan.ts";

/** What a benchmark measured, without its warm-up; latencies count from when a query was due. */
export interface BenchmarkFigures {
  /** Queries that were due, that were answered, that were never sent, and that failed. */
  readonly due: number;
  readonly answered: number;
  readonly unsent: number;
  readonly failed: number;
  readonly elapsedMs: number;
  readonly minMs: number;
  readonly meanMs: number;
  readonly maxMs: number;
  readonly percentiles: readonly { readonly percent: number; readonly ms: number }[];
  readonly histogram: readonly { readonly fromMs: number; readonly toMs: number; readonly count: number }[];
  /** The most frequent first. */
  readonly errors: readonly { readonly code: string; readonly count: number }[];
  /** How late the generator itself sent queries: the 99th percentile. */
  readonly lateMs: number;
  readonly generatorCpuMs: number;
  readonly generatorMemoryBytes: number;
}

/** The queries that were due in one second. */
export interface SecondMeasure {
  /** From 0. */
  readonly second: number;
  readonly answered: number;
  readonly failed: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

/** A query with its answer, as far as they are kept. */
export interface PayloadSample {
  /** Status of the answer; 0 = there was none. */
  readonly status: number;
  readonly inputs: Readonly<Record<string, unknown>>;
  readonly answer: { readonly fields: Readonly<Record<string, unknown>>; readonly errors: readonly string[] };
}

/** What a load generator measured. */
export interface BenchmarkMeasure extends BenchmarkFigures {
  readonly seconds: readonly SecondMeasure[];
  /** Of each percentile, for comparisons. */
  readonly windows: readonly WindowedPercentile[];
  readonly samples: readonly PayloadSample[];
}

/** Facts about a run that results tell beside what was measured. */
export interface BenchmarkFacts {
  readonly id: string;
  readonly plan: BenchmarkPlan;
  readonly environment: string;
  readonly branch: string;
  readonly deploymentId: string;
  readonly inputRevisionId: string;
  readonly warnings: readonly string[];
  /** Epoch milliseconds. */
  readonly startedAt: number;
  readonly endedAt: number;
  readonly serverCpuMs: number;
  readonly version: string;
}

/** The file of a benchmark's results: keys in snake case, times with their unit. */
export function resultText(facts: BenchmarkFacts, measure: BenchmarkMeasure): string {
  const { startedAt, endedAt, ...rest } = facts;
  const times = { startedAt: new Date(startedAt).toISOString(), endedAt: new Date(endedAt).toISOString() };
  return `${JSON.stringify(snakeKeys({ format: FORMAT, ...rest, ...times, ...measure }), null, 1)}\n`;
}

const FORMAT = 1;

/** The windows in a file of results. Throws when it is none of this version. */
export function readWindows(text: string): readonly WindowedPercentile[] {
  const { format, windows } = JSON.parse(text) as { readonly format?: unknown; readonly windows?: unknown };
  if (format !== FORMAT || !Array.isArray(windows)) throw new Error("the file has no results of a benchmark of this version");
  return windows.map((window: { percent: number; window_s: number; values_ms: number[] }) => ({
    percent: window.percent,
    windowS: window.window_s,
    valuesMs: window.values_ms,
  }));
}

/** Keys of features and errors are data, and stay. */
const DATA = new Set(["inputs", "fields"]);

function snakeKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(snakeKeys);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, of]) => [
      key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      DATA.has(key) ? of : snakeKeys(of),
    ]),
  );
}
