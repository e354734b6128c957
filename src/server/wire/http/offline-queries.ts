/**
 * Offline queries for thin clients, in the field names of the contract: `POST /v1/offline-queries`
 * and `.../uploads`; `GET /v1/offline-queries/<id>`, `<id>/status` and `<id>/table?format=`.
 */

import { create } from "@bufbuild/protobuf";
import {
  OfflineQueryFormat,
  OfflineQuerySchema,
  OfflineQuerySplit,
  type StartOfflineQueryRequest,
  StartOfflineQueryRequestSchema,
} from "../../../../gen/svc/v1/offline_query_pb.ts";
import { Permission } from "../../../../gen/svc/v1/options_pb.ts";
import { messageJson } from "../../../contract/message-json.ts";
import { authorize } from "../../access/authorize.ts";
import { resolveNames, resolveScope, scopeNames } from "../../access/scope.ts";
import type { Caller } from "../../access/tokens.ts";
import { Failure } from "../../failure.ts";
import type { OfflineQueryStanding, OfflineRowsFormat } from "../../stores/metadata/offline-queries.ts";
import type { CallNote } from "../call-audit.ts";
import type { Connection } from "../connection.ts";
import type { Platform } from "../platform.ts";
import { queryMessage, startQuery } from "../services/offline-query.ts";
import { readBody } from "./body.ts";
import type { BodyShare } from "./body-budget.ts";
import { type Fields, flag, instant, isGiven, objectOf, parsedBody, text, texts, withPlainCounts, wrong } from "./json-body.ts";
import { json, methodNotAllowed } from "./respond.ts";

const PREFIX = "/v1/offline-queries/";
const MAX_BODY_BYTES = 16 * 1024 * 1024;
const MAX_UPLOAD_BODY_BYTES = 4_096;

const FIELDS: ReadonlySet<string> = new Set([
  ...["inputs", "input_times", "file", "spine_sql", "time_column", "lower_bound", "upper_bound", "max_samples"],
  ...["outputs", "required_outputs", "recompute", "recompute_features", "as_known", "include_observed_at", "dataset_name", "num_shards"],
  ...["store_online", "store_offline", "tags", "query_name", "query_name_version", "deployment_id", "sample_fraction", "test_fraction"],
  ...["split_by", "planner_options", "resource_group", "context"],
]);
const CONTEXT_FIELDS: ReadonlySet<string> = new Set(["environment", "branch"]);
const UPLOAD_FIELDS: ReadonlySet<string> = new Set(["sha256", "size_bytes"]);
const FILE_FIELDS: ReadonlySet<string> = new Set(["upload_id", "format"]);
const FORMATS = {
  parquet: OfflineQueryFormat.PARQUET,
  csv: OfflineQueryFormat.CSV,
  json: OfflineQueryFormat.JSON,
} as const satisfies Readonly<Record<OfflineRowsFormat, OfflineQueryFormat>>;

/** A request for an offline query, as it comes in. */
interface Incoming {
  readonly request: Request;
  readonly url: URL;
  readonly connection: Connection;
  readonly share: BodyShare;
  readonly note?: CallNote | undefined;
}

/** Answers `POST /v1/offline-queries` with the query that was begun. */
export async function beginQuery(platform: Platform, { request, connection, share, note }: Incoming): Promise<Response> {
  if (request.method !== "POST") return methodNotAllowed("POST");
  const caller = await callerOf(platform, request);
  const bytes = await readBody(request, MAX_BODY_BYTES, { share, inflates: true });
  connection.unhurried?.();
  const body = parsedBody(bytes, FIELDS);
  const names = scopeNames(request.headers);
  const context = objectOf(body.context ?? {}, "context", CONTEXT_FIELDS);
  const target = await resolveNames(platform.environments, caller, {
    ...names,
    environment: text(context.environment, "context.environment") || names.environment,
    branch: text(context.branch, "context.branch") || names.branch,
  });
  const query = await startQuery(platform, caller, target, requestOf(body), request.headers);
  if (note) note.about = { id: query.id };
  return json(document(query, platform, request));
}

/** Answers requests for one query, and for the upload of a file with rows. */
export async function serveQuery(platform: Platform, incoming: Incoming): Promise<Response> {
  const { request, url } = incoming;
  const [id = "", part = "", ...more] = url.pathname.slice(PREFIX.length).split("/");
  if (id === "uploads" && part === "") return announceUpload(platform, incoming);
  if (request.method !== "GET") return methodNotAllowed("GET");
  const caller = await callerOf(platform, request);
  const { environment } = await resolveScope(platform.environments, caller, request.headers);
  const queries = await platform.offlineQueries();
  const query = await queries.find(id, environment.id);
  const shown = document(query, platform, request);
  if (part === "status" && more.length === 0) {
    const { status, total_rows, done_rows, rows, failed_rows, error } = shown;
    return json({ id, status, total_rows, done_rows, rows, failed_rows, error });
  }
  if (part === "table" && more.length === 0) {
    const format = formatOf(url.searchParams.get("format") ?? "parquet", "format");
    const { name, kind, rows, bytes, sha256, key } = await queries.export(id, environment.id, format);
    return json({ name, kind, rows, bytes, sha256, url: (await platform.objects.sign("get", key, bytes)).url });
  }
  if (part !== "") throw new Failure("not_found", `There is nothing at ${url.pathname}.`);
  if (query.state !== "completed") return json({ ...shown, files: [] });
  const files = [...(await queries.files(id, environment.id))].sort((a, b) => (a.name < b.name ? -1 : 1));
  return json({
    ...shown,
    files: await Promise.all(
      files.map(async ({ name, kind, rows, bytes, sha256, key }) => {
        const { url: address, expiresAt } = await platform.objects.sign("get", key, bytes);
        return { name, kind, rows, bytes, sha256, url: address, expires_at: new Date(expiresAt).toISOString() };
      }),
    ),
  });
}

async function announceUpload(platform: Platform, { request, share, note }: Incoming): Promise<Response> {
  if (request.method !== "POST") return methodNotAllowed("POST");
  const caller = await callerOf(platform, request);
  const body = parsedBody(await readBody(request, MAX_UPLOAD_BODY_BYTES, { share }), UPLOAD_FIELDS);
  const { environment } = await resolveScope(platform.environments, caller, request.headers);
  const { inputs } = await platform.offlineQueries();
  const { uploadId, address } = await inputs.announce(environment.id, text(body.sha256, "sha256"), number(body.size_bytes, "size_bytes"));
  if (note) note.about = { upload_id: uploadId };
  return json({ upload_id: uploadId, url: address.url, expires_at: new Date(address.expiresAt).toISOString() });
}

async function callerOf(platform: Platform, request: Request): Promise<Caller> {
  return (await authorize(platform.callers, request.headers, Permission.QUERY_OFFLINE)) as Caller;
}

/** A query as JSON. */
function document(query: OfflineQueryStanding, platform: Platform, { headers }: Request): Fields {
  return withPlainCounts(messageJson(create(OfflineQuerySchema, queryMessage(query, platform, headers))));
}

/** The request that a body states. Throws Failure invalid_argument. */
function requestOf(body: Fields): StartOfflineQueryRequest {
  const { lower_bound: lower, upper_bound: upper, max_samples: most, file } = body;
  const inputs = Object.entries(objectOf(body.inputs ?? {}, "inputs")).map(([feature, values]) => {
    if (!Array.isArray(values)) throw wrong(`inputs['${feature}']`, "a list with a value per row, or with one for all rows", values);
    return { feature, values: values.map((value) => ({ feature, value: { case: "text" as const, value: jsonText(value) } })) };
  });
  const times = body.input_times === undefined || body.input_times === null ? [] : [body.input_times].flat();
  const where = file === undefined || file === null ? undefined : objectOf(file, "file", FILE_FIELDS);
  const hasKeys = [lower, upper, most].some(isGiven);
  return create(StartOfflineQueryRequestSchema, {
    inputs,
    times: times.map((time, at) => instant(time, `input_times[${at}]`)),
    ...(where && { file: { uploadId: text(where.upload_id, "file.upload_id"), format: FORMATS[formatOf(where.format, "file.format")] } }),
    ...{ spineSql: text(body.spine_sql, "spine_sql"), timeColumn: text(body.time_column, "time_column") },
    ...(hasKeys && {
      keys: {
        ...(isGiven(lower) && { lowerBound: instant(lower, "lower_bound") }),
        ...(isGiven(upper) && { upperBound: instant(upper, "upper_bound") }),
        maxSamples: BigInt(number(most, "max_samples")),
      },
    }),
    ...{ outputs: texts(body.outputs, "outputs"), requiredOutputs: texts(body.required_outputs, "required_outputs") },
    ...{ recompute: flag(body.recompute, "recompute"), recomputeFeatures: texts(body.recompute_features, "recompute_features") },
    ...{ asKnown: flag(body.as_known, "as_known"), includeObservedAt: flag(body.include_observed_at, "include_observed_at") },
    ...{ datasetName: text(body.dataset_name, "dataset_name"), numShards: number(body.num_shards, "num_shards") },
    ...{ storeOnline: flag(body.store_online, "store_online"), storeOffline: flag(body.store_offline, "store_offline") },
    ...{ tags: texts(body.tags, "tags"), queryName: text(body.query_name, "query_name") },
    queryNameVersion: text(body.query_name_version, "query_name_version"),
    ...{ deploymentId: text(body.deployment_id, "deployment_id"), resourceGroup: text(body.resource_group, "resource_group") },
    sampleFraction: fraction(body.sample_fraction, "sample_fraction"),
    testFraction: fraction(body.test_fraction, "test_fraction"),
    splitBy: splitOf(text(body.split_by, "split_by")),
    plannerOptions: Object.fromEntries(
      Object.entries(objectOf(body.planner_options ?? {}, "planner_options")).map(([name, value]) => [name, String(value)]),
    ),
  });
}

function formatOf(word: unknown, at: string): OfflineRowsFormat {
  if (word !== "parquet" && word !== "csv" && word !== "json") throw wrong(at, "parquet, csv or json", word);
  return word;
}

function splitOf(word: string): OfflineQuerySplit {
  if (word === "" || word === "key") return OfflineQuerySplit.KEY;
  if (word === "time") return OfflineQuerySplit.TIME;
  throw wrong("split_by", "'key' or 'time'", word);
}

/** JSON of a value; integers beyond 2^53, which were read as bigints, keep their digits. */
function jsonText(value: unknown): string {
  if (typeof value === "bigint") return String(value);
  return JSON.stringify(value, (_, inner: unknown) => (typeof inner === "bigint" ? String(inner) : inner)) ?? "null";
}

function number(value: unknown, at: string): number {
  if (value === undefined || value === null) return 0;
  if (typeof value !== "number" || !Number.isSafeInteger(value) || value < 0 || value > 2 ** 31)
    throw wrong(at, "a whole number from 0", value);
  return value;
}

function fraction(value: unknown, at: string): number {
  if (value === undefined || value === null) return 0;
  if (typeof value !== "number") throw wrong(at, "a number", value);
  return value;
}
