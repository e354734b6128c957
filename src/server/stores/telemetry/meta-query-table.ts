/** Meta queries and plans in the telemetry file. */

import type { Database, SQLQueryBindings } from "bun:sqlite";
import type { MetaLatencies, MetaQuery, MetaQueryFilter, MetaQueryPlace, PlanRecord, QueryLogEntry } from "./store.ts";

/** Plans that are kept at most, and meta queries. */
const MOST_PLANS = 2_000;
const MOST_META_QUERIES = 20_000;
/** Latest queries that latencies are of. */
const LATENCY_RUNS = 10_000;

const COLUMNS = `meta_query.id, meta_query.name, meta_query.version, meta_query.is_named as isNamed, meta_query.plan_hash as planHash,
  meta_query.root_namespace as rootNamespace, coalesce(query_plan.outputs, '[]') as outputs, meta_query.first_at as firstAt, meta_query.last_at as lastAt,
  meta_query.runs, meta_query.failed`;
const FROM = `meta_query left join query_plan
  on query_plan.environment_id = meta_query.environment_id and query_plan.hash = meta_query.plan_hash`;

type Row = Omit<MetaQuery, "isNamed" | "outputs"> & { readonly isNamed: number; readonly outputs: string };

/**
 * The id of what a query has in common with others: its name and version, or else its shape; empty
 * for one that was refused.
 */
export function metaIdOf(query: Pick<QueryLogEntry, "environmentId" | "planHash" | "queryName" | "queryVersion">): string {
  const { environmentId, planHash, queryName, queryVersion } = query;
  if (planHash === "") return "";
  const subject = queryName === "" ? [environmentId, planHash] : [environmentId, queryName, queryVersion];
  return `mq_${new Bun.CryptoHasher("sha256").update(JSON.stringify(subject)).digest("hex").slice(0, 20)}`;
}

/** The tables. Every method throws what SQLite does. */
export class MetaQueryTable {
  constructor(private readonly db: Database) {}

  /** Counts queries that are written together. */
  count(queries: readonly (Omit<QueryLogEntry, "request" | "response" | "origins"> & { readonly metaId: string })[]): void {
    const upsert = this.db.query(
      `insert into meta_query (id, environment_id, name, version, is_named, plan_hash, root_namespace, first_at, last_at, runs, failed)
       values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
       on conflict (id) do update set is_named = max(is_named, excluded.is_named), plan_hash = excluded.plan_hash, first_at = min(first_at, excluded.first_at),
         last_at = max(last_at, excluded.last_at), runs = runs + excluded.runs, failed = failed + excluded.failed`,
    );
    for (const [id, of] of Map.groupBy(queries, ({ metaId }) => metaId)) {
      const last = of.at(-1);
      if (id === "" || !last) continue;
      const times = of.map(({ startedAt }) => startedAt);
      upsert.run(
        ...([id, last.environmentId, last.queryName, last.queryVersion, of.some(({ isNamed }) => isNamed) ? 1 : 0] as const),
        ...([last.planHash, last.rootNamespace, Math.min(...times), Math.max(...times)] as const),
        ...([of.length, of.filter(({ errorCount }) => errorCount > 0).length] as const),
      );
    }
  }

  /** Meta queries, the last observed first. */
  list({ environmentId, which, namePart, name, from, before }: MetaQueryFilter, limit: number, after?: MetaQueryPlace): MetaQuery[] {
    const parts = ["meta_query.environment_id = ?"];
    const parameters: SQLQueryBindings[] = [environmentId];
    const add = (sql: string, ...values: readonly SQLQueryBindings[]): void => {
      parts.push(sql);
      parameters.push(...values);
    };
    if (which === "named") add("name <> ''");
    if (which === "ad_hoc") add("is_named = 0");
    if (namePart !== "") add("name like ? escape '\\'", `%${namePart.replace(/[\\%_]/g, "\\$&")}%`);
    if (name !== "") add("name = ?", name);
    if (from !== undefined) add("last_at >= ?", from);
    if (before !== undefined) add("meta_query.first_at < ?", before);
    if (after) add("(last_at, id) < (?, ?)", after.lastAt, after.id);
    return this.db
      .query<Row, SQLQueryBindings[]>(`select ${COLUMNS} from ${FROM} where ${parts.join(" and ")} order by last_at desc, id desc limit ?`)
      .all(...parameters, limit)
      .map(metaOf);
  }

  /** A meta query with its latencies. */
  find(environmentId: string, id: string): { query: MetaQuery; latencies: MetaLatencies } | undefined {
    const row = this.db
      .query<Row, [string, string]>(`select ${COLUMNS} from ${FROM} where meta_query.environment_id = ? and meta_query.id = ?`)
      .get(environmentId, id);
    if (!row) return undefined;
    const times = this.db
      .query<{ ms: number }, [string, number]>(
        "select duration_ms as ms from query_log where meta_id = ? and meta_id <> '' order by seq desc limit ?",
      )
      .all(id, LATENCY_RUNS)
      .map(({ ms }) => ms)
      .sort((one, other) => one - other);
    const at = (share: number): number => times[Math.max(0, Math.ceil(times.length * share) - 1)] ?? 0;
    return { query: metaOf(row), latencies: { runs: times.length, p50: at(0.5), p95: at(0.95), p99: at(0.99), max: at(1) } };
  }

  /** Stores plans; one of a known hash is told of the latest deployment. */
  keepPlans(plans: readonly PlanRecord[]): void {
    const insert = this.db.query(
      `insert into query_plan (environment_id, hash, deployment_id, first_at, root_namespace, outputs, plan) values (?, ?, ?, ?, ?, ?, ?)
       on conflict (environment_id, hash) do update set deployment_id = excluded.deployment_id, outputs = excluded.outputs, plan = excluded.plan`,
    );
    for (const { environmentId, hash, deploymentId, firstAt, rootNamespace, outputs, plan } of plans)
      insert.run(environmentId, hash, deploymentId, firstAt, rootNamespace, JSON.stringify(outputs), plan);
  }

  /** A plan by its hash. */
  plan(environmentId: string, hash: string): PlanRecord | undefined {
    const row = this.db
      .query<Omit<PlanRecord, "outputs"> & { readonly outputs: string }, [string, string]>(
        `select environment_id as environmentId, hash, deployment_id as deploymentId, first_at as firstAt, root_namespace as rootNamespace, outputs, plan
         from query_plan where environment_id = ? and hash = ?`,
      )
      .get(environmentId, hash);
    return row ? { ...row, outputs: JSON.parse(row.outputs) as string[] } : undefined;
  }

  /** Removes what was not observed since a time, and the oldest of what is too much. */
  prune(since: number): void {
    this.db.query("delete from meta_query where last_at < ?").run(since);
    this.db
      .query("delete from meta_query where rowid in (select rowid from meta_query order by last_at desc limit -1 offset ?)")
      .run(MOST_META_QUERIES);
    this.db
      .query(
        "delete from query_plan where first_at < ? and not exists (select 1 from meta_query where meta_query.plan_hash = query_plan.hash)",
      )
      .run(since);
    this.db
      .query("delete from query_plan where rowid in (select rowid from query_plan order by first_at desc limit -1 offset ?)")
      .run(MOST_PLANS);
  }

  /** Removes what is known of an environment. */
  forgetEnvironment(environmentId: string): void {
    for (const table of ["meta_query", "query_plan"]) this.db.query(`delete from ${table} where environment_id = ?`).run(environmentId);
  }
}

function metaOf({ isNamed, outputs, ...row }: Row): MetaQuery {
  return { ...row, isNamed: isNamed === 1, outputs: JSON.parse(outputs) as string[] };
}
