/** What a benchmark does, as it is stored, with the bounds that it keeps to. */

import { quantityValue } from "../../domain/quantity.ts";
import { Failure } from "../failure.ts";

/** Resources that are asked for, as quantities; empty = not stated. */
export interface BenchmarkResources {
  readonly memoryRequest: string;
  readonly memoryLimit: string;
  readonly cpuRequest: string;
  readonly cpuLimit: string;
}

/** What a benchmark does. Rates are queries per second, shares from 0 to 1. */
export interface BenchmarkPlan {
  readonly outputs: readonly string[];
  /** Empty = none. */
  readonly queryName: string;
  /** Empty = the latest. */
  readonly queryNameVersion: string;
  /** Name of the uploaded file; empty = the values of the request. */
  readonly inputFile: string;
  readonly qps: number;
  readonly durationMs: number;
  readonly warmupQps: number;
  /** 0 = none. */
  readonly warmupMs: number;
  /** At least one. */
  readonly percentiles: readonly number[];
  readonly traceSampleRate: number;
  readonly dataSampleRate: number;
  /** Address that the queries are sent to; empty = this server. */
  readonly queryHost: string;
  readonly insecure: boolean;
  readonly image: string;
  readonly nodePool: string;
  readonly resources: BenchmarkResources;
  readonly warmupResources: BenchmarkResources;
}

/** Percentiles that are reported unless others are asked for. */
export const DEFAULT_PERCENTILES: readonly number[] = [50, 95, 99, 99.9];

/** Highest rate, in queries per second. */
const MAX_QPS = 10_000;
/** Longest phase. */
const MAX_PHASE_MS = 3_600_000;
const MAX_PERCENTILES = 10;
const MAX_NAMES = 1_000;
const MAX_TEXT = 1_000;
/** Least memory of a load generator: the runtime alone takes most of it. */
const LEAST_MEMORY = 256 * 1024 * 1024;
/** Least processors of a load generator: beneath, it would measure itself. */
const LEAST_CPUS = 0.1;
/** Most memory of a load generator, and what it has without a limit. */
export const MOST_MEMORY = 2 * 1024 * 1024 * 1024;

/** Throws Failure invalid_argument for a plan that cannot be run. */
export function checkPlan(plan: BenchmarkPlan): void {
  const refuse = (what: string, hint?: string): never => {
    throw new Failure("invalid_argument", what, hint === undefined ? {} : { hint });
  };
  const { outputs, queryName, queryNameVersion, qps, durationMs, warmupQps, warmupMs, percentiles, queryHost, insecure } = plan;
  if (outputs.length === 0 && queryName === "") refuse("A benchmark needs outputs, or a named query.");
  if (outputs.length > 0 && queryName !== "") refuse("Outputs and a named query do not go together.");
  if (queryNameVersion !== "" && queryName === "") refuse("The version of a named query needs its name.");
  if (outputs.length > MAX_NAMES) refuse(`A benchmark asks for at most ${MAX_NAMES} outputs.`);
  for (const [name, rate] of [
    ["rate", qps],
    ["rate of the warm-up", warmupQps],
  ] as const)
    if (!(rate > 0 && rate <= MAX_QPS)) refuse(`The ${name} is above 0 and at most ${MAX_QPS} queries per second.`);
  if (!(durationMs > 0 && durationMs <= MAX_PHASE_MS)) refuse("A benchmark takes more than 0 seconds, and at most an hour.");
  if (!(warmupMs >= 0 && warmupMs <= MAX_PHASE_MS)) refuse("A warm-up takes at most an hour.");
  if (qps * durationMs < 1_000)
    refuse("At that rate no query would be due after the first.", "Ask for a higher rate, or a longer benchmark.");
  if (percentiles.length > MAX_PERCENTILES || percentiles.some((percent) => !(percent > 0 && percent < 100)))
    refuse(`At most ${MAX_PERCENTILES} percentiles are reported, each above 0 and below 100.`);
  for (const share of [plan.traceSampleRate, plan.dataSampleRate])
    if (!(share >= 0 && share <= 1)) refuse("The share of queries that is sampled is from 0 to 1.");
  const texts = [...outputs, queryName, queryNameVersion, plan.inputFile, queryHost, plan.image, plan.nodePool];
  if (texts.some((text) => text.length > MAX_TEXT)) refuse(`No name of a benchmark has more than ${MAX_TEXT} characters.`);
  if (insecure && !/^https:/i.test(queryHost))
    refuse("Only the certificate of another address can go unverified.", "Name it: --query-host https://<host>.");
  for (const { cpuLimit, cpuRequest, memoryLimit, memoryRequest } of [plan.resources, plan.warmupResources])
    for (const text of [cpuLimit, cpuRequest, memoryLimit, memoryRequest])
      if (text !== "" && quantityValue(text) === undefined) refuse(`'${text.slice(0, 50)}' is no quantity such as 500m or 1Gi.`);
  if ((cpuLimitOf(plan) ?? LEAST_CPUS) < LEAST_CPUS) refuse("The limit of processors of a load generator is at least 100m.");
  const memory = memoryLimitOf(plan);
  if (memory < LEAST_MEMORY || memory > MOST_MEMORY) refuse("The limit of memory of a load generator is from 256Mi to 2Gi.");
}

/** Bytes of memory that the load generator may have. */
export function memoryLimitOf({ resources: { memoryLimit } }: Pick<BenchmarkPlan, "resources">): number {
  return memoryLimit === "" ? MOST_MEMORY : (quantityValue(memoryLimit) ?? 0);
}

/** Processors that the load generator may use; undefined = all. */
export function cpuLimitOf({ resources: { cpuLimit } }: Pick<BenchmarkPlan, "resources">): number | undefined {
  return cpuLimit === "" ? undefined : quantityValue(cpuLimit);
}

/** Whether a plan limits the load generator, which then runs in a container where it can. */
export function hasLimits({ resources: { cpuLimit, memoryLimit } }: Pick<BenchmarkPlan, "resources">): boolean {
  return cpuLimit !== "" || memoryLimit !== "";
}

/**
 * What a plan asks for and this server does not do, in sentences.
 * @param isContained whether a load generator with limits runs in a container
 */
export function warningsOf({ image, nodePool, resources, warmupResources }: BenchmarkPlan, isContained: boolean): string[] {
  const { cpuLimit, cpuRequest, memoryRequest } = resources;
  const why = "this server has no container engine, so the load generator is a process of its own";
  const because = (reason: string) => (what: string) => `${what} was recorded and does nothing: ${reason}.`;
  const recorded = because(isContained ? "the load generator is a program of this server, on its own machine" : why);
  return [
    ...(image === "" ? [] : [recorded(`The image ${image}`)]),
    ...(nodePool === "" ? [] : [recorded(`The node pool ${nodePool}`)]),
    ...(cpuLimit === "" || isContained ? [] : [recorded(`The limit of ${cpuLimit} processors`)]),
    ...(cpuRequest === "" ? [] : [recorded(`The request of ${cpuRequest} processors`)]),
    ...(memoryRequest === "" ? [] : [recorded(`The request of ${memoryRequest} of memory`)]),
    ...(Object.values(warmupResources).every((text) => text === "")
      ? []
      : ["The resources of the warm-up were recorded and do nothing: the process that measures also warms up."]),
  ];
}
