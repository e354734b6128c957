/** The only writer of `offline.db`. Runs in the writing thread. */

import type { Database, Statement } from "bun:sqlite";
import { openDatabase } from "../sqlite/open.ts";
import { Catalog, isSameTable, tableOf } from "./catalog.ts";
import { checksum, type SqlValue, toColumn } from "./column.ts";
import type { Adopted } from "./history/history.ts";
import type { HistoryFacts, Move, MovedRange } from "./history/move.ts";
import {
  createVersionTable,
  OFFLINE_APPLICATION_ID,
  OFFLINE_MIGRATIONS,
  sumOfCounter,
  sumOfMoves,
  sumOfVersion,
  sumOfWord,
  tableNameOf,
  type VersionRow,
  type VersionTable,
} from "./schema.ts";
import { type AppendRefusal, type Observations, OfflineStoreError } from "./store.ts";

/** Observations for the table of their version. */
export interface TableRows extends Omit<Observations, "version"> {
  readonly table: VersionTable;
}

/** Where a file stands: the last sequence given out, and the last move that it has forgotten. */
export interface LandingState extends HistoryFacts {
  /** Rows that the history had after that move. */
  readonly moved: number;
}

/** A move of rows that are to be forgotten. */
export type ForgottenMove = Pick<Move, "moves" | "ranges" | "until" | "environments">;

/**
 * Size of the page cache in KiB. Keys come in random order, so that consecutive inserts rarely
 * touch the same page.
 */
const CACHE_KIB = 65_536;
/**
 * Pages of the log at which it is checkpointed, 64 MB: a page that several commits change is then
 * written to the file once.
 */
const PAGES_PER_CHECKPOINT = 16_384;
/**
 * Size to which a larger log is truncated when it is reset: that of `PAGES_PER_CHECKPOINT` pages.
 */
const USUAL_LOG_BYTES = 68 * 1024 * 1024;

type Insert = Statement<unknown, [string, number, number, number, SqlValue, string, number, number, number, number | null]>;

interface OpenVersion {
  readonly row: VersionRow;
  readonly insert: Insert;
}

/**
 * The writing half of the store. Each call is one commit, which is on the disk when the call
 * returns (`synchronous = full`).
 */
export class OfflineWriter {
  readonly #db: Database;
  readonly #catalog: Catalog;
  readonly #versions = new Map<number, OpenVersion>();
  readonly #words = new Map<string, number>();
  #sequence: number;

  /** Opens or creates the file. Throws StartError or OfflineStoreError. */
  constructor(path: string, programVersion: string) {
    this.#db = openDatabase({
      path,
      applicationId: OFFLINE_APPLICATION_ID,
      migrations: OFFLINE_MIGRATIONS,
      synchronous: "full",
      programVersion,
    });
    this.#db.run(`pragma cache_size = -${CACHE_KIB}`);
    this.#db.run(`pragma wal_autocheckpoint = ${PAGES_PER_CHECKPOINT}`);
    this.#db.run(`pragma journal_size_limit = ${USUAL_LOG_BYTES}`);
    this.#catalog = new Catalog(this.#db, path);
    try {
      this.#sequence = this.#catalog.sequence();
    } catch (error) {
      this.#db.close();
      throw error;
    }
  }

  /** Does nothing itself: calling it makes this writer, which opens or creates the file. */
  open(): void {}

  append(appends: readonly TableRows[], now: number): AppendRefusal[] {
    const refusals: AppendRefusal[] = [];
    const accepted: { readonly append: TableRows; readonly stored: SqlValue[] }[] = [];
    for (const [index, append] of appends.entries()) {
      try {
        accepted.push({ append, stored: this.#prepare(append) });
      } catch (error) {
        if (!(error instanceof OfflineStoreError || error instanceof TypeError)) throw error;
        refusals.push({ index, reason: error.message });
      }
    }
    if (accepted.length > 0)
      this.#transaction(() => {
        for (const { append, stored } of accepted) this.#insert(append, stored, now);
        this.#db.query("update counter set sequence = ?1, sum = ?2").run(this.#sequence, sumOfCounter(this.#sequence));
      });
    return refusals;
  }

  deleteKeys(featureIds: readonly number[], keys: readonly string[], until = Number.MAX_SAFE_INTEGER): number {
    let removed = 0;
    this.#transaction(() => {
      for (const featureId of featureIds) {
        const version = this.#catalog.version(featureId);
        if (!version) continue;
        const remove = this.#db.query(`delete from "${version.table_name}" where pk = ?1 and (observed_at <= ?2 or inserted_at <= ?2)`);
        for (const key of keys) removed += remove.run(key, until).changes;
      }
    });
    return removed;
  }

  /**
   * Removes observations of an environment that were observed before a time, at most `limit` of
   * each version; returns their number.
   */
  trim(environmentId: string, observedBefore: number, limit: number): number {
    let removed = 0;
    this.#transaction(() => {
      for (const { environment_id, table_name } of this.#catalog.versions())
        if (environment_id === environmentId)
          removed += this.#db
            .query(
              `delete from "${table_name}" where (pk, observed_at, seq) in
                 (select pk, observed_at, seq from "${table_name}" where observed_at < ?1 limit ?2)`,
            )
            .run(observedBefore, limit).changes;
    });
    return removed;
  }

  dropVersion(featureId: number): void {
    const version = this.#catalog.version(featureId);
    if (!version) return;
    this.#forget();
    this.#transaction(() => {
      this.#db.run(`drop table "${version.table_name}"`);
      this.#db.query("delete from version where fid = ?").run(featureId);
    });
  }

  /** Where this file stands. */
  state(): LandingState {
    const rows = this.#db.query<{ rows: number | null }, []>("select sum(rows) as rows from moved_rows").get();
    return { sequence: this.#sequence, moves: this.#catalog.moves(), moved: rows?.rows ?? 0 };
  }

  /**
   * Removes rows that were moved, in one commit; a table that was dropped meanwhile has none. The
   * last commit counts the move.
   * @param from index of the first range
   * @param limit rows after which no other commit of the same call begins
   * @returns the index at which the next call goes on; undefined when all is removed
   */
  forget(move: ForgottenMove, from: number, limit: number): number | undefined {
    let left = limit;
    let index = from;
    this.#transaction(() => {
      while (index < move.ranges.length && left > 0) {
        const removed = this.#removeRange(move.ranges[index] as MovedRange, move.until, left);
        if (removed < left) index++;
        left -= removed;
      }
      if (index < move.ranges.length) return;
      this.#db.query("update moved set moves = ?1, sum = ?2").run(move.moves, sumOfMoves(move.moves));
      this.#db.run("delete from moved_rows");
      for (const [environmentId, rows] of move.environments)
        this.#db.query("insert into moved_rows values (?1, ?2)").run(environmentId, rows);
    });
    return index < move.ranges.length ? index : undefined;
  }

  /** Goes on after a file that was lost, with what the history beside it knows. */
  adopt({ sequence, moves, words, features }: Adopted): void {
    if (this.#sequence > 0 || this.#catalog.moves() > 0) return;
    this.#transaction(() => {
      for (const [id, text] of words)
        this.#db.query("insert into word (id, text, sum) values (?, ?, ?)").run(id, text, sumOfWord(id, text));
      for (const feature of features) this.#create(feature);
      this.#sequence = sequence;
      this.#db.query("update counter set sequence = ?1, sum = ?2").run(sequence, sumOfCounter(sequence));
      this.#db.query("update moved set moves = ?1, sum = ?2").run(moves, sumOfMoves(moves));
    });
  }

  close(): void {
    this.#forget();
    this.#db.close();
  }

  #removeRange({ table, through }: MovedRange, until: number, limit: number): number {
    if (!this.#db.query("select 1 from version where table_name = ?").get(table)) return 0;
    const upTo = "(pk, observed_at, seq) <= (?2, ?3, ?4)";
    const search = this.#db.prepare(
      `select pk, observed_at, seq from "${table}" where seq <= ?1 ${through ? `and ${upTo}` : ""}
       order by pk, observed_at, seq limit 1 offset ${limit - 1}`,
    ) as Statement<unknown, (string | number)[]>;
    const [last = through] = search.values(until, ...(through ?? [])) as unknown as (typeof through)[];
    search.finalize();
    // Rows are deleted where they are found: a list of them, by `in`, takes twice as long.
    const remove = this.#db.prepare(`delete from "${table}" where seq <= ?1 ${last ? `and ${upTo}` : ""}`) as typeof search;
    const { changes } = remove.run(until, ...(last ?? []));
    remove.finalize();
    return changes;
  }

  /** Checks an append; returns its values in their stored form. */
  #prepare({ table, keys, values, observedAt, knownAt = observedAt, op }: TableRows): SqlValue[] {
    for (const times of [observedAt, knownAt])
      if (values.length !== keys.length || times.length !== keys.length)
        throw new OfflineStoreError("refused", `${keys.length} keys came with ${values.length} values and ${times.length} times`);
    if (!/^[a-z_]+$/.test(op)) throw new OfflineStoreError("refused", `${JSON.stringify(op)} does not name what writes`);
    this.#refuseOther(table);
    for (const key of keys)
      if (!/^[is]:/.test(key) || !key.isWellFormed()) throw new OfflineStoreError("refused", `${JSON.stringify(key)} is not a row's key`);
    for (const times of [observedAt, knownAt])
      for (const time of times) if (!Number.isFinite(time)) throw new OfflineStoreError("refused", `${time} is not a time`);
    return values.map((value) => toColumn(table.type, value));
  }

  /** Throws when the id of the table's feature belongs to another one: ids are never reused. */
  #refuseOther(table: VersionTable): void {
    const name = tableNameOf(table);
    const known = this.#versions.get(table.featureId)?.row ?? this.#catalog.version(table.featureId);
    if (known && !isSameTable(tableOf(known), table))
      throw new OfflineStoreError(
        "refused",
        `${name} of type ${table.type} cannot be: the id is that of ${known.table_name} of type ${known.type}`,
      );
  }

  #insert({ table, keys, observedAt, knownAt, op, resolver, deploymentId }: TableRows, stored: readonly SqlValue[], now: number): void {
    const { insert } = this.#open(table);
    const resolverWord = this.#word(resolver);
    const deploymentWord = this.#word(deploymentId);
    for (let i = 0; i < keys.length; i++) {
      const key = keys[i] as string;
      const at = (observedAt[i] as number) + 0;
      const value = stored[i] as SqlValue;
      const sequence = ++this.#sequence;
      const known = knownAt ? (knownAt[i] as number) + 0 : null;
      const sum = checksum(key, op, [at, sequence, now, resolverWord, deploymentWord, known], value);
      insert.run(key, at, sequence, now, value, op, resolverWord, deploymentWord, sum, known);
    }
  }

  #open(table: VersionTable): OpenVersion {
    const known = this.#versions.get(table.featureId);
    if (known) return known;
    const row = this.#catalog.version(table.featureId) ?? this.#create(table);
    const insert: Insert = this.#db.prepare(
      `insert into "${row.table_name}" (pk, observed_at, seq, inserted_at, value, op, resolver, deployment, sum, known_at)
       values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    const version = { row, insert };
    this.#versions.set(table.featureId, version);
    return version;
  }

  #create(table: VersionTable): VersionRow {
    const row: Omit<VersionRow, "sum"> = {
      fid: table.featureId,
      environment_id: table.environmentId,
      ns: table.namespace,
      name: table.name,
      internal_version: table.internalVersion,
      type: table.type,
      table_name: tableNameOf(table),
    };
    const sum = sumOfVersion(row);
    createVersionTable(this.#db, row.table_name, row.type);
    this.#db
      .query("insert into version (fid, environment_id, ns, name, internal_version, type, table_name, sum) values (?, ?, ?, ?, ?, ?, ?, ?)")
      .run(row.fid, row.environment_id, row.ns, row.name, row.internal_version, row.type, row.table_name, sum);
    return { ...row, sum };
  }

  #word(text: string): number {
    const known = this.#words.get(text) ?? this.#catalog.wordId(text);
    const id = known ?? (this.#db.query<{ last: number | null }, []>("select max(id) as last from word").get()?.last ?? 0) + 1;
    if (known === undefined) this.#db.query("insert into word (id, text, sum) values (?, ?, ?)").run(id, text, sumOfWord(id, text));
    this.#words.set(text, id);
    return id;
  }

  #transaction(work: () => void): void {
    const sequence = this.#sequence;
    this.#db.run("begin immediate");
    try {
      work();
      this.#db.run("commit");
    } catch (error) {
      if (this.#db.inTransaction) this.#db.run("rollback");
      this.#sequence = sequence;
      this.#forget();
      throw error;
    }
  }

  /** Clears cached versions and words, which may not be in the file. */
  #forget(): void {
    for (const { insert } of this.#versions.values()) insert.finalize();
    this.#versions.clear();
    this.#words.clear();
  }
}
