/**
 * The work of an upload of a file: all its rows are checked, then written in parts. An attempt goes
 * on after the last part that counts; a part that was cut off is written again with the same keys,
 * times and values.
 */

import { mkdir, open, rm } from "node:fs/promises";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { DataTypeSchema, PrimitiveType } from "../../../gen/svc/v1/value_pb.ts";
import { suspended } from "../deployments/environment-states.ts";
import { onlineScope } from "../deployments/live-scopes.ts";
import { Failure } from "../failure.ts";
import { type Attempt, JobFailed, type JobHandler } from "../jobs/runner.ts";
import type { JobRecord } from "../stores/metadata/jobs.ts";
import type { ValueUploadPatch, ValueUploadRecord } from "../stores/metadata/value-uploads.ts";
import { ObjectMismatch } from "../stores/objects/store.ts";
import { verified } from "../stores/objects/verified.ts";
import { type TableColumn, type TableDescription, type TableEngine, TableError } from "../tables/engine.ts";
import { Problems, type RawForm, type TypedRows, typedRows } from "./typed-rows.ts";
import type { DeploymentPlace, VersionedDeployment } from "./upload-deployment.ts";
import { planUpload, UploadRefused } from "./upload-plan.ts";
import type { ValueUploadsOptions } from "./value-uploads.ts";
import { plus, type WriterOptions, type WrittenValues, writeRows } from "./value-writer.ts";

/** Values that are converted and written together, and bounds of the rows that have them. */
const PART_VALUES = 50_000;
const LEAST_PART_ROWS = 25;
const MOST_PART_ROWS = 10_000;
/** Most rows of a file. */
const MAX_FILE_ROWS = 100_000_000;

/** A file whose columns are understood. */
interface OpenFile {
  readonly engine: TableEngine;
  readonly path: string;
  readonly columns: readonly TableColumn[];
  readonly form: RawForm;
}

/** Makes the handler. */
export function createUploadHandler(
  options: ValueUploadsOptions & {
    readonly deploymentOf: (place: DeploymentPlace) => Promise<VersionedDeployment>;
    readonly writer: WriterOptions;
  },
): JobHandler {
  const { metadata, objects, folder, clock, deploymentOf, writer } = options;

  /** Where the values go. Throws when they may not go there now. */
  const placeOf = async ({ environmentId, request }: ValueUploadRecord): Promise<DeploymentPlace> => {
    const environment = await metadata.environment(environmentId);
    if (!environment) throw new JobFailed("its environment was deleted");
    if (environment.suspendedAt !== undefined) throw new JobFailed(suspended(environment).message);
    if (options.isSuspended()) throw new Error("writing to the stores is suspended");
    return { deploymentId: request.deploymentId, environmentId, environmentName: environment.name, branch: request.branch };
  };

  const fetchFile = async ({ object, sha256 }: ValueUploadRecord, path: string): Promise<void> => {
    const body = await objects.get(object);
    if (!body) throw new JobFailed("its file is no longer in the object store");
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const file = await open(path, "w", 0o600);
    try {
      for await (const bytes of verified(body, sha256)) await file.write(bytes);
    } finally {
      await file.close();
    }
  };

  const openFile = async (path: string, { request: { format } }: ValueUploadRecord): Promise<OpenFile & TableDescription> => {
    const engine = await options.tables();
    const described = await engine.describe(path, format);
    if (described.rows > MAX_FILE_ROWS) throw refused(`the file has more than ${MAX_FILE_ROWS} rows`);
    if (described.rows === 0) throw refused("the file has no rows");
    const type = format === "csv" ? TEXT : JSON_VALUE;
    const columns = format === "parquet" ? described.columns : described.columns.map(({ name }) => ({ name, dtype: type }));
    return { ...described, engine, path, columns, form: format === "csv" ? "raw" : "typed" };
  };

  const readRows = async function* (
    file: OpenFile,
    record: ValueUploadRecord,
    deployment: () => VersionedDeployment,
    from: number,
    problems: Problems,
    signal: AbortSignal,
  ): AsyncIterable<{ readonly offset: number; readonly rows: number; readonly typed: () => readonly TypedRows[] }> {
    const { request, createdAt } = record;
    const names = file.columns.map(({ name }) => name);
    const times = { time: request.time ?? createdAt, knownAt: request.knownAt, now: clock.now() };
    let offset = from;
    const chunkRows = partRows(file.columns.length);
    const chunks = file.engine.read(file.path, { format: request.format, columns: file.columns, offset: from, chunkRows, signal });
    for await (const { rows, columns } of readAhead(chunks)) {
      const raw = { rows, columns, offset };
      yield { offset, rows, typed: () => typedRows(planUpload(names, request, deployment()), raw, file.form, times, problems) };
      offset += rows;
    }
  };

  /** Checks all rows; returns their number. Throws UploadRefused. */
  const check = async (
    file: OpenFile,
    record: ValueUploadRecord,
    deployment: VersionedDeployment,
    signal: AbortSignal,
    tell: (rowsChecked: number) => Promise<void>,
  ): Promise<number> => {
    const problems = new Problems();
    let checked = 0;
    for await (const { offset, rows, typed } of readRows(file, record, () => deployment, 0, problems, signal)) {
      typed();
      checked = offset + rows;
      if (problems.isFull) break;
      await tell(checked);
    }
    if (problems.found.length > 0) throw new UploadRefused(problems.found);
    return checked;
  };

  const work = async (record: ValueUploadRecord, job: JobRecord, { signal, progress }: Attempt, path: string): Promise<void> => {
    const update = async (patch: ValueUploadPatch): Promise<void> => {
      signal.throwIfAborted();
      if (!(await metadata.valueUploads.update(record.id, job.fence, patch))) throw new Error("another node has the upload");
    };
    const place = await placeOf(record);
    let deployment = await deploymentOf(place);
    await fetchFile(record, path);
    const file = await openFile(path, record);
    let { rows } = record;
    if (rows === null) {
      rows = await check(file, record, deployment, signal, async (rowsChecked) => {
        progress(`${rowsChecked} rows checked`);
        await update({ rowsChecked });
      });
      await update({ rows, rowsChecked: rows });
    }
    if (record.request.isDryRun) return;
    const origin = { scope: onlineScope(place.environmentId, place.branch), deploymentId: place.deploymentId };
    let sum: WrittenValues = { online: record.onlineValues, offline: record.offlineValues, deleted: record.deletedValues };
    const problems = new Problems();
    for await (const part of readRows(file, record, () => deployment, record.rowsWritten, problems, signal)) {
      for (;;) {
        await placeOf(record);
        const typed = part.typed();
        if (problems.found.length > 0) throw new UploadRefused(problems.found);
        const written = await writeRows(writer, origin, typed);
        const { versions } = deployment;
        deployment = await deploymentOf(place);
        // Values of versions that were ended meanwhile were not stored.
        if (deployment.versions !== versions) continue;
        sum = plus(sum, written);
        break;
      }
      const rowsWritten = part.offset + part.rows;
      progress(`${rowsWritten} of ${rows} rows written`);
      await update({ rowsWritten, onlineValues: sum.online, offlineValues: sum.offline, deletedValues: sum.deleted });
    }
  };

  return {
    async run(job, attempt) {
      const record = await metadata.valueUploads.begin(job.id, job.fence);
      if (!record) return;
      const path = join(folder, `${job.id}-${job.fence}`);
      try {
        await work(record, job, attempt, path);
      } catch (error) {
        throw await finalFailure(error, path, async (problems) => {
          await metadata.valueUploads.update(record.id, job.fence, { problems });
        });
      } finally {
        await rm(path, { force: true });
      }
      await metadata.valueUploads.update(record.id, job.fence, { state: "succeeded" });
      await objects.delete(record.object);
    },

    async giveUp(job, reason) {
      const record = await metadata.valueUploads.get(job.id);
      await metadata.valueUploads.update(job.id, job.fence, { state: "failed", error: reason.slice(0, MAX_ERROR) });
      if (record) await objects.delete(record.object);
    },
  };
}

/** The items, of which the next is asked for while one is worked on. */
async function* readAhead<T>(items: AsyncIterable<T>): AsyncIterable<T> {
  const iterator = items[Symbol.asyncIterator]();
  let next = iterator.next();
  try {
    for (;;) {
      const item = await next;
      if (item.done) return;
      next = iterator.next();
      next.catch(() => undefined);
      yield item.value;
    }
  } finally {
    await next.catch(() => undefined);
    await iterator.return?.();
  }
}

function partRows(columns: number): number {
  return Math.min(MOST_PART_ROWS, Math.max(LEAST_PART_ROWS, Math.floor(PART_VALUES / columns)));
}

/** Most characters of an error that are kept. */
const MAX_ERROR = 4_000;

const TEXT = create(DataTypeSchema, { kind: { case: "primitive", value: PrimitiveType.STRING } });
const JSON_VALUE = create(DataTypeSchema, { kind: { case: "primitive", value: PrimitiveType.JSON } });

function refused(message: string): UploadRefused {
  return new UploadRefused([{ row: 0, column: "", message }]);
}

/** The error of an attempt, as JobFailed when another one would fail alike. */
async function finalFailure(error: unknown, path: string, keep: (problems: UploadRefused["problems"]) => Promise<void>): Promise<unknown> {
  if (error instanceof UploadRefused) {
    await keep(error.problems);
    return new JobFailed(error.message);
  }
  if (error instanceof ObjectMismatch) return new JobFailed("the file that came is not the one that was announced; upload it again");
  if (error instanceof TableError && error.code !== "failed" && error.code !== "exhausted")
    return new JobFailed((error.message.split("\n\n", 1)[0] as string).replaceAll(path, "the file").slice(0, MAX_ERROR));
  if (error instanceof Failure && error.kind !== "unavailable") return new JobFailed(error.message);
  return error;
}
