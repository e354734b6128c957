/**
 * The stages of queries: a record of each in the telemetry store, and its rows in an object. An
 * object is text: a line with the types of the columns, then a line per row. It names its query, so
 * that no other query has the same object, and is deleted with the query.
 */

import { fromJson, type JsonValue } from "@bufbuild/protobuf";
import { type DataType, DataTypeSchema } from "../../../gen/svc/v1/value_pb.ts";
import { type FeatureValue, untagged } from "../../domain/value.ts";
import { Failure } from "../failure.ts";
import type { Stage } from "../query/answer/stages.ts";
import type { ObjectStore } from "../stores/objects/store.ts";
import { readByDigest } from "../stores/objects/verified.ts";
import type { StageRecord, TelemetryStore } from "../stores/telemetry/store.ts";

/** The stores that stages are kept in. */
export interface StageStores {
  readonly telemetry: TelemetryStore;
  readonly objects: ObjectStore;
}

/** The query run that stages belong to. */
type StagedRun = Pick<StageRecord, "queryId" | "environmentId" | "startedAt">;

/** A row of a stage. */
export interface StageRow {
  /**
   * Index of the row among the query's rows, or among the rows of the relation that the step worked
   * on.
   */
  readonly row: number;
  /** A value per column. */
  readonly values: readonly FeatureValue[];
  /** Error messages by column. */
  readonly errors: Readonly<Record<string, string>>;
}

/** Rows of a stage with the types of its columns. */
export interface StageRows {
  readonly types: readonly DataType[];
  readonly rows: readonly StageRow[];
}

interface Head {
  readonly query_id: string;
  readonly stage: number;
  readonly types: readonly JsonValue[];
}

/**
 * Stores the stages of a query. The records are written first, so that no object is left behind
 * without one.
 */
export async function storeStages({ telemetry, objects }: StageStores, run: StagedRun, stages: readonly Stage[]): Promise<void> {
  const bodies = stages.map(({ types, lines, omitted }, stage) => {
    const head: Head = { query_id: run.queryId, stage, types: types as readonly JsonValue[] };
    return omitted === "" ? new TextEncoder().encode([JSON.stringify(head), ...lines].join("\n")) : undefined;
  });
  const records = stages.map(({ kind, provider, path, rows, columns, omitted }, stage): StageRecord => {
    const body = bodies[stage];
    const sha256 = body ? new Bun.CryptoHasher("sha256").update(body).digest("hex") : "";
    return { ...run, stage, kind, provider, path, rows, columns, omitted, sha256, size: body?.length ?? 0 };
  });
  await telemetry.keepStages(records);
  for (const [stage, body] of bodies.entries()) {
    const { sha256 } = records[stage] as StageRecord;
    if (body) await objects.put(sha256, new Blob([body]).stream(), { size: body.length, sha256 });
  }
}

/**
 * Deletes the objects of stages that are too old or too many, then their records, so that a failed
 * deletion is tried again the next time.
 */
export async function sweepStages({ telemetry, objects }: StageStores): Promise<void> {
  const { objects: digests, queryIds } = await telemetry.expiredStages();
  for (const sha256 of digests) await objects.delete(sha256);
  if (queryIds.length > 0) await telemetry.forgetStages(queryIds);
}

/**
 * Rows of a stage, from index `from` to before `to`; none when the rows were not kept. Throws
 * Failure not_found when they are gone, ObjectMismatch when they are damaged.
 */
export async function readStage(objects: ObjectStore, { sha256, stage }: StageRecord, from: number, to: number): Promise<StageRows> {
  if (sha256 === "") return { types: [], rows: [] };
  const stored = await readByDigest(objects, sha256);
  if (!stored) throw new Failure("not_found", `The rows of stage ${stage} are gone.`);
  const [head = "", ...lines] = new TextDecoder().decode(stored).split("\n");
  const { types } = JSON.parse(head) as Head;
  return {
    types: types.map((type) => fromJson(DataTypeSchema, type)),
    rows: lines.slice(from, to).map((line) => {
      const [row, values, errors] = JSON.parse(line) as [number, unknown[], Record<string, string>];
      return { row, values: values.map(untagged), errors };
    }),
  };
}
