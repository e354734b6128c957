/**
 * The work of a benchmark: its inputs are written down, a load generator sends the queries, and
 * what it measured becomes files of a revision. What was cut off is not measured again by itself:
 * nobody expects its load hours later.
 */

import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { makePrivateFolder } from "../../disk/private-file.ts";
import { errorText } from "../../domain/error-text.ts";
import type { JsonObject } from "../../domain/json-value.ts";
import { type Caller, TOKEN_LIFETIME_S, type Tokens } from "../access/tokens.ts";
import type { RevisionMaker } from "../datasets/revisions.ts";
import type { Deployments } from "../deployments/deployments.ts";
import type { ContainerEngine } from "../engines/container-engine.ts";
import type { Bus } from "../jobs/bus.ts";
import { noteChange } from "../jobs/changes.ts";
import { JobFailed, type JobHandler } from "../jobs/runner.ts";
import type { MetadataStore } from "../stores/metadata/store.ts";
import type { TableEngine } from "../tables/engine.ts";
import { ChildEnded, ChildProcess } from "../thread/child-process.ts";
import { ownProgram } from "../thread/own-program.ts";
import type { Resolve } from "../webhooks/send.ts";
import { cpuLimitOf, hasLimits, memoryLimitOf } from "./benchmark-plan.ts";
import type { Benchmark, BenchmarkRecord, BenchmarkRecords } from "./benchmark-records.ts";
import { generateInContainer, isOneFile } from "./contained-generator.ts";
import { writeRows } from "./input-rows.ts";
import { GENERATOR_VERB, type LoadGenerator, type LoadSettings, type LoadStatus } from "./load-generator.ts";
import { otherAddress, ownAddress, type QueryAddress } from "./query-address.ts";
import { reportPage } from "./report-page.ts";
import { type BenchmarkFacts, type BenchmarkMeasure, resultText } from "./result-file.ts";

/** The services that benchmarks need while they run. */
export interface RunHandlerOptions {
  readonly records: BenchmarkRecords;
  readonly metadata: Pick<MetadataStore, "datasets">;
  readonly deployments: Pick<Deployments, "graph" | "halted">;
  readonly revisions: RevisionMaker;
  readonly tables: () => Promise<TableEngine>;
  readonly tokens: Pick<Tokens, "issue">;
  /** Base address of this server. */
  readonly url: () => string;
  /** Networks that may be called although they are not public. */
  readonly allowed: readonly string[];
  /** Default: the system's resolver. */
  readonly resolve?: Resolve;
  /** Folder for the folders of runs. */
  readonly folder: string;
  readonly version: string;
  /** The container engine of this machine; undefined when there is none. */
  readonly engine: () => ContainerEngine | undefined;
  readonly bus: Bus;
  readonly now: () => number;
}

/**
 * What a job is given: the benchmark, in case that it was not stored, and what is not shown of it.
 */
export interface BenchmarkPayload {
  readonly record: BenchmarkRecord;
  /** The inputs of every query as JSON; empty with an input file. */
  readonly inputs: string;
  /** Who sends the queries. */
  readonly caller: Pick<Caller, "clientId" | "teamId">;
}

/** The dataset of the results. */
export const RESULTS_DATASET = "benchmark:results";

const GIB = 1024 ** 3;
/** Milliseconds between two looks at how far a load generator is. */
const LOOK_MS = 1_000;
/** Milliseconds between two notes of it. */
const NOTE_MS = 2_000;
const MAX_ERROR = 2_000;
/** Seconds that a token is valid after the load. */
const SPARE_S = 300;

/** Names of the files of a benchmark's results. */
export function resultFiles(id: string): readonly string[] {
  return [`${id}.json`, `${id}.html`];
}

/** The revision that a benchmark writes. */
function resultOf({ environmentId, id }: Pick<Benchmark, "environmentId" | "id">) {
  return { environmentId, origin: "benchmark", originId: id } as const;
}

/** The body of every query beside its inputs. */
export function queryBody(benchmark: Pick<Benchmark, "branch" | "deploymentId" | "environmentId" | "id" | "isNamed" | "plan">): JsonObject {
  const { branch, deploymentId, environmentId, id, isNamed, plan } = benchmark;
  return {
    ...{ outputs: [...plan.outputs], query_name: plan.queryName || null, query_name_version: plan.queryNameVersion || null },
    ...{ context: { environment: environmentId, branch: branch || null }, correlation_id: id },
    ...(isNamed && { deployment_id: deploymentId }),
  };
}

/** Makes the handler. */
export function createRunHandler(options: RunHandlerOptions): JobHandler {
  const { records, metadata, deployments, revisions, tables, tokens, url, allowed, resolve, folder, version, bus, now } = options;

  const settingsOf = async (
    benchmark: Benchmark,
    { caller }: BenchmarkPayload,
    address: QueryAddress,
    inputs: string,
  ): Promise<LoadSettings> => {
    const { deploymentId, plan } = benchmark;
    const lifetimeS = Math.min(Math.ceil((plan.durationMs + plan.warmupMs) / 1000) + SPARE_S, 3 * TOKEN_LIFETIME_S);
    const token = await tokens.issue({ ...caller, permissions: ["query.online"] }, lifetimeS);
    const { featureSets } = await deployments.graph(deploymentId);
    const features = featureSets.flatMap((set) => set.features);
    return {
      ...plan,
      inputs,
      target: {
        url: address.url,
        headers: {
          host: address.host,
          authorization: `Bearer ${token}`,
          "content-type": "application/json",
          "accept-encoding": "identity",
        },
        ...(address.serverName !== undefined && { serverName: address.serverName }),
        // Nobody else can have this server's own port; its certificate names it for others.
        isVerified: plan.queryHost !== "" && !plan.insecure,
      },
      body: queryBody(benchmark),
      shown: features.filter(({ kind, tags }) => kind.case === "scalar" && !tags.includes("pii")).map(({ fqn }) => fqn),
    };
  };

  /** Writes the inputs of the queries, and returns the path of their file. */
  const writeInputs = async (
    { inputRevisionId }: Benchmark,
    { inputs }: BenchmarkPayload,
    own: string,
    signal: AbortSignal,
  ): Promise<string> => {
    const path = join(own, "inputs.jsonl");
    if (inputRevisionId === "") await writeFile(path, `${inputs}\n`, { mode: 0o600 });
    else {
      const revision = await metadata.datasets.revision(inputRevisionId);
      if (revision?.state !== "complete") throw new JobFailed(`revision ${inputRevisionId} of the input file is not complete any more`);
      await writeRows({ revisions, tables: await tables() }, revision, { folder: own, path, signal });
    }
    return path;
  };

  const generate = async (
    settings: LoadSettings,
    { id, plan }: Benchmark,
    own: string,
    onStatus: (status: LoadStatus) => Promise<unknown>,
    signal: AbortSignal,
  ): Promise<BenchmarkMeasure> => {
    const engine = hasLimits(plan) && isOneFile() ? options.engine() : undefined;
    if (engine) {
      const limits = { cpus: cpuLimitOf(plan), memoryBytes: memoryLimitOf(plan) };
      let noted = 0;
      const note = async (status: LoadStatus): Promise<void> => {
        if (now() - noted < NOTE_MS) return;
        await onStatus(status);
        noted = now();
      };
      return generateInContainer(engine, { id, own, folder, settings, limits }, note, signal);
    }
    const residentBytes = memoryLimitOf(plan);
    const child = new ChildProcess<LoadGenerator, LoadSettings>({
      name: "the load generator",
      argv: [...ownProgram(), GENERATOR_VERB],
      env: { HOME: own, TMPDIR: own, TZ: "UTC", LANG: "C.UTF-8", DO_NOT_TRACK: "1" },
      cwd: own,
      settings,
      limits: { residentBytes, dataBytes: 2 * residentBytes + 4 * GIB },
      revive: ({ name, message }) =>
        name === "FirstQueryFailed" ? new JobFailed(`its first query failed: ${message}`) : new Error(message),
    });
    const kill = (): void => child.kill();
    signal.addEventListener("abort", kill, { once: true });
    const over = new AbortController();
    try {
      signal.throwIfAborted();
      const generation = child.start();
      const running = child.callIn(generation, "run").finally(() => over.abort());
      running.catch(() => undefined);
      for (let noted = 0; !over.signal.aborted; ) {
        await Promise.race([running.catch(() => undefined), Bun.sleep(LOOK_MS)]);
        if (over.signal.aborted || now() - noted < NOTE_MS) continue;
        const status = await child.callIn(generation, "status").catch(() => undefined);
        if (status) await onStatus(status);
        noted = now();
      }
      return await running;
    } catch (error) {
      signal.throwIfAborted();
      throw error instanceof ChildEnded ? new JobFailed(error.message) : error;
    } finally {
      signal.removeEventListener("abort", kill);
      await child.close();
    }
  };

  /** Keeps the results as a revision, and returns its id. */
  const keep = async (
    facts: BenchmarkFacts,
    measure: BenchmarkMeasure,
    benchmark: Benchmark,
    createdBy: string,
    own: string,
  ): Promise<string> => {
    const { revisionId } = await revisions.begin({ ...resultOf(benchmark), dataset: RESULTS_DATASET, createdBy });
    const [json = "", page = ""] = resultFiles(benchmark.id);
    for (const [name, text] of [
      [json, resultText(facts, measure)],
      [page, reportPage(facts, measure)],
    ] as const) {
      const path = join(own, name);
      await writeFile(path, text, { mode: 0o600 });
      await revisions.addFile(revisionId, { name, path, kind: "output", rows: 0 });
    }
    await revisions.complete(revisionId, []);
    return revisionId;
  };

  const measureAndKeep = async (benchmark: Benchmark, payload: BenchmarkPayload, signal: AbortSignal): Promise<void> => {
    const { environmentId, id, plan } = benchmark;
    const own = join(folder, id);
    makePrivateFolder(own);
    try {
      const address = plan.queryHost === "" ? ownAddress(url()) : await otherAddress(plan.queryHost, allowed, resolve);
      const settings = await settingsOf(benchmark, payload, address, await writeInputs(benchmark, payload, own, signal));
      const cpu = process.cpuUsage();
      const measure = await generate(
        settings,
        benchmark,
        own,
        async (status) => {
          await records.change(environmentId, id, { progress: progressText(status) });
          noteChange(bus, "runs", environmentId);
        },
        signal,
      );
      const used = process.cpuUsage(cpu);
      const { startedAt = benchmark.createdAt, inputRevisionId, deploymentId, branch, warnings, environmentName } = benchmark;
      const facts: BenchmarkFacts = {
        ...{ id, plan, branch, deploymentId, inputRevisionId, warnings, startedAt, version },
        ...{ environment: environmentName, endedAt: now(), serverCpuMs: (used.user + used.system) / 1000 },
      };
      const revisionId = await keep(facts, measure, benchmark, payload.caller.clientId, own);
      const { seconds: _seconds, windows: _windows, samples: _samples, ...figures } = measure;
      const result = { ...figures, serverCpuMs: facts.serverCpuMs, revisionId };
      await records.change(environmentId, id, { state: "succeeded", progress: "", result, endedAt: facts.endedAt });
    } finally {
      await rm(own, { recursive: true, force: true });
    }
  };

  return {
    isQuiet: true,
    isLong: true,

    async run({ subject: id, scope, payload: given }, { signal }) {
      const payload = given as BenchmarkPayload;
      const stored = await records.put(scope, id, payload.record);
      if (stored.state === "running") throw new JobFailed("the server that ran it stopped in its middle; run it again");
      if (stored.state !== "waiting") return;
      const benchmark = await records.change(scope, id, { state: "running", progress: "starting", startedAt: now() });
      const halted = deployments.halted(scope);
      await measureAndKeep(benchmark, payload, AbortSignal.any([signal, halted])).catch((failure: unknown) => {
        signal.throwIfAborted();
        throw new JobFailed((halted.aborted ? String(halted.reason) : errorText(failure)).slice(0, MAX_ERROR));
      });
    },

    async giveUp({ subject: id, scope, payload }, reason) {
      await records.put(scope, id, (payload as BenchmarkPayload).record);
      const revisionId = await revisions.begun(resultOf({ environmentId: scope, id }));
      const { result } = await records.change(scope, id, {
        state: "failed",
        progress: "",
        error: reason.slice(0, MAX_ERROR),
        endedAt: now(),
      });
      if (revisionId !== undefined && result?.revisionId !== revisionId) await revisions.abandon(revisionId);
    },
  };
}

function progressText({ phase, answered, failed }: LoadStatus): string {
  if (phase === "starting") return phase;
  return `${phase}: ${answered} answered${failed > 0 ? `, ${failed} failed` : ""}`;
}
