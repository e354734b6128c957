/** BenchmarkService: load on the query endpoint by a process of its own. */

import { create, type MessageInitShape } from "@bufbuild/protobuf";
import type { ConnectRouter, HandlerContext } from "@connectrpc/connect";
import {
  type Benchmark as BenchmarkMessage,
  type BenchmarkPlan as BenchmarkPlanMessage,
  type BenchmarkResources as BenchmarkResourcesMessage,
  type BenchmarkResultSchema,
  BenchmarkSchema,
  BenchmarkService,
  BenchmarkState,
  BenchmarkVerdict,
  CancelBenchmarkResponseSchema,
  CompareBenchmarksResponseSchema,
  GetBenchmarkResponseSchema,
  ListBenchmarksResponseSchema,
  RunBenchmarkResponseSchema,
} from "../../../../gen/svc/v1/benchmark_pb.ts";
import type { Verdict } from "../../../domain/load/comparison.ts";
import { durationToMs, msToDuration, msToTimestamp } from "../../../domain/proto-time.ts";
import { type DeploymentTarget, resolveScope } from "../../access/scope.ts";
import type { Caller } from "../../access/tokens.ts";
import { type BenchmarkPlan, type BenchmarkResources, DEFAULT_PERCENTILES } from "../../benchmarks/benchmark-plan.ts";
import type { Benchmark, BenchmarkResult, BenchmarkState as StoredState } from "../../benchmarks/benchmark-records.ts";
import { resultFiles } from "../../benchmarks/run-handler.ts";
import { Failure } from "../../failure.ts";
import { QueryRefused } from "../../query/refusal.ts";
import { JsonRefused } from "../http/json-text.ts";
import { callerOf } from "../interceptors.ts";
import { pageAddress } from "../page-address.ts";
import type { Platform } from "../platform.ts";
import { BodyInvalid, readQueryBody } from "../query/query-body.ts";
import { readPage } from "./page-token.ts";

const STATES = {
  waiting: BenchmarkState.WAITING,
  running: BenchmarkState.RUNNING,
  succeeded: BenchmarkState.SUCCEEDED,
  failed: BenchmarkState.FAILED,
  cancelled: BenchmarkState.CANCELLED,
} as const satisfies Record<StoredState, BenchmarkState>;

const VERDICTS = {
  within_noise: BenchmarkVerdict.WITHIN_NOISE,
  faster: BenchmarkVerdict.FASTER,
  slower: BenchmarkVerdict.SLOWER,
  too_short: BenchmarkVerdict.TOO_SHORT,
} as const satisfies Record<Verdict, BenchmarkVerdict>;

/** Adds the service to a router. */
export function register(router: ConnectRouter, platform: Platform): void {
  /** The message of a benchmark, with the address of its page as the caller reaches it. */
  const messageFor =
    ({ requestHeader }: HandlerContext) =>
    (benchmark: Benchmark): BenchmarkMessage =>
      messageOf(benchmark, pageAddress(platform, requestHeader, benchmark.environmentId, "benchmark", { id: benchmark.id }));

  const scopeOf = async (context: HandlerContext): Promise<DeploymentTarget> =>
    resolveScope(platform.environments, callerOf(context), context.requestHeader);

  /** Plans a query. Rejects with Failure invalid_argument when it has no plan. */
  const tryPlan = async (text: string, caller: Caller): Promise<void> => {
    const { engine, resolveDeployment } = await platform.queries();
    try {
      const { body } = readQueryBody(new TextEncoder().encode(text));
      const { branch, deploymentId: deployment, environment, request } = body;
      const lease = await resolveDeployment({ branch, deployment, environment, project: "" }, caller, request.correlationId);
      try {
        engine.plan(lease.deployment, request);
      } finally {
        lease.release();
      }
    } catch (error) {
      if (error instanceof QueryRefused || error instanceof BodyInvalid || error instanceof JsonRefused)
        throw new Failure("invalid_argument", `The query cannot be planned: ${error.message}`);
      throw error;
    }
  };

  router.service(BenchmarkService, {
    async runBenchmark({ plan, inputs }, context) {
      const target = await scopeOf(context);
      const caller = callerOf(context);
      const benchmark = await (await platform.benchmarks()).run(target, planOf(plan), inputs, caller, (body) => tryPlan(body, caller));
      return create(RunBenchmarkResponseSchema, { benchmark: messageFor(context)(benchmark) });
    },

    async cancelBenchmark({ id }, context) {
      const { environment } = await scopeOf(context);
      return create(CancelBenchmarkResponseSchema, {
        benchmark: messageFor(context)(await (await platform.benchmarks()).cancel(id, environment.id)),
      });
    },

    async getBenchmark({ id }, context) {
      const { environment } = await scopeOf(context);
      return create(GetBenchmarkResponseSchema, {
        benchmark: messageFor(context)(await (await platform.benchmarks()).find(id, environment.id)),
      });
    },

    async listBenchmarks(page, context) {
      const { environment } = await scopeOf(context);
      const benchmarks = await platform.benchmarks();
      const filter = JSON.stringify(["benchmarks", environment.id]);
      const { items, nextPageToken } = await readPage(platform.keys.objects, filter, page, (limit, before) =>
        benchmarks.list(environment.id, limit, before),
      );
      return create(ListBenchmarksResponseSchema, { benchmarks: items.map(messageFor(context)), nextPageToken });
    },

    async compareBenchmarks({ baseId, otherId }, context) {
      const { environment } = await scopeOf(context);
      const { base, other, differences, method, caveats } = await (await platform.benchmarks()).compare(baseId, otherId, environment.id);
      const shown = messageFor(context);
      return create(CompareBenchmarksResponseSchema, {
        ...{ base: shown(base), other: shown(other), method, caveats: [...caveats] },
        differences: differences.map(({ low, high, verdict, ...rest }) => ({
          ...rest,
          changeLow: low,
          changeHigh: high,
          verdict: VERDICTS[verdict],
        })),
      });
    },
  });
}

function planOf(given: BenchmarkPlanMessage | undefined): BenchmarkPlan {
  const ms = (duration: BenchmarkPlanMessage["duration"]): number => (duration ? durationToMs(duration) : 0);
  const { duration, warmupDuration, outputs = [], percentiles = [], resources, warmupResources } = given ?? {};
  return {
    outputs: [...outputs],
    queryName: given?.queryName ?? "",
    queryNameVersion: given?.queryNameVersion ?? "",
    inputFile: given?.inputFile ?? "",
    qps: given?.qps ?? 0,
    durationMs: ms(duration),
    // Without a warm-up its rate means nothing.
    warmupQps: given?.warmupQps || given?.qps || 0,
    warmupMs: ms(warmupDuration),
    percentiles: percentiles.length > 0 ? [...new Set(percentiles)].sort((a, b) => a - b) : DEFAULT_PERCENTILES,
    traceSampleRate: given?.traceSampleRate ?? 0,
    dataSampleRate: given?.dataSampleRate ?? 0,
    queryHost: given?.queryHost ?? "",
    insecure: given?.insecure ?? false,
    image: given?.image ?? "",
    nodePool: given?.nodePool ?? "",
    resources: resourcesOf(resources),
    warmupResources: resourcesOf(warmupResources),
  };
}

function resourcesOf(given: BenchmarkResourcesMessage | undefined): BenchmarkResources {
  const { memoryRequest = "", memoryLimit = "", cpuRequest = "", cpuLimit = "" } = given ?? {};
  return { memoryRequest, memoryLimit, cpuRequest, cpuLimit };
}

function messageOf(benchmark: Benchmark, url: string): BenchmarkMessage {
  const { id, state, plan, inputNames, inputRevisionId, deploymentId, branch, warnings, progress, error, result } = benchmark;
  const { durationMs, warmupMs, ...rest } = plan;
  const time = (at: number | undefined) => (at === undefined ? undefined : msToTimestamp(at));
  return create(BenchmarkSchema, {
    ...{ id, inputRevisionId, deploymentId, branch, progress, error, url },
    plan: {
      ...rest,
      outputs: [...plan.outputs],
      percentiles: [...plan.percentiles],
      duration: msToDuration(durationMs),
      warmupDuration: msToDuration(warmupMs),
    },
    state: STATES[state],
    inputs: [...inputNames],
    warnings: [...warnings],
    ...(result && { result: resultMessage(result), resultRevisionId: result.revisionId, resultFiles: [...resultFiles(id)] }),
    createdAt: msToTimestamp(benchmark.createdAt),
    startedAt: time(benchmark.startedAt),
    endedAt: time(benchmark.endedAt),
  });
}

function resultMessage(result: BenchmarkResult): MessageInitShape<typeof BenchmarkResultSchema> {
  const { due, answered, unsent, failed, elapsedMs, minMs, meanMs, maxMs, percentiles, histogram, errors, lateMs } = result;
  return {
    ...{ due: BigInt(due), answered: BigInt(answered), unsent: BigInt(unsent), failed: BigInt(failed) },
    achievedQps: elapsedMs > 0 ? Math.round((answered / elapsedMs) * 100_000) / 100 : 0,
    ...{ elapsedSeconds: elapsedMs / 1000, minMs, meanMs, maxMs, lateMs },
    percentiles: [...percentiles],
    histogram: histogram.map(({ count, ...range }) => ({ ...range, count: BigInt(count) })),
    errors: errors.map(({ code, count }) => ({ code, count: BigInt(count) })),
    generatorCpuSeconds: result.generatorCpuMs / 1000,
    generatorMemoryBytes: BigInt(result.generatorMemoryBytes),
    serverCpuSeconds: result.serverCpuMs / 1000,
  };
}
