/** The telemetry store in one SQLite file: WAL, synchronous=NORMAL, small batches between other work, old rows removed by age and size. */

import { fromBinary, toBinary } from "@bufbuild/protobuf";
import type { Clock } from "../../../context/clock.ts";
import { openDatabase } from "../sqlite/open.ts";
import { TELEMETRY_APPLICATION_ID, TELEMETRY_MIGRATIONS } from "./schema.ts";
import type { LogEntry, QueryLogEntry, QueryLogSummary, TelemetryStore } from "./store.ts";

/** How the store is opened. */
export interface TelemetryOptions {
  /** Absolute path of `telemetry.db`, or `:memory:`. */
  readonly path: string;
  readonly programVersion: string;
  readonly clock: Clock;
  /** How long records are kept; default 7 days. */
  readonly ttlMs?: number;
  /** Size of the file above which the oldest tenth goes; default 512 MiB. */
  readonly maxBytes?: number;
  /** Records that may wait to be written; default 20,000. */
  readonly maxPending?: number;
  /** Told once about each failing write, so that a full disk does not stay unseen. */
  readonly onError?: (error: unknown) => void;
}

const FLUSH_AFTER_MS = 100;
const ROWS_PER_BATCH = 32;
const PRUNE_EVERY_MS = 60_000;

interface QueryRow {
  query_id: string;
  environment_id: string;
  deployment_id: string;
  branch: string;
  started_at: number;
  duration_ms: number;
  request: Uint8Array;
  response: Uint8Array | null;
  error: string | null;
}

/** Opens or creates the store. Throws StartError when the file cannot be used. */
export async function createSqliteTelemetryStore(options: TelemetryOptions): Promise<TelemetryStore> {
  const { QueryRequestSchema, QueryResponseSchema } = await import("../../../../gen/svc/v1/query_pb.ts");
  const { clock, ttlMs = 7 * 86_400_000, maxBytes = 512 * 1024 * 1024, maxPending = 20_000 } = options;
  const db = openDatabase({
    path: options.path,
    applicationId: TELEMETRY_APPLICATION_ID,
    migrations: TELEMETRY_MIGRATIONS,
    synchronous: "normal",
    programVersion: options.programVersion,
  });
  const insertQuery = db.query(
    `insert or replace into query_log (query_id, environment_id, deployment_id, branch, started_at, duration_ms, query_name, correlation_id, error_count,
       request, response, error) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const insertLog = db.query(
    "insert into log (environment_id, deployment_id, at, level, logger, resolver, query_id, text) values (?, ?, ?, ?, ?, ?, ?, ?)",
  );
  const queries: (QueryLogEntry | (() => QueryLogEntry))[] = [];
  const logs: LogEntry[] = [];
  let dropped = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let prunedAt = 0;
  let closed = false;

  const writeQuery = (entry: QueryLogEntry): void => {
    insertQuery.run(
      entry.queryId,
      entry.environmentId,
      entry.deploymentId,
      entry.branch,
      entry.startedAt,
      entry.durationMs,
      entry.request.queryName,
      entry.request.correlationId,
      entry.response ? entry.response.errors.length : 1,
      toBinary(QueryRequestSchema, entry.request),
      entry.response ? toBinary(QueryResponseSchema, entry.response) : null,
      entry.error ?? null,
    );
  };
  const writeLog = (entry: LogEntry): void => {
    insertLog.run(
      entry.environmentId,
      entry.deploymentId,
      entry.timestampMs,
      entry.level,
      entry.logger,
      entry.resolver,
      entry.queryId,
      entry.text,
    );
  };

  const writeBatch = (): void => {
    const someQueries = queries.splice(0, ROWS_PER_BATCH);
    const someLogs = logs.splice(0, ROWS_PER_BATCH);
    try {
      db.transaction(() => {
        for (const entry of someQueries) writeQuery(typeof entry === "function" ? entry() : entry);
        for (const entry of someLogs) writeLog(entry);
      })();
    } catch (error) {
      dropped += someQueries.length + someLogs.length;
      options.onError?.(error);
    }
  };

  const prune = (): void => {
    const now = clock.now();
    if (now - prunedAt < PRUNE_EVERY_MS) return;
    prunedAt = now;
    pruneOld(now - ttlMs);
    for (let round = 0; round < 10 && usedBytes() > maxBytes; round++) pruneTenth();
  };
  const usedBytes = (): number => {
    const of = (pragma: string) => Object.values(db.query<Record<string, number>, []>(`pragma ${pragma}`).get() ?? {})[0] ?? 0;
    return (of("page_count") - of("freelist_count")) * of("page_size");
  };
  const pruneOld = (limit: number): void => {
    db.query("delete from query_log where started_at < ?").run(limit);
    db.query("delete from log where at < ?").run(limit);
  };
  const pruneTenth = (): void => {
    db.run("delete from query_log where seq <= (select min(seq) + (max(seq) - min(seq)) / 10 from query_log)");
    db.run("delete from log where seq <= (select min(seq) + (max(seq) - min(seq)) / 10 from log)");
  };

  const schedule = (): void => {
    if (timer !== undefined || closed) return;
    timer = setTimeout(run, queries.length + logs.length > ROWS_PER_BATCH ? 0 : FLUSH_AFTER_MS);
  };
  const run = (): void => {
    timer = undefined;
    if (closed) return;
    writeBatch();
    if (queries.length + logs.length > 0) schedule();
    else
      try {
        prune();
      } catch (error) {
        options.onError?.(error);
      }
  };
  const writeAll = (): void => {
    while (queries.length + logs.length > 0) writeBatch();
  };

  const store: TelemetryStore = {
    recordQuery(entry) {
      if (queries.length >= maxPending) {
        queries.shift();
        dropped++;
      }
      queries.push(entry);
      schedule();
    },
    recordLog(entry) {
      if (logs.length >= maxPending) {
        logs.shift();
        dropped++;
      }
      logs.push(entry);
      schedule();
    },
    async query(queryId) {
      writeAll();
      const row = db.query<QueryRow, [string]>("select * from query_log where query_id = ?").get(queryId);
      if (!row) return undefined;
      return {
        queryId: row.query_id,
        environmentId: row.environment_id,
        deploymentId: row.deployment_id,
        branch: row.branch,
        startedAt: row.started_at,
        durationMs: row.duration_ms,
        request: fromBinary(QueryRequestSchema, row.request),
        ...(row.response ? { response: fromBinary(QueryResponseSchema, row.response) } : {}),
        ...(row.error === null ? {} : { error: row.error }),
      };
    },
    async queries({ environmentId, deploymentId, limit }) {
      writeAll();
      return db
        .query<QueryLogSummary, [string, string | null, number]>(
          `select query_id as queryId, environment_id as environmentId, deployment_id as deploymentId, branch, started_at as startedAt,
             duration_ms as durationMs, query_name as queryName, correlation_id as correlationId, error_count as errorCount
           from query_log where environment_id = ?1 and (?2 is null or deployment_id = ?2) order by seq desc limit ?3`,
        )
        .all(environmentId, deploymentId ?? null, limit);
    },
    async logs({ deploymentId, queryId, limit }) {
      writeAll();
      return db
        .query<LogEntry, [string | null, string | null, number]>(
          `select * from (
             select environment_id as environmentId, deployment_id as deploymentId, at as timestampMs, level, logger, resolver, query_id as queryId, text, seq
             from log where (?1 is null or deployment_id = ?1) and (?2 is null or query_id = ?2) order by seq desc limit ?3
           ) order by seq`,
        )
        .all(deploymentId ?? null, queryId ?? null, limit);
    },
    dropped: () => dropped,
    async probe() {
      const text = crypto.randomUUID();
      writeLog({ environmentId: "", deploymentId: "", timestampMs: clock.now(), level: "info", logger: "probe", resolver: "", queryId: "", text });
      const removed = db.query("delete from log where logger = 'probe' and text = ?").run(text);
      if (removed.changes !== 1) throw new Error("a line that was written could not be read back");
    },
    async flush() {
      writeAll();
    },
    async close() {
      closed = true;
      clearTimeout(timer);
      writeAll();
      db.close();
    },
  };
  return store;
}
