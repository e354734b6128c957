/**
 * Changes of stored values over plain HTTP, for thin clients: `POST /v1/features/upload`, `DELETE
 * /v1/features/rows` and `DELETE /v1/features/columns`, which drops all versions of features.
 */

import { Permission } from "../../../../gen/svc/v1/options_pb.ts";
import { ARROW_STREAM } from "../../../domain/arrow/format.ts";
import { parseInstant } from "../../../domain/timestamp.ts";
import { parseTraceparent } from "../../../domain/traceparent.ts";
import { authorize } from "../../access/authorize.ts";
import { type DeploymentTarget, resolveScope } from "../../access/scope.ts";
import type { Caller } from "../../access/tokens.ts";
import { ArrowRefused, readArrowStream } from "../../arrow/read-stream.ts";
import { Failure } from "../../failure.ts";
import { clipped } from "../../query/refusal.ts";
import { type UploadOptions, UploadRefused, type UploadTarget } from "../../value-uploads/upload-plan.ts";
import type { CallNote } from "../call-audit.ts";
import type { Connection } from "../connection.ts";
import type { Platform } from "../platform.ts";
import { askUpload } from "../services/approval-request.ts";
import { type AskedFor, featureValues, removedBy } from "../services/feature-values.ts";
import { uploadRefusal } from "../services/value-upload-message.ts";
import { readBody } from "./body.ts";
import type { BodyShare } from "./body-budget.ts";
import { type Fields, flag, list, objectOf, parsedBody, text, texts, wrong } from "./json-body.ts";
import { JsonRefused, jsonText, quoted, repeatedName } from "./json-text.ts";
import { errorAnswer, failureResponse, json, methodNotAllowed } from "./respond.ts";

/**
 * Longest body of an upload, in bytes: it is parsed in one go, and other requests wait for that.
 */
const MAX_UPLOAD_BYTES = 16 * 1024 * 1024;
const MAX_UPLOAD_VALUES = 600_000;
/** Longest body of a deletion, in bytes, and most values of it. */
const MAX_DELETION_BYTES = 1024 * 1024;
const MAX_DELETION_VALUES = 20_000;
const MAX_TEXT = 1_000;
const KEY_LIST = "a list of numbers or texts";

/** What a request says, and what it is about. */
interface Received {
  readonly caller: Caller;
  readonly scope: DeploymentTarget;
  readonly fields: Fields;
}

/** How a request is taken. */
interface Taking {
  readonly method: "POST" | "DELETE";
  readonly permission: Permission;
  readonly maxBytes: number;
  readonly maxValues: number;
  /** Names of its members. */
  readonly known: ReadonlySet<string>;
  /** Name of the member that is an object, whose names must not repeat. */
  readonly below?: string;
}

const UPLOAD: Taking = {
  method: "POST",
  permission: Permission.DATA_WRITE,
  maxBytes: MAX_UPLOAD_BYTES,
  maxValues: MAX_UPLOAD_VALUES,
  known: new Set(["columns", "time_column", "time", "known_at_column", "known_at", "target", "dry_run"]),
  below: "columns",
};
const DELETION: Omit<Taking, "known"> = {
  method: "DELETE",
  permission: Permission.DEPLOY,
  maxBytes: MAX_DELETION_BYTES,
  maxValues: MAX_DELETION_VALUES,
};

/** Stores values: `columns` by name, each a list with a value per row, and options. */
export function uploadFeatures(
  platform: Platform,
  request: Request,
  connection: Connection,
  share: BodyShare,
  note: CallNote = {},
): Promise<Response> {
  const traceId = parseTraceparent(request.headers.get("traceparent"))?.traceId ?? crypto.randomUUID().replaceAll("-", "");
  const more = { trace_id: traceId };
  return answering(more, async () => {
    const received = await receive(platform, request, connection, share, UPLOAD);
    if (received instanceof Response) return received;
    const { caller, fields, scope } = received;
    const columns = objectOf(fields.columns, "columns");
    const names = Object.keys(columns);
    note.about = { columns: names.slice(0, 20) };
    const lists = names.map((name) => {
      const values = columns[name];
      if (!Array.isArray(values)) throw wrong(`columns['${clipped(name, 200)}']`, "a list with a value per row", values);
      return values as readonly unknown[];
    });
    const isDryRun = flag(fields.dry_run, "dry_run");
    const [given, options] = [{ names, columns: lists }, optionsIn(fields)];
    const asked = isDryRun ? undefined : await askUpload(platform, { caller, note }, scope, (kept) => kept.keepCall(scope, given, options));
    if (asked) return json({ errors: [], ...more, approval_id: asked.approvalId, rows: asked.upload.rows, ...NOTHING_STORED });
    const written = await (await platform.valueUploads()).upload(scope, given, options, isDryRun);
    platform.log.info("values were uploaded", { environment: scope.environment.id, rows: written.rows, trace: traceId });
    return json({
      errors: [],
      ...more,
      rows: written.rows,
      online_values: written.online,
      offline_values: written.offline,
      deleted_values: written.deleted,
    });
  });
}

/** Deletes stored values of rows: `namespace`, `features` or `tags`, and `primary_keys`. */
export const deleteRows = deletion(["namespace", "features", "tags", "primary_keys"], async (platform, { caller, fields, scope }, note) => {
  const selection = { ...namesIn(fields), tags: texts(fields.tags, "tags", MAX_TEXT) };
  note.about = selection;
  const keys = list(fields.primary_keys, "primary_keys", KEY_LIST).map((key) => {
    if (typeof key === "string" || typeof key === "number" || typeof key === "bigint") return String(key);
    throw wrong("primary_keys", KEY_LIST, key);
  });
  const state = await featureValues(platform).deleteRows({ caller, note }, scope, { ...selection, keys });
  return "approvalId" in state ? askedJson(state) : deletionJson(state);
});

/** Drops all that is stored of features, of all their versions: `namespace`, `features`. */
export const deleteColumns = deletion(["namespace", "features"], async (platform, { caller, fields, scope }, note) => {
  const selection = namesIn(fields);
  note.about = selection;
  const ended = await featureValues(platform).endVersions({ caller, note }, scope, selection, { isDropped: true });
  if ("approvalId" in ended) return askedJson(ended);
  const { state, versions } = ended;
  const features = versions.map(({ fqn, internalVersion }) => ({ feature: fqn, internal_version: internalVersion }));
  return { ...deletionJson(state), features };
});

/** An endpoint that deletes: the members of its body, and what gives the fields of the answer. */
function deletion(members: readonly string[], work: (platform: Platform, received: Received, note: CallNote) => Promise<Fields>) {
  const taking: Taking = { ...DELETION, known: new Set(members) };
  return (platform: Platform, request: Request, connection: Connection, share: BodyShare, note: CallNote = {}): Promise<Response> =>
    answering({}, async () => {
      const received = await receive(platform, request, connection, share, taking);
      return received instanceof Response ? received : json({ errors: [], ...(await work(platform, received, note)) });
    });
}

const TARGETS: Readonly<Record<string, UploadTarget>> = { "": "both", both: "both", online: "online", offline: "offline" };

function optionsIn(fields: Fields): UploadOptions {
  const named = text(fields.target, "target", MAX_TEXT);
  const target = Object.hasOwn(TARGETS, named) ? TARGETS[named] : undefined;
  if (target === undefined) throw wrong("target", "online, offline or both", fields.target);
  return {
    target,
    timeColumn: text(fields.time_column, "time_column", MAX_TEXT),
    time: instantIn(fields.time, "time"),
    knownAtColumn: text(fields.known_at_column, "known_at_column", MAX_TEXT),
    knownAt: instantIn(fields.known_at, "known_at"),
  };
}

/** The features that a deletion names. */
function namesIn({ namespace, features }: Fields) {
  return { namespace: text(namespace, "namespace", MAX_TEXT), features: texts(features, "features", MAX_TEXT) };
}

/** What an upload stored that waits for approval. */
const NOTHING_STORED = { online_values: 0, offline_values: 0, deleted_values: 0 };

function askedJson({ approvalId }: AskedFor): Fields {
  return { approval_id: approvalId, done: false };
}

function deletionJson(state: Parameters<typeof removedBy>[0]): Fields {
  const { offline, online, queries, told } = removedBy(state);
  return {
    deletion_id: state.deletion.id,
    done: state.waiting.length === 0,
    online_values: online,
    offline_values: offline,
    logged_queries: queries,
    webhook_values: told,
  };
}

/**
 * What a request says; an answer to one that is not taken. The caller is known before the body is
 * read.
 */
async function receive(
  { callers, environments }: Platform,
  request: Request,
  connection: Connection,
  share: BodyShare,
  { below, known, maxBytes, maxValues, method, permission }: Taking,
): Promise<Received | Response> {
  const caller = await authorize(callers, request.headers, permission);
  if (request.method !== method) return methodNotAllowed(method);
  if (!caller) throw new Error("stored values need credentials");
  const scope = await resolveScope(environments, caller, request.headers);
  const bytes = await readBody(request, maxBytes, { share, inflates: true });
  connection.unhurried?.();
  if (below === "columns" && request.headers.get("content-type")?.startsWith(ARROW_STREAM))
    return { caller, scope, fields: arrowFields(bytes, maxValues, known) };
  const checked = jsonText(bytes, maxValues, below === undefined ? undefined : quoted(below));
  const fields = parsedBody(checked.text, known);
  const inner = below === undefined ? undefined : fields[below];
  const isRepeated = inner !== null && typeof inner === "object" && checked.membersBelow > Object.keys(inner as object).length;
  const repeated = isRepeated ? repeatedName(bytes, quoted(below as string)) : undefined;
  if (repeated !== undefined) throw new JsonRefused(`${below} has '${clipped(repeated, 200)}' twice`);
  return { caller, scope, fields };
}

/**
 * The text of a table's schema in which the options of an upload stand whose values are the table.
 */
const UPLOAD_TEXT = "svc.upload";

/** What an upload says whose columns are a table of Arrow. Throws ArrowRefused. */
function arrowFields(bytes: Uint8Array, maxValues: number, known: ReadonlySet<string>): Fields {
  const { columns, metadata, names } = readArrowStream(bytes, maxValues);
  const given = Object.fromEntries(names.map((name, at) => [name, columns[at]]));
  if (Object.keys(given).length < names.length) throw new ArrowRefused("The table has two columns of one name.");
  const options = parsedBody(jsonText(Buffer.from(metadata[UPLOAD_TEXT] ?? "{}"), maxValues).text, known);
  if (options.columns !== undefined) throw wrong(UPLOAD_TEXT, "options alone, since the columns are those of the table", options.columns);
  return { ...options, columns: given };
}

/** The answer of `work`, whose refusals have the form of all errors, each problem by itself. */
async function answering(more: Readonly<Record<string, unknown>>, work: () => Promise<Response>): Promise<Response> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Failure) return failureResponse(error, more);
    if (error instanceof JsonRefused || error instanceof ArrowRefused)
      return errorAnswer({ status: 400, message: clipped(error.message), more });
    if (!(error instanceof UploadRefused)) throw error;
    const errors = error.problems.map(({ row, column, message }) => ({
      ...{ code: "PARSE_FAILED", category: "REQUEST", message },
      ...(row > 0 && { row }),
      ...(column !== "" && { column }),
    }));
    return errorAnswer({ status: 400, message: uploadRefusal(error), errors, more });
  }
}

/** Epoch milliseconds; null = not given. */
function instantIn(value: unknown, at: string): number | null {
  if (value === undefined || value === null) return null;
  const instant = typeof value === "string" ? parseInstant(value) : undefined;
  if (!instant?.zoned) throw wrong(at, "an ISO 8601 time with a zone such as 2024-05-01T12:00:00Z", value);
  return Number(instant.micros) / 1_000;
}
