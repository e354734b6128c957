/**
 * The online store on SQLite. One process owns the file (the server's lock on its data directory sees to that), so rows in memory are never stale.
 *
 * Writes are seen by reads at once and reach the file a few milliseconds later, in small transactions between queries. A process that is killed
 * loses what it had not written yet, at most about `FLUSH_DELAY_MS` of it unless the disk is behind; a power cut may lose the last commits too
 * (`synchronous = normal`). Neither damages the file, and nothing is lost for good: every value can be computed again by its resolver. `close`
 * writes everything.
 */

import type { Database, Statement } from "bun:sqlite";
import type { FeatureValue } from "../../../domain/value.ts";
import type { OnlineStore, OnlineWrite, RelationWrite, StoredRows, StoredValue } from "../online.ts";
import { explainDamage, openDatabase } from "../sqlite/open.ts";
import { Checkpointer } from "./checkpointer.ts";
import { type Cell, cellText, type Row, RowCache, readCell } from "./row-cache.ts";
import { ONLINE_APPLICATION_ID, ONLINE_MIGRATIONS } from "./schema.ts";

const FLUSH_DELAY_MS = 5;
/** Cells per transaction: about half a millisecond. */
const CELLS_PER_FLUSH = 64;
/** Estimated bytes after which a transaction takes no more cells: rows of relations are much larger than values. */
const BYTES_PER_FLUSH = 128 * 1024;
/** A cell with more bytes counts for several when the log's growth is estimated. */
const BYTES_PER_CELL = 2_048;
/** Pause after a failed write, for example on a full disk. */
const RETRY_DELAY_MS = 1_000;
const DEFAULT_CACHE_BYTES = 128 * 1024 * 1024;
const DEFAULT_MAX_PENDING = 50_000;
/** How far the time of a stored value may lie ahead of the clock, in milliseconds: clocks are put right by this much all the time. */
const CLOCK_TOLERANCE_MS = 1_000;
/** Ids per statement; longer lists are read as a range of the row. */
const MAX_LISTED_IDS = 64;

/** How the store is opened. */
export interface SqliteOnlineOptions {
  /** Estimated memory for rows. Default 128 MiB. */
  readonly cacheBytes?: number;
  /** Unwritten values above which `putMany` writes to the file itself before it returns. Default 50,000. */
  readonly maxPending?: number;
  /** Epoch milliseconds: for `inserted_at`, and to tell values that come from a clock that ran ahead. */
  readonly now?: () => number;
  /** Version of the program, for the message about a newer schema. */
  readonly programVersion?: string;
  /** Told when values could not be written to the file, once until they can be; they are served from memory meanwhile. */
  readonly onWriteFailure?: (error: Error) => void;
}

interface StoredRow {
  readonly fid: number;
  readonly value: string;
  readonly observed_at: number;
  readonly op: string;
}

/**
 * Opens or creates the store. `:memory:` keeps nothing on disk.
 * @throws StartError when the file has a newer schema, is another program's, or is damaged.
 */
export function openSqliteOnlineStore(path: string, options: SqliteOnlineOptions = {}): OnlineStore {
  const db = openDatabase({
    path,
    applicationId: ONLINE_APPLICATION_ID,
    migrations: ONLINE_MIGRATIONS,
    synchronous: "normal",
    programVersion: options.programVersion ?? "unknown",
  });
  db.run("pragma mmap_size = 268435456");
  db.run("pragma cache_size = -16384");
  try {
    return new SqliteOnlineStore(db, path, options);
  } catch (error) {
    db.close();
    throw explainDamage(path, error);
  }
}

class SqliteOnlineStore implements OnlineStore {
  private readonly cache: RowCache;
  private readonly dirty = new Set<Cell>();
  private readonly maxPending: number;
  private readonly now: () => number;
  private readonly checkpointer: Checkpointer | undefined;
  private readonly listed = new Map<number, Statement<StoredRow, (string | number)[]>>();
  private readonly range: Statement<StoredRow, [string, string, string, number, number]>;
  private readonly upsert: Statement<unknown, [string, string, string, number, string, number, number, string, number]>;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private turn: ReturnType<typeof setImmediate> | undefined;
  private failing = false;
  private closed = false;

  constructor(
    private readonly db: Database,
    path: string,
    private readonly options: SqliteOnlineOptions,
  ) {
    this.cache = new RowCache(options.cacheBytes ?? DEFAULT_CACHE_BYTES);
    this.maxPending = options.maxPending ?? DEFAULT_MAX_PENDING;
    this.now = options.now ?? Date.now;
    this.checkpointer = path === ":memory:" ? undefined : new Checkpointer(db, path, () => this.schedule());
    this.range = db.prepare(
      "select fid, value, observed_at, op from online where scope = ?1 and ns = ?2 and pk = ?3 and fid between ?4 and ?5",
    );
    this.upsert = db.prepare(
      `insert into online (scope, ns, pk, fid, value, observed_at, inserted_at, op) values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
       on conflict do update set value = excluded.value, observed_at = excluded.observed_at, inserted_at = excluded.inserted_at, op = excluded.op
       where excluded.observed_at >= online.observed_at or online.observed_at > ?9`,
    );
  }

  getMany(
    scope: string,
    namespace: string,
    keys: readonly string[],
    featureIds: readonly number[],
    asOf = Number.POSITIVE_INFINITY,
  ): (StoredValue | undefined)[][] {
    const prefix = rowPrefix(scope, namespace);
    const result = new Array<(StoredValue | undefined)[]>(keys.length);
    for (let k = 0; k < keys.length; k++) {
      const key = keys[k] as string;
      const id = prefix + key;
      const row = this.cache.find(id);
      result[k] =
        (row && valuesOf(row, featureIds, asOf)) ??
        (valuesOf(this.load(this.cache.open(id, scope, namespace, key), featureIds), featureIds, asOf) as (StoredValue | undefined)[]);
    }
    this.cache.evict();
    return result;
  }

  putMany(scope: string, writes: readonly OnlineWrite[]): void {
    const latest = this.latest();
    for (const write of writes) {
      const row = this.cache.open(rowPrefix(scope, write.namespace) + write.key, scope, write.namespace, write.key);
      const known = row.cells.get(write.featureId);
      const stored = known?.stored?.observedAt ?? Number.NEGATIVE_INFINITY;
      if (stored > write.observedAt && stored <= latest) continue;
      this.soil(this.cache.assign(row, write.featureId, write.value, write.observedAt, write.resolver));
    }
    while ((this.dirty.size > this.maxPending || (this.cache.isOverfull && this.dirty.size > 0)) && this.flushSome(CELLS_PER_FLUSH))
      this.cache.evict();
    if (this.dirty.size > this.maxPending || (this.failing && this.cache.isOverfull)) this.discard();
    this.cache.evict();
    this.schedule();
  }

  getRelation(scope: string, namespace: string, keys: readonly string[], relationId: number, asOf?: number): (StoredRows | undefined)[] {
    return this.getMany(scope, namespace, keys, [relationId], asOf).map(([stored]) => stored && rowsOf(stored));
  }

  putRelation(scope: string, writes: readonly RelationWrite[]): void {
    this.putMany(
      scope,
      writes.map(({ relationId, rows, columns, ...write }) => ({
        ...write,
        featureId: relationId,
        value: { rows, columns: Object.fromEntries(columns) as Record<string, FeatureValue> },
      })),
    );
  }

  dropScope(scope: string): void {
    this.forget(
      (row) => row.scope === scope,
      () => this.db.query("delete from online where scope = ?").run(scope),
    );
  }

  dropFeature(featureId: number): void {
    this.forget(
      (_, cell) => cell.featureId === featureId,
      () => this.db.query("delete from online where fid = ?").run(featureId),
    );
  }

  probe(): void {
    const key = `s:${crypto.randomUUID()}`;
    this.upsert.run("~probe", "probe", key, 0, '"ok"', 0, this.now(), "probe", this.latest());
    const found = this.range.get("~probe", "probe", key, 0, 0);
    this.db.query("delete from online where scope = ?").run("~probe");
    if (found?.value !== '"ok"') throw new Error("the online store did not return what was written to it");
  }

  close(): void {
    if (this.closed) return;
    this.closed = true;
    this.unschedule();
    while (this.dirty.size > 0 && this.flushSome(4_096)) {}
    for (const statement of [...this.listed.values(), this.range, this.upsert]) statement.finalize();
    this.checkpointer?.close();
    this.cache.clear();
    this.db.close();
  }

  /** The latest time that a stored value can rightly have. One that lies behind it comes from a clock that ran ahead, and gives way to any other. */
  private latest(): number {
    return this.now() + CLOCK_TOLERANCE_MS;
  }

  /** Reads what is not certain from the file; a newer value that waits to be written stays. */
  private load(row: Row, featureIds: readonly number[]): Row {
    const latest = this.latest();
    const wanted = new Set<number>();
    for (const featureId of featureIds) if (row.cells.get(featureId)?.certain !== true) wanted.add(featureId);
    for (const { fid, value, observed_at, op } of this.read(row, [...wanted])) {
      if (!wanted.delete(fid)) continue;
      const pending = row.cells.get(fid);
      if (pending?.stored && (pending.stored.observedAt >= observed_at || observed_at > latest)) pending.certain = true;
      else {
        if (pending) this.clean(pending);
        this.cache.assignStored(row, fid, value, observed_at, op).certain = true;
      }
    }
    for (const featureId of wanted) {
      const pending = row.cells.get(featureId);
      if (pending) pending.certain = true;
      else this.cache.assignStored(row, featureId).certain = true;
    }
    return row;
  }

  private read(row: Row, featureIds: readonly number[]): StoredRow[] {
    let low = Number.POSITIVE_INFINITY;
    let high = Number.NEGATIVE_INFINITY;
    for (const featureId of featureIds) {
      if (featureId < low) low = featureId;
      if (featureId > high) high = featureId;
    }
    if (high - low < featureIds.length * 4 || featureIds.length > MAX_LISTED_IDS)
      return this.range.all(row.scope, row.namespace, row.key, low, high);
    let statement = this.listed.get(featureIds.length);
    if (!statement) {
      const marks = new Array(featureIds.length).fill("?").join(", ");
      statement = this.db.prepare(
        `select fid, value, observed_at, op from online where scope = ? and ns = ? and pk = ? and fid in (${marks})`,
      );
      this.listed.set(featureIds.length, statement);
    }
    return statement.all(row.scope, row.namespace, row.key, ...featureIds);
  }

  private soil(cell: Cell): void {
    if (cell.dirty) return;
    cell.dirty = true;
    cell.row.dirty++;
    this.dirty.add(cell);
  }

  private clean(cell: Cell): void {
    if (!cell.dirty) return;
    cell.dirty = false;
    cell.row.dirty--;
    this.dirty.delete(cell);
  }

  private schedule(): void {
    if (this.dirty.size === 0 || this.timer || this.turn || this.closed) return;
    this.timer = setTimeout(
      () => {
        this.timer = undefined;
        this.flushTurn();
      },
      this.failing ? RETRY_DELAY_MS : FLUSH_DELAY_MS,
    );
    this.timer.unref();
  }

  private unschedule(): void {
    clearTimeout(this.timer);
    clearImmediate(this.turn);
    this.timer = undefined;
    this.turn = undefined;
  }

  /** Writes a little, then lets the event loop serve queries before it goes on. */
  private flushTurn(): void {
    this.turn = undefined;
    if (this.closed || (this.checkpointer?.busy && this.dirty.size < this.maxPending / 2)) return;
    if (this.flushSome(CELLS_PER_FLUSH) && this.dirty.size > 0) this.turn = setImmediate(() => this.flushTurn());
    else this.schedule();
  }

  /** Writes up to `limit` cells in one transaction; false when the file refused. */
  private flushSome(limit: number): boolean {
    const batch: Cell[] = [];
    let bytes = 0;
    for (const cell of this.dirty) {
      bytes += cell.bytes;
      if (batch.push(cell) >= limit || bytes >= BYTES_PER_FLUSH) break;
    }
    const insertedAt = this.now();
    const latest = this.latest();
    try {
      this.db.run("begin immediate");
      for (const cell of batch) {
        const { row, stored } = cell;
        if (stored)
          this.upsert.run(
            row.scope,
            row.namespace,
            row.key,
            cell.featureId,
            cellText(cell),
            stored.observedAt,
            insertedAt,
            stored.resolver,
            latest,
          );
      }
      this.db.run("commit");
    } catch (error) {
      if (this.db.inTransaction) this.db.run("rollback");
      const isFirst = !this.failing;
      this.failing = true;
      if (isFirst) this.options.onWriteFailure?.(error as Error);
      return false;
    }
    this.failing = false;
    for (const cell of batch) {
      this.clean(cell);
      if (!cell.certain) this.cache.forget(cell);
    }
    this.checkpointer?.wrote(Math.max(batch.length, Math.ceil(bytes / BYTES_PER_CELL)));
    return true;
  }

  /** Gives up values that the file does not take, so that memory stays bounded. */
  private discard(): void {
    for (const cell of [...this.dirty]) {
      this.clean(cell);
      this.cache.forget(cell);
    }
  }

  private forget(matches: (row: Row, cell: Cell) => boolean, remove: () => void): void {
    for (const cell of [...this.dirty]) if (matches(cell.row, cell)) this.clean(cell);
    while (this.dirty.size > 0 && this.flushSome(CELLS_PER_FLUSH)) {}
    remove();
    const waiting = [...this.dirty];
    this.cache.clear();
    for (const cell of waiting) this.clean(cell);
  }
}

/** The values of a row; undefined when what the file holds of one of them is not certain. */
function valuesOf(row: Row, featureIds: readonly number[], asOf: number): (StoredValue | undefined)[] | undefined {
  const values = new Array<StoredValue | undefined>(featureIds.length);
  for (let f = 0; f < featureIds.length; f++) {
    const cell = row.cells.get(featureIds[f] as number);
    if (cell?.certain !== true) return undefined;
    values[f] = readCell(cell, asOf);
  }
  return values;
}

/** A relation lies in the file like a feature: one cell, whose value holds all rows by columns. */
function rowsOf({ value, observedAt, resolver }: StoredValue): StoredRows {
  const { rows, columns } = value as unknown as {
    readonly rows: number;
    readonly columns: Readonly<Record<string, readonly FeatureValue[]>>;
  };
  return { rows, columns: new Map(Object.entries(columns).map(([id, values]) => [Number(id), values])), observedAt, resolver };
}

function rowPrefix(scope: string, namespace: string): string {
  return `${scope}\0${namespace}\0`;
}
