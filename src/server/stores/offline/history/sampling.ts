/** The statements of point-in-time samples. */

import type { InsertedBounds, ObservedBounds, SampleBounds } from "../store.ts";
import type { HistoryCatalog } from "./catalog.ts";
import type { Connection } from "./connection.ts";
import { type KeyKind, nameOfTable } from "./tables.ts";

/** A feature's observations in one table. */
export interface Observed {
  readonly table: string;
  readonly featureId: number;
  /** Table of the only keys that are read, as `k`; absent = all are. */
  readonly keysOf?: string;
}

/** A column of observations that a sample may give. */
export type SampledName = "value" | "exact" | "observed_at" | "inserted_at";

/** What a sample of one feature is made of. */
export interface Sampling {
  /** Table of the rows: `rn`, `k` and `t`. */
  readonly spine: string;
  readonly observed: Observed;
  readonly ttlMs: number;
  readonly bounds: SampleBounds;
  readonly wanted: readonly SampledName[];
}

/**
 * Makes the temporary table `into` of a sample, in the order of the spine: `rn` and the wanted
 * columns. Returns how many rows are others as known. As known, those alone are sampled once more.
 */
export async function sampleInto(connection: Connection, into: string, sampling: Sampling): Promise<number> {
  const { spine, observed, wanted, bounds } = sampling;
  await connection.run(`create or replace temp table ${into} as ${joinedSql(sampling, false)} order by rn`);
  const [[late] = []] = await connection.rows(`select count(*) from ${into} where late`, ["int64"]);
  if (!bounds.asKnown || Number(late) === 0) return Number(late);
  const [again, known] = [`${into}_again`, `${into}_known`];
  await connection.run(`create temp table ${again} as select * from ${spine} where rn in (select rn from ${into} where late)`);
  const ofThose = { ...sampling, spine: again, observed: { ...observed, keysOf: again } };
  await connection.run(`create temp table ${known} as ${joinedSql(ofThose, true)}`);
  const columns = wanted.map((name) => `case when one.late then known.${name} else one.${name} end as ${name}`);
  await connection.run(`create or replace temp table ${into} as
    select one.rn, ${columns.join(", ")} from ${into} one left join ${known} known on one.rn = known.rn order by one.rn`);
  for (const table of [again, known]) await connection.run(`drop table ${table}`);
  return Number(late);
}

/**
 * The join of a spine, a table of `rn`, `k` and `t`, with a feature's observations: a row for each
 * of the spine with the wanted columns, all null where nothing was observed, and `late`, whether it
 * would be another one as known.
 *
 * Only what can be an answer is joined, so that there are no ties. For `asKnown` the time of an
 * observation is the one from which it was both true and known, and it can be an answer if none
 * with an earlier such time is newer. The bounds stand before the join and the ttl after it: an
 * observation that is too old hides older ones.
 */
function joinedSql({ spine, observed, ttlMs, bounds, wanted }: Sampling, asKnown: boolean): string {
  const isRecent = ttlMs === Number.POSITIVE_INFINITY ? "true" : `s.t - o.observed_at <= ${sqlNumber(ttlMs)}`;
  const kept = wanted.map((name) => (isRecent === "true" ? `o.${name}` : `case when ${isRecent} then o.${name} end as ${name}`));
  return `select s.rn, ${kept.join(", ")}, coalesce(${isRecent} and o.known_at > s.t, false) as late
    from ${spine} s asof left join (${answersSql(observed, bounds, asKnown)}) o on s.k = o.key and s.t >= o.since`;
}

function answersSql({ table, featureId, keysOf }: Observed, bounds: InsertedBounds, asKnown: boolean): string {
  const known = "coalesce(known_at, inserted_at)";
  const keys = keysOf === undefined ? [] : [`key in (select k from ${keysOf})`];
  const since = asKnown ? `greatest(observed_at, ${known})` : "observed_at";
  const rows = `select key, value, exact, observed_at, inserted_at, ${known} as known_at, ${since} as since, sequence
    from ${table} where ${[`feature = ${featureId}`, ...insertedSql(bounds), ...keys].join(" and ")}`;
  if (!asKnown)
    return `${rows} qualify lead(observed_at) over (partition by key order by observed_at, sequence) is distinct from observed_at`;
  const newest = (column: string, of: string): string =>
    `${column} = max(${column}) over (partition by ${of} order by since range between unbounded preceding and current row)`;
  return `select * from (${rows} qualify ${newest("observed_at", "key")}) qualify ${newest("sequence", "key, observed_at")}`;
}

/**
 * Statements of the distinct keys of a namespace's newest versions, by kind of key, each without
 * the keys' tags as `key`.
 */
export function keysSql(
  catalog: HistoryCatalog,
  environmentId: string,
  namespace: string,
  bounds: ObservedBounds,
): { readonly keys: KeyKind; readonly sql: string }[] {
  const current = catalog.current(environmentId, namespace);
  const parts = new Map<KeyKind, string[]>();
  for (const table of catalog.tables) {
    const ids = current.filter(({ featureId }) => catalog.isIn(table, featureId)).map(({ featureId }) => featureId);
    if (ids.length === 0) continue;
    const conditions = [`feature in (${ids.join(", ")})`, ...observedSql(bounds)];
    const of = parts.get(table.keys) ?? [];
    parts.set(table.keys, of);
    of.push(`select distinct key from ${nameOfTable(table)} where ${conditions.join(" and ")}`);
  }
  return [...parts].map(([keys, of]) => ({ keys, sql: of.join(" union ") }));
}

/** Conditions of bounds of storing. */
export function insertedSql({ insertedFrom, insertedBefore }: InsertedBounds): string[] {
  return [
    ...(insertedFrom === undefined ? [] : [`inserted_at >= ${sqlNumber(insertedFrom)}`]),
    ...(insertedBefore === undefined ? [] : [`inserted_at < ${sqlNumber(insertedBefore)}`]),
  ];
}

/** Conditions of bounds of observing. */
export function observedSql({ observedFrom, observedBefore }: ObservedBounds): string[] {
  return [
    ...(observedFrom === undefined ? [] : [`observed_at >= ${sqlNumber(observedFrom)}`]),
    ...(observedBefore === undefined ? [] : [`observed_at < ${sqlNumber(observedBefore)}`]),
  ];
}

/** A number as SQL reads it, exactly. */
export function sqlNumber(value: number): string {
  return Number.isFinite(value) ? `${value.toExponential()}::double` : `'${value}'::double`;
}
