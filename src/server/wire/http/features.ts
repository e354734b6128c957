/**
 * Changes of stored values over plain HTTP, for thin clients: `POST /v1/features/upload`, `DELETE
 * /v1/features/rows` and `DELETE /v1/features/columns`, which drops all versions of features.
 */

import { Permission } from "../../../../gen/svc/v1/options_pb.ts";
import { errorText } from "../../../domain/error-text.ts";
import { parseInstant } from "../../../domain/timestamp.ts";
import { parseTraceparent } from "../../../domain/traceparent.ts";
import { describeValue, parseExactJson } from "../../../domain/value.ts";
import { authorize } from "../../access/authorize.ts";
import { type DeploymentTarget, resolveScope } from "../../access/scope.ts";
import { Failure } from "../../failure.ts";
import { clipped } from "../../query/refusal.ts";
import { type UploadOptions, UploadRefused, type UploadTarget } from "../../value-uploads/upload-plan.ts";
import type { CallNote } from "../call-audit.ts";
import type { Connection } from "../connection.ts";
import type { Platform } from "../platform.ts";
import { featureValues, removedBy } from "../services/feature-values.ts";
import { readBody } from "./body.ts";
import type { BodyShare } from "./body-budget.ts";
import { unknownField } from "./json-fields.ts";
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

type Fields = Readonly<Record<string, unknown>>;

/** The body of a request, what it is about, and who sent it to where. */
interface Received {
  readonly scope: DeploymentTarget;
  readonly fields: Fields;
  readonly bytes: Uint8Array;
}

/** How a request is taken. */
interface Taking {
  readonly method: "POST" | "DELETE";
  readonly permission: Permission;
  readonly maxBytes: number;
  readonly maxValues: number;
  /** Name of the member that is an object, whose names must not repeat. */
  readonly below?: string;
}

/** Stores values: `columns` by name, each a list with a value per row, and options. */
export function uploadFeatures(
  platform: Platform,
  request: Request,
  connection: Connection,
  share: BodyShare,
  note: CallNote = {},
): Promise<Response> {
  const taking = { method: "POST", permission: Permission.DATA_WRITE, maxBytes: MAX_UPLOAD_BYTES, maxValues: MAX_UPLOAD_VALUES } as const;
  const traceId = parseTraceparent(request.headers.get("traceparent"))?.traceId ?? crypto.randomUUID().replaceAll("-", "");
  const more = { trace_id: traceId };
  return answering(more, async () => {
    const received = await receive(platform, request, connection, share, { ...taking, below: "columns" });
    if (received instanceof Response) return received;
    const { fields, scope } = received;
    onlyKnown(fields, UPLOAD_FIELDS);
    const columns = objectIn(fields, "columns");
    const names = Object.keys(columns);
    note.about = { columns: names.slice(0, 20) };
    const lists = names.map((name) => {
      const values = columns[name];
      if (!Array.isArray(values)) throw wrong(`columns['${clipped(name, 200)}']`, "a list with a value per row", values);
      return values as readonly unknown[];
    });
    const isDryRun = flagIn(fields, "dry_run");
    const written = await (await platform.valueUploads()).upload(scope, { names, columns: lists }, optionsIn(fields), isDryRun);
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
export function deleteRows(
  platform: Platform,
  request: Request,
  connection: Connection,
  share: BodyShare,
  note: CallNote = {},
): Promise<Response> {
  return answering({}, async () => {
    const received = await receive(platform, request, connection, share, DELETION);
    if (received instanceof Response) return received;
    const { fields, scope } = received;
    onlyKnown(fields, ROW_FIELDS);
    const selection = { namespace: textIn(fields, "namespace"), features: textsIn(fields, "features"), tags: textsIn(fields, "tags") };
    note.about = selection;
    const keys = listIn(fields, "primary_keys").map((key) => {
      if (typeof key === "string" || typeof key === "number" || typeof key === "bigint") return String(key);
      throw wrong("primary_keys", "a list of numbers or texts", key);
    });
    const state = await featureValues(platform).deleteRows(scope, { ...selection, keys });
    return json({ errors: [], ...deletionJson(state) });
  });
}

/** Drops all that is stored of features, of all their versions: `namespace`, `features`. */
export function deleteColumns(
  platform: Platform,
  request: Request,
  connection: Connection,
  share: BodyShare,
  note: CallNote = {},
): Promise<Response> {
  return answering({}, async () => {
    const received = await receive(platform, request, connection, share, DELETION);
    if (received instanceof Response) return received;
    const { fields, scope } = received;
    onlyKnown(fields, COLUMN_FIELDS);
    const selection = { namespace: textIn(fields, "namespace"), features: textsIn(fields, "features") };
    note.about = selection;
    const { state, versions } = await featureValues(platform).endVersions(scope, selection, { isDropped: true });
    const features = versions.map(({ fqn, internalVersion }) => ({ feature: fqn, internal_version: internalVersion }));
    return json({ errors: [], ...deletionJson(state), features });
  });
}

const UPLOAD_FIELDS: ReadonlySet<string> = new Set([
  ...["columns", "time_column", "time", "known_at_column", "known_at", "target", "dry_run"],
]);
const ROW_FIELDS: ReadonlySet<string> = new Set(["namespace", "features", "tags", "primary_keys"]);
const COLUMN_FIELDS: ReadonlySet<string> = new Set(["namespace", "features"]);

const DELETION: Taking = {
  method: "DELETE",
  permission: Permission.DEPLOY,
  maxBytes: MAX_DELETION_BYTES,
  maxValues: MAX_DELETION_VALUES,
};

const TARGETS: Readonly<Record<string, UploadTarget>> = { "": "both", both: "both", online: "online", offline: "offline" };

function optionsIn(fields: Fields): UploadOptions {
  const named = textIn(fields, "target");
  const target = Object.hasOwn(TARGETS, named) ? TARGETS[named] : undefined;
  if (target === undefined) throw wrong("target", "online, offline or both", fields.target);
  return {
    target,
    timeColumn: textIn(fields, "time_column"),
    time: instantIn(fields, "time"),
    knownAtColumn: textIn(fields, "known_at_column"),
    knownAt: instantIn(fields, "known_at"),
  };
}

function deletionJson(state: Parameters<typeof removedBy>[0]): Readonly<Record<string, unknown>> {
  const { offline, online, queries } = removedBy(state);
  return {
    deletion_id: state.deletion.id,
    done: state.waiting.length === 0,
    online_values: online,
    offline_values: offline,
    logged_queries: queries,
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
  { below, maxBytes, maxValues, method, permission }: Taking,
): Promise<Received | Response> {
  const caller = await authorize(callers, request.headers, permission);
  if (request.method !== method) return methodNotAllowed(method);
  if (!caller) throw new Error("stored values need credentials");
  const scope = await resolveScope(environments, caller, request.headers);
  const bytes = await readBody(request, maxBytes, { share, inflates: true });
  connection.unhurried?.();
  const { membersBelow, text } = jsonText(bytes, maxValues, below === undefined ? undefined : quoted(below));
  let parsed: unknown;
  try {
    parsed = parseExactJson(text);
  } catch (error) {
    throw new JsonRefused(`the body is not JSON: ${errorText(error)}`);
  }
  if (parsed === null || typeof parsed !== "object" || Array.isArray(parsed)) throw wrong("the body", "an object", parsed);
  const fields = parsed as Fields;
  const inner = below === undefined ? undefined : fields[below];
  const isRepeated = inner !== null && typeof inner === "object" && membersBelow > Object.keys(inner as object).length;
  const repeated = isRepeated ? repeatedName(bytes, quoted(below as string)) : undefined;
  if (repeated !== undefined) throw new JsonRefused(`${below} has '${clipped(repeated, 200)}' twice`);
  return { scope, fields, bytes };
}

/** The answer of `work`, whose refusals have the form of all errors, each problem by itself. */
async function answering(more: Readonly<Record<string, unknown>>, work: () => Promise<Response>): Promise<Response> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Failure) return failureResponse(error, more);
    if (error instanceof JsonRefused) return errorAnswer({ status: 400, message: clipped(error.message), more });
    if (!(error instanceof UploadRefused)) throw error;
    const errors = error.problems.map(({ row, column, message }) => ({
      ...{ code: "PARSE_FAILED", category: "REQUEST", message },
      ...(row > 0 && { row }),
      ...(column !== "" && { column }),
    }));
    return errorAnswer({ status: 400, message: `Nothing was uploaded.\n${error.message}`, errors, more });
  }
}

function wrong(name: string, expected: string, given: unknown): JsonRefused {
  return new JsonRefused(`${name}: expected ${expected}, got ${describeValue(given)}`);
}

function onlyKnown(fields: Fields, known: ReadonlySet<string>): void {
  const problem = unknownField(fields, known, "");
  if (problem !== undefined) throw new JsonRefused(problem);
}

function textIn(fields: Fields, name: string): string {
  const value = fields[name] ?? "";
  if (typeof value !== "string" || value.length > MAX_TEXT) throw wrong(name, `a text of at most ${MAX_TEXT} characters`, value);
  return value;
}

function listIn(fields: Fields, name: string): readonly unknown[] {
  const value = fields[name] ?? [];
  if (!Array.isArray(value)) throw wrong(name, "a list", value);
  return value;
}

function textsIn(fields: Fields, name: string): readonly string[] {
  return listIn(fields, name).map((one) => {
    if (typeof one !== "string" || one.length > MAX_TEXT) throw wrong(name, `texts of at most ${MAX_TEXT} characters`, one);
    return one;
  });
}

function objectIn(fields: Fields, name: string): Fields {
  const value = fields[name];
  if (value === null || typeof value !== "object" || Array.isArray(value)) throw wrong(name, "an object", value);
  return value as Fields;
}

function flagIn(fields: Fields, name: string): boolean {
  const value = fields[name] ?? false;
  if (typeof value !== "boolean") throw wrong(name, "true or false", value);
  return value;
}

/** Epoch milliseconds; null = not given. */
function instantIn(fields: Fields, name: string): number | null {
  const value = fields[name] ?? null;
  if (value === null) return null;
  const instant = typeof value === "string" ? parseInstant(value) : undefined;
  if (!instant?.zoned) throw wrong(name, "an ISO 8601 time with a zone such as 2024-05-01T12:00:00Z", value);
  return Number(instant.micros) / 1_000;
}
