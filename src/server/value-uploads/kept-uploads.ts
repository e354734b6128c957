/**
 * Uploads that wait for approval. Their values are an object like any that was announced, which is
 * kept until the request for approval has expired at the latest, and whose digest is what was asked
 * for. Values that came with a call are written by the approval itself; a file by its job, which
 * then has the object.
 */

import { rm } from "node:fs/promises";
import { join } from "node:path";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { UploadValuesRequestSchema } from "../../../gen/svc/v1/feature_data_pb.ts";
import type { Clock } from "../../context/clock.ts";
import { DAY_MS } from "../../domain/day.ts";
import { fromProtoValue, toProtoValue } from "../../domain/proto-value.ts";
import type { FeatureValue } from "../../domain/value.ts";
import type { DeploymentTarget } from "../access/scope.ts";
import { Failure } from "../failure.ts";
import { newId } from "../identifier.ts";
import { JobFailed } from "../jobs/runner.ts";
import type { EnvironmentRecord } from "../stores/metadata/identity.ts";
import type { MetadataStore } from "../stores/metadata/store.ts";
import type { ValueUploadRequest } from "../stores/metadata/value-uploads.ts";
import type { ObjectStore } from "../stores/objects/store.ts";
import { verified } from "../stores/objects/verified.ts";
import { type FileOpener, finalFailure } from "./upload-file.ts";
import { planUpload, type UploadDeployment, type UploadOptions, type UploadPlan, UploadRefused } from "./upload-plan.ts";
import type { CallColumns } from "./value-uploads.ts";

/** What is said of the file of an upload. */
export type FileWish = Omit<ValueUploadRequest, "branch" | "deploymentId" | "askedAt">;

/** An upload that waits for approval. */
export interface KeptUpload {
  /** Its id among the announced files, by which its object is found. */
  readonly uploadId: string;
  /** Of its values, lower-case hex. */
  readonly sha256: string;
  /** The deployment that the caller named; empty = the live one of when it is written. */
  readonly deploymentId: string;
  /** When it was asked for: the time of rows without another. */
  readonly askedAt: number;
  /** What was said of it. */
  readonly options: UploadOptions;
  /** The file's format, and the id of the job to come; undefined = it came with a call. */
  readonly file: { readonly jobId: string; readonly format: FileWish["format"] } | undefined;
  /** Fully qualified names of the features whose values it has. */
  readonly features: readonly string[];
  readonly rows: number;
}

/** Uploads that wait for approval. Everything rejects with Failure. */
export interface KeptUploads {
  /** Checks a few rows, and keeps them. Rejects with UploadRefused when anything is wrong. */
  keepCall(target: DeploymentTarget, given: CallColumns, options: UploadOptions): Promise<KeptUpload>;
  /**
   * Checks the columns of a file that was put, and keeps it; its rows are checked when it is
   * written.
   */
  keepFile(target: DeploymentTarget, uploadId: string, wish: FileWish): Promise<KeptUpload>;
  /** Whether the job of a file has begun, or has ended. */
  isMade(kept: KeptUpload): Promise<boolean>;
  /** Writes values that came with a call, or has a job write a file. It may be done again. */
  make(environment: EnvironmentRecord, kept: KeptUpload): Promise<void>;
  /** Removes what no job needs. */
  discard(kept: KeptUpload): Promise<void>;
}

/** What they need. */
export interface KeptUploadsOptions {
  readonly metadata: Pick<MetadataStore, "createUpload" | "keepUpload" | "upload" | "valueUploads">;
  readonly objects: ObjectStore;
  readonly folder: string;
  readonly clock: Clock;
  readonly openFile: FileOpener;
  readonly objectOf: (uploadId: string) => string;
  readonly deploymentOf: (target: DeploymentTarget) => Promise<UploadDeployment>;
  /** Checks rows of a call, and writes them unless it is a dry run. */
  readonly upload: (target: DeploymentTarget, given: CallColumns, options: UploadOptions, how: CallTiming) => Promise<{ rows: number }>;
  /** Refuses an upload to where, or with times at which, nothing may be stored. */
  readonly refuse: (target: DeploymentTarget, said: UploadOptions) => void;
  /** A file that was put. */
  readonly putFile: (uploadId: string) => Promise<{ readonly sha256: string; readonly expiresAt: number }>;
  /** Begins the job of a file. */
  readonly begin: (target: DeploymentTarget, uploadId: string, wish: FileWish & { askedAt: number }, jobId: string) => Promise<unknown>;
}

/** How rows of a call are treated. */
export interface CallTiming {
  readonly isDryRun: boolean;
  /** The time of rows without another, epoch milliseconds. */
  readonly time: number;
}

/** Milliseconds that values are kept: longer than a request for approval may wait. */
const KEPT_MS = 8 * DAY_MS;

/** Makes the capability. */
export function createKeptUploads(options: KeptUploadsOptions): KeptUploads {
  const { metadata, objects, clock, objectOf } = options;

  const columnsOf = async (target: DeploymentTarget, names: readonly string[], said: UploadOptions): Promise<readonly string[]> =>
    featuresOf(planUpload(names, said, await options.deploymentOf(target)));

  /** What a file has, by its columns. */
  const looked = async (target: DeploymentTarget, object: string, sha256: string, wish: FileWish) => {
    const path = join(options.folder, newId("upl", clock.now()));
    try {
      const { columns, rows } = await options.openFile({ object, sha256 }, wish.format, path);
      return {
        rows,
        features: await columnsOf(
          target,
          columns.map(({ name }) => name),
          wish,
        ),
      };
    } catch (error) {
      const failure = error instanceof Failure ? error : await finalFailure(error, path, async () => undefined);
      throw failure instanceof JobFailed ? new Failure("invalid_argument", `Nothing was uploaded.\n${failure.message}`) : failure;
    } finally {
      await rm(path, { force: true });
    }
  };

  const callOf = async ({ sha256, uploadId }: KeptUpload): Promise<CallColumns> => {
    const body = await objects.get(objectOf(uploadId));
    if (!body) throw new Failure("failed_precondition", "The values are no longer kept.", { hint: "Upload them again." });
    const bytes = Buffer.concat(await Array.fromAsync(verified(body, sha256)));
    const { columns } = fromBinary(UploadValuesRequestSchema, bytes);
    return {
      names: columns.map(({ name }) => name),
      columns: columns.map(({ values }) => values.map((value) => fromProtoValue(value))),
    };
  };

  return {
    async keepCall(target, given, said) {
      const askedAt = clock.now();
      const { rows } = await options.upload(target, given, said, { isDryRun: true, time: askedAt });
      const features = await columnsOf(target, given.names, said);
      const bytes = encoded(given);
      const sha256 = new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
      const uploadId = newId("upl", askedAt);
      const expiresAt = askedAt + KEPT_MS;
      await metadata.createUpload({ id: uploadId, sha256, sizeBytes: bytes.length, createdAt: askedAt, expiresAt });
      await objects.put(objectOf(uploadId), new Blob([bytes]).stream(), { size: bytes.length, sha256 });
      return { uploadId, sha256, deploymentId: target.deploymentId, askedAt, options: said, file: undefined, features, rows };
    },

    async keepFile(target, uploadId, wish) {
      options.refuse(target, wish);
      const askedAt = clock.now();
      const { expiresAt, sha256 } = await options.putFile(uploadId);
      if (expiresAt > askedAt + DAY_MS) throw waitsAlready();
      const { features, rows } = await looked(target, objectOf(uploadId), sha256, wish);
      if (!(await metadata.keepUpload(uploadId, expiresAt, askedAt + KEPT_MS))) throw waitsAlready();
      const { format, isDryRun: _, ...said } = wish;
      const file = { jobId: newId("job", askedAt), format };
      return { uploadId, sha256, deploymentId: target.deploymentId, askedAt, options: said, file, features, rows };
    },

    isMade: async ({ file }) => file !== undefined && (await metadata.valueUploads.get(file.jobId)) !== undefined,

    async make(environment, kept) {
      const { askedAt, deploymentId, file, options: said, uploadId } = kept;
      const target: DeploymentTarget = { environment, branch: "", deploymentId };
      if (file) {
        await options.begin(target, uploadId, { ...said, format: file.format, isDryRun: false, askedAt }, file.jobId);
        return;
      }
      try {
        await options.upload(target, await callOf(kept), said, { isDryRun: false, time: askedAt });
      } catch (error) {
        throw error instanceof UploadRefused ? new Failure("failed_precondition", error.message) : error;
      }
    },

    async discard({ file, uploadId }) {
      if (file && (await metadata.valueUploads.get(file.jobId))) return;
      await objects.delete(objectOf(uploadId));
    },
  };
}

function waitsAlready(): Failure {
  return new Failure("failed_precondition", "The file waits for approval already.", {
    hint: "`svc approval list` shows it; upload the file again to ask for something else.",
  });
}

/** The columns of a call as bytes. Throws Failure invalid_argument when they have no such form. */
function encoded({ columns, names }: CallColumns): Uint8Array<ArrayBuffer> {
  try {
    const messages = names.map((name, at) => ({ name, values: columns[at]?.map((value) => toProtoValue(value as FeatureValue)) ?? [] }));
    return new Uint8Array(toBinary(UploadValuesRequestSchema, create(UploadValuesRequestSchema, { columns: messages })));
  } catch {
    throw new Failure(
      "invalid_argument",
      "A value of the upload cannot be kept until another person approves it: an integer has more than 64 bits.",
      {
        hint: "Upload these values as a file.",
      },
    );
  }
}

/** The features whose values an upload has. */
function featuresOf({ rows }: UploadPlan): readonly string[] {
  return rows.flatMap(({ features }) => features.map(({ feature }) => feature.fqn));
}
