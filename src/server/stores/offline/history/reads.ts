/** Reads of the history that the server computes with: bounded numbers of rows, as values. */

import type { FeatureValue } from "../../../../domain/value.ts";
import type {
  LatestTuple,
  Observation,
  ObservedBounds,
  SampleBounds,
  SampledColumn,
  SampledFeature,
  ScanOptions,
  Spine,
} from "../store.ts";
import { type HistoryCatalog, KEY_KINDS } from "./catalog.ts";
import type { Connection, Kind } from "./connection.ts";
import { fromHistory } from "./history-value.ts";
import { insertedSql, keysSql, observedSql, type SampledName, sampleInto, sqlNumber } from "./sampling.ts";
import { type HistoryTable, KEY_CELLS, KEY_TYPES, type KeyKind, keyLiteral, nameOfTable, untagged, VALUE_CELLS } from "./tables.ts";

const SAMPLED: readonly SampledName[] = ["value", "exact", "observed_at", "inserted_at"];

/** Reads through one connection, with temporary tables of its own. */
export class HistoryReads {
  constructor(
    readonly connection: Connection,
    readonly catalog: HistoryCatalog,
  ) {}

  async sample(spine: Spine, features: readonly SampledFeature[], bounds: SampleBounds): Promise<SampledColumn[]> {
    const kinds = new Set<KeyKind>();
    for (const kind of KEY_KINDS) if (await this.#makeSpine(kind, spine)) kinds.add(kind);
    const columns: SampledColumn[] = [];
    for (const { featureId, ttlMs = Number.POSITIVE_INFINITY } of features) {
      const values = new Array<FeatureValue>(spine.keys.length).fill(null);
      const observedAt = new Float64Array(spine.keys.length).fill(Number.NaN);
      const insertedAt = new Float64Array(spine.keys.length).fill(Number.NaN);
      let changedIfAsKnown = 0;
      for (const table of this.catalog.tablesOf(featureId).filter(({ keys }) => kinds.has(keys))) {
        const observed = { table: nameOfTable(table), featureId };
        const sampling = { spine: `spine_${table.keys}`, observed, ttlMs, bounds, wanted: SAMPLED };
        changedIfAsKnown += await sampleInto(this.connection, "sampled", sampling);
        for await (const [rows, found, exact, observedTimes, insertedTimes] of this.connection.columns(
          "select rn, value, exact, observed_at, inserted_at from sampled where observed_at is not null",
          ["int64", VALUE_CELLS[table.type], "text", "double", "double"],
        ))
          for (const [at, cell] of (rows ?? []).entries()) {
            const row = Number(cell);
            values[row] = fromHistory(table.type, found?.[at] ?? null, exact?.[at] ?? null);
            observedAt[row] = observedTimes?.[at] as number;
            insertedAt[row] = insertedTimes?.[at] as number;
          }
      }
      columns.push({ featureId, values, observedAt, insertedAt, changedIfAsKnown });
    }
    return columns;
  }

  async scanKeys(environmentId: string, namespace: string, bounds: ObservedBounds, limit?: number): Promise<string[]> {
    const keys: string[] = [];
    const sql = keysSql(this.catalog, environmentId, namespace, bounds);
    if (sql.length === 0) return keys;
    const tagged = sql.map(({ keys: kind, sql: distinct }) => `select '${kind}:' || key as key from (${distinct})`).join(" union all ");
    const chosen = limit === undefined ? "" : ` order by hash(key), key limit ${limit}`;
    for await (const [column] of this.connection.columns(`select key from (${tagged})${chosen}`, ["text"]))
      keys.push(...(column as string[]));
    return keys;
  }

  async scan(featureId: number, options: ScanOptions): Promise<Observation[]> {
    const { after, limit } = options;
    const position = after && untagged(after.key);
    const found: Observation[] = [];
    for (const table of this.catalog.tablesOf(featureId)) {
      if (found.length >= limit || (position?.kind === "s" && table.keys === "i")) continue;
      const conditions = [`feature = ${featureId}`, ...observedSql(options), ...insertedSql(options)];
      if (after && position?.kind === table.keys) {
        const key = keyLiteral(position.key);
        const time = sqlNumber(after.observedAt);
        conditions.push(
          `key >= ${key} and (key > ${key} or observed_at > ${time} or (observed_at = ${time} and sequence > ${after.sequence}))`,
        );
      }
      const rows = await this.connection.rows(
        `select key, observed_at, sequence, inserted_at, coalesce(known_at, inserted_at), value, exact, resolver, deployment, operation
         from ${nameOfTable(table)} where ${conditions.join(" and ")} order by key, observed_at, sequence limit ${limit - found.length}`,
        [KEY_CELLS[table.keys], "double", "int64", "double", "double", VALUE_CELLS[table.type], "text", "int64", "int64", "text"],
      );
      for (const [key, observedAt, sequence, insertedAt, knownAt, value = null, exact = null, resolver, deployment, op] of rows)
        found.push({
          key: `${table.keys}:${key}`,
          observedAt: observedAt as number,
          sequence: sequence as number,
          insertedAt: insertedAt as number,
          knownAt: knownAt as number,
          value: fromHistory(table.type, value, exact),
          resolver: this.catalog.word(resolver as number),
          deploymentId: this.catalog.word(deployment as number),
          op: op as string,
        });
    }
    return found;
  }

  async latest(
    featureIds: readonly number[],
    { after, limit }: { readonly after?: string; readonly limit: number },
  ): Promise<LatestTuple[]> {
    const position = after === undefined ? undefined : untagged(after);
    const tuples: LatestTuple[] = [];
    for (const kind of KEY_KINDS) {
      if (tuples.length >= limit || (position?.kind === "s" && kind === "i")) continue;
      const tables = featureIds.map((id) => this.catalog.tablesOf(id).find(({ keys }) => keys === kind));
      if (tables.length === 0 || tables.includes(undefined)) continue;
      const isAfter = position?.kind === kind ? ` and key > ${keyLiteral(position.key)}` : "";
      const sides = (tables as HistoryTable[]).map((table, n) => ({
        sql: `(select key, observed_at, value, exact from ${nameOfTable(table)} where feature = ${featureIds[n]}${isAfter}
          qualify row_number() over (partition by key order by observed_at desc, sequence desc) = 1) f${n}`,
        columns: `f${n}.observed_at, f${n}.value, f${n}.exact`,
        kinds: ["double", VALUE_CELLS[table.type], "text"] satisfies Kind[],
        type: table.type,
      }));
      const joined = sides.map(({ sql }, n) => (n === 0 ? sql : `join ${sql} on f${n}.key = f0.key`)).join(" ");
      const rows = await this.connection.rows(
        `select f0.key, ${sides.map(({ columns }) => columns).join(", ")} from ${joined} order by f0.key limit ${limit - tuples.length}`,
        [KEY_CELLS[kind], ...sides.flatMap(({ kinds }) => kinds)],
      );
      for (const [key, ...cells] of rows)
        tuples.push({
          key: `${kind}:${key}`,
          observedAt: Math.max(...sides.map((_, n) => cells[n * 3] as number)),
          values: sides.map(({ type }, n) => fromHistory(type, cells[n * 3 + 1] ?? null, cells[n * 3 + 2] ?? null)),
        });
    }
    return tuples;
  }

  /** Makes a table of the spine's rows with keys of a kind; false when there are none. */
  async #makeSpine(kind: KeyKind, { keys, times }: Spine): Promise<boolean> {
    const numbers: number[] = [];
    const cells: (number | bigint | string)[] = [];
    for (const [row, text] of keys.entries()) {
      const key = untagged(text);
      if (key?.kind !== kind || Number.isNaN(times[row])) continue;
      numbers.push(row);
      cells.push(key.key);
    }
    if (numbers.length === 0) return false;
    await this.connection.run(`create temp table spine_${kind} (rn bigint, k ${KEY_TYPES[kind]}, t double)`);
    await this.connection.append(
      `spine_${kind}`,
      ["int64", KEY_CELLS[kind], "double"],
      [numbers, cells, numbers.map((row) => times[row] as number)],
    );
    return true;
  }
}
