/** Benchmarks in words, as pages show them. */

import type {
  BenchmarkDifferenceJson,
  BenchmarkJson,
  BenchmarkPlanJson,
  BenchmarkResultJson,
} from "../../../../gen/svc/v1/benchmark_pb.ts";
import { formatDuration } from "../../../domain/duration.ts";
import type { Verdict } from "../../../domain/load/comparison.ts";
import { changeText, VERDICT_TEXT } from "../../../domain/load/difference-text.ts";
import type { Bucket } from "../../parts/histogram.tsx";
import type { Tone } from "../../parts/status.tsx";
import { durationMs } from "../define/feature-text.ts";
import { enumWord } from "./run-state.ts";

/** What the queries ask for. */
export function askedText({ outputs = [], queryName = "", queryNameVersion = "" }: BenchmarkPlanJson): string {
  return queryName === "" ? outputs.join(", ") : `${queryName} ${queryNameVersion}`.trim();
}

/** Where the inputs come from. */
export function inputsText({ inputRevisionId = "", inputs = [], plan: { inputFile = "" } = {} }: BenchmarkJson): string {
  return inputFile === "" ? inputs.join(", ") : `${inputFile} (${inputRevisionId})`;
}

/** A rate for a time; `none` without a time. */
export function loadText(qps: number | string | undefined, duration: string | undefined): string {
  const ms = durationMs(duration);
  return ms > 0 ? `${Number(qps ?? 0)} a second for ${formatDuration(ms)}` : "none";
}

/** A latency in milliseconds with two digits behind the point. */
export function msText(ms: number | string | undefined): string {
  return Number(ms ?? 0).toFixed(2);
}

/** A percentile of a result in milliseconds; `-` where it was not asked for or is not there. */
export function percentileText(result: BenchmarkResultJson | undefined, percent: number): string {
  const found = result?.percentiles?.find((one) => Number(one.percent ?? 0) === percent);
  return found ? msText(found.ms) : "-";
}

/** The latencies of a result as bars. */
export function latencyBars({ histogram = [] }: BenchmarkResultJson): readonly Bucket[] {
  return histogram.map(({ count = "0", fromMs = 0, toMs = 0 }) => ({ from: Number(fromMs), to: Number(toMs), count: Number(count) }));
}

/** Whether a benchmark can still change by itself. */
export function isOpen({ state }: BenchmarkJson): boolean {
  return state === "BENCHMARK_STATE_WAITING" || state === "BENCHMARK_STATE_RUNNING";
}

const TONES: Readonly<Record<Verdict, Tone>> = { faster: "good", slower: "bad", too_short: "warn", within_noise: "dim" };

/** A verdict in words, and what it means to its reader. */
export function verdictOf({ verdict }: BenchmarkDifferenceJson): { readonly tone: Tone; readonly text: string } {
  const name = enumWord(verdict, "BENCHMARK_VERDICT_").replaceAll(" ", "_") as Verdict;
  return { tone: TONES[name] ?? "dim", text: VERDICT_TEXT[name] ?? "" };
}

/** How far a change may be off; empty where that is not known. */
export function intervalText({ changeHigh, changeLow, verdict }: BenchmarkDifferenceJson): string {
  if (verdict === "BENCHMARK_VERDICT_TOO_SHORT") return "";
  return `${changeText(Number(changeLow ?? 0))} to ${changeText(Number(changeHigh ?? 0))}`;
}
