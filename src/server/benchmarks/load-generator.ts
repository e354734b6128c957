/**
 * The process that makes the load of a benchmark: queries over HTTP as callers send them, each with
 * the next row of the inputs. It is a child of the server, which asks it how far it is.
 */

import { readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { LatencyHistogram } from "../../domain/latency-histogram.ts";
import { windowsOf } from "../../domain/load/comparison.ts";
import { type LoadSample, runLoad, SYSTEM_LOAD_CLOCK } from "../../domain/load/open-loop.ts";
import { type ThrownError, thrownForm } from "../thread/rpc.ts";
import { serveProcess } from "../thread/serve-process.ts";
import type { BenchmarkPlan } from "./benchmark-plan.ts";
import { createPayloadFilter } from "./payload-filter.ts";
import type { BenchmarkMeasure, PayloadSample, SecondMeasure } from "./result-file.ts";

/** The verb of the process. */
export const GENERATOR_VERB = "__load";

/** Where the queries go. */
export interface LoadTarget {
  /** Full address of the query endpoint, with an IP address where it was checked. */
  readonly url: string;
  /** Headers of every query, with its credentials. */
  readonly headers: Readonly<Record<string, string>>;
  /** Name in the certificate; undefined = the host of the address. */
  readonly serverName?: string;
  /** Whether the certificate is verified. */
  readonly isVerified: boolean;
}

/** What a process is told when it is started. */
export interface LoadSettings
  extends Pick<BenchmarkPlan, "dataSampleRate" | "durationMs" | "percentiles" | "qps" | "traceSampleRate" | "warmupMs" | "warmupQps"> {
  readonly target: LoadTarget;
  /** File with the inputs of one query a line, each an object of JSON. */
  readonly inputs: string;
  /** Members of every query's body beside its inputs. */
  readonly body: Readonly<Record<string, unknown>>;
  /** Scalar features whose values may be kept. */
  readonly shown: readonly string[];
}

/** How far a process is. */
export interface LoadStatus {
  readonly phase: "starting" | "warming up" | "measuring";
  /** Queries of the phase that were answered, and those that failed. */
  readonly answered: number;
  readonly failed: number;
}

/** What a process serves. */
export interface LoadGenerator {
  /**
   * Sends the first query and makes sure that it is answered; then the load. Rejects with
   * FirstQueryFailed when it is not.
   */
  run(): Promise<BenchmarkMeasure>;
  status(): LoadStatus;
}

/** The first query was not answered: no other would be. */
export class FirstQueryFailed extends Error {
  override readonly name = "FirstQueryFailed";
}

/** Most queries under way. */
const CONCURRENCY = 256;
const QUERY_TIMEOUT_MS = 60_000;
/** Most queries whose requests and answers are kept, and most characters of an answer. */
const MAX_SAMPLES = 200;
const MAX_SAMPLE = 16 * 1024;
const MAX_REASON = 1_000;
const HISTOGRAM_BINS = 16;

/** Files of a generator that has no streams to its server: what it is told, and what it says. */
export const LOAD_FILES = { settings: "settings.json", status: "status.json", end: "end.json" } as const;

/** What such a generator says at its end. */
export type LoadEnd = { readonly measure: BenchmarkMeasure } | { readonly thrown: ThrownError };

/** Milliseconds between two words of such a generator. */
const STATUS_MS = 1_000;

/** Makes the load that the settings in a folder ask for, and says there how far it is. */
export async function makeLoadIn(folder: string): Promise<void> {
  const say = async (name: string, said: LoadStatus | LoadEnd): Promise<void> => {
    // Whoever reads it reads all of it.
    await writeFile(join(folder, `${name}.new`), JSON.stringify(said));
    await rename(join(folder, `${name}.new`), join(folder, name));
  };
  let timer: Timer | undefined;
  try {
    const generator = await createLoadGenerator(JSON.parse(await readFile(join(folder, LOAD_FILES.settings), "utf8")) as LoadSettings);
    timer = setInterval(() => void say(LOAD_FILES.status, generator.status()).catch(() => undefined), STATUS_MS);
    await say(LOAD_FILES.end, { measure: await generator.run() });
  } catch (error) {
    await say(LOAD_FILES.end, { thrown: thrownForm(error) });
  } finally {
    clearInterval(timer);
  }
}

/** Serves until the server closes stdin. */
export function serveLoadGenerator(): Promise<void> {
  return serveProcess<LoadGenerator, LoadSettings>(createLoadGenerator);
}

/** What came of a query. */
interface Outcome {
  /** Undefined when there was no error. */
  readonly code: string | undefined;
  readonly status: number;
  readonly text: string;
}

/** Makes the generator. */
export async function createLoadGenerator(settings: LoadSettings): Promise<LoadGenerator> {
  const { target, body, qps, durationMs, warmupQps, warmupMs, percentiles, traceSampleRate, dataSampleRate, shown } = settings;
  const rows = (await readFile(settings.inputs, "utf8")).split("\n").filter((line) => line !== "");
  const start = JSON.stringify(body).slice(0, -1);
  const traced = JSON.stringify({ ...body, trace: true }).slice(0, -1);
  const keep = createPayloadFilter(shown);
  const samples: PayloadSample[] = [];
  let next = 0;
  let status: LoadStatus = { phase: "starting", answered: 0, failed: 0 };

  const bodyOf = (row: string, isTraced: boolean): string => `${isTraced ? traced : start},"inputs":${row}}`;
  const ask = async (text: string): Promise<Outcome> => {
    try {
      const response = await fetch(target.url, {
        method: "POST",
        headers: target.headers,
        body: text,
        redirect: "manual",
        signal: AbortSignal.timeout(QUERY_TIMEOUT_MS),
        proxy: DIRECT,
        tls: { rejectUnauthorized: target.isVerified, ...(target.serverName !== undefined && { serverName: target.serverName }) },
      } as unknown as RequestInit);
      const answer = await response.text();
      return { status: response.status, text: answer, code: errorCode(response.status, answer) };
    } catch (error) {
      return { status: 0, text: "", code: faultOf(error) };
    }
  };
  /** Sends the query of the next row. */
  const send = (isMeasured: boolean) => async (): Promise<string | undefined> => {
    const row = rows[next++ % rows.length] as string;
    const outcome = await ask(bodyOf(row, traceSampleRate > 0 && Math.random() < traceSampleRate));
    if (isMeasured && samples.length < MAX_SAMPLES && Math.random() < dataSampleRate)
      samples.push({ status: outcome.status, inputs: keep.inputs(row), answer: keep.answer(outcome.text.slice(0, MAX_SAMPLE)) });
    return outcome.code;
  };
  const counting = (phase: LoadStatus["phase"], onSample: (sample: LoadSample) => void) => {
    status = { phase, answered: 0, failed: 0 };
    return (sample: LoadSample): void => {
      status = { phase, answered: status.answered + 1, failed: status.failed + (sample.error === undefined ? 0 : 1) };
      onSample(sample);
    };
  };
  const never = new AbortController().signal;
  const load = (rate: number, ms: number, isMeasured: boolean, onSample: (sample: LoadSample) => void) =>
    runLoad({ qps: rate, durationMs: ms, warmupMs: 0, concurrency: CONCURRENCY }, send(isMeasured), {
      ...{ clock: SYSTEM_LOAD_CLOCK, signal: never, onSample },
    });

  return {
    status: () => status,
    async run() {
      const first = await ask(bodyOf(rows[0] as string, false));
      if (first.status !== 200) throw new FirstQueryFailed(reasonOf(first));
      if (warmupMs > 0)
        await load(
          warmupQps,
          warmupMs,
          false,
          counting("warming up", () => undefined),
        );
      const seconds = Array.from({ length: Math.ceil(durationMs / 1000) }, () => ({ latencies: new LatencyHistogram(), failed: 0 }));
      const late = new LatencyHistogram();
      const cpu = process.cpuUsage();
      next = 0;
      const result = await load(
        qps,
        durationMs,
        true,
        counting("measuring", ({ dueMs, latencyMs, lateMs, error }) => {
          late.record(lateMs * 1000);
          const second = seconds[Math.min(Math.floor(dueMs / 1000), seconds.length - 1)];
          second?.latencies.record(latencyMs * 1000);
          if (second && error !== undefined) second.failed++;
        }),
      );
      const used = process.cpuUsage(cpu);
      const { latencies, errors, due, answered, unsent, elapsedMs } = result;
      const whole = seconds.slice(0, Math.floor(durationMs / 1000));
      return {
        ...{ due, answered, unsent, elapsedMs },
        failed: [...errors.values()].reduce((sum, count) => sum + count, 0),
        minMs: latencies.min / 1000,
        meanMs: latencies.mean / 1000,
        maxMs: latencies.max / 1000,
        percentiles: percentiles.map((percent) => ({ percent, ms: latencies.percentile(percent) / 1000 })),
        histogram: latencies.bins(HISTOGRAM_BINS).map(({ from, to, count }) => ({ fromMs: from / 1000, toMs: to / 1000, count })),
        errors: [...errors].map(([code, count]) => ({ code, count })).sort((a, b) => b.count - a.count),
        lateMs: late.percentile(99) / 1000,
        generatorCpuMs: (used.user + used.system) / 1000,
        generatorMemoryBytes: process.resourceUsage().maxRSS * 1024,
        seconds: seconds.map(({ latencies: of, failed }, at) => secondOf(at, of, failed)),
        windows: percentiles.map((percent) =>
          windowsOf(
            percent,
            qps,
            whole.map((one) => one.latencies),
          ),
        ),
        samples,
      };
    },
  };
}

/** Keeps Bun from choosing a proxy of the environment; its types do not know that `false` does. */
const DIRECT = false;

function secondOf(second: number, latencies: LatencyHistogram, failed: number): SecondMeasure {
  const ms = (percent: number): number => latencies.percentile(percent) / 1000;
  return { second, answered: latencies.count, failed, p50Ms: ms(50), p95Ms: ms(95), p99Ms: ms(99), maxMs: latencies.max / 1000 };
}

/** The code of an answer's first error; undefined when there is none. */
function errorCode(status: number, text: string): string | undefined {
  if (status === 200 && !text.includes('"errors":[{')) return undefined;
  const [error] = errorsOf(text);
  if (error === undefined) return status === 200 ? undefined : `HTTP ${status}`;
  return typeof error.code === "string" ? error.code.slice(0, 100) : `HTTP ${status}`;
}

function errorsOf(text: string): readonly { readonly code?: unknown; readonly message?: unknown }[] {
  try {
    const { errors } = JSON.parse(text) as { readonly errors?: unknown };
    return Array.isArray(errors) ? errors.filter((error) => typeof error === "object" && error !== null) : [];
  } catch {
    return [];
  }
}

/** Why the first query was not answered. */
function reasonOf({ status, text, code }: Outcome): string {
  const messages = errorsOf(text).flatMap(({ message }) => (typeof message === "string" ? [message] : []));
  if (messages.length > 0) return messages.join("; ").slice(0, MAX_REASON);
  return status === 0 ? `no answer came (${code})` : `the answer was HTTP ${status}, and no answer of a query`;
}

function faultOf(error: unknown): string {
  if (!(error instanceof Error)) return "unreachable";
  if (error.name === "TimeoutError") return "timeout";
  return "code" in error && typeof error.code === "string" ? error.code : "unreachable";
}
