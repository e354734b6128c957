/**
 * The bodies of `POST /v1/query/online`, `/v1/query/bulk` and `/v1/query/multi`, checked field by
 * field.
 */

import { DURATION_GRAMMAR } from "../../../domain/duration.ts";
import { errorText } from "../../../domain/error-text.ts";
import { readStaleness } from "../../../domain/staleness.ts";
import { parseInstant } from "../../../domain/timestamp.ts";
import { describeValue, type FeatureValue, type JsonForm, parseExactJson } from "../../../domain/value.ts";
import { readArrowStream } from "../../arrow/read-stream.ts";
import { QueryRefused } from "../../query/refusal.ts";
import { MAX_NAMES, tooManyNames } from "../../query/request/prepare.ts";
import { type BulkRequest, bulkColumn, type QueryRequest, type RequestInput } from "../../query/request/request.ts";
import { unknownField } from "../http/json-fields.ts";
import { jsonText, quoted, repeatedName, splitList } from "../http/json-text.ts";

/**
 * A body that is not a query; the message names the wrong field, what was expected and what was
 * given.
 */
export class BodyInvalid extends Error {
  override readonly name = "BodyInvalid";
}

/** A query with the other fields of its body. */
export interface QueryBody {
  readonly request: QueryRequest;
  /** Environment named in `context`; empty = not named. */
  readonly environment: string;
  /** Branch named in `context`; empty = not named. */
  readonly branch: string;
  /** Empty = not named. */
  readonly deploymentId: string;
  /** The caller's own key-value pairs. */
  readonly meta: Readonly<Record<string, string>>;
  /** The form of the answer's values where JSON has several forms for a type. */
  readonly form: JsonForm;
}

const FIELDS = new Set([
  "inputs",
  "outputs",
  "staleness",
  "context",
  "query_context",
  "deployment_id",
  "correlation_id",
  "explain",
  "query_name",
  "query_name_version",
  "meta",
  "now",
  "include_meta",
  "planner_options",
  "encoding_options",
  "trace",
  "store_plan_stages",
]);
/** The members of a query of classes that are not deployed. */
const EXPRESSION_FIELDS = new Set(["graph", "inputs", "outputs", "now", "encoding_options"]);
const CONTEXT_FIELDS = new Set(["environment", "branch", "tags"]);
const ENCODING_FIELDS = new Set(["encode_structs_as_objects", "encode_large_integers_as_numbers"]);
const NONE: Readonly<Record<string, never>> = {};

type Fields = Readonly<Record<string, unknown>>;

/** A bulk query with the other fields of its body; `request.inputs` is empty. */
export interface BulkQueryBody extends QueryBody {
  readonly bulk: BulkRequest;
}

/** A body that was read, and its text. */
export interface Read<B> {
  readonly body: B;
  readonly text: string;
}

/**
 * Reads a body. Fields that are null count as absent. Throws BodyInvalid, JsonRefused,
 * QueryRefused.
 */
export function readQueryBody(bytes: Uint8Array): Read<QueryBody> {
  return readFields(bytes);
}

/**
 * Reads the body of a bulk query, whose inputs are lists, of at most `maxValues` values in all.
 * Throws BodyInvalid, JsonRefused, QueryRefused.
 */
export function readBulkQueryBody(bytes: Uint8Array, maxValues: number): Read<BulkQueryBody> {
  const { body, inputs, times, text } = readFields(bytes, maxValues);
  const columns = Object.keys(inputs).map((name) => {
    const values = inputs[name];
    if (!Array.isArray(values)) throw wrong(`inputs['${name}']`, "a list with a value per row, or with one for all rows", values);
    return bulkColumn(name, values);
  });
  return { body: { ...body, bulk: { request: body.request, columns, now: times } }, text };
}

const QUERIES = quoted("queries");
const MULTI_FIELDS = new Set(["queries"]);
/** Most queries of a body. */
const MOST_QUERIES = 100;

/**
 * Reads a body of several queries, each as `readQueryBody` does; one that is refused by itself is
 * its refusal. Throws BodyInvalid, JsonRefused.
 */
export function readMultiBody(bytes: Uint8Array): Read<readonly (Read<QueryBody> | QueryRefused)[]> {
  jsonText(bytes);
  const { rest, items } = splitList(bytes, QUERIES) ?? { rest: bytes, items: [] };
  const { members, text } = jsonText(rest);
  const body = parsedFields(text);
  if (members > Object.keys(body).length) throw givenTwice(repeatedName(rest), "");
  onlyKnown(body, MULTI_FIELDS, "");
  if (!Array.isArray(body.queries)) throw wrong("queries", "a list of queries", body.queries);
  if (items.length === 0 || items.length > MOST_QUERIES)
    throw new BodyInvalid(`queries: a body has 1 to ${MOST_QUERIES} of them, and this one has ${items.length}`);
  const read = items.map((item, at) => {
    try {
      return readQueryBody(item);
    } catch (error) {
      if (error instanceof BodyInvalid) throw new BodyInvalid(`queries[${at}]: ${error.message}`);
      if (error instanceof QueryRefused) return error;
      throw error;
    }
  });
  return { body: read, text };
}

/**
 * Reads the body of a query of classes that are not deployed, whose `graph` is a text. Throws
 * BodyInvalid, JsonRefused, QueryRefused.
 */
export function readExpressionBody(bytes: Uint8Array): Read<QueryBody> & { readonly graph: string } {
  const read = readFields(bytes, undefined, EXPRESSION_FIELDS);
  if (read.body.request.outputs.length === 0) throw new BodyInvalid("outputs: name the features to compute");
  return { ...read, graph: string(read.graph, "graph") };
}

/** The text of a table's schema in which a query stands that has the table as its inputs. */
export const QUERY_TEXT = "svc.query";

/**
 * Reads a bulk query in Arrow's form: the table's columns are its inputs, and its schema may carry
 * the rest as JSON. Throws ArrowRefused, BodyInvalid, JsonRefused, QueryRefused.
 */
export function readArrowQuery(bytes: Uint8Array, maxValues: number): Read<BulkQueryBody> {
  const table = readArrowStream(bytes, maxValues);
  const { body, inputs, times, text } = readFields(Buffer.from(table.metadata[QUERY_TEXT] ?? "{}"), maxValues);
  if (Object.keys(inputs).length > 0) throw new BodyInvalid(`${QUERY_TEXT}: the inputs are the columns of the table, and nowhere else`);
  if (table.names.length > MAX_NAMES) throw new QueryRefused([tooManyNames(table.names.length)]);
  const twice = table.names.find((name, at) => table.names.indexOf(name) < at);
  if (twice !== undefined) throw givenTwice(twice, "");
  const columns = table.names.map((name, at) => bulkColumn(name, table.columns[at] ?? []));
  return { body: { ...body, bulk: { request: body.request, columns, now: times } }, text };
}

const INPUTS = quoted("inputs");

interface ReadFields extends Read<QueryBody> {
  readonly inputs: Fields;
  /** The times in `now` when it is a list, as a bulk query may have: microseconds since 1970. */
  readonly times: readonly bigint[] | undefined;
  /** The member `graph`, as it was given. */
  readonly graph: unknown;
}

/** @param maxValues given for a bulk query only: the most values that it may have */
function readFields(bytes: Uint8Array, maxValues?: number, known: ReadonlySet<string> = FIELDS): ReadFields {
  const { text, members, membersBelow } = jsonText(bytes, maxValues, INPUTS);
  if (membersBelow > MAX_NAMES) throw new QueryRefused([tooManyNames(membersBelow)]);
  const body = parsedFields(text);
  if (members > Object.keys(body).length) throw givenTwice(repeatedName(bytes), "");
  onlyKnown(body, known, "");
  const context = optional(body.context, "context", fields) ?? NONE;
  onlyKnown(context, CONTEXT_FIELDS, "context.");
  const encoding = optional(body.encoding_options, "encoding_options", fields) ?? NONE;
  onlyKnown(encoding, ENCODING_FIELDS, "encoding_options.");
  const inputs = optional(body.inputs, "inputs", fields) ?? NONE;
  const times = maxValues !== undefined && Array.isArray(body.now) ? body.now.map((time, row) => instant(time, `now[${row}]`)) : undefined;
  if (membersBelow > Object.keys(inputs).length) throw givenTwice(repeatedName(bytes, INPUTS), "inputs: ");
  const query: QueryBody = {
    request: {
      inputs: maxValues === undefined ? givenInputs(inputs) : [],
      outputs: optional(body.outputs, "outputs", strings) ?? [],
      staleness: optional(body.staleness, "staleness", mapOf(staleness)) ?? NONE,
      tags: optional(context.tags, "context.tags", strings) ?? [],
      queryContext: optional(body.query_context, "query_context", mapOf(anything)) ?? NONE,
      queryName: optional(body.query_name, "query_name", string) ?? "",
      queryNameVersion: optional(body.query_name_version, "query_name_version", string) ?? "",
      correlationId: optional(body.correlation_id, "correlation_id", string) ?? "",
      now: times ? undefined : optional(body.now, "now", instant),
      plannerOptions: optional(body.planner_options, "planner_options", mapOf(option)) ?? NONE,
      explain: optional(body.explain, "explain", boolean) ?? false,
      includeMeta: optional(body.include_meta, "include_meta", boolean) ?? false,
      trace: optional(body.trace, "trace", boolean) ?? false,
      storePlanStages: optional(body.store_plan_stages, "store_plan_stages", boolean) ?? false,
    },
    environment: optional(context.environment, "context.environment", string) ?? "",
    branch: optional(context.branch, "context.branch", string) ?? "",
    deploymentId: optional(body.deployment_id, "deployment_id", string) ?? "",
    meta: optional(body.meta, "meta", mapOf(string)) ?? NONE,
    form: {
      structsAsLists: !(optional(encoding.encode_structs_as_objects, "encoding_options.encode_structs_as_objects", boolean) ?? true),
      largeNumbers:
        optional(encoding.encode_large_integers_as_numbers, "encoding_options.encode_large_integers_as_numbers", boolean) ?? false,
    },
  };
  return { body: query, inputs, times, text, graph: body.graph };
}

function parsedFields(text: string): Fields {
  let parsed: unknown;
  try {
    parsed = parseExactJson(text);
  } catch (error) {
    throw new BodyInvalid(`the body is not JSON: ${errorText(error)}`);
  }
  return fields(parsed, "the body");
}

function givenInputs(inputs: Fields): RequestInput[] {
  return Object.keys(inputs).map((name) => ({ name, form: "typed", value: inputs[name] }));
}

function givenTwice(name: string | undefined, where: string): BodyInvalid {
  return new BodyInvalid(`${where}'${name}' is given twice`);
}

function optional<T>(value: unknown, at: string, read: (value: unknown, at: string) => T): T | undefined {
  return value === undefined || value === null ? undefined : read(value, at);
}

function wrong(at: string, wanted: string, value: unknown): BodyInvalid {
  return new BodyInvalid(`${at}: expected ${wanted}, got ${describeValue(value)}`);
}

function onlyKnown(given: Fields, known: ReadonlySet<string>, prefix: string): void {
  const wrong = unknownField(given, known, prefix);
  if (wrong !== undefined) throw new BodyInvalid(wrong);
}

function fields(value: unknown, at: string): Fields {
  if (value === null || typeof value !== "object" || Array.isArray(value)) throw wrong(at, "an object", value);
  return value as Fields;
}

function mapOf<T>(read: (value: unknown, at: string) => T): (value: unknown, at: string) => Record<string, T> {
  return (value, at) => {
    const given = fields(value, at);
    return Object.fromEntries(Object.keys(given).map((name) => [name, read(given[name], `${at}['${name}']`)]));
  };
}

function strings(value: unknown, at: string): string[] {
  if (!Array.isArray(value)) throw wrong(at, "a list of strings", value);
  const odd = value.findIndex((item) => typeof item !== "string");
  if (odd >= 0) throw wrong(`${at}[${odd}]`, "a string", value[odd]);
  return value;
}

function string(value: unknown, at: string): string {
  if (typeof value !== "string") throw wrong(at, "a string", value);
  return value;
}

function boolean(value: unknown, at: string): boolean {
  if (typeof value !== "boolean") throw wrong(at, "true or false", value);
  return value;
}

function staleness(value: unknown, at: string): number {
  const read = typeof value === "string" ? readStaleness(value) : DURATION_GRAMMAR;
  if (typeof read === "string") throw wrong(at, read, value);
  return read;
}

function instant(value: unknown, at: string): bigint {
  const found = typeof value === "string" ? parseInstant(value) : undefined;
  if (!found) throw wrong(at, "an ISO 8601 time such as 2024-05-01T12:00:00Z", value);
  return found.micros;
}

function option(value: unknown, at: string): string {
  if (typeof value === "string" || typeof value === "boolean" || typeof value === "number") return String(value);
  throw wrong(at, "a string, a number or a boolean", value);
}

function anything(value: unknown): FeatureValue {
  return value as FeatureValue;
}
