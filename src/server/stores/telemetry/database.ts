/**
 * The file of the telemetry store: WAL, synchronous=NORMAL, old rows removed by age and size. The
 * bodies of a batch of queries are compressed together, since they resemble each other: that takes
 * a tenth of the space and less time than writing them uncompressed.
 */

import type { Database } from "bun:sqlite";
import { schemaVersion, usedBytes } from "../sqlite/file-figures.ts";
import { inspectDatabase, openDatabase } from "../sqlite/open.ts";
import { ErrorTable } from "./error-table.ts";
import { mentions } from "./mentions.ts";
import { MetaQueryTable, metaIdOf } from "./meta-query-table.ts";
import { type BatchedQuery, type QueryBatch, queriesOf } from "./query-batch.ts";
import { SUMMARY, type SummaryRow, searchQueries, summaryOf } from "./query-search.ts";
import { TELEMETRY_APPLICATION_ID, TELEMETRY_MIGRATIONS } from "./schema.ts";
import { SpanTable } from "./span-table.ts";
import { StageTable } from "./stage-table.ts";
import type {
  Body,
  BodyEncoding,
  ErrorGroup,
  ErrorRecord,
  ErrorSearch,
  ExpiredStages,
  LoggedKeys,
  MetaLatencies,
  MetaQuery,
  MetaQueryFilter,
  MetaQueryPlace,
  NewestPage,
  PlanRecord,
  QueryLogEntry,
  QueryLogFilter,
  QueryLogSummary,
  QuerySearch,
  SchemaMove,
  SpanFilter,
  SpanRecord,
  SpanSearch,
  StageRecord,
  StoredError,
  StoredQuery,
  StoredSpan,
  TelemetryFigures,
  TelemetryLimits,
  TracePage,
  TracePlace,
  TraceSummary,
} from "./store.ts";

/** Options with which the file is opened. */
export interface TelemetryFile {
  /** Absolute path of `telemetry.db`, or `:memory:`. */
  readonly path: string;
  readonly programVersion: string;
  /** Time for which records are kept, in milliseconds. */
  readonly ttlMs: number;
  /** Size of the file above which the oldest tenth is removed, in bytes. */
  readonly maxBytes: number;
  /**
   * Size of the objects with stages' rows above which those of the oldest queries are removed, in
   * bytes.
   */
  readonly maxStageBytes: number;
  /** Time for which spans are kept, in milliseconds, and their bytes above which the oldest go. */
  readonly spanTtlMs: number;
  readonly maxSpanBytes: number;
}

/** What a step of `forgetKeys` found and did. */
export interface ForgottenStep {
  /** Ids of the queries that are meant. */
  readonly queries: readonly string[];
  /** Where the next step begins; undefined = there is none. */
  readonly next?: number;
}

/** Records to be written in one transaction. */
export interface TelemetryBatch {
  readonly queries: QueryBatch | undefined;
  readonly spans: readonly SpanRecord[];
  readonly plans: readonly PlanRecord[];
  readonly errors: readonly ErrorRecord[];
  /** The time, epoch milliseconds. */
  readonly now: number;
}

const PRUNE_EVERY_MS = 60_000;
/** Number of newest rows, of all environments, that are searched for an environment's. */
const LISTED_ROWS = 100_000;
/** Bounds that include every time. */
const EARLIEST = Number.MIN_SAFE_INTEGER;
const LATEST = Number.MAX_SAFE_INTEGER;
/** The newest row that is searched for queries before the bound ?4. */
const NEWEST_BEFORE = "select seq from query_log where started_at < ?4 order by seq desc limit 1";
/** Compression level that is four times as fast as the default, for a quarter more bytes. */
const PACKING = { level: 1 };

/** Where the bodies of a query are among those that are packed together. */
interface PackedPlace {
  readonly encoding: BodyEncoding;
  readonly bodyAt: number;
  readonly requestSize: number;
  readonly responseSize: number | null;
  readonly originsSize: number;
}

/** A query as it is written. */
interface WrittenQuery extends BatchedQuery {
  readonly metaId: string;
  readonly keyHash: string;
  readonly body: number;
  readonly bodyAt: number;
  readonly originsSize: number;
}

/** The columns of a query. */
const LOGGED: Readonly<Record<string, (query: WrittenQuery) => string | number | null>> = {
  query_id: ({ queryId }) => queryId,
  environment_id: ({ environmentId }) => environmentId,
  deployment_id: ({ deploymentId }) => deploymentId,
  branch: ({ branch }) => branch,
  started_at: ({ startedAt }) => startedAt,
  duration_ms: ({ durationMs }) => durationMs,
  query_name: ({ queryName }) => queryName,
  correlation_id: ({ correlationId }) => correlationId,
  error_count: ({ errorCount }) => errorCount,
  error: ({ error }) => error ?? null,
  encoding: ({ encoding }) => encoding,
  body: ({ body }) => body,
  body_at: ({ bodyAt }) => bodyAt,
  request_size: ({ requestSize }) => requestSize,
  response_size: ({ responseSize }) => responseSize,
  origins_size: ({ originsSize }) => originsSize,
  kind: ({ kind }) => kind,
  query_version: ({ queryVersion }) => queryVersion,
  is_named: ({ isNamed }) => (isNamed ? 1 : 0),
  plan_hash: ({ planHash }) => planHash,
  root_namespace: ({ rootNamespace }) => rootNamespace,
  primary_key: ({ primaryKey, secretKey }) => (secretKey === undefined ? primaryKey : ""),
  key_hash: ({ keyHash }) => keyHash,
  agent_id: ({ agentId }) => agentId,
  error_codes: ({ errorCodes }) => errorCodes,
  hit_share: ({ hitShare }) => hitShare,
  row_count: ({ rows }) => rows,
  trace_id: ({ traceId }) => traceId,
  meta_id: ({ metaId }) => metaId,
};

interface QueryRow extends SummaryRow<QueryLogSummary>, PackedPlace {
  readonly error: string | null;
  readonly packed: Uint8Array<ArrayBuffer>;
}

const SIZES = "body_at as bodyAt, request_size as requestSize, response_size as responseSize, origins_size as originsSize";
const PACKED = `seq, key_hash as keyHash, query_id as queryId, environment_id as environmentId, branch, started_at as startedAt, error, encoding, body, ${SIZES}`;

/** A query among those that are packed together. */
interface PackedQuery extends Pick<QueryLogSummary, "queryId" | "environmentId" | "branch" | "startedAt">, PackedPlace {
  readonly seq: number;
  readonly keyHash: string;
  readonly error: string | null;
  /** Id of the pack. */
  readonly body: number;
}

/** The request, response and origins of a query among those that are packed together. */
function cut(
  bodies: Buffer,
  { bodyAt, encoding, originsSize, requestSize, responseSize }: PackedPlace,
): Pick<QueryLogEntry, "request" | "response" | "origins"> {
  const bodyOf = (from: number, size: number): Body => {
    const bytes = bodies.subarray(from, from + size);
    return encoding === "json" ? bytes.toString() : new Uint8Array(bytes);
  };
  const originsAt = bodyAt + requestSize + (responseSize ?? 0);
  return {
    request: bodyOf(bodyAt, requestSize),
    ...(responseSize === null ? {} : { response: bodyOf(bodyAt + requestSize, responseSize) }),
    origins: bodies.toString("utf8", originsAt, originsAt + originsSize),
  };
}

/** The open file. Every method throws what SQLite does. */
export class TelemetryDatabase {
  readonly #db: Database;
  readonly #spans: SpanTable;
  readonly #stages: StageTable;
  readonly #metas: MetaQueryTable;
  readonly #errors: ErrorTable;
  readonly #salt: string;
  #prunedAt = 0;
  /**
   * Start of the oldest query left after a removal because of the file's size, epoch milliseconds;
   * 0 = none took place.
   */
  #cutAt = 0;
  #maxBytes: number;
  #maxAgeMs: number;
  #maxSpanBytes: number;
  #maxSpanAgeMs: number;
  /** Queries that were removed because of age or size. */
  #removed = 0;
  /** Number of the schema when it was last reported, at first when the file was opened. */
  #reportedVersion: number;

  /** Opens or creates the file. Throws StartError when it cannot be used. */
  constructor(private readonly file: TelemetryFile) {
    const { path, programVersion } = file;
    const schema = { path, applicationId: TELEMETRY_APPLICATION_ID, migrations: TELEMETRY_MIGRATIONS, programVersion };
    this.#maxBytes = file.maxBytes;
    this.#maxAgeMs = file.ttlMs;
    this.#maxSpanBytes = file.maxSpanBytes;
    this.#maxSpanAgeMs = file.spanTtlMs;
    const found = path === ":memory:" ? undefined : inspectDatabase(schema)?.version;
    this.#reportedVersion = found || TELEMETRY_MIGRATIONS.length;
    this.#db = openDatabase({ ...schema, synchronous: "normal" });
    this.#spans = new SpanTable(this.#db);
    this.#stages = new StageTable(this.#db);
    this.#metas = new MetaQueryTable(this.#db);
    this.#errors = new ErrorTable(this.#db);
    this.#salt = this.#db.query<{ salt: string }, []>("select salt from salt").get()?.salt ?? "";
  }

  /** Writes a batch, all or nothing, and removes old rows about once a minute. */
  write({ queries, spans, plans, errors, now }: TelemetryBatch): void {
    this.#db.transaction(() => {
      if (plans.length > 0) this.#metas.keepPlans(plans);
      if (errors.length > 0) this.#errors.write(errors);
      if (queries) this.#writeQueries(queries);
      if (spans.length > 0) this.#spans.write(spans);
    })();
    if (Math.abs(now - this.#prunedAt) >= PRUNE_EVERY_MS) this.#prune(now);
  }

  /** A query by its id. */
  query(queryId: string): QueryLogEntry | undefined {
    const row = this.#db
      .query<QueryRow, [string]>(
        `select ${SUMMARY}, error, encoding, packed, ${SIZES}
         from query_log join body on body.id = query_log.body where query_id = ?`,
      )
      .get(queryId);
    if (!row) return undefined;
    const { error, packed, bodyAt, requestSize, responseSize, originsSize, encoding, ...summary } = row;
    const { metaId: _metaId, isRefused: _isRefused, ...entry } = { ...summaryOf<QueryLogSummary>(summary), encoding };
    const place = { encoding, bodyAt, requestSize, responseSize, originsSize };
    return { ...entry, ...(error === null ? {} : { error }), ...cut(Bun.zstdDecompressSync(packed), place) };
  }

  /** Queries, newest first. */
  queries({ environmentId, deploymentId, from = EARLIEST, before = LATEST, limit }: QueryLogFilter): QueryLogSummary[] {
    const among = deploymentId === undefined ? `seq > (${NEWEST_BEFORE}) - ?2` : "deployment_id = ?2";
    return this.#db
      .query<SummaryRow<QueryLogSummary>, [string, string | number, number, number, number]>(
        `select ${SUMMARY} from query_log where environment_id = ?1 and ${among} and started_at >= ?3 and started_at < ?4
         order by seq desc limit ?5`,
      )
      .all(environmentId, deploymentId ?? LISTED_ROWS, from, before, limit)
      .map(summaryOf<QueryLogSummary>);
  }

  /** A page of queries, newest first. */
  searchQueries(filter: QuerySearch, limit: number, beforeSeq?: number): NewestPage<StoredQuery> {
    return searchQueries(this.#db, filter, (key) => this.#hashOf(key), limit, beforeSeq);
  }

  /** A plan by its hash. */
  plan(environmentId: string, hash: string): PlanRecord | undefined {
    return this.#metas.plan(environmentId, hash);
  }

  /** Meta queries, the last observed first. */
  metaQueries(filter: MetaQueryFilter, limit: number, after?: MetaQueryPlace): MetaQuery[] {
    return this.#metas.list(filter, limit, after);
  }

  /** A meta query with its latencies. */
  metaQuery(environmentId: string, id: string): { query: MetaQuery; latencies: MetaLatencies } | undefined {
    return this.#metas.find(environmentId, id);
  }

  /** A page of errors, newest first. */
  searchErrors(filter: ErrorSearch, limit: number, beforeSeq?: number): NewestPage<StoredError> {
    return this.#errors.search(filter, limit, beforeSeq);
  }

  /** Groups of errors, the largest first. */
  groupErrors(filter: ErrorSearch, limit: number, offset: number): ErrorGroup[] {
    return this.#errors.group(filter, limit, offset);
  }

  /** Removes errors that name a key, among those behind the error number `after`. */
  forgetErrors(keys: LoggedKeys, after: number): number | undefined {
    return this.#errors.forgetKeys(keys, after);
  }

  /** The hash of a primary key: of no use without the file. */
  #hashOf(key: string): string {
    return new Bun.CryptoHasher("sha256", this.#salt).update(key).digest("hex").slice(0, 32);
  }

  /** A page of traces, the latest start first. */
  traces(filter: SpanSearch, limit: number, after?: TracePlace): TracePage {
    return this.#spans.traces(filter, limit, after);
  }

  /** A trace of an environment. */
  trace(environmentId: string, traceId: string): TraceSummary | undefined {
    return this.#spans.trace(environmentId, traceId);
  }

  /** The trace of an operation's first span. */
  traceIdOf(environmentId: string, operationId: string): string | undefined {
    return this.#spans.traceIdOf(environmentId, operationId);
  }

  /** A page of spans, newest first. */
  searchSpans(filter: SpanSearch, limit: number, beforeSeq?: number): NewestPage<StoredSpan> {
    return this.#spans.search(filter, limit, beforeSeq);
  }

  /** Spans of an environment with an id. */
  spansById(environmentId: string, spanId: string): SpanRecord[] {
    return this.#spans.byId(environmentId, spanId);
  }

  /** Spans, ordered by start. */
  spans(filter: SpanFilter): SpanRecord[] {
    return this.#spans.read(filter);
  }

  /** Stores the records of a query's stages. */
  keepStages(stages: readonly StageRecord[]): void {
    this.#stages.write(stages);
  }

  /** The stages of a query, in order; none of one that is too old. */
  stages(queryId: string, now: number): StageRecord[] {
    const since = this.#keptSince(now);
    return this.#stages.read(queryId).filter(({ startedAt }) => startedAt >= since);
  }

  /** The queries whose stages have expired, and the objects to be deleted first. */
  expiredStages(now: number): ExpiredStages {
    return this.#stages.expired({ since: this.#keptSince(now), maxBytes: this.file.maxStageBytes });
  }

  /** Stages of queries that arrived earlier are gone; epoch milliseconds. */
  #keptSince(now: number): number {
    return Math.max(now - this.#maxAgeMs, this.#cutAt);
  }

  /** Removes the stages of queries, after their objects were deleted. */
  forgetStages(queryIds: readonly string[]): void {
    this.#stages.forget(queryIds);
  }

  /** The schema, the bytes in use and their bound. */
  figures(): Omit<TelemetryFigures, "pendingRecords" | "pendingBytes"> {
    return {
      schemaVersion: schemaVersion(this.#db),
      bytes: usedBytes(this.#db),
      maxBytes: this.#maxBytes,
      defaultMaxBytes: this.file.maxBytes,
      maxAgeMs: this.#maxAgeMs,
      defaultMaxAgeMs: this.file.ttlMs,
      removedQueries: this.#removed,
      spanBytes: this.#spans.bytes(),
      maxSpanBytes: this.#maxSpanBytes,
      defaultMaxSpanBytes: this.file.maxSpanBytes,
      maxSpanAgeMs: this.#maxSpanAgeMs,
      defaultMaxSpanAgeMs: this.file.spanTtlMs,
    };
  }

  /** Sets the bounds beyond which the oldest records are removed; undefined = as it was opened. */
  limit({ maxBytes, maxAgeMs, maxSpanBytes, maxSpanAgeMs }: TelemetryLimits, now: number): void {
    this.#maxBytes = maxBytes ?? this.file.maxBytes;
    this.#maxAgeMs = maxAgeMs ?? this.file.ttlMs;
    this.#maxSpanBytes = maxSpanBytes ?? this.file.maxSpanBytes;
    this.#maxSpanAgeMs = maxSpanAgeMs ?? this.file.spanTtlMs;
    this.#prune(now);
  }

  /** The move of the schema since the last call; the first begins where the file was opened. */
  migrate(): SchemaMove {
    const from = this.#reportedVersion;
    this.#reportedVersion = schemaVersion(this.#db);
    return { from, to: this.#reportedVersion };
  }

  /** Writes a record and removes it again. Throws when that fails. */
  probe(): void {
    const { lastInsertRowid } = this.#db.query("insert into body (packed) values (?)").run(new Uint8Array());
    const removed = this.#db.query("delete from body where id = ?").run(lastInsertRowid);
    if (removed.changes !== 1) throw new Error("a record that was written could not be read back");
  }

  close(): void {
    this.#db.close();
  }

  #writeQueries(batch: QueryBatch): void {
    const names = Object.keys(LOGGED);
    const insert = this.#db.query(`insert or replace into query_log (${names.join(", ")}) values (${names.map(() => "?").join(", ")})`);
    const columns = Object.values(LOGGED);
    const metaIds = new Map<string, string>();
    const metaId = (entry: BatchedQuery): string => {
      const key = `${entry.environmentId}\0${entry.planHash}\0${entry.queryName}\0${entry.queryVersion}`;
      const id = metaIds.get(key) ?? metaIdOf(entry);
      metaIds.set(key, id);
      return id;
    };
    const entries = queriesOf(batch).map((entry) => ({ ...entry, metaId: metaId(entry) }));
    const kept: Uint8Array[] = [];
    let from = 0;
    for (const { origins, requestSize, responseSize } of entries) {
      const to = from + requestSize + (responseSize ?? 0);
      kept.push(batch.bodies.subarray(from, to), Buffer.from(origins));
      from = to;
    }
    const packed = Bun.zstdCompressSync(Buffer.concat(kept), PACKING);
    const body = Number(this.#db.query("insert into body (packed) values (?)").run(packed).lastInsertRowid);
    let bodyAt = 0;
    for (const entry of entries) {
      const key = entry.secretKey ?? entry.primaryKey;
      const originsSize = Buffer.byteLength(entry.origins);
      const written: WrittenQuery = { ...entry, body, bodyAt, originsSize, keyHash: key === "" ? "" : this.#hashOf(key) };
      insert.run(...columns.map((column) => column(written)));
      bodyAt += entry.requestSize + (entry.responseSize ?? 0) + originsSize;
    }
    this.#metas.count(entries);
  }

  /** Removes what is known of an environment; its stages expire. */
  forgetEnvironment(environmentId: string): void {
    this.#db.transaction(() => {
      for (const table of ["query_log", "query_error"]) this.#db.query(`delete from ${table} where environment_id = ?`).run(environmentId);
      this.#spans.forgetEnvironment(environmentId);
      this.#db.run("delete from body where id not in (select body from query_log)");
      this.#metas.forgetEnvironment(environmentId);
      this.#stages.expire(environmentId);
    })();
  }

  /**
   * Removes the queries with a key of those that are packed together behind the query number
   * `after`; the others are packed anew. When it only looks, it removes none.
   */
  forgetKeys({ environmentId, branch, keys, until }: LoggedKeys, after: number, onlyLooks: boolean): ForgottenStep {
    const packs = this.#db.query<PackedQuery, [number]>(`select ${PACKED} from query_log where seq > ? order by seq limit 1`);
    const first = packs.get(after);
    if (!first) return { queries: [] };
    const pack = this.#db
      .query<PackedQuery, [number, number]>(
        `select ${PACKED} from query_log where seq >= ?1
           and seq < coalesce((select seq from query_log where seq > ?1 and body <> ?2 order by seq limit 1), ?1 + 1000000000) order by seq`,
      )
      .all(first.seq, first.body);
    const next = pack.at(-1)?.seq ?? first.seq;
    const meant = pack.filter((one) => one.environmentId === environmentId && one.branch === branch && one.startedAt <= until);
    if (meant.length === 0) return { queries: [], next };
    const wanted = new Set(keys);
    const hashes = new Set(keys.map((key) => this.#hashOf(key)));
    const bodies = this.#bodies(first.body);
    const gone = meant.filter((one) => {
      if (hashes.has(one.keyHash)) return true;
      const { request, response } = cut(bodies, one);
      return [request, response, one.error ?? undefined].some((body) => mentions(body, wanted));
    });
    const queries = gone.map(({ queryId }) => queryId);
    if (gone.length === 0 || onlyLooks) return { queries, next };
    this.#db.transaction(() => {
      for (const { queryId } of gone) {
        this.#db.query("delete from query_log where query_id = ?").run(queryId);
        this.#spans.forgetQuery(queryId);
        this.#errors.forgetOperation(queryId);
        this.#stages.expireQuery(queryId);
      }
      const left = pack.filter((one) => !gone.includes(one));
      this.#repack(first.body, bodies, left);
    })();
    return { queries, next };
  }

  /** The bodies that are packed together. */
  #bodies(body: number): Buffer {
    const row = this.#db.query<{ packed: Uint8Array<ArrayBuffer> }, [number]>("select packed from body where id = ?").get(body);
    return row ? Bun.zstdDecompressSync(row.packed) : Buffer.alloc(0);
  }

  /** Packs the bodies of queries that were packed with others anew, without those. */
  #repack(body: number, bodies: Buffer, left: readonly PackedQuery[]): void {
    if (left.length === 0) {
      this.#db.query("delete from body where id = ?").run(body);
      return;
    }
    const kept: Uint8Array[] = [];
    let bodyAt = 0;
    for (const one of left) {
      const size = one.requestSize + (one.responseSize ?? 0) + one.originsSize;
      kept.push(bodies.subarray(one.bodyAt, one.bodyAt + size));
      this.#db.query("update query_log set body_at = ? where seq = ?").run(bodyAt, one.seq);
      bodyAt += size;
    }
    this.#db.query("update body set packed = ? where id = ?").run(Bun.zstdCompressSync(Buffer.concat(kept), PACKING), body);
  }

  #prune(now: number): void {
    this.#prunedAt = now;
    const limit = now - this.#maxAgeMs;
    this.#db.transaction(() => {
      this.#removed += this.#db.query(`delete from query_log where seq < ${firstSince("query_log", "started_at")}`).run(limit).changes;
      this.#db.query(`delete from query_error where seq < ${firstSince("query_error", "at")}`).run(limit);
      this.#metas.prune(limit);
      this.#pruneBodies();
      this.#spans.prune(now - this.#maxSpanAgeMs, this.#maxSpanBytes);
    })();
    this.#pruneToSize();
  }

  #pruneToSize(): void {
    for (let round = 0; round < 10 && usedBytes(this.#db) - this.#spans.bytes() > this.#maxBytes; round++)
      this.#db.transaction(() => this.#pruneTenth())();
  }

  #pruneTenth(): void {
    for (const table of ["query_log", "query_error"]) {
      const { changes } = this.#db.run(`delete from ${table} where seq <= ${FIRST_TENTH} from ${table})`);
      if (table === "query_log") this.#removed += changes;
    }
    this.#pruneBodies();
    const oldest = this.#db.query<{ at: number }, []>("select started_at as at from query_log order by seq limit 1").get();
    if (oldest) this.#cutAt = oldest.at;
  }

  #pruneBodies(): void {
    this.#db.run("delete from body where id < coalesce((select body from query_log order by seq limit 1), (select max(id) + 1 from body))");
  }
}

const FIRST_TENTH = "(select min(seq) + (max(seq) - min(seq)) / 10";

/**
 * SQL for the sequence number of the first row at or after a time, ?1. Rows are nearly in the order
 * of their times, so that no index is needed.
 */
function firstSince(table: string, column: string): string {
  return `coalesce((select seq from ${table} where ${column} >= ?1 order by seq limit 1), (select max(seq) + 1 from ${table}), 0)`;
}
