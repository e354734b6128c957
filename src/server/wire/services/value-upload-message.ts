/** Uploads of values as the contract's messages. */

import type { MessageInitShape } from "@bufbuild/protobuf";
import {
  type UploadOptions as OptionsMessage,
  UploadTarget,
  type UploadValuesResponseSchema,
  ValueFileFormat,
  type ValueUploadSchema,
  ValueUploadState,
} from "../../../../gen/svc/v1/feature_data_pb.ts";
import { msToTimestamp, timestampToMs } from "../../../domain/proto-time.ts";
import { Failure } from "../../failure.ts";
import type { ValueUploadRecord } from "../../stores/metadata/value-uploads.ts";
import { type UploadOptions, UploadRefused } from "../../value-uploads/upload-plan.ts";
import type { CallResult } from "../../value-uploads/value-uploads.ts";

const TARGETS = {
  [UploadTarget.UNSPECIFIED]: "both",
  [UploadTarget.ONLINE]: "online",
  [UploadTarget.OFFLINE]: "offline",
} as const;

const FORMATS = {
  [ValueFileFormat.UNSPECIFIED]: undefined,
  [ValueFileFormat.PARQUET]: "parquet",
  [ValueFileFormat.CSV]: "csv",
  [ValueFileFormat.JSON]: "json",
} as const;

const STATES = {
  received: ValueUploadState.RECEIVED,
  running: ValueUploadState.RUNNING,
  succeeded: ValueUploadState.SUCCEEDED,
  failed: ValueUploadState.FAILED,
} as const;

/** What is said of an upload. Throws Failure invalid_argument. */
export function uploadOptions(options: OptionsMessage | undefined): UploadOptions & { readonly dryRun: boolean } {
  const { timeColumn = "", time, knownAtColumn = "", knownAt, target = UploadTarget.UNSPECIFIED, dryRun = false } = options ?? {};
  const name = TARGETS[target];
  if (name === undefined) throw new Failure("invalid_argument", "The target of an upload is online, offline or both.");
  return {
    ...{ timeColumn, knownAtColumn, dryRun, target: name },
    time: time ? timestampToMs(time) : null,
    knownAt: knownAt ? timestampToMs(knownAt) : null,
  };
}

/** The format of a file. Throws Failure invalid_argument. */
export function fileFormat(format: ValueFileFormat): "parquet" | "csv" | "json" {
  const name = FORMATS[format];
  if (name === undefined) throw new Failure("invalid_argument", "The format of the file is parquet, csv or json.");
  return name;
}

/** What `work` gives; a refused upload rejects with Failure invalid_argument. */
export async function refusingUploads<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof UploadRefused ? new Failure("invalid_argument", uploadRefusal(error)) : error;
  }
}

/** Why nothing of a call was uploaded. */
export function uploadRefusal({ message }: UploadRefused): string {
  return `Nothing was uploaded.\n${message}`;
}

/** What was written with a call. */
export function writtenMessage({ rows, online, offline, deleted }: CallResult): MessageInitShape<typeof UploadValuesResponseSchema> {
  return { rows: BigInt(rows), onlineValues: BigInt(online), offlineValues: BigInt(offline), deletedValues: BigInt(deleted) };
}

/** The upload of a file. */
export function uploadMessage(upload: ValueUploadRecord): MessageInitShape<typeof ValueUploadSchema> {
  const { id, rows, createdAt, endedAt, problems, error } = upload;
  return {
    ...{ id, error, dryRun: upload.request.isDryRun },
    state: STATES[upload.state],
    ...(rows !== null && { rows: BigInt(rows) }),
    rowsChecked: BigInt(upload.rowsChecked),
    rowsWritten: BigInt(upload.rowsWritten),
    onlineValues: BigInt(upload.onlineValues),
    offlineValues: BigInt(upload.offlineValues),
    deletedValues: BigInt(upload.deletedValues),
    problems: problems.map(({ row, column, message }) => ({ row: BigInt(row), column, message })),
    createdAt: msToTimestamp(createdAt),
    ...(endedAt !== undefined && { endedAt: msToTimestamp(endedAt) }),
  };
}
