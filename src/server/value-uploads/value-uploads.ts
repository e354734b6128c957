/**
 * Uploads of values of features: a few with a call, many as a file, which a job checks whole and
 * then writes in parts. Nothing of an upload is stored when anything of it is wrong.
 */

import { rm } from "node:fs/promises";
import type { Graph } from "../../../gen/svc/v1/graph_pb.ts";
import type { Clock } from "../../context/clock.ts";
import { DAY_MS } from "../../domain/day.ts";
import type { DeploymentTarget } from "../access/scope.ts";
import type { DeletedValues } from "../deletions/deleted-values.ts";
import { suspended } from "../deployments/environment-states.ts";
import { onlineScope } from "../deployments/live-scopes.ts";
import type { Lease } from "../deployments/running.ts";
import { Failure } from "../failure.ts";
import { newId } from "../identifier.ts";
import type { Bus } from "../jobs/bus.ts";
import { noteChange } from "../jobs/changes.ts";
import type { RecurringJob } from "../jobs/recurring.ts";
import type { JobHandler } from "../jobs/runner.ts";
import type { Log } from "../log.ts";
import type { ComputedCell } from "../query/answer/computed.ts";
import type { NewJob } from "../stores/metadata/jobs.ts";
import type { MetadataStore } from "../stores/metadata/store.ts";
import type { ValueUploadRecord, ValueUploadRequest } from "../stores/metadata/value-uploads.ts";
import { MAX_OBJECT_BYTES, type ObjectStore, type SignedAddress } from "../stores/objects/store.ts";
import type { OfflineStore } from "../stores/offline/store.ts";
import type { OnlineStore } from "../stores/online/store.ts";
import type { TableEngine } from "../tables/engine.ts";
import { checkValues } from "./checked-values.ts";
import { type CallTiming, createKeptUploads, type FileWish, type KeptUploads } from "./kept-uploads.ts";
import { Problems, type TypedRows, typedRows } from "./typed-rows.ts";
import { createUploadDeployments, type DeploymentPlace, type VersionedDeployment } from "./upload-deployment.ts";
import { createFileOpener } from "./upload-file.ts";
import { createUploadHandler } from "./upload-handler.ts";
import { planUpload, type UploadOptions, UploadRefused } from "./upload-plan.ts";
import { uploadedValues } from "./uploaded-values.ts";
import { NOTHING_WRITTEN, type WriterOptions, type WrittenValues, writeRows } from "./value-writer.ts";

/** The kind of the jobs that write files of values. */
export const VALUE_UPLOAD_JOB = "value-upload";

/** Most rows and values of an upload with a call. */
const MAX_CALL_ROWS = 100_000;
const MAX_CALL_VALUES = 500_000;
/** Milliseconds for which a file may be uploaded. */
const ANNOUNCED_MS = DAY_MS;
/** Milliseconds that uploads are kept after their end. */
const KEPT_MS = 90 * DAY_MS;
/** Most uploads of an environment that may wait or run. */
const MAX_OPEN = 100;
const MAX_ATTEMPTS = 10;
const ATTEMPT_TIMEOUT_MS = 6 * 3_600_000;
/** Beginning of the keys of files. */
const PREFIX = "values/";
/** Most records and objects of a step of the upkeep. */
const BATCH = 1_000;

/** Columns of values with a call. */
export interface CallColumns {
  readonly names: readonly string[];
  /** One list for each name, all of one length. */
  readonly columns: readonly (readonly unknown[])[];
}

/** What came of an upload with a call. */
export interface CallResult extends WrittenValues {
  readonly rows: number;
}

/** A file that was announced. */
export interface AnnouncedFile extends SignedAddress {
  readonly uploadId: string;
}

/** Values that were stored together, of which those are told who want to know of computed ones. */
export interface UploadedPart {
  readonly uploadId: string;
  readonly environmentId: string;
  /** Empty = the environment's own. */
  readonly branch: string;
  readonly deployment: { readonly id: string; readonly graph: Graph };
  /** Number of rows of the upload that came before. */
  readonly offset: number;
  /** When they were stored, epoch milliseconds. */
  readonly at: number;
  readonly values: (wants: (fqn: string) => boolean) => Iterable<ComputedCell>;
}

/** Tells of rows that were stored; never rejects. */
export type PartTeller = (
  place: DeploymentPlace,
  deployment: Pick<VersionedDeployment, "graph">,
  part: { readonly uploadId: string; readonly offset: number; readonly typed: readonly TypedRows[] },
) => Promise<void>;

/** The services that uploads need. */
export interface ValueUploadsOptions {
  readonly metadata: Pick<MetadataStore, "createUpload" | "environment" | "featureIdentities" | "keepUpload" | "upload" | "valueUploads">;
  readonly deployments: {
    resolve(target: DeploymentTarget): Promise<string>;
    graph(id: string): Promise<Graph>;
    acquire(target: DeploymentTarget): Lease | Promise<Lease>;
  };
  readonly objects: ObjectStore;
  readonly online: Pick<OnlineStore, "dropped" | "flush" | "put">;
  readonly offline: () => Promise<Pick<OfflineStore, "append">>;
  readonly deleted: DeletedValues;
  readonly tables: () => Promise<TableEngine>;
  /** Told of values that were stored; never rejects. */
  readonly uploaded: (part: UploadedPart) => Promise<void>;
  /** Whether writing to the stores is suspended. */
  readonly isSuspended: () => boolean;
  /** Absolute folder for files while they are read; what is in it from before is removed. */
  readonly folder: string;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly log: Log;
}

/** The capability. */
export interface ValueUploads {
  /**
   * Checks and stores a few rows; they are stored when it resolves, unless it is a dry run. Rejects
   * with UploadRefused when anything of them is wrong, or with Failure; then nothing of them is
   * stored, unless a store failed.
   */
  upload(target: DeploymentTarget, given: CallColumns, options: UploadOptions, isDryRun: boolean): Promise<CallResult>;
  /** An address to which a file can be put, once. Rejects with Failure invalid_argument. */
  announce(sha256: string, sizeBytes: number): Promise<AnnouncedFile>;
  /** Begins to check and store a file that was put. Rejects with Failure. */
  begin(target: DeploymentTarget, uploadId: string, wish: FileWish): Promise<ValueUploadRecord>;
  /** An upload of a file. Rejects with Failure not_found. */
  find(id: string, environmentId: string): Promise<ValueUploadRecord>;
  /** Uploads that wait for approval. */
  readonly kept: KeptUploads;
  /** The handler of VALUE_UPLOAD_JOB jobs. */
  readonly handler: JobHandler;
  /** The removal of old uploads, and of files that nobody needs any more. */
  readonly upkeep: RecurringJob["run"];
}

/** Makes the capability. */
export async function createValueUploads(options: ValueUploadsOptions): Promise<ValueUploads> {
  const { metadata, deployments, deleted, objects, online, offline, bus, clock } = options;
  await rm(options.folder, { recursive: true, force: true });
  const deploymentOf = createUploadDeployments({ metadata, graphOf: (id) => deployments.graph(id), now: () => clock.now() });
  const writer: WriterOptions = { online, offline, deleted, now: () => clock.now() };

  const openFile = createFileOpener(options);
  const tell: PartTeller = ({ branch, deploymentId, environmentId }, { graph }, { uploadId, offset, typed }) => {
    const scope = onlineScope(environmentId, branch);
    return options.uploaded({
      ...{ uploadId, environmentId, branch, offset, at: clock.now(), deployment: { id: deploymentId, graph } },
      values: (wants) => uploadedValues(typed, scope, deleted, wants),
    });
  };

  /** Refuses an upload to where nothing may be stored now. */
  const refuse = ({ environment }: DeploymentTarget): void => {
    if (environment.suspendedAt !== undefined) throw suspended(environment);
    if (options.isSuspended())
      throw new Failure("unavailable", "Writing to the stores is suspended, so nothing was uploaded.", {
        hint: "Upload again after `svc infra resume persistence`.",
      });
  };

  const placeOf = async (target: DeploymentTarget): Promise<DeploymentPlace> => ({
    deploymentId: await deployments.resolve(target),
    environmentId: target.environment.id,
    environmentName: target.environment.name,
    branch: target.branch,
  });

  const upload = async (
    target: DeploymentTarget,
    { names, columns }: CallColumns,
    given: UploadOptions,
    { isDryRun, time }: CallTiming,
  ): Promise<CallResult> => {
    refuse(target);
    const rows = lengthOf(names, columns);
    const now = clock.now();
    refuseTimes(given, now);
    const place = await placeOf(target);
    for (;;) {
      const deployment = await deploymentOf(place);
      const plan = planUpload(names, given, deployment);
      const problems = new Problems();
      const times = { time: given.time ?? time, knownAt: given.knownAt, now };
      const typed = typedRows(plan, { rows, columns, offset: 0 }, "typed", times, problems);
      if (problems.found.length === 0) {
        const workers = () => deployments.acquire({ ...target, deploymentId: place.deploymentId });
        await checkValues(workers, typed, { names, offset: 0 }, problems);
      }
      if (problems.found.length > 0) throw new UploadRefused(problems.found);
      if (isDryRun) return { ...NOTHING_WRITTEN, rows };
      const origin = { scope: onlineScope(place.environmentId, place.branch), deploymentId: place.deploymentId };
      const written = await writeRows(writer, origin, typed);
      // Values of versions that were ended meanwhile were not stored.
      if ((await deploymentOf(place)).versions !== deployment.versions) continue;
      await tell(place, deployment, { uploadId: newId("upl", now), offset: 0, typed });
      return { ...written, rows };
    }
  };

  /** An announced file that was put whole. */
  const putFile = async (uploadId: string) => {
    const announced = await metadata.upload(uploadId);
    if (!announced || announced.expiresAt <= clock.now())
      throw new Failure("not_found", "There is no such upload, or it has expired.", { hint: "Upload the file again." });
    if ((await objects.size(objectOf(uploadId))) !== announced.sizeBytes)
      throw new Failure("failed_precondition", "The file was not uploaded whole, or was written already.", {
        hint: "Upload it again; nothing was changed.",
      });
    return announced;
  };

  const begin = async (
    target: DeploymentTarget,
    uploadId: string,
    wish: FileWish & Pick<ValueUploadRequest, "askedAt">,
    id = newId("job", clock.now()),
  ): Promise<ValueUploadRecord> => {
    refuse(target);
    refuseTimes(wish, clock.now());
    const { sha256 } = await putFile(uploadId);
    const { deploymentId, environmentId } = await placeOf(target);
    const request: ValueUploadRequest = { ...wish, branch: target.branch, deploymentId };
    const made = await metadata.valueUploads.create(
      { id, environmentId, object: objectOf(uploadId), sha256, request },
      uploadJob(id, environmentId),
      MAX_OPEN,
    );
    if (made === "full")
      throw new Failure("resource_exhausted", `${MAX_OPEN} uploads wait in environment '${target.environment.name}' already.`, {
        hint: "`svc jobs list` shows them; upload again when some have ended.",
      });
    bus.publish("jobs", id);
    noteChange(bus, "runs", environmentId);
    return made;
  };

  const kept = createKeptUploads({
    ...{ metadata, objects, clock, openFile, objectOf, upload, begin, folder: options.folder },
    deploymentOf: async (target) => deploymentOf(await placeOf(target)),
    putFile,
    refuse(target, said) {
      refuse(target);
      refuseTimes(said, clock.now());
    },
  });

  return {
    upload: (target, given, said, isDryRun) => upload(target, given, said, { isDryRun, time: clock.now() }),

    begin: (target, uploadId, wish) => begin(target, uploadId, wish),

    kept,

    async announce(sha256, sizeBytes) {
      if (!/^[0-9a-f]{64}$/.test(sha256)) throw new Failure("invalid_argument", "sha256 must be 64 lower-case hex digits.");
      if (sizeBytes <= 0 || sizeBytes > MAX_OBJECT_BYTES)
        throw new Failure("invalid_argument", `A file has between 1 and ${MAX_OBJECT_BYTES} bytes; this one has ${sizeBytes}.`, {
          hint: "Split it, or write it as Parquet, which is smaller.",
        });
      const createdAt = clock.now();
      const uploadId = newId("upl", createdAt);
      await metadata.createUpload({ id: uploadId, sha256, sizeBytes, createdAt, expiresAt: createdAt + ANNOUNCED_MS });
      return { uploadId, ...(await objects.sign("put", objectOf(uploadId), sizeBytes)) };
    },

    async find(id, environmentId) {
      const found = await metadata.valueUploads.get(id);
      if (found?.environmentId === environmentId) return found;
      throw new Failure("not_found", `There is no upload '${id.slice(0, 100)}' of values in this environment.`, {
        hint: "An upload is known for 90 days after its end.",
      });
    },

    handler: createUploadHandler({ ...options, deploymentOf, openFile, tell, writer }),

    async upkeep(signal) {
      while ((await metadata.valueUploads.purge(KEPT_MS, BATCH)) === BATCH) signal.throwIfAborted();
      for (let after = ""; ; ) {
        const listed = await objects.list({ prefix: PREFIX, limit: BATCH, ...(after !== "" && { after }) });
        const inUse = await metadata.valueUploads.objectsInUse();
        for (const { key } of listed) {
          signal.throwIfAborted();
          const announced = await metadata.upload(key.slice(PREFIX.length));
          const isAwaited = announced && announced.expiresAt > clock.now();
          if (!isAwaited && !inUse.has(key)) await objects.delete(key);
        }
        if (listed.length < BATCH) return;
        after = listed.at(-1)?.key ?? "";
      }
    },
  };
}

/** The object of a file that was announced. */
function objectOf(uploadId: string): string {
  if (!/^upl_[0-9a-z]+$/.test(uploadId)) throw new Failure("not_found", "There is no such upload.", { hint: "Upload the file again." });
  return PREFIX + uploadId;
}

/** The job of an upload. Those of an environment are written one after another, in their order. */
function uploadJob(id: string, environmentId: string): NewJob {
  return {
    id,
    kind: VALUE_UPLOAD_JOB,
    payload: { environmentId },
    scope: environmentId,
    subject: id,
    group: { name: `value-upload:${environmentId}`, slots: 1 },
    maxAttempts: MAX_ATTEMPTS,
    attemptTimeoutMs: ATTEMPT_TIMEOUT_MS,
  };
}

/**
 * The number of rows. Throws UploadRefused when there are too many, or columns differ in length.
 */
function lengthOf(names: readonly string[], columns: readonly (readonly unknown[])[]): number {
  const rows = columns[0]?.length ?? 0;
  const odd = columns.findIndex(({ length }) => length !== rows);
  const message =
    odd > 0
      ? `columns are equally long: ${names[0]} has ${rows} values, ${names[odd]} has ${columns[odd]?.length}`
      : rows > MAX_CALL_ROWS || rows * columns.length > MAX_CALL_VALUES
        ? `an upload with a call has at most ${MAX_CALL_ROWS} rows and ${MAX_CALL_VALUES} values: split it, or upload a file`
        : rows === 0
          ? "there are no rows"
          : undefined;
  if (message !== undefined) throw new UploadRefused([{ row: 0, column: "", message }]);
  return rows;
}

/** Refuses times of all rows that lie in the future. */
function refuseTimes({ time, knownAt }: Pick<UploadOptions, "time" | "knownAt">, now: number): void {
  const late = [...(time === null ? [] : [["time", time] as const]), ...(knownAt === null ? [] : [["known-at", knownAt] as const])];
  for (const [name, at] of late)
    if (at > now + 1_000)
      throw new Failure("invalid_argument", `The ${name} of the rows lies in the future.`, { hint: "Nothing was uploaded." });
}
