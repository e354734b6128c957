/**
 * The online store on SQLite. One process owns the file (the server's lock on its data directory
 * ensures that), so rows in memory are never stale.
 *
 * Writes are visible to reads at once and reach the file a few milliseconds later, in small
 * transactions between queries: a process that is killed loses the writes of that time, more when
 * the disk is slow. A power cut may also lose the last commits (`synchronous = normal`), including
 * flushed ones. Neither damages the file.
 */

import type { Database, Statement } from "bun:sqlite";
import type { FeatureValue } from "../../../domain/value.ts";
import { explainDamage, openDatabase } from "../sqlite/open.ts";
import { Checkpointer } from "./checkpointer.ts";
import { isNumeric, packNumbers } from "./packed-list.ts";
import { type Cell, decoded, type Encoded, encodedCell, NEVER, type Row, RowCache, readCell } from "./row-cache.ts";
import { ONLINE_APPLICATION_ID, ONLINE_MIGRATIONS } from "./schema.ts";
import type {
  DeletedCells,
  FeatureMeasures,
  FoundRows,
  OnlineFound,
  OnlineMeasures,
  OnlineReads,
  OnlineStore,
  OnlineWrites,
  StoredRows,
  StoredValue,
  StoredVector,
  ValuesRead,
  VectorsRead,
} from "./store.ts";
import { WriteQueue } from "./write-queue.ts";

/** Bytes for which a cell is counted once when the log's growth is estimated. */
const BYTES_PER_CELL = 2_048;
const DEFAULT_CACHE_BYTES = 128 * 1024 * 1024;
const DEFAULT_MAX_PENDING = 50_000;
/**
 * Tolerance, in milliseconds, for stored times ahead of the clock: corrections of clocks by this
 * much are normal.
 */
const CLOCK_TOLERANCE_MS = 1_000;
/**
 * Cells examined by a step of a sweep or a measure, about half a millisecond, and the pause between
 * two steps.
 */
const CELLS_PER_SWEEP = 512;
const SWEEP_PAUSE_MS = 20;
/** Rows of which cells are deleted in a step. */
const KEYS_PER_DELETION = 64;
/** Cells that are counted in a step, about half a millisecond. */
const CELLS_PER_COUNT = 4_096;
/** Cells that are visited in a step for their vectors, of which most may be of some kilobytes. */
const CELLS_PER_VISIT = 192;
/** Most ids of a statement; longer lists are read as a range of the row. */
const MAX_LISTED_IDS = 64;

/** Options with which the store is opened. */
export interface SqliteOnlineOptions {
  /** Estimated memory for rows. Default 128 MiB. */
  readonly cacheBytes?: number;
  /**
   * Number of unwritten values above which `put` writes to the file before it returns. Default
   * 50,000.
   */
  readonly maxPending?: number;
  /**
   * The clock, epoch milliseconds: for `inserted_at`, and to detect values from a clock that was
   * ahead.
   */
  readonly now?: () => number;
  /** Version of the program, for the message about a newer schema. */
  readonly programVersion?: string;
  /**
   * Called for the first of consecutive failed writes; the values are served from memory meanwhile.
   */
  readonly onWriteFailure?: (error: Error) => void;
  /** Called with the number of values that were dropped, and why. */
  readonly onDrop?: (values: number, reason: string) => void;
}

interface StoredRow {
  readonly fid: number;
  readonly value: Encoded;
  readonly observed_at: number;
  readonly op: string;
  readonly expires_at: number | null;
}

/** Position of a cell in the file. */
interface CellPosition {
  readonly scope: string;
  readonly ns: string;
  readonly pk: string;
  readonly fid: number;
}

/** A position before every cell. */
const BEGINNING: CellPosition = { scope: "", ns: "", pk: "", fid: -1 };

const STORED = "fid, value, observed_at, op, expires_at";

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

/** The position of a stored cell, and when it expires. */
type StoredCell = CellPosition & Pick<StoredRow, "expires_at">;
/** The position of a stored cell, and the bytes of its row. */
type SizedCell = CellPosition & { readonly bytes: number };
/** The position of a stored cell, and its value if it is the feature's that is looked for. */
type ValueCell = CellPosition & Pick<StoredRow, "observed_at" | "expires_at"> & { readonly value: Encoded | null };

class SqliteOnlineStore implements OnlineStore {
  private readonly cache: RowCache;
  private readonly queue: WriteQueue;
  private readonly now: () => number;
  private readonly checkpointer: Checkpointer | undefined;
  private readonly listed = new Map<number, Statement<StoredRow, (string | number)[]>>();
  private readonly range: Statement<StoredRow, [string, string, string, number, number]>;
  private readonly upsert: Statement<unknown, [string, string, string, number, Encoded, number, number, string, number | null, number]>;
  private readonly next: Statement<StoredCell, [string, string, string, number, number]>;
  private readonly sized: Statement<SizedCell, [string, string, string, number, number]>;
  private readonly valued: Statement<ValueCell, [string, string, string, number, number, number]>;
  private readonly expire: Statement<unknown, [string, string, string, number, number]>;
  private measuring: Promise<OnlineMeasures> | undefined;
  private readonly erase: Statement<unknown, [string, string, string, number]>;
  private readonly deleted: Statement<Pick<CellPosition, "fid">, [string, string, string, number]>;
  private sweeping: Promise<number> | undefined;
  private closed = false;

  constructor(
    private readonly db: Database,
    path: string,
    private readonly options: SqliteOnlineOptions,
  ) {
    this.cache = new RowCache(options.cacheBytes ?? DEFAULT_CACHE_BYTES);
    this.now = options.now ?? Date.now;
    this.checkpointer = path === ":memory:" ? undefined : new Checkpointer(db, path, () => this.queue.schedule());
    this.queue = new WriteQueue({
      maxPending: options.maxPending ?? DEFAULT_MAX_PENDING,
      write: (cells, bytes) => this.write(cells, bytes),
      isHeld: () => this.checkpointer?.busy === true,
      onFailure: options.onWriteFailure,
    });
    this.range = db.prepare(`select ${STORED} from online where scope = ?1 and ns = ?2 and pk = ?3 and fid between ?4 and ?5`);
    this.upsert = db.prepare(
      `insert into online (scope, ns, pk, fid, value, observed_at, inserted_at, op, expires_at) values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
       on conflict do update set value = excluded.value, observed_at = excluded.observed_at, inserted_at = excluded.inserted_at, op = excluded.op,
         expires_at = excluded.expires_at
       where excluded.observed_at >= online.observed_at or online.observed_at > ?10`,
    );
    this.next = db.prepare(
      `select scope, ns, pk, fid, expires_at from online where (scope, ns, pk, fid) > (?1, ?2, ?3, ?4)
       order by scope, ns, pk, fid limit ?5`,
    );
    const bytes = ["scope", "ns", "pk", "value", "op"].map((name) => `length(cast(${name} as blob))`).join(" + ");
    this.sized = db.prepare(
      `select scope, ns, pk, fid, ${bytes} + iif(expires_at is null, 24, 32) as bytes from online
       where (scope, ns, pk, fid) > (?1, ?2, ?3, ?4) order by scope, ns, pk, fid limit ?5`,
    );
    this.valued = db.prepare(
      `select scope, ns, pk, fid, observed_at, expires_at, iif(fid = ?6, value, null) as value from online
       where scope = ?1 and ns = ?2 and (pk, fid) > (?3, ?4) order by pk, fid limit ?5`,
    );
    this.expire = db.prepare("delete from online where scope = ?1 and ns = ?2 and pk = ?3 and fid = ?4 and expires_at <= ?5");
    this.deleted = db.prepare(
      "select fid from online where scope = ?1 and ns = ?2 and pk = ?3 and (observed_at <= ?4 or inserted_at <= ?4)",
    );
    this.erase = db.prepare("delete from online where scope = ?1 and ns = ?2 and pk = ?3 and fid = ?4");
  }

  read(scope: string, { values, rows }: OnlineReads): OnlineFound {
    const found = {
      values: values.map((read) => this.readValues(scope, read)),
      rows: rows.map(
        ({ relationId, ...read }): FoundRows =>
          this.readValues(scope, { ...read, featureIds: [relationId] }).map(([stored]) => stored && rowsOf(stored)),
      ),
    };
    this.cache.evict();
    return found;
  }

  put(scope: string, { values, rows }: OnlineWrites): void {
    const latest = this.latest();
    for (const write of values) this.enqueue(scope, write, write.featureId, write, write.expiresAt, latest);
    for (const { rows: count, columns, ...write } of rows) {
      const value = { rows: count, columns: Object.fromEntries(columns) as Record<string, FeatureValue> };
      this.enqueue(scope, write, write.relationId, { ...write, value }, write.expiresAt, latest);
    }
    this.makeRoom();
    this.queue.schedule();
  }

  flush(): Promise<void> {
    return this.queue.flush();
  }

  dropped(): number {
    return this.queue.dropped;
  }

  measure(): Promise<OnlineMeasures> {
    this.measuring ??= this.measureAll().finally(() => {
      this.measuring = undefined;
    });
    return this.measuring;
  }

  async measureFeatures(signal?: AbortSignal): Promise<FeatureMeasures> {
    const features = new Map<number, number>();
    await this.eachPage(this.sized, signal, (cells) => {
      for (const { fid, bytes } of cells) features.set(fid, (features.get(fid) ?? 0) + bytes);
    });
    return { bytes: this.bytes(), features };
  }

  async eachVector(
    scope: string,
    { namespace, featureId }: VectorsRead,
    visit: (vectors: readonly StoredVector[]) => void,
    signal?: AbortSignal,
  ): Promise<void> {
    const queued = this.queue.listed(({ row, featureId: id }) => row.scope === scope && row.namespace === namespace && id === featureId);
    visit(
      queued.flatMap(({ row, encoded = "null", stored, expiresAt }) =>
        vectorOf(row.key, encoded, stored?.observedAt ?? 0, expiresAt === NEVER ? null : expiresAt),
      ),
    );
    for (let position: Pick<CellPosition, "pk" | "fid"> | undefined = BEGINNING; position && !this.closed && !signal?.aborted; ) {
      const { pk, fid }: Pick<CellPosition, "pk" | "fid"> = position;
      const cells: ValueCell[] = this.valued.all(scope, namespace, pk, fid, CELLS_PER_VISIT, featureId);
      visit(cells.flatMap((cell) => (cell.value === null ? [] : vectorOf(cell.pk, cell.value, cell.observed_at, cell.expires_at))));
      position = cells.length === CELLS_PER_VISIT ? cells.at(-1) : undefined;
      if (position) await pause(0);
    }
  }

  pending(): number {
    return this.queue.size;
  }

  suspend(): void {
    this.queue.suspend();
  }

  resume(): void {
    this.queue.resume();
  }

  dropScope(scope: string): void {
    this.queue.removeWhere(({ row }) => row.scope === scope);
    while (this.queue.writeSome() > 0);
    this.db.query("delete from online where scope = ?").run(scope);
    this.dropQueue();
    this.cache.clear();
  }

  dropFeatures(featureIds: readonly number[], signal?: AbortSignal): Promise<number> {
    const ids = new Set(featureIds);
    for (const cell of this.queue.removeWhere(({ featureId }) => ids.has(featureId))) this.cache.forget(cell);
    return this.walk(
      ({ fid }) => ids.has(fid),
      ({ scope, ns, pk, fid }) => this.erase.run(scope, ns, pk, fid),
      signal,
    );
  }

  async deleteKeys(scope: string, { namespace, keys, featureIds, until }: DeletedCells, signal?: AbortSignal): Promise<number> {
    let removed = 0;
    for (let at = 0; at < keys.length && !this.closed && !signal?.aborted; ) {
      if (!this.checkpointer?.busy) {
        const page = keys.slice(at, at + KEYS_PER_DELETION);
        removed += this.deletePage(scope, namespace, page, featureIds, until);
        at += page.length;
      }
      if (at < keys.length) await pause(0);
    }
    return removed;
  }

  sweep(signal?: AbortSignal): Promise<number> {
    this.sweeping ??= this.sweepAll(signal).finally(() => {
      this.sweeping = undefined;
    });
    return this.sweeping;
  }

  probe(): void {
    const key = `s:${crypto.randomUUID()}`;
    this.upsert.run("~probe", "probe", key, 0, '"ok"', 0, this.now(), "probe", null, this.latest());
    const found = this.range.get("~probe", "probe", key, 0, 0);
    this.db.query("delete from online where scope = ?").run("~probe");
    if (found?.value !== '"ok"') throw new Error("the online store did not return what was written to it");
  }

  close(): void {
    if (this.closed) return;
    this.closed = true;
    this.queue.stop();
    this.queue.writeAll();
    if (this.queue.isSuspended) this.dropQueue();
    for (const statement of [
      ...this.listed.values(),
      this.range,
      this.upsert,
      this.next,
      this.sized,
      this.valued,
      this.expire,
      this.deleted,
      this.erase,
    ])
      statement.finalize();
    this.checkpointer?.close();
    this.cache.clear();
    this.db.close();
  }

  /**
   * The latest plausible time of a stored value. A value with a later one comes from a clock that
   * was ahead, and is replaced by any other.
   */
  private latest(): number {
    return this.now() + CLOCK_TOLERANCE_MS;
  }

  private readValues(scope: string, { namespace, keys, featureIds, asOf = Number.POSITIVE_INFINITY }: ValuesRead) {
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
    return result;
  }

  /** Queues a value, unless a newer one is known. */
  private enqueue(
    scope: string,
    { namespace, key }: { readonly namespace: string; readonly key: string },
    featureId: number,
    value: StoredValue,
    expiresAt: number | undefined,
    latest: number,
  ): void {
    const row = this.cache.open(rowPrefix(scope, namespace) + key, scope, namespace, key);
    const stored = row.cells.get(featureId)?.stored?.observedAt ?? Number.NEGATIVE_INFINITY;
    if (stored > value.observedAt && stored <= latest) return;
    this.queue.add(this.cache.assign(row, featureId, value, expiresAt));
  }

  /**
   * Writes while too many values are pending; drops all of them when writing fails or is suspended,
   * so that memory stays bounded.
   */
  private makeRoom(): void {
    const { queue, cache } = this;
    while ((queue.isFull || (cache.isOverfull && queue.size > 0)) && queue.writeSome() > 0) cache.evict();
    if (queue.isFull || ((queue.isFailing || queue.isSuspended) && cache.isOverfull)) this.dropQueue();
    cache.evict();
  }

  private dropQueue(): void {
    const cells = this.queue.drop();
    for (const cell of cells) this.cache.forget(cell);
    if (cells.length > 0)
      this.options.onDrop?.(cells.length, this.queue.isSuspended ? "persistence is suspended" : "too many wait to be written");
  }

  /** Reads the features that are not certain from the file; a newer unwritten value stays. */
  private load(row: Row, featureIds: readonly number[]): Row {
    const latest = this.latest();
    const wanted = new Set<number>();
    for (const featureId of featureIds) if (row.cells.get(featureId)?.certain !== true) wanted.add(featureId);
    for (const { fid, value, observed_at, op, expires_at } of this.select(row, [...wanted])) {
      if (!wanted.delete(fid)) continue;
      const pending = row.cells.get(fid);
      if (pending?.stored && (pending.stored.observedAt >= observed_at || observed_at > latest)) pending.certain = true;
      else {
        if (pending) this.queue.remove(pending);
        this.cache.assignStored(row, fid, value, observed_at, op, expires_at ?? NEVER).certain = true;
      }
    }
    for (const featureId of wanted) (row.cells.get(featureId) ?? this.cache.assignAbsent(row, featureId)).certain = true;
    return row;
  }

  private select(row: Row, featureIds: readonly number[]): StoredRow[] {
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
      statement = this.db.prepare(`select ${STORED} from online where scope = ? and ns = ? and pk = ? and fid in (${marks})`);
      this.listed.set(featureIds.length, statement);
    }
    return statement.all(row.scope, row.namespace, row.key, ...featureIds);
  }

  /** Writes cells of the queue in one transaction. Throws SQLite's errors. */
  private write(cells: readonly Cell[], bytes: number): void {
    const insertedAt = this.now();
    const latest = this.latest();
    this.transaction(() => {
      for (const cell of cells) {
        const { row, stored, expiresAt } = cell;
        if (!stored) continue;
        const expiry = expiresAt === NEVER ? null : expiresAt;
        const { observedAt, resolver } = stored;
        this.upsert.run(
          row.scope,
          row.namespace,
          row.key,
          cell.featureId,
          encodedCell(cell),
          observedAt,
          insertedAt,
          resolver,
          expiry,
          latest,
        );
      }
    });
    for (const cell of cells) {
      this.queue.remove(cell);
      if (!cell.certain) this.cache.forget(cell);
    }
    this.checkpointer?.wrote(Math.max(cells.length, Math.ceil(bytes / BYTES_PER_CELL)));
  }

  /** Counts in steps, between which queries are served. */
  private async measureAll(): Promise<OnlineMeasures> {
    let items = 0;
    for (let position: CellPosition | null = BEGINNING; position && !this.closed; ) {
      const { scope, ns, pk, fid }: CellPosition = position;
      const after = [scope, ns, pk, fid, CELLS_PER_COUNT] as const;
      const listed = "from online where (scope, ns, pk, fid) > (?1, ?2, ?3, ?4) order by scope, ns, pk, fid";
      position = this.db
        .query<CellPosition, [string, string, string, number, number]>(`select scope, ns, pk, fid ${listed} limit 1 offset ?5 - 1`)
        .get(...after);
      items += position
        ? CELLS_PER_COUNT
        : (this.db
            .query<{ items: number }, [string, string, string, number, number]>(
              `select count(*) as items from (select 1 ${listed} limit ?5)`,
            )
            .get(...after)?.items ?? 0);
      await pause(0);
    }
    return { items, bytes: this.bytes() };
  }

  /** Bytes of the file without its log. */
  private bytes(): number {
    if (this.closed) return 0;
    const size = "select page_count * page_size as bytes from pragma_page_count, pragma_page_size";
    return this.db.query<{ bytes: number }, []>(size).get()?.bytes ?? 0;
  }

  private sweepAll(signal: AbortSignal | undefined): Promise<number> {
    const now = this.now();
    return this.walk(
      ({ expires_at }) => expires_at !== null && expires_at <= now,
      ({ scope, ns, pk, fid }) => this.expire.run(scope, ns, pk, fid, now),
      signal,
    );
  }

  /**
   * Visits all stored cells in short steps and removes those that are gone; returns their number.
   */
  private async walk(
    isGone: (cell: StoredCell) => boolean,
    remove: (cell: StoredCell) => unknown,
    signal: AbortSignal | undefined,
  ): Promise<number> {
    let removed = 0;
    await this.eachPage(this.next, signal, (cells) => {
      const gone = cells.filter(isGone);
      if (gone.length > 0) this.remove(gone, remove);
      removed += gone.length;
    });
    return removed;
  }

  /** Visits all stored cells in order, in short steps between which queries are served. */
  private async eachPage<C extends CellPosition>(
    statement: Statement<C, [string, string, string, number, number]>,
    signal: AbortSignal | undefined,
    visit: (cells: readonly C[]) => void,
  ): Promise<void> {
    for (let position: CellPosition | undefined = BEGINNING; position && !this.closed && !signal?.aborted; ) {
      if (!this.checkpointer?.busy) {
        const cells: C[] = statement.all(position.scope, position.ns, position.pk, position.fid, CELLS_PER_SWEEP);
        visit(cells);
        position = cells.length === CELLS_PER_SWEEP ? cells.at(-1) : undefined;
      }
      if (position) await pause(SWEEP_PAUSE_MS);
    }
  }

  /** Removes cells of some rows from the queue, the file and memory; returns their number. */
  private deletePage(scope: string, namespace: string, keys: readonly string[], featureIds: readonly number[], until: number): number {
    const wanted = new Set(featureIds);
    let removed = 0;
    this.transaction(() => {
      for (const key of keys) {
        const gone = new Set<number>();
        for (const { fid } of this.deleted.all(scope, namespace, key, until))
          if (wanted.has(fid)) {
            this.erase.run(scope, namespace, key, fid);
            gone.add(fid);
          }
        const row = this.cache.peek(rowPrefix(scope, namespace) + key);
        for (const cell of row ? [...row.cells.values()] : []) {
          if (!wanted.has(cell.featureId)) continue;
          if (cell.dirty && cell.stored && cell.stored.observedAt <= until) {
            this.queue.remove(cell);
            gone.add(cell.featureId);
          }
          if (!cell.dirty) this.cache.forget(cell);
        }
        removed += gone.size;
      }
    });
    this.checkpointer?.wrote(removed);
    return removed;
  }

  /** Removes cells from the file and from memory. */
  private remove(gone: readonly StoredCell[], remove: (cell: StoredCell) => unknown): void {
    this.transaction(() => {
      for (const cell of gone) remove(cell);
    });
    for (const { scope, ns, pk, fid } of gone) {
      const cell = this.cache.peek(rowPrefix(scope, ns) + pk)?.cells.get(fid);
      if (cell && !cell.dirty) this.cache.forget(cell);
    }
    this.checkpointer?.wrote(gone.length);
  }

  private transaction(work: () => void): void {
    this.db.run("begin immediate");
    try {
      work();
      this.db.run("commit");
    } catch (error) {
      if (this.db.inTransaction) this.db.run("rollback");
      throw error;
    }
  }
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * The values of a row; undefined when one of them is not certain and has to be read from the file.
 */
function valuesOf(row: Row, featureIds: readonly number[], asOf: number): (StoredValue | undefined)[] | undefined {
  const values = new Array<StoredValue | undefined>(featureIds.length);
  for (let f = 0; f < featureIds.length; f++) {
    const cell = row.cells.get(featureIds[f] as number);
    if (cell?.certain !== true) return undefined;
    values[f] = readCell(cell, asOf);
  }
  return values;
}

/**
 * The rows in a relation's cell: a relation is stored like a feature, as one value that holds all
 * rows by columns.
 */
function rowsOf({ value, observedAt, resolver }: StoredValue): StoredRows {
  const { rows, columns } = value as unknown as {
    readonly rows: number;
    readonly columns: Readonly<Record<string, readonly FeatureValue[]>>;
  };
  return { rows, columns: new Map(Object.entries(columns).map(([id, values]) => [Number(id), values])), observedAt, resolver };
}

/** A stored value as a vector; none if it is no list of numbers. */
function vectorOf(key: string, encoded: Encoded, observedAt: number, expiresAt: number | null): StoredVector[] {
  const rest = { key, observedAt, ...(expiresAt === null ? {} : { expiresAt }) };
  if (typeof encoded !== "string") return [{ ...rest, packed: encoded }];
  const value = encoded.startsWith("[") ? decoded(encoded) : null;
  return isNumeric(value) ? [{ ...rest, packed: packNumbers(value) }] : [];
}

function rowPrefix(scope: string, namespace: string): string {
  return `${scope}\0${namespace}\0`;
}
