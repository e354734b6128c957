/**
 * The file of the log store: WAL, synchronous=NORMAL, old records removed by age and size. There is
 * no index of texts: records are looked through newest first, in steps of bounded size.
 */

import type { Database, SQLQueryBindings } from "bun:sqlite";
import { ATTRIBUTES, type LogLevel } from "../../../domain/logs.ts";
import { type Condition, toCondition } from "../../../domain/search/condition.ts";
import type { Search } from "../../../domain/search/tree.ts";
import type { PackedRecords } from "../../thread/records.ts";
import { schemaVersion, usedBytes } from "../sqlite/file-figures.ts";
import { openDatabase } from "../sqlite/open.ts";
import { boundRecord } from "./bounds.ts";
import { carryOver } from "./carry-over.ts";
import { recordsOf } from "./log-batch.ts";
import { mentionsKey } from "./mentions-key.ts";
import { LOGS_APPLICATION_ID, LOGS_MIGRATIONS } from "./schema.ts";
import type {
  ForgottenLines,
  LogAttributes,
  LogCount,
  LogFigures,
  LogFilter,
  LogKind,
  LogLimits,
  LogPage,
  LogTail,
  NewRecord,
  StoredRecord,
} from "./store.ts";

/** Options with which the file is opened. */
export interface LogsFile {
  /** Absolute path of `logs.db`, or `:memory:`. */
  readonly path: string;
  readonly programVersion: string;
  /** Time for which records are kept, in milliseconds. */
  readonly ttlMs: number;
  /** Size of the file above which the oldest records are removed, in bytes. */
  readonly maxBytes: number;
  /** A `telemetry.db` whose lines, from before there was this store, are carried over. */
  readonly carryFrom: string | undefined;
}

/** A step of something that goes through all records. */
export interface LogStep<T> {
  readonly result: T;
  /** Where the next step begins; undefined = there is none. */
  readonly next: number | undefined;
}

/** Records that one step looks at, and milliseconds after which a search ends without more. */
const STEP_ROWS = 20_000;
const SEARCH_MS = 100;
const COUNTED_ROWS = 100_000;
/** Records of a statement: each statement costs as much as writing a record. */
const ROWS_AT_ONCE = 16;
const PRUNE_EVERY_MS = 60_000;
/** Microseconds by which records may arrive later than others of their time. */
const LATE_MICROS = 600_000_000;
/** Number of origins above which those without records are removed. */
const MANY_ORIGINS = 20_000;

const ORIGIN = [
  "environmentId",
  "deploymentId",
  "branch",
  "component",
  "resolver",
  "queryName",
  "resourceGroup",
  "podName",
  "app",
  "logger",
] as const;
const ORIGIN_COLUMNS = "environment_id, deployment_id, branch, component, resolver, query_name, resource_group, pod_name, app, logger";
const RECORD = `record.seq, record.at, record.level, record.operation_id as operationId, record.correlation_id as correlationId,
  record.trace_id as traceId, record.span_id as spanId, record.message, record.attributes,
  origin.environment_id as environmentId, origin.deployment_id as deploymentId, origin.branch, origin.component, origin.resolver,
  origin.query_name as queryName, origin.resource_group as resourceGroup, origin.pod_name as podName, origin.app, origin.logger`;

/** What many records have in common. */
type Origin = Readonly<Record<(typeof ORIGIN)[number], string>>;
type Row = Omit<StoredRecord, "attributes"> & { readonly attributes: string };

/** Columns of fields that are not named as their column in `record`. */
const COLUMNS: Readonly<Record<LogKind, Readonly<Record<string, string>>>> = {
  line: {
    component: "origin.component",
    resolver: "origin.resolver",
    query_name: "origin.query_name",
    deployment: "origin.deployment_id",
    branch: "origin.branch",
    pod_name: "origin.pod_name",
    resource_group: "origin.resource_group",
    app: "origin.app",
    logger: "origin.logger",
  },
  request: {
    path: "record.message",
    method: text("method"),
    client_id: text("client_id"),
    route: text("route"),
    replica: text("replica"),
    response_code: number("response_code"),
    duration: number("duration_ms"),
    bytes: number("bytes"),
  },
};
/** Fields with an index: a search for one value of them looks at its records alone. */
const INDEXED: readonly string[] = ["operation_id", "trace_id"];
const OWN_COLUMNS: readonly string[] = ["level", "operation_id", "correlation_id", "trace_id", "span_id", "message"];

function text(attribute: string): string {
  return `coalesce(json_extract(record.attributes, '$.${attribute}'), '')`;
}

function number(attribute: string): string {
  return `json_extract(record.attributes, '$.${attribute}')`;
}

function columnOf(kind: LogKind, field: string): string | Condition {
  const column = COLUMNS[kind][field] ?? (OWN_COLUMNS.includes(field) ? `record.${field}` : undefined);
  if (column !== undefined) return column;
  if (!field.startsWith(ATTRIBUTES)) throw new Error(`${kind} records have no field ${field}`);
  return {
    sql: "cast(coalesce(json_extract(record.attributes, ?), '') as text)",
    parameters: [`$."${field.slice(ATTRIBUTES.length)}"`],
  };
}

/** The open file. Every method throws what SQLite does. */
export class LogsDatabase {
  readonly #db: Database;
  readonly #origins = new Map<string, number>();
  /** The origin of the record before: most come from where that did. */
  #lastOrigin: { readonly of: Origin; readonly id: number } | undefined;
  #prunedAt = 0;
  #maxBytes: number;
  #maxAgeMs: number;
  #removed = 0;

  /**
   * Opens or creates the file, and carries old lines over.
   * @param onCarryFailure called when the old lines could not be carried over; they stay where they
   * are, for the next start
   * @throws StartError when the file cannot be used
   */
  constructor(
    private readonly file: LogsFile,
    onCarryFailure: (error: unknown) => void = () => undefined,
  ) {
    const { path, programVersion, carryFrom } = file;
    this.#maxBytes = file.maxBytes;
    this.#maxAgeMs = file.ttlMs;
    this.#db = openDatabase({
      path,
      applicationId: LOGS_APPLICATION_ID,
      migrations: LOGS_MIGRATIONS,
      programVersion,
      synchronous: "normal",
    });
    if (carryFrom === undefined) return;
    try {
      carryOver(this.#db, carryFrom, (records) => this.#insert("line", records));
    } catch (error) {
      onCarryFailure(error);
    }
  }

  /** Writes records, all or none, and removes old ones about once a minute. */
  write(batch: PackedRecords, now: number): void {
    const records = recordsOf(batch);
    this.#db.transaction(() => {
      for (const kind of ["line", "request"] as const) this.#insert(kind, records[kind]);
    })();
    if (Math.abs(now - this.#prunedAt) >= PRUNE_EVERY_MS) this.#prune(now);
  }

  #insert(kind: LogKind, records: readonly NewRecord[]): void {
    if (records.length === 0) return;
    const insertOf = (rows: number) =>
      this.#db.query(
        `insert into ${kind} (at, level, origin, operation_id, correlation_id, trace_id, span_id, message, attributes)
         values ${Array.from({ length: rows }, () => "(?, ?, ?, ?, ?, ?, ?, ?, ?)").join(", ")}`,
      );
    for (let from = 0; from < records.length; ) {
      const rows = records.length - from < ROWS_AT_ONCE ? 1 : ROWS_AT_ONCE;
      const values: (string | number)[] = [];
      for (const given of records.slice(from, from + rows)) {
        const record = boundRecord(given);
        const { at, level, operationId, correlationId, traceId, spanId, message, attributes } = record;
        values.push(at, level, this.#originOf(record), operationId, correlationId, traceId, spanId, message, attributes);
      }
      insertOf(rows).run(...values);
      from += rows;
    }
  }

  #originOf(record: Origin): number {
    const last = this.#lastOrigin;
    if (last !== undefined && ORIGIN.every((name) => last.of[name] === record[name])) return last.id;
    const id = this.#findOrigin(ORIGIN.map((name) => record[name]));
    this.#lastOrigin = { of: record, id };
    return id;
  }

  #findOrigin(texts: readonly string[]): number {
    const key = texts.join("\0");
    const known = this.#origins.get(key);
    if (known !== undefined) return known;
    this.#db.query(`insert or ignore into origin (${ORIGIN_COLUMNS}) values (${ORIGIN.map(() => "?").join(", ")})`).run(...texts);
    const where = ORIGIN_COLUMNS.split(", ").map((column) => `${column} = ?`);
    const id = this.#db.query<{ id: number }, string[]>(`select id from origin where ${where.join(" and ")}`).get(...texts)?.id ?? 0;
    if (this.#origins.size >= MANY_ORIGINS) this.#origins.clear();
    this.#origins.set(key, id);
    return id;
  }

  #forgetOrigins(): void {
    this.#origins.clear();
    this.#lastOrigin = undefined;
  }

  /** A page, newest first. */
  search(filter: LogFilter, limit: number, beforeSeq = Number.MAX_SAFE_INTEGER): LogPage {
    const { kind, from, before } = filter;
    const least = from === undefined ? 0 : this.#firstSince(kind, from - LATE_MICROS) - 1;
    let high = Math.min(beforeSeq, this.newest(kind) + 1, before === undefined ? Infinity : this.#firstSince(kind, before + LATE_MICROS));
    const condition = conditionOf(filter);
    const isIndexed = hasIndexed(filter.search);
    const records: StoredRecord[] = [];
    const until = performance.now() + SEARCH_MS;
    while (high > least + 1) {
      const low = isIndexed ? least : Math.max(least, high - 1 - STEP_ROWS);
      const found = this.#rows(kind, condition, low, high, "desc", limit - records.length);
      records.push(...found);
      if (records.length >= limit) return { records, next: records.at(-1)?.seq };
      high = low + 1;
      if (performance.now() > until && high > least + 1) return { records, next: high };
    }
    return { records, next: undefined };
  }

  /** Records that followed one, oldest first. */
  after(filter: LogFilter, seq: number, limit: number): LogTail {
    const newest = this.newest(filter.kind);
    const condition = conditionOf(filter);
    const records: StoredRecord[] = [];
    const until = performance.now() + SEARCH_MS;
    let last = Math.min(seq, newest);
    while (last < newest) {
      const high = Math.min(last + STEP_ROWS, newest);
      records.push(...this.#rows(filter.kind, condition, last, high + 1, "asc", limit - records.length));
      if (records.length >= limit) return { records, last: records.at(-1)?.seq ?? high };
      last = high;
      if (performance.now() > until) break;
    }
    return { records, last };
  }

  /** The place of the newest record; 0 = there is none. */
  newest(kind: LogKind): number {
    return this.#db.query<{ seq: number | null }, []>(`select max(seq) as seq from ${kind}`).get()?.seq ?? 0;
  }

  /** Counts by window and level of the next records, from the newest on. */
  count(filter: LogFilter, windowMs: number, beforeSeq = Number.MAX_SAFE_INTEGER): LogStep<LogCount[]> {
    const { kind, from, before } = filter;
    const least = from === undefined ? 0 : this.#firstSince(kind, from - LATE_MICROS) - 1;
    const high = Math.min(beforeSeq, this.newest(kind) + 1, before === undefined ? Infinity : this.#firstSince(kind, before + LATE_MICROS));
    const low = Math.max(least, high - 1 - COUNTED_ROWS);
    const { sql, parameters } = conditionOf(filter);
    const micros = windowMs * 1_000;
    const result =
      high <= least + 1
        ? []
        : this.#db
            .query<{ start: number; level: LogLevel; count: number }, SQLQueryBindings[]>(
              `select record.at - ((record.at % ?) + ?) % ? as start, record.level as level, count(*) as count
               from ${kind} as record cross join origin on origin.id = record.origin
               where record.seq > ? and record.seq < ? and ${sql} group by 1, 2`,
            )
            .all(micros, micros, micros, low, high, ...parameters);
    return { result, next: low > least && high > least + 1 ? low + 1 : undefined };
  }

  #rows(kind: LogKind, { sql, parameters }: Condition, low: number, high: number, order: "asc" | "desc", limit: number): StoredRecord[] {
    return this.#db
      .query<Row, SQLQueryBindings[]>(
        `select ${RECORD} from ${kind} as record cross join origin on origin.id = record.origin
         where record.seq > ? and record.seq < ? and ${sql} order by record.seq ${order} limit ?`,
      )
      .all(low, high, ...parameters, limit)
      .map((row) => ({ ...row, attributes: JSON.parse(row.attributes) as LogAttributes }));
  }

  /**
   * The place of the first record at or after a time, as if records came in the order of their
   * times; one behind the last when there is none.
   */
  #firstSince(kind: LogKind, at: number): number {
    const edges = this.#db
      .query<{ low: number | null; high: number | null }, []>(`select min(seq) as low, max(seq) as high from ${kind}`)
      .get();
    const next = this.#db.query<{ seq: number; at: number }, [number]>(`select seq, at from ${kind} where seq >= ? order by seq limit 1`);
    let low = edges?.low ?? 1;
    let high = (edges?.high ?? 0) + 1;
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      const found = next.get(middle);
      if (found && found.at < at) low = found.seq + 1;
      else high = middle;
    }
    return low;
  }

  /** Removes what is known of an environment. */
  forgetEnvironment(environmentId: string): void {
    this.#db.transaction(() => {
      for (const kind of ["line", "request"])
        this.#db.query(`delete from ${kind} where origin in (select id from origin where environment_id = ?)`).run(environmentId);
      this.#db.query("delete from origin where environment_id = ?").run(environmentId);
    })();
    this.#forgetOrigins();
  }

  /** Removes the lines of operations. */
  forgetOperations(operationIds: readonly string[]): void {
    const remove = this.#db.query("delete from line where operation_id = ? and operation_id <> ''");
    this.#db.transaction(() => {
      for (const id of operationIds) remove.run(id);
    })();
  }

  /** Removes lines with a key among the next records, from the newest on. */
  forgetKeys({ environmentId, branch, keys, until }: ForgottenLines, beforeSeq = Number.MAX_SAFE_INTEGER): LogStep<number> {
    const high = Math.min(beforeSeq, this.newest("line") + 1);
    const low = Math.max(0, high - 1 - STEP_ROWS);
    const wanted = new Set(keys);
    const gone = this.#db
      .query<{ seq: number; message: string; attributes: string }, [number, number, number, string, string]>(
        `select record.seq, record.message, record.attributes from line as record cross join origin on origin.id = record.origin
         where record.seq > ? and record.seq < ? and record.at <= ? and origin.environment_id = ? and origin.branch = ? and origin.component <> 'build'`,
      )
      .all(low, high, until, environmentId, branch)
      .filter(({ message, attributes }) => [message, ...textsOf(attributes)].some((said) => mentionsKey(said, wanted)));
    const remove = this.#db.query("delete from line where seq = ?");
    this.#db.transaction(() => {
      for (const { seq } of gone) remove.run(seq);
    })();
    return { result: gone.length, next: low > 0 ? low + 1 : undefined };
  }

  /** The schema, the bytes in use and their bounds. */
  figures(): Omit<LogFigures, "pendingRecords"> {
    return {
      schemaVersion: schemaVersion(this.#db),
      bytes: usedBytes(this.#db),
      maxBytes: this.#maxBytes,
      defaultMaxBytes: this.file.maxBytes,
      maxAgeMs: this.#maxAgeMs,
      defaultMaxAgeMs: this.file.ttlMs,
      removedRecords: this.#removed,
    };
  }

  /** Sets the bounds beyond which the oldest records are removed; undefined = as it was opened. */
  limit({ maxBytes, maxAgeMs }: LogLimits, now: number): void {
    this.#maxBytes = maxBytes ?? this.file.maxBytes;
    this.#maxAgeMs = maxAgeMs ?? this.file.ttlMs;
    this.#prune(now);
  }

  /** Writes a line and removes it again. Throws when that fails. */
  probe(now: number): void {
    const message = crypto.randomUUID();
    this.#insert("line", [{ at: now * 1_000, level: "debug", component: "server", logger: "probe", message }]);
    const removed = this.#db.query("delete from line where seq >= ? - 1 and message = ?").run(this.newest("line"), message);
    if (removed.changes !== 1) throw new Error("a line that was written could not be read back");
  }

  close(): void {
    this.#db.close();
  }

  #prune(now: number): void {
    this.#prunedAt = now;
    const limit = (now - this.#maxAgeMs) * 1_000;
    for (const kind of ["line", "request"] as const) {
      const first = this.#firstSince(kind, limit);
      this.#removed += this.#db.query(`delete from ${kind} where seq < ?`).run(first).changes;
    }
    for (let round = 0; round < 20 && usedBytes(this.#db) > this.#maxBytes; round++) this.#pruneTenth();
    this.#pruneOrigins();
  }

  /** Removes the oldest tenth of the kind with more records: requests crowd out no lines. */
  #pruneTenth(): void {
    const [larger] = (["line", "request"] as const)
      .map((kind) => ({
        kind,
        ...this.#db.query<{ low: number | null; high: number | null }, []>(`select min(seq) as low, max(seq) as high from ${kind}`).get(),
      }))
      .map(({ kind, low, high }) => ({ kind, low: low ?? 0, count: (high ?? 0) - (low ?? 0) }))
      .sort((one, other) => other.count - one.count);
    if (!larger) return;
    this.#removed += this.#db.query(`delete from ${larger.kind} where seq <= ?`).run(larger.low + larger.count / 10).changes;
  }

  #pruneOrigins(): void {
    const { count } = this.#db.query<{ count: number }, []>("select count(*) as count from origin").get() ?? { count: 0 };
    if (count < MANY_ORIGINS) return;
    this.#db.run("delete from origin where id not in (select origin from line union select origin from request)");
    this.#forgetOrigins();
  }
}

/** Names and values of attributes: their JSON has texts otherwise than they are. */
function textsOf(attributes: string): string[] {
  return attributes === "{}"
    ? []
    : Object.entries(JSON.parse(attributes) as LogAttributes).flatMap(([name, value]) => [name, String(value)]);
}

function conditionOf({ kind, environmentIds, search, from, before }: LogFilter): Condition {
  const { sql, parameters } = toCondition(search, (field) => columnOf(kind, field));
  const parts = [`origin.environment_id in (${environmentIds.map(() => "?").join(", ")})`, sql, ...indexedTerms(search)];
  const times: number[] = [];
  if (from !== undefined) times.push(from);
  if (before !== undefined) times.push(before);
  if (from !== undefined) parts.push("record.at >= ?");
  if (before !== undefined) parts.push("record.at < ?");
  return { sql: parts.join(" and "), parameters: [...environmentIds, ...parameters, ...times] };
}

/** The fields with an index of which every record that fits has one value. */
function indexedFields(search: Search): string[] {
  if (search.is === "all") return search.of.flatMap(indexedFields);
  return search.is === "equal" && search.value !== "" && INDEXED.includes(search.field) ? [search.field] : [];
}

function hasIndexed(search: Search): boolean {
  return indexedFields(search).length > 0;
}

/** What tells SQLite that an index without empty values serves. */
function indexedTerms(search: Search): string[] {
  return indexedFields(search).map((field) => `record.${field} <> ''`);
}
