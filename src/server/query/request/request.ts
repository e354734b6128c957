/** A query as the engine takes it, whichever door it came through. */

import { ErrorCode } from "../../../../gen/svc/v1/error_pb.ts";
import type { QueryBulkRequest, QueryInput, QueryRequest } from "../../../../gen/svc/v1/query_pb.ts";
import { durationToMs, timestampToMicros } from "../../../domain/proto-time.ts";
import { fromProtoValue } from "../../../domain/proto-value.ts";
import type { FeatureValue } from "../../../domain/value.ts";
import { QueryRefused, refusal } from "../refusal.ts";

/** A value given for a feature or a row. */
export interface AskInput {
  readonly name: string;
  /**
   * - `typed`: a value; lengths of time are `{$micros: n}` or a number of seconds.
   * - `text`: from a command line, decoded as JSON where that fits the feature.
   * - `raw`: text that is never decoded.
   */
  readonly form: "typed" | "text" | "raw";
  readonly value: unknown;
}

/** A query. */
export interface Ask {
  readonly inputs: readonly AskInput[];
  /** Features or classes as written; empty = those of the named query, or the class of the inputs. */
  readonly outputs: readonly string[];
  /** Milliseconds by name as written; Infinity = any age. */
  readonly staleness: Readonly<Record<string, number>>;
  readonly tags: readonly string[];
  readonly queryContext: Readonly<Record<string, FeatureValue>>;
  readonly queryName: string;
  readonly queryNameVersion: string;
  readonly correlationId: string;
  /** Microseconds since 1970 to answer as of; undefined = now. */
  readonly now: bigint | undefined;
  readonly plannerOptions: Readonly<Record<string, string>>;
  readonly explain: boolean;
  readonly includeMeta: boolean;
  /** Whether spans are kept. */
  readonly trace: boolean;
  /** Whether what every step gives is kept. */
  readonly storePlanStages: boolean;
}

/** One input column of a bulk query. */
export interface BulkColumnAsk {
  readonly name: string;
  readonly length: number;
  /** The value of a row; a column of length 1 has it for every row. */
  at(row: number): AskInput;
}

/** A bulk query: a query whose inputs are columns. */
export interface BulkAsk {
  /** Its inputs are empty. */
  readonly ask: Ask;
  readonly columns: readonly BulkColumnAsk[];
  /** The time to answer each row as of, microseconds since 1970, or one for all rows; undefined = what the query says. */
  readonly now?: readonly bigint[] | undefined;
}

/** A column of typed values. */
export function bulkColumn(name: string, values: readonly unknown[]): BulkColumnAsk {
  const single = values.length === 1;
  return { name, length: values.length, at: (row) => ({ name, form: "typed", value: values[single ? 0 : row] }) };
}

/** The columns of a bulk request message. */
export function bulkColumnsFromProto(request: QueryBulkRequest): BulkColumnAsk[] {
  return request.inputs.map(({ feature, values }) => ({
    name: feature,
    length: values.length,
    at: (row) => inputFromProto(feature, values[values.length === 1 ? 0 : row]?.value),
  }));
}

/**
 * A bulk query of a message, its columns and its times. Throws QueryRefused when it has inputs that are no columns, or two kinds of times.
 * @param now microseconds since 1970; empty = the query's
 */
export function bulkAskFromProto(query: QueryRequest, columns: readonly BulkColumnAsk[], now: readonly bigint[]): BulkAsk {
  if (query.inputs.length > 0)
    throw new QueryRefused([refusal(ErrorCode.INVALID_QUERY, "the inputs of a bulk query are columns; query.inputs must be empty")]);
  if (query.now && now.length > 0)
    throw new QueryRefused([refusal(ErrorCode.INVALID_QUERY, "query.now is for all rows, and now for each row; give one of them")]);
  return { ask: askFromProto(query), columns, now: now.length > 0 ? now : undefined };
}

/** Reads an input's value. */
export function inputFromProto(name: string, value: QueryInput["value"] | undefined): AskInput {
  switch (value?.case) {
    case "text":
      return { name, form: "text", value: value.value };
    case "raw":
      return { name, form: "raw", value: value.value };
    case "typed":
      return { name, form: "typed", value: fromProtoValue(value.value, { markDurations: true }) };
    default:
      return { name, form: "typed", value: undefined };
  }
}

/** Reads a request message. */
export function askFromProto(request: QueryRequest): Ask {
  return {
    inputs: request.inputs.map(({ feature, value }) => inputFromProto(feature, value)),
    outputs: request.outputs,
    staleness: mapValues(request.staleness, durationToMs),
    tags: request.tags,
    queryContext: mapValues(request.queryContext, (value) => fromProtoValue(value)),
    queryName: request.queryName,
    queryNameVersion: request.queryNameVersion,
    correlationId: request.correlationId,
    now: request.now ? timestampToMicros(request.now) : undefined,
    plannerOptions: request.plannerOptions,
    explain: request.explain,
    includeMeta: request.includeMeta,
    trace: request.trace,
    storePlanStages: request.storePlanStages,
  };
}

function mapValues<A, B>(record: Readonly<Record<string, A>>, map: (value: A) => B): Record<string, B> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value)]));
}
