/** A wish for an offline query, as a caller states it, and the bounds of what it may say. */

import type { BulkInput } from "../../../gen/svc/v1/query_pb.ts";
import { Failure } from "../failure.ts";
import type { OfflineQueryKind, OfflineQueryRequest, OfflineRows, OfflineRowsFormat } from "../stores/metadata/offline-queries.ts";

/** Most rows that come with a call. */
export const MAX_INLINE_ROWS = 100_000;
/** Most rows of a spine. */
export const MAX_SPINE_ROWS = 10_000_000;
/** Most parts that are computed side by side. */
export const MAX_SHARDS = 64;
const MAX_NAMES = 2_000;
const MAX_STATEMENT = 100_000;
const MAX_TEXT = 200;

/** Where the rows come from. */
export type WishedRows =
  | {
      readonly from: "inline";
      readonly columns: readonly BulkInput[];
      /** Microseconds since 1970: one per row, one for all, or none. */
      readonly times: readonly bigint[];
    }
  | { readonly from: "file"; readonly uploadId: string; readonly format: OfflineRowsFormat; readonly timeColumn: string }
  | { readonly from: "sql"; readonly statement: string; readonly timeColumn: string }
  | {
      readonly from: "keys";
      readonly lowerBound: number | undefined;
      readonly upperBound: number | undefined;
      /** 0 = all. */
      readonly maxSamples: number;
    }
  /** Those of a query that was begun. */
  | { readonly from: "kept"; readonly rows: OfflineRows };

/** A wish. */
export interface OfflineQueryWish extends Omit<OfflineQueryRequest, "rows" | "time" | "deployment"> {
  /** Id of the query, for who begins it once however often; default: a new one. */
  readonly id?: string;
  readonly rows: WishedRows;
  /**
   * The time of all rows, microseconds since 1970; undefined = each has its own, or now. Inline
   * rows say theirs beside their columns.
   */
  readonly time: bigint | undefined;
  /** Id or tag; empty = the live deployment. */
  readonly deploymentId: string;
  readonly kind: OfflineQueryKind;
  /** Id of the client; empty = the platform itself. */
  readonly agentId: string;
  readonly queryName: string;
  readonly queryNameVersion: string;
  /** Empty = one without a name. */
  readonly datasetName: string;
}

/** What a query that is begun again asks for, beside the rows and their time. */
export interface ChangedQuery
  extends Omit<OfflineQueryWish, "id" | "rows" | "time" | "kind" | "agentId" | "queryName" | "queryNameVersion" | "plannerOptions"> {
  /** Which of the keys that are known; undefined = the rows that it had. */
  readonly keys: Omit<Extract<WishedRows, { readonly from: "keys" }>, "from"> | undefined;
}

/** Throws Failure invalid_argument for a wish that is out of bounds, whatever is deployed. */
export function checkWish(wish: OfflineQueryWish): void {
  const { rows, numShards, sampleFraction, testFraction, recompute } = wish;
  if (!Number.isInteger(numShards) || numShards < 1 || numShards > MAX_SHARDS)
    throw invalid(`An offline query has 1 to ${MAX_SHARDS} shards, not ${numShards}.`);
  checkFraction("The part of the rows that is kept", sampleFraction);
  checkFraction("The part of the rows that is for tests", testFraction);
  for (const names of [wish.outputs, wish.requiredOutputs, wish.tags, recompute === "all" ? [] : recompute, columnsOf(rows)])
    if (names.length > MAX_NAMES) throw invalid(`A query names at most ${MAX_NAMES} features or tags, not ${names.length}.`);
  for (const text of [wish.queryName, wish.queryNameVersion, ...wish.tags])
    if (text.length > MAX_TEXT) throw invalid(`Names and tags have at most ${MAX_TEXT} characters.`);
  if ((wish.storeOnline || wish.storeOffline) && recompute !== "all" && recompute.length === 0)
    throw invalid(
      "Nothing is computed that could be stored: sampled values are stored already.",
      "Say what to compute with `--recompute`.",
    );
  if (rows.from === "sql" && rows.statement.length > MAX_STATEMENT)
    throw invalid(`A statement has at most ${MAX_STATEMENT} characters, and this one ${rows.statement.length}.`);
  if (rows.from === "keys") checkBounds(rows.lowerBound, rows.upperBound);
  if (rows.from === "inline") checkLengths(rows.columns, rows.times);
}

function checkFraction(what: string, fraction: number): void {
  if (!(fraction >= 0 && fraction < 1)) throw invalid(`${what} is above 0 and below 1, not ${fraction}.`);
}

function checkBounds(lower: number | undefined, upper: number | undefined): void {
  if (lower !== undefined && upper !== undefined && lower >= upper)
    throw invalid("The bounds are empty: the lower one has to be earlier than the upper one.");
}

function columnsOf(rows: WishedRows): readonly unknown[] {
  return rows.from === "inline" ? rows.columns : [];
}

/** The number of rows of columns and times, of which those of length 1 stand for every row. */
export function rowsOf(columns: readonly BulkInput[], times: readonly bigint[]): number {
  const lengths = [...columns.map(({ values }) => values.length), ...(times.length > 0 ? [times.length] : [])];
  return lengths.find((length) => length !== 1) ?? 1;
}

function checkLengths(columns: readonly BulkInput[], times: readonly bigint[]): void {
  if (columns.length === 0) throw invalid("The rows have no columns.");
  const rows = rowsOf(columns, times);
  const odd = [...columns.map(({ feature, values }) => [feature, values.length] as const), ["the times", times.length || 1] as const].find(
    ([, length]) => length !== 1 && length !== rows,
  );
  if (odd) throw invalid(`Columns have one length, or one value for all rows: some have ${rows} values, and ${odd[0]} ${odd[1]}.`);
  if (rows > MAX_INLINE_ROWS)
    throw invalid(`At most ${MAX_INLINE_ROWS} rows come with a call, and these are ${rows}.`, "Give a file: `--input rows.parquet`.");
}

function invalid(message: string, hint?: string): Failure {
  return new Failure("invalid_argument", message, hint === undefined ? {} : { hint });
}
