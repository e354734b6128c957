/** The load test of `svc query --benchmark`, and its report. */

import type { Context } from "../context/context.ts";
import { formatDuration } from "../domain/duration.ts";
import { errorText } from "../domain/error-text.ts";
import { type LoadPlan, type LoadResult, type LoadSample, runLoad, SYSTEM_LOAD_CLOCK } from "../domain/load/open-loop.ts";
import { jsonDocument } from "../output/json.ts";
import { HISTOGRAM_LINES } from "../output/load-figures.ts";

/** Rate without `--qps`, in queries per second. */
export const DEFAULT_QPS = 10;
/** Duration without `--duration`. */
export const DEFAULT_DURATION_MS = 10_000;
/** Warm-up without `--warmup-duration`. */
export const DEFAULT_WARMUP_MS = 2_000;
/** Most queries in progress at once. */
const CONCURRENCY = 256;

/** Percentiles of a report. */
export const PERCENTILES = [50, 75, 90, 95, 99, 99.9] as const;
/** Milliseconds between two progress reports. */
const UPDATE_EVERY_MS = 500;

/** The flags of a load test. */
export interface BenchmarkFlags {
  readonly qps: number | undefined;
  readonly duration: number | undefined;
  readonly warmupDuration: number | undefined;
  readonly benchmarkOutput: string | undefined;
}

/** The result of a load test. */
export interface BenchmarkReport {
  readonly kind: "benchmark";
  readonly plan: LoadPlan;
  readonly result: LoadResult;
  /** The report file that was asked for, and the failure if it could not be written. */
  readonly saved?: { readonly path: string; readonly failure?: string };
}

/**
 * Runs the load test and writes the report's file. `send` resolves with the code of the query's
 * error, or undefined.
 */
export async function runBenchmark(
  context: Context,
  flags: BenchmarkFlags,
  send: () => Promise<string | undefined>,
  onSample: (sample: LoadSample) => void,
): Promise<BenchmarkReport> {
  const plan: LoadPlan = {
    qps: flags.qps ?? DEFAULT_QPS,
    durationMs: flags.duration ?? DEFAULT_DURATION_MS,
    warmupMs: flags.warmupDuration ?? DEFAULT_WARMUP_MS,
    concurrency: CONCURRENCY,
  };
  const label = `Asking ${plan.qps} queries a second for ${formatDuration(plan.durationMs)}`;
  const result = await context.progress.step(label, async (say) => {
    let answered = 0;
    let failed = 0;
    let updated = 0;
    return runLoad(plan, send, {
      clock: SYSTEM_LOAD_CLOCK,
      signal: context.signal,
      onSample(sample) {
        onSample(sample);
        if (sample.measured) answered++;
        if (sample.error !== undefined) failed++;
        if (performance.now() - updated < UPDATE_EVERY_MS) return;
        updated = performance.now();
        say(`${sample.measured ? `${answered} answered` : "warming up"}${failed > 0 ? `, ${failed} failed` : ""}`);
      },
    });
  });
  const report: BenchmarkReport = { kind: "benchmark", plan, result };
  if (flags.benchmarkOutput === undefined) return report;
  return { ...report, saved: await save(context, flags.benchmarkOutput, report) };
}

async function save({ machine, progress }: Context, path: string, report: BenchmarkReport): Promise<BenchmarkReport["saved"]> {
  try {
    await machine.writeFile(path, `${jsonDocument(benchmarkJson(report))}\n`);
    return { path };
  } catch (error) {
    const failure = errorText(error);
    progress.warn(`the results were not written to ${path}: ${failure}`);
    return { path, failure };
  }
}

/** 1 when a query failed or was never sent, or the file could not be written. */
export function benchmarkExitCode({ result, saved }: BenchmarkReport): number {
  return result.errors.size > 0 || (result.unsent > 0 && !result.interrupted) || saved?.failure !== undefined ? 1 : 0;
}

/** The report as JSON; times in milliseconds where the key ends so, else in seconds. */
export function benchmarkJson({ plan, result }: BenchmarkReport): Record<string, unknown> {
  const { latencies } = result;
  const percentiles = PERCENTILES.map((percent) => [`p${String(percent).replace(".", "_")}`, toMs(latencies.percentile(percent))]);
  return {
    qps: plan.qps,
    duration_s: plan.durationMs / 1000,
    warmup_duration_s: plan.warmupMs / 1000,
    concurrency: plan.concurrency,
    interrupted: result.interrupted,
    elapsed_s: Math.round(result.elapsedMs * 1000) / 1e6,
    queries: result.due,
    answered: result.answered,
    unsent: result.unsent,
    failed: sumOf(result.errors),
    errors: Object.fromEntries(result.errors),
    achieved_qps: achievedQps(result),
    latency_ms: {
      min: toMs(latencies.min),
      mean: toMs(latencies.mean),
      ...Object.fromEntries(percentiles),
      max: toMs(latencies.max),
    },
    histogram: latencies.bins(HISTOGRAM_LINES).map(({ from, to, count }) => ({ from_ms: toMs(from), to_ms: toMs(to), count })),
  };
}

/** Queries answered per second, rounded to hundredths. */
export function achievedQps({ answered, elapsedMs }: LoadResult): number {
  return elapsedMs > 0 ? Math.round((answered / elapsedMs) * 100_000) / 100 : 0;
}

/** The total of all codes. */
export function sumOf(counts: ReadonlyMap<string, number>): number {
  return [...counts.values()].reduce((sum, count) => sum + count, 0);
}

function toMs(micros: number): number {
  return Math.round(micros) / 1000;
}
