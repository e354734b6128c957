/**
 * The owner of `offline.duckdb`: the history of features, to which observations are moved from
 * `offline.db`. Runs in a process of its own; no other one can open the file. All methods of
 * reading see what was moved before, each on a connection of its own, and have a number by which
 * they can be interrupted.
 */

import { dirname } from "node:path";
import { syncFolder } from "../../../../disk/private-file.ts";
import { errorText } from "../../../../domain/error-text.ts";
import { DatabaseProcess, type DatabaseSettings } from "../../../tables/duckdb/database-process.ts";
import { damaged } from "../damage.ts";
import type { VersionRow, VersionTable } from "../schema.ts";
import {
  BYTES_BESIDE,
  HOUR_MS,
  type HourOfHistory,
  type LatestTuple,
  type Observation,
  type ObservedBounds,
  type SampleBounds,
  type SampledColumn,
  type SampledFeature,
  type ScanOptions,
  type Spine,
  type TableSampled,
  type TableSampling,
} from "../store.ts";
import type { StoredRow } from "../stored-row.ts";
import { HistoryCatalog, KEY_KINDS } from "./catalog.ts";
import { type Cell, Connection } from "./connection.ts";
import { HistoryFiles } from "./files.ts";
import { toHistory } from "./history-value.ts";
import { Landing } from "./landing.ts";
import type { HistoryFacts, Move } from "./move.ts";
import { HistoryReads } from "./reads.ts";
import { sqlNumber } from "./sampling.ts";
import { createTableSql, type HistoryTable, KEY_CELLS, type KeyKind, nameOfTable, observationCells, untagged } from "./tables.ts";

/** Settings of the owner; `file` is the absolute path of `offline.duckdb`. */
export interface HistorySettings extends DatabaseSettings {
  /** Absolute path of `offline.db`. */
  readonly landing: string;
  /** Rows that one move takes. */
  readonly rowsPerMove: number;
  /** Rows out of order in a table that make it be written anew. */
  readonly unorderedRows: number;
}

/** What a new landing takes over, when the one before was lost. */
export interface Adopted extends HistoryFacts {
  readonly words: readonly (readonly [id: number, text: string])[];
  readonly features: readonly VersionTable[];
}

/** The part of a table's rows that is out of order, or deleted, when it is written anew. */
const COMPACTED_PART = 0.1;
/** Deleted rows below which that does not happen. */
const FEW_DELETED = 100_000;

/** Milliseconds to wait for the process of a server that was killed to let go of the file. */
const LOCKED_MS = 10_000;
const LOCKED_STEP_MS = 50;

async function opened(settings: HistorySettings): Promise<DatabaseProcess> {
  const until = performance.now() + LOCKED_MS;
  for (;;) {
    try {
      return await DatabaseProcess.open(settings);
    } catch (error) {
      if (!/could not set lock|conflicting lock/i.test(errorText(error)) || performance.now() > until) throw error;
      await Bun.sleep(LOCKED_STEP_MS);
    }
  }
}

/** The file, opened. */
export class History {
  readonly #running = new Map<number, Connection>();
  /** The last change of the file: they happen one at a time. */
  #changing: Promise<unknown> = Promise.resolve();

  private constructor(
    readonly settings: HistorySettings,
    readonly database: DatabaseProcess,
    readonly connection: Connection,
    readonly catalog: HistoryCatalog,
  ) {}

  /** Opens or creates the file. */
  static async open(settings: HistorySettings): Promise<History> {
    const database = await opened(settings);
    const connection = await Connection.open(database);
    const catalog = new HistoryCatalog(settings.file, connection);
    await catalog.create();
    await catalog.load();
    syncFolder(dirname(settings.file));
    return new History(settings, database, connection, catalog);
  }

  /** How far it has got. */
  facts(): HistoryFacts {
    return this.catalog.facts;
  }

  /** What a new landing takes over. */
  adopted(): Adopted {
    return { ...this.catalog.facts, words: [...this.catalog.words], features: [...this.catalog.features.values()] };
  }

  /**
   * Moves a page of what was stored until a sequence. When it resolves, the page is on the disk.
   * The next one is moved when landing has forgotten it; until then it is the answer again.
   * @param forgotten the last move that landing has forgotten
   */
  move(until: number, forgotten: number): Promise<Move> {
    return this.#change(async () => {
      const { facts, pending } = this.catalog;
      if (pending && pending.moves === forgotten + 1) return { ...pending, isMore: true };
      if (forgotten !== facts.moves)
        throw damaged(this.settings.file, `${this.settings.landing} knows of ${forgotten} moves to it, and it of ${facts.moves}`);
      const landing = new Landing(this.settings.landing);
      try {
        if (landing.sequence() < facts.sequence)
          throw damaged(this.settings.landing, "it is older than offline.duckdb beside it, and the two are restored together");
        const page = landing.page(until, this.settings.rowsPerMove);
        const added = page.versions.filter(({ fid }) => !this.catalog.features.has(fid));
        const nothing: Move = { ...facts, ranges: [], until: page.sequence, environments: [], isMore: false };
        if (page.rows.length === 0 && added.length === 0) return nothing;
        return await this.#transaction(async () => {
          await this.catalog.addFeatures(added);
          if (page.rows.length === 0) return nothing;
          const sequence = await this.#insert(page.rows, landing);
          const move: Move = {
            moves: facts.moves + 1,
            sequence: Math.max(facts.sequence, sequence),
            ranges: page.ranges,
            until: page.sequence,
            environments: this.catalog.environments(),
            isMore: page.isMore,
          };
          await this.catalog.setMove(move);
          return move;
        });
      } finally {
        landing.close();
      }
    });
  }

  /** Removes observations as `OfflineStore.deleteKeys` says. */
  deleteKeys(featureIds: readonly number[], keys: readonly string[], until = Number.POSITIVE_INFINITY): Promise<number> {
    return this.#change(() =>
      this.#transaction(async () => {
        let removed = 0;
        for (const kind of KEY_KINDS) {
          const cells = keys.flatMap((text) => {
            const key = untagged(text);
            return key?.kind === kind ? [key.key] : [];
          });
          const tables = this.catalog.tables.filter((table) => table.keys === kind);
          if (cells.length === 0 || tables.length === 0) continue;
          await this.connection.run(`create or replace temp table doomed (key ${kind === "i" ? "bigint" : "varchar"})`);
          await this.connection.append("doomed", [KEY_CELLS[kind]], [cells]);
          for (const table of tables) {
            const ids = featureIds.filter((id) => this.catalog.isIn(table, id));
            if (ids.length === 0) continue;
            const isMeant = `feature in (${ids.join(", ")}) and key in (select key from doomed)`;
            removed += await this.#deleteFrom(
              table,
              `${isMeant} and (observed_at <= ${sqlNumber(until)} or inserted_at <= ${sqlNumber(until)})`,
            );
          }
          await this.connection.run("drop table doomed");
        }
        return removed;
      }),
    );
  }

  /** The hours of an environment's history, as `OfflineStore.hours` says. */
  async hours(environmentId: string): Promise<HourOfHistory[]> {
    const hours = new Map<number, number>();
    for (const table of this.catalog.tables) {
      if (table.environmentId !== environmentId) continue;
      const size = (column: string): string => `coalesce(strlen(cast(${column} as varchar)), 0)`;
      const rows = await this.connection.rows(
        `select floor(observed_at / ${HOUR_MS}), cast(sum(${size("key")} + ${size("value")} + ${BYTES_BESIDE}) as double)
         from ${nameOfTable(table)} group by 1`,
        ["double", "double"],
      );
      for (const [hour, bytes] of rows as [number, number][]) hours.set(hour, (hours.get(hour) ?? 0) + bytes);
    }
    return [...hours].sort(([a], [b]) => a - b).map(([hour, bytes]) => ({ from: hour * HOUR_MS, bytes }));
  }

  /** Removes old observations as `OfflineStore.trim` says. */
  trim(environmentId: string, observedBefore: number): Promise<number> {
    return this.#change(() =>
      this.#transaction(async () => {
        let removed = 0;
        for (const table of this.catalog.tables.filter((one) => one.environmentId === environmentId))
          removed += await this.#deleteFrom(table, `observed_at < ${sqlNumber(observedBefore)}`);
        return removed;
      }),
    );
  }

  /** Removes a version with all its observations. */
  dropVersion(featureId: number): Promise<void> {
    return this.#change(() =>
      this.#transaction(async () => {
        for (const table of this.catalog.tablesOf(featureId)) await this.#deleteFrom(table, `feature = ${featureId}`);
        await this.catalog.removeFeature(featureId);
      }),
    );
  }

  /**
   * Writes tables anew, in order, of which much is out of order or was deleted, which gives the
   * deleted rows' space up. Returns the number of tables.
   */
  async compact(): Promise<number> {
    let compacted = 0;
    for (const { number } of [...this.catalog.tables])
      await this.#change(async () => {
        const table = this.catalog.tables.find((one) => one.number === number);
        if (!table || !this.#isCompactable(table)) return;
        const name = nameOfTable(table);
        await this.#transaction(async () => {
          await this.connection.run(createTableSql(table, "compacted"));
          await this.connection.run(`insert into compacted select * from ${name} order by feature, key, observed_at, sequence`);
          await this.connection.run(`drop table ${name}`);
          await this.connection.run(`alter table compacted rename to ${name}`);
          await this.catalog.setCounts(table, { unordered: 0, deleted: 0 });
        });
        compacted++;
      });
    return compacted;
  }

  /** As `OfflineStore.sample`. */
  sample(call: number, spine: Spine, features: readonly SampledFeature[], bounds: SampleBounds): Promise<SampledColumn[]> {
    return this.#reading(call, (reads) => reads.sample(spine, features, bounds));
  }

  /** As `OfflineStore.scanKeys`, in no order. */
  scanKeys(call: number, environmentId: string, namespace: string, bounds: ObservedBounds, limit?: number): Promise<string[]> {
    return this.#reading(call, (reads) => reads.scanKeys(environmentId, namespace, bounds, limit));
  }

  /** As `OfflineStore.scan`. */
  scan(call: number, featureId: number, options: ScanOptions): Promise<Observation[]> {
    return this.#reading(call, (reads) => reads.scan(featureId, options));
  }

  /** As `OfflineStore.latest`. */
  latest(call: number, featureIds: readonly number[], page: { readonly after?: string; readonly limit: number }): Promise<LatestTuple[]> {
    return this.#reading(call, (reads) => reads.latest(featureIds, page));
  }

  /** As `TableSampleable.sampleTable`. */
  sampleTable(call: number, sampling: TableSampling): Promise<TableSampled> {
    return this.#reading(call, (_, files) => files.sampleTable(sampling));
  }

  /** As `TableSampleable.exportHistory`; the type is bytes of its message. */
  exportHistory(
    call: number,
    feature: Parameters<HistoryFiles["exportHistory"]>[0],
    target: string,
    bounds: Parameters<HistoryFiles["exportHistory"]>[2],
  ): Promise<{ readonly rows: number }> {
    return this.#reading(call, (_, files) => files.exportHistory(feature, target, bounds));
  }

  /** As `TableSampleable.exportKeys`. */
  exportKeys(
    call: number,
    namespace: Parameters<HistoryFiles["exportKeys"]>[0],
    target: string,
    bounds: ObservedBounds,
    limit?: number,
  ): Promise<{ readonly rows: number }> {
    return this.#reading(call, (_, files) => files.exportKeys(namespace, target, bounds, limit));
  }

  /** Interrupts a call that reads. */
  interrupt(call: number): void {
    const connection = this.#running.get(call);
    if (connection) this.database.interrupt(connection.id);
  }

  /** Runs a change after all others. */
  #change<T>(work: () => Promise<T>): Promise<T> {
    const change = this.#changing.then(work);
    this.#changing = change.catch(() => undefined);
    return change;
  }

  /**
   * Runs work in a transaction. When it resolves, all of it is on the disk: a commit flushes the
   * log, but not the folder in which a log may be new.
   */
  async #transaction<T>(work: () => Promise<T>): Promise<T> {
    await this.connection.run("begin");
    try {
      const result = await work();
      await this.connection.run("commit");
      syncFolder(dirname(this.settings.file));
      return result;
    } catch (error) {
      await this.connection.run("rollback").catch(() => undefined);
      await this.catalog.load();
      throw error;
    }
  }

  async #reading<T>(call: number, work: (reads: HistoryReads, files: HistoryFiles) => Promise<T>): Promise<T> {
    const connection = await Connection.open(this.database);
    this.#running.set(call, connection);
    try {
      return await work(new HistoryReads(connection, this.catalog), new HistoryFiles(connection, this.catalog));
    } finally {
      this.#running.delete(call);
      connection.close();
    }
  }

  /**
   * Appends a page to its tables, in the order of landing: by feature and key. Returns the last
   * sequence of its rows.
   */
  async #insert(page: readonly { readonly version: VersionRow; readonly rows: readonly StoredRow[] }[], landing: Landing): Promise<number> {
    const columnsOf = new Map<HistoryTable, Cell[][]>();
    const words = new Map<number, string>();
    let last = 0;
    for (const { version, rows } of page) {
      const targets: Partial<Record<KeyKind, Cell[][]>> = {};
      for (const [pk, observedAt, sequence, insertedAt, stored, op, resolver, deployment, , knownAt] of rows) {
        const key = untagged(pk);
        if (!key) throw damaged(landing.path, `${version.table_name} has the key ${JSON.stringify(pk)}`);
        for (const id of [Number(resolver), Number(deployment)])
          if (!this.catalog.words.has(id) && !words.has(id)) words.set(id, landing.word(id));
        let columns = targets[key.kind];
        if (!columns) {
          const table = await this.catalog.tableFor(version, key.kind);
          columns = columnsOf.get(table) ?? observationCells(table).map(() => []);
          columnsOf.set(table, columns);
          targets[key.kind] = columns;
        }
        const [value, exact] = toHistory(version.type, stored);
        const known = knownAt === null ? null : Number(knownAt);
        const row = [version.fid, key.key, value, exact, Number(observedAt), Number(insertedAt), known, sequence, resolver, deployment, op];
        for (let column = 0; column < row.length; column++) columns[column]?.push(row[column] as Cell);
        last = Math.max(last, Number(sequence));
      }
    }
    await this.catalog.addWords(words);
    for (const [table, columns] of columnsOf) {
      const rows = columns[0]?.length ?? 0;
      await this.connection.append(nameOfTable(table), observationCells(table), columns);
      await this.catalog.setCounts(table, { rows: table.rows + rows, unordered: table.unordered + rows });
    }
    return last;
  }

  async #deleteFrom(table: HistoryTable, condition: string): Promise<number> {
    const removed = await this.connection.run(`delete from ${nameOfTable(table)} where ${condition}`);
    if (removed > 0) await this.catalog.setCounts(table, { rows: table.rows - removed, deleted: table.deleted + removed });
    return removed;
  }

  #isCompactable({ rows, unordered, deleted }: HistoryTable): boolean {
    const { unorderedRows } = this.settings;
    return (
      (unordered > unorderedRows && unordered > rows * COMPACTED_PART) ||
      (deleted > Math.min(FEW_DELETED, unorderedRows) && deleted > rows * COMPACTED_PART)
    );
  }
}
