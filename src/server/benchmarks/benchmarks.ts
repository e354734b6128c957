/**
 * Benchmarks: load on the query endpoint by a process of its own, as jobs of which one runs at a
 * time, so that no measurement disturbs another.
 */

import { mkdtemp, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../context/clock.ts";
import { makePrivateFolder } from "../../disk/private-file.ts";
import type { JsonObject } from "../../domain/json-value.ts";
import { COMPARISON_METHOD, compareLoads, type LoadDifference, type WindowedPercentile } from "../../domain/load/comparison.ts";
import { allows } from "../../domain/permissions.ts";
import type { DeploymentTarget } from "../access/scope.ts";
import type { Caller } from "../access/tokens.ts";
import type { Datasets } from "../datasets/datasets.ts";
import type { Deployments } from "../deployments/deployments.ts";
import { type Protection, suspended } from "../deployments/environment-states.ts";
import { namedDeployment } from "../deployments/named-deployment.ts";
import type { CollectionParts } from "../documents/collection.ts";
import { Failure } from "../failure.ts";
import { newId } from "../identifier.ts";
import { noteChange } from "../jobs/changes.ts";
import type { JobHandler } from "../jobs/runner.ts";
import { planWorkflow } from "../jobs/workflows.ts";
import type { RevisionRecord } from "../stores/metadata/datasets.ts";
import type { NewJob } from "../stores/metadata/jobs.ts";
import type { MetadataStore } from "../stores/metadata/store.ts";
import { type BenchmarkPlan, checkPlan, warningsOf } from "./benchmark-plan.ts";
import { type Benchmark, type BenchmarkRecord, createBenchmarkRecords, hasEnded } from "./benchmark-records.ts";
import { isOneFile } from "./contained-generator.ts";
import { checkFeature, checkInputRevision, type FeaturesByName, inputDataset, valuesOf } from "./input-rows.ts";
import { otherAddress } from "./query-address.ts";
import { readWindows } from "./result-file.ts";
import { type BenchmarkPayload, createRunHandler, queryBody, type RunHandlerOptions, resultFiles } from "./run-handler.ts";

/** The kind of the jobs. */
export const BENCHMARK_JOB = "benchmark";

/** Most benchmarks of an environment that wait or run. */
const MAX_OPEN = 20;
/** Most inputs of a request, and most characters of them all. */
const MAX_INPUTS = 1_000;
const MAX_INPUT_TEXT = 64 * 1024;
/** Longest result file that is read again. */
const MAX_RESULT_BYTES = 64 * 1024 * 1024;
/** Beyond the load: the inputs are written before, and the results after it. */
const SPARE_MS = 900_000;

/** The services that benchmarks need. */
export interface BenchmarksOptions extends Omit<RunHandlerOptions, "deployments" | "metadata" | "now" | "records"> {
  readonly metadata: Pick<MetadataStore, "datasets" | "jobs">;
  readonly collections: CollectionParts;
  readonly deployments: Deployments;
  readonly protection: Protection;
  readonly datasets: Pick<Datasets, "find">;
  readonly clock: Clock;
}

/** How two benchmarks differ. */
export interface BenchmarkComparison {
  readonly base: Benchmark;
  readonly other: Benchmark;
  readonly differences: readonly LoadDifference[];
  readonly method: string;
  /** Sentences. */
  readonly caveats: readonly string[];
}

/** The capability. */
export interface Benchmarks {
  /**
   * Stores a benchmark and its job, durably when this resolves. Rejects with Failure.
   * @param inputs values by feature, as people write them
   * @param tryPlan plans the query with a body of JSON, and rejects with Failure when there is no
   * plan
   */
  run(
    target: DeploymentTarget,
    plan: BenchmarkPlan,
    inputs: Readonly<Record<string, string>>,
    caller: Caller,
    tryPlan: (body: string) => Promise<void>,
  ): Promise<Benchmark>;
  /** A benchmark of an environment. Rejects with Failure not_found. */
  find(id: string, environmentId: string): Promise<Benchmark>;
  /** Benchmarks of an environment, newest first, after the one with the id `before`. */
  list(environmentId: string, limit: number, before: string | undefined): Promise<Benchmark[]>;
  /**
   * Ends a benchmark. Rejects with Failure not_found, and failed_precondition when it has ended.
   */
  cancel(id: string, environmentId: string): Promise<Benchmark>;
  /** Rejects with Failure not_found, and failed_precondition when one has no results. */
  compare(base: string, other: string, environmentId: string): Promise<BenchmarkComparison>;
  /** The handler of BENCHMARK_JOB jobs. */
  readonly handler: JobHandler;
}

/** Makes the capability. */
export function createBenchmarks(options: BenchmarksOptions): Benchmarks {
  const { metadata, collections, deployments, datasets, revisions, folder, bus, clock } = options;
  const records = createBenchmarkRecords(collections);

  const featuresOf = async (deploymentId: string): Promise<FeaturesByName> => {
    const { featureSets } = await deployments.graph(deploymentId);
    return new Map(featureSets.flatMap(({ features }) => features).map((feature) => [feature.fqn, feature]));
  };

  /** The revision of an input file. Rejects with Failure. */
  const revisionOf = async (environmentId: string, file: string): Promise<RevisionRecord> => {
    const { revision } = await datasets.find(environmentId, inputDataset(file)).catch((error: unknown) => {
      if (!(error instanceof Failure && error.kind === "not_found")) throw error;
      throw new Failure("not_found", `There is no input file '${file.slice(0, 200)}' in this environment.`, {
        hint: "Upload it with `svc benchmark upload --file-path <file>`; its name is the file's, with the extension.",
      });
    });
    if (revision?.state === "complete") return revision;
    throw new Failure("failed_precondition", `The input file '${file}' has no rows that can be read.`, { hint: "Upload it again." });
  };

  const windowsOf = async (benchmark: Benchmark, work: string): Promise<readonly WindowedPercentile[]> => {
    const { id, result, state } = benchmark;
    if (!result)
      throw new Failure("failed_precondition", `Benchmark ${id} has no results: it is ${state}.`, {
        hint: "`svc benchmark list` shows those that succeeded.",
      });
    const [name] = resultFiles(id);
    const file = (await revisions.files(result.revisionId)).find((one) => one.name === name);
    if (!file || file.bytes > MAX_RESULT_BYTES)
      throw new Failure("failed_precondition", `The results of benchmark ${id} cannot be read any more.`);
    const path = join(work, file.name);
    await revisions.fetch(file, path);
    return readWindows(await readFile(path, "utf8"));
  };

  return {
    async run(target, plan, inputs, caller, tryPlan) {
      const { environment, branch } = target;
      if (environment.suspendedAt !== undefined) throw suspended(environment);
      checkPlan(plan);
      const given = Object.entries(inputs);
      if (given.length > 0 === (plan.inputFile !== ""))
        throw new Failure("invalid_argument", "A benchmark needs inputs: values of features, or an input file, and not both.");
      if (given.length > MAX_INPUTS || JSON.stringify(inputs).length > MAX_INPUT_TEXT)
        throw new Failure(
          "invalid_argument",
          `The inputs of a benchmark are at most ${MAX_INPUTS} values of ${MAX_INPUT_TEXT} characters in all.`,
          {
            hint: "Upload them as a file.",
          },
        );
      if (!allows(caller.permissions, "query.online"))
        throw new Failure("failed_precondition", "The credentials lack the permission 'query.online', with which the queries are sent.", {
          hint: "Use credentials that have it.",
        });
      const deploymentId =
        target.deploymentId === ""
          ? await deployments.resolve(target)
          : await namedDeployment(options, target, target.deploymentId, "benchmarks");
      const features = await featuresOf(deploymentId);
      for (const [name] of given) checkFeature(name, features, `'${name.slice(0, 200)}'`);
      const revision = plan.inputFile === "" ? undefined : await revisionOf(environment.id, plan.inputFile);
      if (revision) checkInputRevision(plan.inputFile, revision, features);
      if (plan.queryHost !== "") await otherAddress(plan.queryHost, options.allowed, options.resolve);
      const id = newId("bench", clock.now());
      const record: BenchmarkRecord = {
        ...{
          plan,
          deploymentId,
          branch,
          isNamed: target.deploymentId !== "",
          warnings: warningsOf(plan, isOneFile() && options.engine() !== undefined),
        },
        ...{ inputNames: given.map(([name]) => name), inputRevisionId: revision?.id ?? "", environmentName: environment.name },
        ...{ state: "waiting", progress: "waiting", error: "" },
      };
      const values = revision ? "" : valuesOf(inputs, features);
      const query = queryBody({ ...record, id, environmentId: environment.id });
      if (!revision) await tryPlan(JSON.stringify({ ...query, inputs: JSON.parse(values) as JsonObject }));
      const payload: BenchmarkPayload = {
        record,
        inputs: values,
        caller: { clientId: caller.clientId, teamId: caller.teamId },
      };
      const place = { kind: BENCHMARK_JOB, scope: environment.id };
      const job = benchmarkJob(id, environment.id, payload, clock.now());
      if ((await metadata.jobs.enqueueWithin(place, MAX_OPEN, [job])) === 0)
        throw new Failure("resource_exhausted", `${MAX_OPEN} benchmarks wait or run in environment '${environment.name}' already.`, {
          hint: "`svc benchmark list` shows them; ask again when some have ended.",
        });
      const stored = await records.put(environment.id, id, record);
      bus.publish("jobs");
      noteChange(bus, "runs", environment.id);
      return stored;
    },

    find: (id, environmentId) => records.get(environmentId, id),

    async list(environmentId, limit, before) {
      const all = await records.list(environmentId);
      return all.filter(({ id }) => before === undefined || id < before).slice(0, limit);
    },

    async cancel(id, environmentId) {
      const before = await records.get(environmentId, id);
      if (hasEnded(before))
        throw new Failure("failed_precondition", `Benchmark ${id} has ended: it is ${before.state}.`, {
          hint: "`svc benchmark run` begins another one.",
        });
      const cancelled = await records.change(environmentId, id, { state: "cancelled", progress: "", endedAt: clock.now() });
      await metadata.jobs.cancel(jobIdOf(id));
      bus.publish("jobs", jobIdOf(id));
      noteChange(bus, "runs", environmentId);
      return cancelled;
    },

    async compare(baseId, otherId, environmentId) {
      const [base, other] = [await records.get(environmentId, baseId), await records.get(environmentId, otherId)];
      makePrivateFolder(folder);
      const work = await mkdtemp(join(folder, "compare-"));
      try {
        const from = await windowsOf(base, work);
        const to = new Map((await windowsOf(other, work)).map((window) => [window.percent, window]));
        const differences = from.flatMap((window) => {
          const same = to.get(window.percent);
          return same ? [compareLoads(window, same)] : [];
        });
        if (differences.length === 0)
          throw new Failure("failed_precondition", "The two benchmarks report no percentile in common.", {
            hint: "Run one of them again with the --percentile of the other.",
          });
        return { base, other, differences, method: COMPARISON_METHOD, caveats: caveatsOf(base, other) };
      } finally {
        await rm(work, { recursive: true, force: true });
      }
    },

    handler: createRunHandler({ ...options, records, now: () => clock.now() }),
  };
}

/** What makes two benchmarks hard to compare, in sentences. */
function caveatsOf(base: Benchmark, other: Benchmark): string[] {
  const differs = (what: string, of: (benchmark: Benchmark) => string): string[] => {
    const [one, two] = [of(base), of(other)];
    return one === two ? [] : [`${what}: ${one || "none"} and ${two || "none"}.`];
  };
  const failing = [base, other].filter(({ result }) => (result?.failed ?? 0) > 0 || (result?.unsent ?? 0) > 0);
  return [
    ...differs("They have other rates", ({ plan }) => `${plan.qps} a second`),
    ...differs("They ask for other things", ({ plan }) => [...plan.outputs, plan.queryName, plan.queryNameVersion].join(" ").trim()),
    ...differs("Their inputs are not the same", ({ inputRevisionId, inputNames }) => inputRevisionId || inputNames.join(", ")),
    ...differs("Their queries went to other addresses", ({ plan }) => plan.queryHost || "the server"),
    ...failing.map(({ id }) => `Queries of ${id} failed or were never sent, which can be quick or slow for its own reasons.`),
  ];
}

/** The id of a benchmark's job. */
function jobIdOf(id: string): string {
  return id.replace(/^bench_/, "job_");
}

/** The job of a benchmark, a workflow of its own: one runs at a time, over all nodes. */
function benchmarkJob(id: string, environmentId: string, payload: BenchmarkPayload, now: number): NewJob {
  const { plan, deploymentId } = payload.record;
  const job: NewJob = {
    id: jobIdOf(id),
    kind: BENCHMARK_JOB,
    payload,
    scope: environmentId,
    subject: id,
    group: { name: BENCHMARK_JOB, slots: 1 },
    maxAttempts: 1,
    attemptTimeoutMs: plan.durationMs + plan.warmupMs + SPARE_MS,
  };
  return (
    planWorkflow({ environmentId, deploymentId, kind: "manual", subject: id, operations: [{ name: "load", jobs: [job] }] }, now)[0] ?? job
  );
}
