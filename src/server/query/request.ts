/** A query as the engine takes it, whichever door it came through. */

import type { QueryRequest } from "../../../gen/svc/v1/query_pb.ts";
import { durationToMs, timestampToMicros } from "../../domain/proto-time.ts";
import { fromProtoValue } from "../../domain/proto-value.ts";
import type { FeatureValue } from "../../domain/value.ts";

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
}

/** Reads a request message. */
export function askFromProto(request: QueryRequest): Ask {
  return {
    inputs: request.inputs.map(({ feature, value }): AskInput => {
      switch (value.case) {
        case "text":
          return { name: feature, form: "text", value: value.value };
        case "raw":
          return { name: feature, form: "raw", value: value.value };
        case "typed":
          return { name: feature, form: "typed", value: fromProtoValue(value.value, { markDurations: true }) };
        default:
          return { name: feature, form: "typed", value: undefined };
      }
    }),
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
  };
}

function mapValues<A, B>(record: Readonly<Record<string, A>>, map: (value: A) => B): Record<string, B> {
  const result: Record<string, B> = {};
  for (const key in record) result[key] = map(record[key] as A);
  return result;
}
