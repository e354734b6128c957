/** Benchmarks as tables and lines. */

import { type Benchmark, type BenchmarkPlan, BenchmarkState } from "../../../gen/svc/v1/benchmark_pb.ts";
import { formatDuration } from "../../domain/duration.ts";
import { latencyRows } from "../../domain/load/latency-rows.ts";
import { durationToMs } from "../../domain/proto-time.ts";
import { errorTable, histogramLines, latencyTable } from "../../output/load-figures.ts";
import type { FieldViews } from "../../output/message-view.ts";
import { age } from "../../output/time.ts";
import type { Style } from "../../output/view.ts";

/** The state of a benchmark in a word. */
export function benchmarkState({ state }: Pick<Benchmark, "state">): string {
  switch (state) {
    case BenchmarkState.WAITING:
      return "Waiting";
    case BenchmarkState.RUNNING:
      return "Running";
    case BenchmarkState.SUCCEEDED:
      return "Succeeded";
    case BenchmarkState.FAILED:
      return "Failed";
    case BenchmarkState.CANCELLED:
      return "Cancelled";
    default:
      return "";
  }
}

/** Whether a benchmark has ended. */
export function hasEnded({ state }: Pick<Benchmark, "state">): boolean {
  return state !== BenchmarkState.WAITING && state !== BenchmarkState.RUNNING;
}

/** What the queries ask for. */
function askedText(plan: BenchmarkPlan | undefined): string {
  if (!plan) return "";
  return plan.queryName === "" ? plan.outputs.join(", ") : `${plan.queryName} ${plan.queryNameVersion}`.trim();
}

function loadText(qps: number, duration: BenchmarkPlan["duration"]): string {
  return `${qps} a second for ${formatDuration(duration ? durationToMs(duration) : 0)}`;
}

function percentileText({ result }: Benchmark, percent: number): string {
  return result?.percentiles.find((one) => one.percent === percent)?.ms.toFixed(2) ?? "";
}

/** Columns of a list. */
export const BENCHMARK_COLUMNS: FieldViews<Benchmark> = {
  id: "ID",
  state: { header: "Status", cell: benchmarkState },
  plan: { header: "Queries", cell: ({ plan }) => askedText(plan), flexible: true },
  progress: { header: "QPS", align: "right", cell: ({ plan }) => String(plan?.qps ?? "") },
  result: { header: "p50 ms", align: "right", cell: (one) => percentileText(one, 50), dispensable: true },
  error: { header: "p99 ms", align: "right", cell: (one) => percentileText(one, 99) },
  createdAt: { header: "Created", cell: ({ createdAt }, style) => age(createdAt, style) },
};

/** All that people see of one, above its figures. */
export const BENCHMARK_FIELDS: FieldViews<Benchmark> = {
  id: "ID",
  state: { header: "Status", cell: benchmarkState },
  progress: { header: "Progress", ifAny: true },
  error: { header: "Error", ifAny: true },
  plan: { header: "Queries", cell: ({ plan }) => askedText(plan) },
  inputs: {
    header: "Inputs",
    cell: ({ plan, inputs, inputRevisionId }) => (plan?.inputFile ? `${plan.inputFile} (${inputRevisionId})` : inputs.join(", ")),
  },
  warnings: { header: "Load", cell: ({ plan }) => (plan ? loadText(plan.qps, plan.duration) : "") },
  deploymentId: "Deployment",
  branch: { header: "Branch", ifAny: true },
  createdAt: "Created",
  startedAt: "Started",
  endedAt: "Ended",
  resultFiles: { header: "Results", cell: ({ resultFiles }) => resultFiles.join(", "), ifAny: true },
  url: { header: "Page", ifAny: true },
};

/** The figures of a benchmark: its latencies, their histogram, errors, and what it used. */
export function figuresText({ result, plan, warnings }: Benchmark, style: Style): string {
  const noted = warnings.map((warning) => style.yellow(warning));
  if (!result) return noted.join("\n");
  const { answered, due, failed, unsent, elapsedSeconds, achievedQps, lateMs, histogram, errors } = result;
  const lines = [
    `${answered} of ${due} queries answered in ${elapsedSeconds.toFixed(1)} s: ${achievedQps} a second of ${plan?.qps ?? 0} asked for`,
    failed > 0n ? style.red(`${failed} failed`) : style.green("none failed"),
    ...(unsent > 0n ? [style.yellow(`${unsent} were due and never sent; they count with the time they waited`)] : []),
    ...noted,
    "",
    latencyTable(latencyRows(result), style),
    ...histogramLines(
      histogram.map(({ toMs, count }) => ({ toMs, count: Number(count) })),
      style,
    ),
    ...(failed > 0n
      ? [
          "",
          errorTable(
            errors.map(({ code, count }) => [code, Number(count)]),
            style,
          ),
        ]
      : []),
    "",
    style.dim(
      `Load generator: ${result.generatorCpuSeconds.toFixed(1)} s of processor time, ${Math.round(Number(result.generatorMemoryBytes) / 2 ** 20)} MiB, ` +
        `queries sent ${lateMs.toFixed(2)} ms late by it (p99). Server process: ${result.serverCpuSeconds.toFixed(1)} s.`,
    ),
  ];
  return lines.join("\n");
}
