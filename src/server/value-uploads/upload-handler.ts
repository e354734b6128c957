/**
 * The work of an upload of a file: all its rows are checked, then written in parts. An attempt goes
 * on after the last part that counts; a part that was cut off is written again with the same keys,
 * times and values.
 */

import { rm } from "node:fs/promises";
import { join } from "node:path";
import { suspended } from "../deployments/environment-states.ts";
import { onlineScope } from "../deployments/live-scopes.ts";
import type { Lease } from "../deployments/running.ts";
import { type Attempt, JobFailed, type JobHandler } from "../jobs/runner.ts";
import type { JobRecord } from "../stores/metadata/jobs.ts";
import type { ValueUploadPatch, ValueUploadRecord } from "../stores/metadata/value-uploads.ts";
import { checkValues } from "./checked-values.ts";
import { Problems, type TypedRows, typedRows } from "./typed-rows.ts";
import type { DeploymentPlace, VersionedDeployment } from "./upload-deployment.ts";
import { type FileOpener, finalFailure, MAX_ERROR, type OpenFile } from "./upload-file.ts";
import { planUpload, UploadRefused } from "./upload-plan.ts";
import type { PartTeller, ValueUploadsOptions } from "./value-uploads.ts";
import { plus, type WriterOptions, type WrittenValues, writeRows } from "./value-writer.ts";

/** Values that are converted and written together, and bounds of the rows that have them. */
const PART_VALUES = 50_000;
const LEAST_PART_ROWS = 25;
const MOST_PART_ROWS = 10_000;

/** Makes the handler. */
export function createUploadHandler(
  options: ValueUploadsOptions & {
    readonly deploymentOf: (place: DeploymentPlace) => Promise<VersionedDeployment>;
    readonly openFile: FileOpener;
    readonly tell: PartTeller;
    readonly writer: WriterOptions;
  },
): JobHandler {
  const { metadata, objects, folder, clock, deploymentOf, openFile, tell, writer } = options;

  /** Where the values go. Throws when they may not go there now. */
  const placeOf = async ({ environmentId, request }: ValueUploadRecord): Promise<DeploymentPlace> => {
    const environment = await metadata.environment(environmentId);
    if (!environment) throw new JobFailed("its environment was deleted");
    if (environment.suspendedAt !== undefined) throw new JobFailed(suspended(environment).message);
    if (options.isSuspended()) throw new Error("writing to the stores is suspended");
    return { deploymentId: request.deploymentId, environmentId, environmentName: environment.name, branch: request.branch };
  };

  const workersOf = async ({ environmentId, request: { branch, deploymentId } }: ValueUploadRecord): Promise<Lease> => {
    const environment = await metadata.environment(environmentId);
    if (!environment) throw new JobFailed("its environment was deleted");
    return options.deployments.acquire({ environment, branch, deploymentId });
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
    const times = { time: request.time ?? request.askedAt ?? createdAt, knownAt: request.knownAt, now: clock.now() };
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
    const names = file.columns.map(({ name }) => name);
    let checked = 0;
    for await (const { offset, rows, typed } of readRows(file, record, () => deployment, 0, problems, signal)) {
      const values = typed();
      if (problems.found.length === 0) await checkValues(() => workersOf(record), values, { names, offset }, problems);
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
    const file = await openFile(record, record.request.format, path);
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
        await tell(place, deployment, { uploadId: record.id, offset: part.offset, typed });
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
