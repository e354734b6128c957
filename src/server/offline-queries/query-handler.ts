/**
 * The work of an offline query's jobs. Each may begin again at any point: the rows are written
 * once, and a shard is one file of the revision, which takes the place of what an attempt before
 * left. Of the values that a shard stores offline, an attempt after the first stores those that are
 * not there yet.
 */

import { join } from "node:path";
import { ErrorCode } from "../../../gen/svc/v1/error_pb.ts";
import { PrimitiveType } from "../../../gen/svc/v1/value_pb.ts";
import { errorText } from "../../domain/error-text.ts";
import { formatMicros, parseInstant } from "../../domain/timestamp.ts";
import type { FeatureValue } from "../../domain/value.ts";
import type { BegunFor } from "../datasets/revisions.ts";
import type { Lease } from "../deployments/running.ts";
import { Failure } from "../failure.ts";
import { type Attempt, JobFailed, type JobHandler } from "../jobs/runner.ts";
import type { OnlineEngine } from "../query/create-engine.ts";
import { createJobTracer } from "../query/job-tracer.ts";
import type { Tracing } from "../query/query-context.ts";
import type { ComputedSpine, SpineRun } from "../query/spine/spine-run.ts";
import { CHUNK_ROWS, type TogetherRows } from "../query/spine/spine-run.ts";
import type { JobRecord } from "../stores/metadata/jobs.ts";
import type { OfflineQueryRecord, OfflineShard, ShardCounts } from "../stores/metadata/offline-queries.ts";
import { OfflineStoreError, type SampledFeature, type Spine, type TableSampleable, tableSampling } from "../stores/offline/store.ts";
import { type TableEngine, TableError, type TableWriter } from "../tables/engine.ts";
import { primitive } from "../tables/inferred-type.ts";
import type { FreshColumn } from "../writes/sink.ts";
import { stored } from "../writes/stored.ts";
import { isKept, splitTime } from "./division.ts";
import type { Inputs } from "./inputs.ts";
import { knownKeys } from "./known-keys.ts";
import { DATETIME, type DoneRows, givenColumns, laidOut, layoutOf, rowKey, TEXT } from "./layout.ts";
import type { OfflineQueriesOptions } from "./offline-queries.ts";
import type { QueryStep } from "./query-jobs.ts";
import { isSampledByFiles, type SampledPartOptions, writeSampledPart } from "./sampled-part.ts";
import { planSpine, readValues, TIME_COLUMN } from "./spine-plan.ts";
import { fileSource, inlineSource, keysSource, type SpineSource } from "./spine-source.ts";
import { selectSpine } from "./spine-sql.ts";
import { unstored } from "./unstored.ts";
import { MAX_SPINE_ROWS } from "./wish.ts";

/** Rows that are sampled together where nothing is computed from them, and files cannot be. */
const SAMPLED_ROWS = 50_000;
/** Most characters of an error that are kept. */
const MAX_ERROR = 2_000;
/** Most failures of a shard whose reasons are kept. */
const MAX_FAILURES = 100_000;
const GIVENS = "givens.parquet";

const INT = primitive(PrimitiveType.INT64);

/** Makes the handler. */
export function createQueryHandler(
  options: OfflineQueriesOptions & {
    readonly engine: OnlineEngine;
    readonly inputs: Inputs;
    readonly inFolder: <T>(run: (path: string) => Promise<T>) => Promise<T>;
    readonly tidy: (query: OfflineQueryRecord) => Promise<void>;
  },
): JobHandler {
  const { metadata, deployments, revisions, clock, engine, inputs, inFolder, tidy } = options;
  const { offlineQueries: store } = metadata;
  const tracer = createJobTracer(options.tracing, clock);

  const environmentOf = async ({ environmentId }: OfflineQueryRecord) => {
    const environment = await metadata.environment(environmentId);
    if (!environment) throw new JobFailed("its environment was deleted");
    if (environment.suspendedAt !== undefined) throw new JobFailed(`environment '${environment.name}' is suspended`);
    return environment;
  };

  /** Runs with the deployment of a query. */
  const withDeployment = async <T>(query: OfflineQueryRecord, run: (lease: Lease) => Promise<T>): Promise<T> => {
    const environment = await environmentOf(query);
    const lease = await deployments.acquire({ environment, branch: query.branch, deploymentId: query.deploymentId });
    try {
      return await run(lease);
    } finally {
      lease.release();
    }
  };

  /** The rows of a query. */
  const sourceOf = async (query: TracedQuery, { deployment }: Lease, folder: string, signal: AbortSignal): Promise<SpineSource> => {
    const { rows, recompute, time } = query.request;
    switch (rows.from) {
      case "inline":
        return inlineSource(await inputs.read(rows.key));
      case "file": {
        const path = join(folder, "rows");
        await inputs.fetch(rows, path);
        return fileSource(await options.tables(), path, { ...rows, hasTime: time !== "" });
      }
      case "sql": {
        const tables = await options.tables();
        const namespaces = engine.classesOf(deployment);
        const parts = { ...options, tables, environmentId: query.environmentId, namespaces, folder, signal };
        const path = await selectSpine(rows.statement, parts, false);
        return fileSource(tables, path, { format: "parquet", timeColumn: rows.timeColumn, hasTime: time !== "" });
      }
      case "keys": {
        const run = planSpine(engine, deployment, planned(query), []);
        const [root] = run.roots;
        if (!root?.primaryKey) throw new JobFailed("the outputs have no rows");
        const present = query.createdAt;
        const offline = await options.offline();
        const keys = await knownKeys({ engine, deployment, root, rows, recompute, present, offline, signal, limit: MAX_SPINE_ROWS });
        return keysSource(root.primaryKey.fqn, keys);
      }
    }
  };

  /** Writes the rows of a query, with a time for each, and divides them into shards. */
  const prepare = async (query: TracedQuery, { signal, progress }: Attempt): Promise<void> => {
    if (query.totalRows !== undefined) return;
    await inFolder((folder) =>
      withDeployment(query, async (lease) => {
        const { request } = query;
        const source = await sourceOf(query, lease, folder, signal);
        const run = planSpine(engine, lease.deployment, planned(query), source.names);
        const tables = await options.tables();
        const path = join(folder, GIVENS);
        const writer = await tables.write(path, givenColumns(run));
        const times: Float64Array[] = [];
        let [read, kept] = [0, 0];
        await closing(writer, async () => {
          for await (const chunk of source.chunks(signal)) {
            signal.throwIfAborted();
            const values = readValues(run, chunk, read) as FeatureValue[][];
            const always = request.time === "" ? fixedTime(query) : BigInt(request.time);
            const rowTimes = Array.from({ length: chunk.rows }, (_, row) => chunk.time?.(row) ?? always);
            const rows = keptRows(run, values, rowTimes, request.sampleFraction);
            read += chunk.rows;
            kept += rows.length;
            if (kept > MAX_SPINE_ROWS) throw new JobFailed(`a query has at most ${MAX_SPINE_ROWS} rows`);
            if (run.together && kept > run.together.most) throw new JobFailed(tooManyTogether(run.together));
            if (request.testFraction > 0 && request.splitBy === "time")
              times.push(Float64Array.from(rows, (row) => Number(rowTimes[row]) / 1000));
            await writer.append({
              rows: rows.length,
              columns: [
                rows.map((row) => formatMicros(rowTimes[row] as bigint)),
                ...values.map((column) => rows.map((row) => column[row] as FeatureValue)),
              ],
            });
            progress(`${read} rows read`);
          }
        });
        const { revisionId, datasetId } = await revisions.begin({
          ...originOf(query),
          ...{ dataset: query.datasetName, createdBy: query.agentId },
        });
        await revisions.addFile(revisionId, { name: GIVENS, kind: "givens", rows: kept, path, signal });
        const splitAt = times.length === 0 ? undefined : splitTime(request.testFraction, joined(times));
        const shards = shardsOf(kept, run.together ? 1 : request.numShards);
        if (!(await store.plan(query.id, { totalRows: kept, splitAt, datasetId, revisionId, shards }))) throw new Ended();
      }),
    );
  };

  /** Runs with the rows that were written, the plan of their columns, and a folder for files. */
  const withGivens = (query: TracedQuery, run: (given: Given) => Promise<void>): Promise<void> =>
    inFolder((folder) =>
      withDeployment(query, async (lease) => {
        const file = (await revisions.files(query.revisionId)).find(({ kind }) => kind === "givens");
        if (!file) throw new JobFailed("the file with its rows is gone");
        const givens = join(folder, GIVENS);
        await revisions.fetch(file, givens);
        const tables = await options.tables();
        const names = (await tables.describe(givens)).columns.map(({ name }) => name).filter((name) => name !== TIME_COLUMN);
        await run({ run: planSpine(engine, lease.deployment, planned(query), names), tables, givens, folder });
      }),
    );

  /** Computes the rows of a shard. */
  const computeShard = async (query: TracedQuery, shard: OfflineShard, job: JobRecord, attempt: Attempt): Promise<void> => {
    const { revisionId } = query;
    const { signal } = attempt;
    const report = async (counts: ShardCounts, isDone: boolean): Promise<void> => {
      if (!(await store.report(query.id, shard.shard, job.fence, { ...counts, isDone }))) throw new Ended();
    };
    await withGivens(query, async (given) => {
      const target = join(given.folder, "part.parquet");
      const sampling = isSampledByFiles(given.run) ? tableSampling(await options.offline()) : undefined;
      const part = { ...given, query, shard, target, isAgain: job.attempts > 1 };
      const { counts, failed } = sampling
        ? await sampledPart(part, sampling, attempt)
        : await computedPart(part, attempt, (so) => report(so, false));
      if (shard.shard === 0 || counts.rows > 0)
        await revisions.addFile(revisionId, {
          ...{ name: partName("part", shard.shard), kind: "output", rows: counts.rows, path: target, signal },
        });
      if (failed) await revisions.addFile(revisionId, { ...failed, name: partName("errors", shard.shard), kind: "errors", signal });
      await report(counts, true);
    });
  };

  /** Samples the rows of a shard from file to file. */
  const sampledPart = async ({ run, ...part }: Part, sampling: TableSampleable, { signal, progress }: Attempt): Promise<DonePart> => {
    progress(`sampling ${part.shard.spineRows} rows`);
    const sampled = await writeSampledPart(run, { ...part, store: sampling, signal });
    await environmentOf(part.query);
    return { counts: { ...sampled, doneRows: part.shard.spineRows, failedRows: 0, rowError: "" }, failed: undefined };
  };

  /** Computes the rows of a shard in chunks. */
  const computedPart = async (
    { query, shard, run, tables, givens, target, folder, isAgain }: Part & { readonly isAgain: boolean },
    { signal, progress }: Attempt,
    report: (counts: ShardCounts) => Promise<void>,
  ): Promise<DonePart> => {
    const { request } = query;
    const layout = layoutOf(run, query);
    const writer = await tables.write(target, layout);
    const errors = errorWriter(tables, join(folder, "errors.parquet"), run);
    const offline = await options.offline();
    const left = (columns: readonly FreshColumn[]) => unstored(columns, offline, query.createdAt);
    const into = { online: request.storeOnline, offline: request.storeOffline, unstored: isAgain ? left : undefined };
    const sample = (spine: Spine, features: readonly SampledFeature[]) => offline.sample(spine, features, { asKnown: request.asKnown });
    let counts: ShardCounts = { doneRows: 0, rows: 0, failedRows: 0, lateValues: 0, rowError: "" };
    await closing(writer, async () => {
      const chunkRows = run.together?.most ?? (run.computes ? CHUNK_ROWS : SAMPLED_ROWS);
      const reading = { offset: shard.fromRow, limit: shard.spineRows, chunkRows, signal };
      for await (const chunk of shard.spineRows === 0 ? [] : tables.read(givens, { ...reading, columns: givenColumns(run) })) {
        signal.throwIfAborted();
        const times = (chunk.columns[0] ?? []).map((time) => parseInstant(String(time))?.micros ?? 0n);
        const given = chunk.columns.slice(1);
        const compute = () => run.compute({ times, given }, { sample, into, present: clock.now(), signal });
        const computed = await (into.online || into.offline ? stored(options, compute) : compute());
        await environmentOf(query);
        const rows = run.outputs.some(({ isRequired }) => isRequired)
          ? [...times.keys()].filter((row) => hasRequired(run, computed, row))
          : [...times.keys()];
        await writer.append({ rows: rows.length, columns: laidOut(layout, run, query, { times, given, computed }, rows) });
        await errors.append(shard.fromRow + counts.doneRows, { times, given, computed });
        counts = {
          doneRows: counts.doneRows + chunk.rows,
          rows: counts.rows + rows.length,
          failedRows: counts.failedRows + new Set(computed.failures.map(({ row }) => row)).size,
          lateValues: counts.lateValues + computed.changedIfAsKnown,
          rowError: counts.rowError || (computed.failures[0]?.message ?? "").slice(0, MAX_ERROR),
        };
        await report(counts);
        progress(`${counts.doneRows} of ${shard.spineRows} rows`);
      }
    }).catch(async (error: unknown) => {
      await errors.abandon();
      throw error;
    });
    return { counts, failed: await errors.finish() };
  };

  /** Completes the revision of a query whose shards are all done. */
  const complete = async (query: TracedQuery): Promise<void> => {
    await withGivens(query, ({ run }) => revisions.complete(query.revisionId, layoutOf(run, query)));
    await store.end(query.id, "completed");
    const { failedRows, rowError } = (await store.query(query.id)) ?? { failedRows: 0, rowError: "" };
    if (failedRows > 0) failed(query, rowError, failedRows);
  };

  const failed = ({ id, environmentId, deploymentId, branch, queryName }: OfflineQueryRecord, message: string, failedRows: number): void =>
    options.recordError?.({
      ...{ environmentId, deploymentId, branch, operationId: id, operationKind: "offline_query", queryName },
      ...{ resolver: "", message: message.slice(0, MAX_ERROR), failedRows },
    });

  return {
    async run(job, attempt) {
      const step = job.payload as QueryStep;
      const begun = await store.begin(step.queryId);
      if (!begun) return;
      const trace = tracer.begin(begun, `offline query ${nameOf(step)}`, step.traceparent);
      const query: TracedQuery = { ...begun, tracing: trace?.tracing };
      try {
        if (step.step === "prepare") await prepare(query, attempt);
        else if (step.step !== "shard") await complete(query);
        else {
          const shard = await store.shard(query.id, step.shard);
          if (shard && !shard.isDone) await computeShard(query, shard, job, attempt);
        }
        trace?.end();
      } catch (error) {
        trace?.end({}, errorText(error));
        const now = await store.query(query.id);
        if (error instanceof Ended || now?.state === "canceled") {
          if (now?.endedAt !== undefined && now.state !== "completed") await tidy(now);
          return;
        }
        throw isFinal(error) ? new JobFailed(error.message) : error;
      }
    },

    async giveUp(job, reason) {
      const { queryId } = job.payload as QueryStep;
      await store.end(queryId, "failed", reason.slice(0, MAX_ERROR));
      const query = await store.query(queryId);
      if (query?.state === "failed") failed(query, reason, 0);
      if (query && !query.isTidy && query.state !== "completed") await tidy(query);
    },
  };
}

/** What a job of a query does, as its span is named. */
function nameOf(step: QueryStep): string {
  return step.step === "shard" ? `shard ${step.shard}` : step.step;
}

/** A shard whose rows are to be written. */
interface Part extends Omit<SampledPartOptions, "store" | "signal"> {
  readonly run: SpineRun;
}

/** The rows of all shards, and what they are written with. */
type Given = Pick<Part, "run" | "tables" | "givens" | "folder">;

/** A shard whose rows are written. */
interface DonePart {
  readonly counts: ShardCounts;
  /** The file with the failures of its rows. */
  readonly failed: { readonly path: string; readonly rows: number } | undefined;
}

/** A query, with the trace of the attempt at one of its jobs; undefined = it is not kept. */
type TracedQuery = OfflineQueryRecord & { readonly tracing?: Tracing | undefined };

/** The query ended while a job of it ran. */
class Ended extends Error {}

const ORIGINS = { manual: "offline_query", scheduled_query: "scheduled_query" } as const;

/** What the revision of a query is begun for. */
export function originOf({ environmentId, kind, id }: OfflineQueryRecord): BegunFor {
  return { environmentId, origin: ORIGINS[kind], originId: id };
}

function planned(query: TracedQuery): Parameters<typeof planSpine>[2] {
  const { queryName, queryNameVersion, request, tracing } = query;
  return { ...request, queryName, queryNameVersion, operation: query.id, tracing };
}

/** Whether another attempt would fail alike. */
function isFinal(error: unknown): error is Error {
  if (error instanceof TableError) return error.code !== "failed";
  if (error instanceof OfflineStoreError) return error.code === "refused";
  return error instanceof Failure && error.kind !== "unavailable";
}

/** Completes what is written when the work is done, and leaves nothing when it fails. */
async function closing(writer: TableWriter, work: () => Promise<void>): Promise<void> {
  try {
    await work();
    await writer.finish();
  } catch (error) {
    await writer.abandon().catch(() => undefined);
    throw error;
  }
}

/** The time of rows that were given none, microseconds since 1970. */
function fixedTime({ createdAt, request: { rows } }: OfflineQueryRecord): bigint {
  const ms = rows.from === "keys" && rows.upperBound !== null ? rows.upperBound : createdAt;
  return BigInt(Math.round(ms * 1000));
}

/** Positions of the rows that are kept. */
function keptRows(
  run: SpineRun,
  values: readonly (readonly FeatureValue[])[],
  times: readonly bigint[],
  fraction: number,
): readonly number[] {
  const all = [...times.keys()];
  if (fraction === 0) return all;
  return all.filter((row) => isKept(fraction, rowKey(run, values, row), times[row] as bigint));
}

function tooManyTogether({ most, resolver }: TogetherRows): string {
  const count = most.toLocaleString("en");
  return `${resolver} has partitioned_by, so all rows of the query are computed together: ask for ${count} at most, or have the resolver run by itself and sample what it stored`;
}

/** Rows of a spine for each shard, as many in each as in others. */
function shardsOf(rows: number, shards: number): { readonly fromRow: number; readonly spineRows: number }[] {
  return Array.from({ length: shards }, (_, shard) => {
    const [fromRow, to] = [Math.floor((rows * shard) / shards), Math.floor((rows * (shard + 1)) / shards)];
    return { fromRow, spineRows: to - fromRow };
  });
}

function joined(parts: readonly Float64Array[]): Float64Array {
  const all = new Float64Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

function partName(what: string, shard: number): string {
  return `${what}-${String(shard).padStart(3, "0")}.parquet`;
}

/** Whether something was observed, or computed, of all required outputs. */
function hasRequired(run: SpineRun, { columns }: ComputedSpine, row: number): boolean {
  return run.outputs.every(({ isRequired }, at) => {
    const column = columns[at];
    return !isRequired || !column || column.values[row] !== null || !Number.isNaN(column.observedAt[row]);
  });
}

/** Writes why values failed, into a file that is made with the first of them. */
function errorWriter(tables: TableEngine, path: string, run: SpineRun) {
  const keys = run.inputs.flatMap((input, at) => (input.isKey ? [{ ...input, at }] : []));
  let writer: TableWriter | undefined;
  let written = 0;
  return {
    async append(from: number, { times, given, computed: { failures } }: DoneRows): Promise<void> {
      const told = failures.slice(0, MAX_FAILURES - written);
      if (told.length === 0) return;
      writer ??= await tables.write(path, [
        { name: "row", dtype: INT },
        ...keys.map(({ path: name, feature }) => ({ name, dtype: feature.dtype })),
        { name: TIME_COLUMN, dtype: DATETIME },
        ...["feature", "code", "message", "resolver"].map((name) => ({ name, dtype: TEXT })),
      ]);
      written += told.length;
      await writer.append({
        rows: told.length,
        columns: [
          told.map(({ row }) => from + row),
          ...keys.map(({ at }) => told.map(({ row }) => given[at]?.[row] ?? null)),
          told.map(({ row }) => formatMicros(times[row] as bigint)),
          told.map(({ feature }) => feature),
          told.map(({ code }) => ErrorCode[code]),
          told.map(({ message }) => message.slice(0, MAX_ERROR)),
          told.map(({ resolver }) => resolver),
        ],
      });
    },
    async finish(): Promise<{ readonly path: string; readonly rows: number } | undefined> {
      if (!writer) return undefined;
      const { rows } = await writer.finish();
      return { path, rows };
    },
    async abandon(): Promise<void> {
      await writer?.abandon().catch(() => undefined);
    },
  };
}
