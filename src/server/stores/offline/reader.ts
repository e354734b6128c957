/**
 * Reads of `offline.db` through a separate connection, which sees committed data only. Runs in the
 * reading thread.
 */

import { Database, type Statement } from "bun:sqlite";
import { statSync } from "node:fs";
import { errorText } from "../../../domain/error-text.ts";
import type { FeatureValue } from "../../../domain/value.ts";
import { Catalog } from "./catalog.ts";
import { fromColumn, type SqlValue } from "./column.ts";
import { damaged } from "./damage.ts";
import type { VersionRow } from "./schema.ts";
import {
  BYTES_BESIDE,
  HOUR_MS,
  type HourOfHistory,
  type LatestTuple,
  type Observation,
  type ObservedBounds,
  type OfflineRows,
  OfflineStoreError,
  type SampleBounds,
  type SampledColumn,
  type SampledFeature,
  type ScanOptions,
  type ScanPosition,
  type Spine,
} from "./store.ts";
import { checkedRow, knownAtOf, STORED_COLUMNS, type StoredRow } from "./stored-row.ts";

/** Bounds that include every time. */
const EARLIEST = Number.MIN_SAFE_INTEGER;
const LATEST = Number.MAX_SAFE_INTEGER;
/** Most rows of a statement whose caller gives no limit. */
const DEFAULT_ROWS = 10_000;
/**
 * Size up to which the whole file is verified when it is opened (about a second); larger ones are
 * checked row by row as they are read, and by `verify`.
 */
const VERIFIED_AT_OPENING = 64 * 1024 * 1024;
/** Rows that `verify` checks at a time. */
const ROWS_PER_PAGE = 5_000;

/** The reading half of the store; its methods are those of `OfflineStore` and `SqlReadable`. */
export class OfflineReader {
  readonly #db: Database;
  readonly #catalog: Catalog;
  readonly #words = new Map<number, string>();

  /**
   * Opens the file, and throws when it is damaged: a row made unreachable by a flipped bit would
   * look like one that never existed.
   */
  constructor(readonly path: string) {
    this.#db = new Database(path, { readonly: true, strict: true, safeIntegers: true });
    this.#db.run("pragma busy_timeout = 5000");
    this.#db.run("pragma mmap_size = 0");
    this.#catalog = new Catalog(this.#db, path);
    try {
      if (statSync(path).size <= VERIFIED_AT_OPENING) this.verify();
    } catch (error) {
      this.#db.close();
      throw error;
    }
  }

  sample(spine: Spine, features: readonly SampledFeature[], bounds: SampleBounds = {}): SampledColumn[] {
    if (spine.keys.length !== spine.times.length)
      throw new OfflineStoreError("refused", `the spine has ${spine.keys.length} keys and ${spine.times.length} times`);
    return this.#snapshot(() => features.map((feature) => this.#sample(spine, feature, bounds)));
  }

  scanKeys(environmentId: string, namespace: string, bounds: ObservedBounds = {}, limit?: number): string[] {
    const found = this.#snapshot(() => {
      const keys = new Set<string>();
      for (const version of this.#catalog.current(environmentId, namespace)) {
        const first = this.#prepare<[string, number, number]>(
          `select ${STORED_COLUMNS} from "${version.table_name}" where pk = ? and observed_at >= ? and observed_at < ? limit 1`,
        );
        for (const key of this.#keysOf(version)) {
          if (keys.has(key)) continue;
          const [row] = first.values(key, bounds.observedFrom ?? EARLIEST, bounds.observedBefore ?? LATEST) as unknown as StoredRow[];
          if (row) keys.add(this.#checked(version, row)[0]);
        }
        first.finalize();
      }
      return [...keys];
    });
    return chosen(found, limit).sort(byText);
  }

  scan(featureId: number, options: ScanOptions): Observation[] {
    return this.#snapshot(() => {
      const version = this.#catalog.version(featureId);
      if (!version) return [];
      const { after, limit } = options;
      const statement = this.#prepare<(string | number)[]>(
        `select ${STORED_COLUMNS} from "${version.table_name}"
         where observed_at >= ? and observed_at < ? and inserted_at >= ? and inserted_at < ? ${after ? "and (pk, observed_at, seq) > (?, ?, ?)" : ""}
         order by pk, observed_at, seq limit ?`,
      );
      const rows = statement.values(
        options.observedFrom ?? EARLIEST,
        options.observedBefore ?? LATEST,
        options.insertedFrom ?? EARLIEST,
        options.insertedBefore ?? LATEST,
        ...(after ? [after.key, after.observedAt, after.sequence] : []),
        limit,
      ) as unknown as StoredRow[];
      statement.finalize();
      return rows.map((row) => this.#observation(version, row));
    });
  }

  latest(featureIds: readonly number[], { after = "", limit }: { readonly after?: string; readonly limit: number }): LatestTuple[] {
    return this.#snapshot(() => {
      const versions = featureIds.map((featureId) => this.#catalog.version(featureId));
      const [first] = versions;
      if (!first || versions.includes(undefined)) return [];
      const newest = (versions as VersionRow[]).map((version) => ({
        version,
        statement: this.#prepare<[string]>(
          `select ${STORED_COLUMNS} from "${version.table_name}" where pk = ? order by observed_at desc, seq desc limit 1`,
        ),
      }));
      const tuples: LatestTuple[] = [];
      for (const key of this.#keysOf(first, after)) {
        if (tuples.length >= limit) break;
        const rows = newest.map(({ version, statement }) => {
          const [row] = statement.values(key) as unknown as StoredRow[];
          return row && this.#checked(version, row);
        });
        if (rows.includes(undefined)) continue;
        const stored = rows as StoredRow[];
        tuples.push({
          key,
          observedAt: Math.max(...stored.map((row) => Number(row[1]))),
          values: stored.map((row, index) => fromColumn((versions[index] as VersionRow).type, row[4])),
        });
      }
      for (const { statement } of newest) statement.finalize();
      return tuples;
    });
  }

  tableNames(featureId: number, historical = false): string[] {
    const version = this.#catalog.version(featureId);
    if (!version) return [];
    return (historical ? this.#catalog.versionsOf(version) : [version]).map(({ table_name }) => table_name);
  }

  hours(environmentId: string): HourOfHistory[] {
    const hours = new Map<number, number>();
    for (const { environment_id, table_name } of this.#catalog.versions()) {
      if (environment_id !== environmentId) continue;
      const rows = this.#db
        .query<{ hour: number; bytes: number }, [number, number]>(
          `select cast(floor(observed_at / ?1) as integer) as hour,
             sum(length(cast(pk as blob)) + coalesce(length(cast(value as blob)), 0) + ?2) as bytes from "${table_name}" group by 1`,
        )
        .all(HOUR_MS, BYTES_BESIDE);
      for (const { hour, bytes } of rows) hours.set(Number(hour), (hours.get(Number(hour)) ?? 0) + Number(bytes));
    }
    return [...hours].sort(([a], [b]) => a - b).map(([hour, bytes]) => ({ from: hour * HOUR_MS, bytes }));
  }

  /** Bytes of the file, and a number that changes with its content. */
  figures(): { readonly bytes: number; readonly change: number } {
    const [[pages, size, change] = []] = this.#db
      .query("select page_count, page_size, data_version from pragma_page_count, pragma_page_size, pragma_data_version")
      .values();
    return { bytes: Number(pages) * Number(size), change: Number(change) };
  }

  /** Rows of the history by environment, as of the last move. */
  movedRows(): [environmentId: string, rows: number][] {
    return this.#db
      .query<{ environment_id: string; rows: number }, []>("select environment_id, rows from moved_rows")
      .safeIntegers(false)
      .all()
      .map(({ environment_id, rows }) => [environment_id, rows]);
  }

  /** The versions of features, with the environments that they belong to. */
  versions(): Pick<VersionRow, "fid" | "environment_id">[] {
    return this.#catalog.versions().map(({ fid, environment_id }) => ({ fid, environment_id }));
  }

  /** Bytes of the pages of a version's table; 0 where SQLite was built without `dbstat`. */
  versionBytes(featureId: number): number {
    const version = this.#catalog.version(featureId);
    if (!version) return 0;
    try {
      const [[bytes] = []] = this.#db.query("select pgsize from dbstat where name = ? and aggregate = 1").values(version.table_name);
      return Number(bytes ?? 0);
    } catch (error) {
      if (/no such table: dbstat/.test(errorText(error))) return 0;
      throw error;
    }
  }

  query(text: string, { limit = DEFAULT_ROWS }: { readonly limit?: number } = {}): OfflineRows {
    if (!/^\s*(select|with|values)\b/i.test(text.replace(/^(\s|--[^\n]*(\n|$)|\/\*[\s\S]*?\*\/)+/, "")))
      throw new OfflineStoreError("refused", "only a `select` statement can be run on the offline store");
    let statement: Statement;
    try {
      statement = this.#db.prepare(text);
    } catch (error) {
      throw new OfflineStoreError("refused", errorText(error));
    }
    try {
      const columns = statement.columnNames;
      if (new Set(columns).size < columns.length)
        throw new OfflineStoreError("refused", "two columns have the same name; tell them apart with `as`");
      const rows: (readonly SqlValue[])[] = [];
      for (const row of statement.iterate()) {
        if (rows.length === limit) return { columns, rows, truncated: true };
        const record = row as Record<string, SqlValue>;
        rows.push(columns.map((name) => record[name] ?? null));
      }
      return { columns, rows, truncated: false };
    } finally {
      statement.finalize();
    }
  }

  verify(): void {
    const [verdict] = this.#db.query("pragma integrity_check(1)").values() as string[][];
    if (verdict?.[0] !== "ok") throw damaged(this.path, String(verdict?.[0]));
    this.#catalog.sequence();
    for (const { fid } of this.#catalog.versions()) {
      let after: ScanPosition | undefined;
      do {
        const page = this.scan(fid, { limit: ROWS_PER_PAGE, ...(after ? { after } : {}) });
        after = page.length === ROWS_PER_PAGE ? page.at(-1) : undefined;
      } while (after);
    }
  }

  close(): void {
    this.#db.close();
  }

  #sample(spine: Spine, { featureId, ttlMs = Number.POSITIVE_INFINITY }: SampledFeature, bounds: SampleBounds): SampledColumn {
    const { length } = spine.keys;
    const values = new Array<FeatureValue>(length).fill(null);
    const observedAt = new Float64Array(length).fill(Number.NaN);
    const insertedAt = new Float64Array(length).fill(Number.NaN);
    let changedIfAsKnown = 0;
    const version = this.#catalog.version(featureId);
    if (version) {
      const bounded = bounds.insertedFrom !== undefined || bounds.insertedBefore !== undefined;
      const inserted = bounded ? [bounds.insertedFrom ?? EARLIEST, bounds.insertedBefore ?? LATEST] : [];
      const newestOf = (more: string) =>
        this.#prepare<(string | number)[]>(
          `select ${STORED_COLUMNS} from "${version.table_name}" where pk = ? and observed_at <= ? ${bounded ? "and inserted_at >= ? and inserted_at < ?" : ""} ${more}
           order by observed_at desc, seq desc limit 1`,
        );
      const newest = newestOf("");
      const newestKnown = newestOf("and coalesce(known_at, inserted_at) <= ?");
      /** The row of a statement's answer that counts. */
      const counted = (statement: typeof newest, i: number, ...more: number[]): StoredRow | undefined => {
        const time = spine.times[i] as number;
        const [row] = statement.values(spine.keys[i] as string, time, ...inserted, ...more) as unknown as StoredRow[];
        return row && time - Number(this.#checked(version, row)[1]) <= ttlMs ? row : undefined;
      };
      for (let i = 0; i < length; i++) {
        const time = spine.times[i] as number;
        let row = counted(newest, i);
        if (row && knownAtOf(row) > time) {
          changedIfAsKnown++;
          if (bounds.asKnown) row = counted(newestKnown, i, time);
        }
        if (!row) continue;
        values[i] = fromColumn(version.type, row[4]);
        observedAt[i] = Number(row[1]);
        insertedAt[i] = Number(row[3]);
      }
      newest.finalize();
      newestKnown.finalize();
    }
    return { featureId, values, observedAt, insertedAt, changedIfAsKnown };
  }

  /** Distinct keys of a table in order, from the one after `after`. */
  *#keysOf({ table_name }: VersionRow, after = ""): Generator<string> {
    const next = this.#prepare<[string]>(`select pk from "${table_name}" where pk > ? order by pk limit 1`);
    try {
      for (let key = next.values(after)[0]?.[0]; key !== undefined; key = next.values(key as string)[0]?.[0]) yield key as string;
    } finally {
      next.finalize();
    }
  }

  #observation(version: VersionRow, row: StoredRow): Observation {
    const [key, observedAt, sequence, insertedAt, value, op, resolver, deployment] = this.#checked(version, row);
    return {
      key,
      observedAt: Number(observedAt),
      sequence: Number(sequence),
      insertedAt: Number(insertedAt),
      knownAt: knownAtOf(row),
      value: fromColumn(version.type, value),
      resolver: this.#word(Number(resolver)),
      deploymentId: this.#word(Number(deployment)),
      op,
    };
  }

  #checked(version: VersionRow, row: StoredRow): StoredRow {
    return checkedRow(this.path, version, row);
  }

  #word(id: number): string {
    const known = this.#words.get(id) ?? this.#catalog.word(id);
    this.#words.set(id, known);
    return known;
  }

  #prepare<P extends (string | number)[]>(text: string): Statement<unknown, P> {
    return this.#db.prepare(text) as Statement<unknown, P>;
  }

  /** Runs `read` in a transaction, so that all its reads see one state. */
  #snapshot<T>(read: () => T): T {
    this.#db.run("begin");
    try {
      return read();
    } finally {
      this.#db.run("commit");
    }
  }
}

/** At most `limit` of the keys, always the same ones. */
function chosen(keys: string[], limit: number | undefined): string[] {
  if (limit === undefined || keys.length <= limit) return keys;
  return keys
    .map((key) => ({ key, hash: Bun.hash.wyhash(key) }))
    .sort((a, b) => (a.hash < b.hash ? -1 : a.hash > b.hash ? 1 : byText(a.key, b.key)))
    .slice(0, limit)
    .map(({ key }) => key);
}

function byText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
