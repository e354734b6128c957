/**
 * Rows of a query from whose history everything is sampled and nothing computed: from file to file,
 * so that their number is no matter of this process's memory. The answer is that of rows that are
 * computed in chunks.
 */

import { join } from "node:path";
import { PrimitiveType } from "../../../gen/svc/v1/value_pb.ts";
import type { SpineRun } from "../query/spine/spine-run.ts";
import type { OfflineQueryRecord, OfflineShard } from "../stores/metadata/offline-queries.ts";
import type { TableSampleable } from "../stores/offline/store.ts";
import { quoteName } from "../tables/duckdb/sql-type.ts";
import type { TableEngine } from "../tables/engine.ts";
import { isTestKeySql, type KeyColumn } from "./division.ts";
import { givenColumns, type LayoutColumn, layoutOf, observedName } from "./layout.ts";
import { TIME_COLUMN } from "./spine-plan.ts";

/** Whether a run's outputs are sampled by keys that are given, and that files can have. */
export function isSampledByFiles(run: SpineRun): boolean {
  const given = new Map(run.inputs.map((input) => [input.path, input]));
  const keys = [...run.samples.map(({ keyPath }) => given.get(keyPath)), ...run.inputs.filter(({ isKey }) => isKey)];
  return !run.computes && run.samples.length > 0 && keys.every((key) => key !== undefined && keyKind(key) !== undefined);
}

/** What a part is made of. */
export interface SampledPartOptions {
  readonly query: OfflineQueryRecord;
  readonly shard: OfflineShard;
  readonly tables: TableEngine;
  readonly store: TableSampleable;
  /** The file with the rows of all parts. */
  readonly givens: string;
  /** Absolute path of the file to be written. */
  readonly target: string;
  /** Folder for what is needed meanwhile. */
  readonly folder: string;
  readonly signal: AbortSignal;
}

/** Writes the rows of a shard as `layoutOf` says. */
export async function writeSampledPart(
  run: SpineRun,
  { query, shard, tables, store, givens, target, folder, signal }: SampledPartOptions,
): Promise<{ readonly rows: number; readonly lateValues: number }> {
  let spine = givens;
  if (query.request.numShards > 1) {
    spine = join(folder, "spine.parquet");
    const columns = givenColumns(run).map((column) => ({ ...column, sql: quoteName(column.name) }));
    await tables.derive(givens, spine, { columns, offset: shard.fromRow, limit: shard.spineRows });
    signal.throwIfAborted();
  }
  const sampled = join(folder, "sampled.parquet");
  const features = run.samples.map(({ path, featureId, dtype, keyPath, ttlMs }) => ({
    ...{ featureId, dtype, column: path, key: keyPath },
    ...(ttlMs !== undefined && { ttlMs }),
    observedAtColumn: observedName(path),
  }));
  const { changedIfAsKnown } = await store.sampleTable(
    {
      spine: { path: spine, key: features[0]?.key ?? "", time: TIME_COLUMN },
      ...{ features, target: sampled, bounds: { asKnown: query.request.asKnown } },
      keep: givenColumns(run).map(({ name }) => name),
    },
    signal,
  );
  signal.throwIfAborted();
  const layout = layoutOf(run, query);
  const where = requiredSql(run);
  const { rows } = await tables.derive(sampled, target, {
    columns: layout.map((column) => ({ ...column, sql: columnSql(run, query, column) })),
    ...(where !== "" && { where }),
  });
  return { rows, lateValues: Object.values(changedIfAsKnown).reduce((sum, count) => sum + count, 0) };
}

function columnSql(run: SpineRun, { request, splitAt }: OfflineQueryRecord, column: LayoutColumn): string {
  switch (column.has) {
    case "given":
    case "value":
    case "time":
      return quoteName(column.name);
    case "observed":
      return observedSql(run, run.outputs[column.output]?.path ?? "");
    case "newest":
      return `greatest(${run.outputs.map(({ path }) => observedSql(run, path)).join(", ")})`;
    case "part": {
      const time = `epoch_us(${quoteName(TIME_COLUMN)})::double / 1000`;
      const isTest =
        request.splitBy === "time"
          ? splitAt === undefined
            ? "false"
            : `${time} >= ${splitAt.toExponential()}::double`
          : isTestKeySql(request.testFraction, keyColumns(run));
      return `case when ${isTest} then 'test' else 'train' end`;
    }
  }
}

/** The time of an output's observation: what was given has none. */
function observedSql({ samples }: SpineRun, path: string): string {
  return samples.some((sample) => sample.path === path) ? quoteName(observedName(path)) : "null::timestamptz";
}

/** Whether a row has what it must: an observation, though it be null, or a value that was given. */
function requiredSql(run: SpineRun): string {
  const required = run.outputs.filter(({ isRequired }) => isRequired);
  return required.map(({ path }) => `(${quoteName(path)} is not null or ${observedSql(run, path)} is not null)`).join(" and ");
}

function keyColumns({ inputs }: SpineRun): readonly KeyColumn[] {
  return inputs.flatMap((input) => {
    const kind = input.isKey ? keyKind(input) : undefined;
    return kind === undefined ? [] : [{ sql: quoteName(input.path), kind }];
  });
}

/** How a key lies in files; undefined when it is of another type. */
function keyKind({ feature }: SpineRun["inputs"][number]): KeyColumn["kind"] | undefined {
  const { kind } = feature.dtype;
  if (kind.case !== "primitive") return undefined;
  return kind.value === PrimitiveType.INT64 ? "integer" : kind.value === PrimitiveType.STRING ? "text" : undefined;
}
