/** The engine's form of a query, whichever endpoint received it. */

import { ErrorCode } from "../../../../gen/svc/v1/error_pb.ts";
import type { QueryInput as InputMessage, QueryBulkRequest, QueryRequest as RequestMessage } from "../../../../gen/svc/v1/query_pb.ts";
import { durationToMs, timestampToMicros } from "../../../domain/proto-time.ts";
import { fromProtoValue } from "../../../domain/proto-value.ts";
import type { FeatureValue } from "../../../domain/value.ts";
import { QueryRefused, refusal } from "../refusal.ts";

/** A value given for a feature or a row. */
export interface RequestInput {
  readonly name: string;
  /**
   * - `typed`: a value; durations are `{$micros: n}` or a number of seconds.
   * - `text`: from a command line, decoded as JSON where that fits the feature.
   * - `raw`: text that is never decoded.
   */
  readonly form: "typed" | "text" | "raw";
  readonly value: unknown;
}

/** An online query. */
export interface QueryRequest {
  readonly inputs: readonly RequestInput[];
  /**
   * Features or classes as written; empty = those of the named query, or the class of the inputs.
   */
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
  /** Whether the values of every step are kept. */
  readonly storePlanStages: boolean;
  /** FQN of the resolver that alone computes its outputs; default: the planner chooses. */
  readonly forcedResolver?: string;
}

/** A query that asks for nothing, with no options: what others are made of. */
export const EMPTY_REQUEST: QueryRequest = {
  inputs: [],
  outputs: [],
  staleness: {},
  tags: [],
  queryContext: {},
  queryName: "",
  queryNameVersion: "",
  correlationId: "",
  now: undefined,
  plannerOptions: {},
  explain: false,
  includeMeta: false,
  trace: false,
  storePlanStages: false,
};

/** One input column of a bulk query. */
export interface BulkInput {
  readonly name: string;
  readonly length: number;
  /** The value of a row; a column of length 1 has it for every row. */
  at(row: number): RequestInput;
}

/** A bulk query: a query whose inputs are columns. */
export interface BulkRequest {
  /** Its inputs are empty. */
  readonly request: QueryRequest;
  readonly columns: readonly BulkInput[];
  /**
   * The time to answer each row as of, microseconds since 1970, or one for all rows; undefined =
   * what the query says.
   */
  readonly now?: readonly bigint[] | undefined;
}

/** A column of typed values. */
export function bulkColumn(name: string, values: readonly unknown[]): BulkInput {
  const single = values.length === 1;
  return { name, length: values.length, at: (row) => ({ name, form: "typed", value: values[single ? 0 : row] }) };
}

/** The columns of a bulk request message. */
export function bulkColumnsFromProto(message: QueryBulkRequest): BulkInput[] {
  return message.inputs.map(({ feature, values }) => ({
    name: feature,
    length: values.length,
    at: (row) => inputFromProto(feature, values[values.length === 1 ? 0 : row]?.value),
  }));
}

/**
 * A bulk query of a message, its columns and its times. Throws QueryRefused when it has inputs
 * that are no columns, or two kinds of times.
 * @param now microseconds since 1970; empty = the query's
 */
export function bulkRequestFromProto(query: RequestMessage, columns: readonly BulkInput[], now: readonly bigint[]): BulkRequest {
  if (query.inputs.length > 0)
    throw new QueryRefused([refusal(ErrorCode.INVALID_QUERY, "the inputs of a bulk query are columns; query.inputs must be empty")]);
  if (query.now && now.length > 0)
    throw new QueryRefused([refusal(ErrorCode.INVALID_QUERY, "query.now is for all rows, and now for each row; give one of them")]);
  return { request: requestFromProto(query), columns, now: now.length > 0 ? now : undefined };
}

/** The input of a message. */
export function inputFromProto(name: string, value: InputMessage["value"] | undefined): RequestInput {
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

/** The query of a message. */
export function requestFromProto(message: RequestMessage): QueryRequest {
  return {
    inputs: message.inputs.map(({ feature, value }) => inputFromProto(feature, value)),
    outputs: message.outputs,
    staleness: mapValues(message.staleness, durationToMs),
    tags: message.tags,
    queryContext: mapValues(message.queryContext, (value) => fromProtoValue(value)),
    queryName: message.queryName,
    queryNameVersion: message.queryNameVersion,
    correlationId: message.correlationId,
    now: message.now ? timestampToMicros(message.now) : undefined,
    plannerOptions: message.plannerOptions,
    explain: message.explain,
    includeMeta: message.includeMeta,
    trace: message.trace,
    storePlanStages: message.storePlanStages,
  };
}

function mapValues<A, B>(record: Readonly<Record<string, A>>, map: (value: A) => B): Record<string, B> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value)]));
}
