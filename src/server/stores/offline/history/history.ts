/**
 * The owner of `offline.duckdb`: the history of features, to which observations are moved from
 * `offline.db`. Runs in a process of its own; no other one can open the file. All methods of
 * reading see what was moved before; each has a connection of its own.
 */

import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { type DuckDBConnection, DuckDBDataChunk, DuckDBInstance, type DuckDBType, type DuckDBValue } from "@duckdb/node-api";
import { syncFolder } from "../../../../disk/private-file.ts";
import type { FeatureValue } from "../../../../domain/value.ts";
import type { ColumnType } from "../column-type.ts";
import { damaged } from "../damage.ts";
import type { VersionRow, VersionTable } from "../schema.ts";
import {
  type LatestTuple,
  type Observation,
  type ObservedBounds,
  OfflineStoreError,
  type SampleBounds,
  type SampledColumn,
  type SampledFeature,
  type ScanOptions,
  type Spine,
} from "../store.ts";
import type { StoredRow } from "../stored-row.ts";
import { Landing, type MovedRange } from "./landing.ts";
import { insertedSql, joinedSql, observedSql, sqlNumber } from "./sampling.ts";
import {
  createTableSql,
  HISTORY_SCHEMA,
  HISTORY_VERSION,
  type HistoryTable,
  KEY_TYPES,
  type KeyKind,
  literal,
  nameOfTable,
  untagged,
} from "./tables.ts";
import { fromHistory, toHistory } from "./values.ts";

/** Settings of the owner. */
export interface HistorySettings {
  /** Absolute path of `offline.duckdb`. */
  readonly path: string;
  /** Absolute path of `offline.db`. */
  readonly landing: string;
  /** Options of the engine: its limits of memory, threads and temporary files. */
  readonly engine: Readonly<Record<string, string>>;
  /** Rows that one move takes. */
  readonly rowsPerMove: number;
  /** Rows out of order in a table that make it be written anew. */
  readonly unorderedRows: number;
}

/** What is known of the file as a whole. */
export interface HistoryFacts {
  /** Number of the last move; 0 = none yet. */
  readonly moves: number;
  /** The last sequence of the rows that were moved. */
  readonly sequence: number;
}

/** One move, which landing then forgets. */
export interface Move extends HistoryFacts {
  readonly ranges: readonly MovedRange[];
  /** What `ranges` holds was stored until this sequence. */
  readonly until: number;
  /** Rows of the history by environment. */
  readonly environments: readonly (readonly [environmentId: string, rows: number])[];
  /** Whether more waits up to the sequence that was asked for. */
  readonly isMore: boolean;
}

/** Most rows of the engine's vectors. */
const CHUNK_ROWS = 2_048;
/** The smallest part of a table's rows whose deletion makes it be written anew. */
const DELETED_PART = 0.1;
/** Deleted rows below which that does not happen. */
const FEW_DELETED = 100_000;
const KINDS: readonly KeyKind[] = ["i", "s"];
/** Columns of a table of observations. */
const COLUMNS = 11;

/** The file, opened. */
export class History {
  readonly #tables: HistoryTable[] = [];
  readonly #features = new Map<number, VersionTable>();
  readonly #words = new Map<number, string>();
  readonly #running = new Map<number, DuckDBConnection>();
  #facts: HistoryFacts = { moves: 0, sequence: 0 };
  /** The last move, until landing has forgotten it. */
  #pending: Move | undefined;
  /** The last change of the file, and of what is known of it: one at a time. */
  #changing: Promise<unknown> = Promise.resolve();

  private constructor(
    readonly settings: HistorySettings,
    readonly db: DuckDBInstance,
    readonly connection: DuckDBConnection,
  ) {}

  /** Opens or creates the file. */
  static async open(settings: HistorySettings): Promise<History> {
    const isNew = !existsSync(settings.path);
    const db = await DuckDBInstance.create(settings.path, {
      ...settings.engine,
      autoinstall_known_extensions: "false",
      autoload_known_extensions: "false",
    });
    try {
      const connection = await db.connect();
      const history = new History(settings, db, connection);
      if (isNew || !(await history.#isMade())) await history.#create();
      await history.#load();
      syncFolder(dirname(settings.path));
      return history;
    } catch (error) {
      db.closeSync();
      throw error;
    }
  }

  facts(): HistoryFacts {
    return this.#facts;
  }

  /** Everything that a new landing takes over, when the one before was lost. */
  catalog() {
    return { ...this.#facts, words: [...this.#words], features: [...this.#features.values()] };
  }

  /**
   * Moves a page of what was stored until a sequence. The answer is durable; the next move happens
   * when landing has forgotten it, until then the same one is the answer.
   * @param forgotten the last move that landing has forgotten
   */
  move(until: number, forgotten: number): Promise<Move> {
    return this.#change(async () => {
      if (this.#pending && this.#pending.moves === forgotten + 1) return { ...this.#pending, isMore: true };
      if (forgotten !== this.#facts.moves)
        throw damaged(this.settings.path, `${this.settings.landing} knows of ${forgotten} moves, the history of ${this.#facts.moves}`);
      const landing = new Landing(this.settings.landing);
      try {
        if (landing.sequence() < this.#facts.sequence)
          throw damaged(this.settings.landing, "it is older than offline.duckdb beside it; the two are restored together");
        const page = landing.page(until, this.settings.rowsPerMove);
        const added = page.versions.filter(({ fid }) => !this.#features.has(fid));
        const nothing = page.rows.length === 0;
        if (nothing && added.length === 0) return { ...this.#facts, ranges: [], environments: [], until: page.sequence, isMore: false };
        const moves = this.#facts.moves + (nothing ? 0 : 1);
        const sequence = page.rows.reduce(
          (last, { rows }) => rows.reduce((most, row) => Math.max(most, Number(row[2])), last),
          this.#facts.sequence,
        );
        const planned: Move = {
          moves,
          sequence,
          ranges: page.ranges,
          environments: [],
          until: page.sequence,
          isMore: page.isMore,
        };
        const move = await this.#transaction(async () => {
          await this.#addFeatures(added);
          await this.#insert(page.rows, landing);
          const done = { ...planned, environments: this.#environments() };
          await this.#setFact("moves", String(moves));
          await this.#setFact("sequence", String(sequence));
          await this.#setFact("pending", nothing ? "" : JSON.stringify(done));
          return done;
        });
        this.#facts = { moves, sequence };
        this.#pending = nothing ? undefined : move;
        return move;
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
        for (const kind of KINDS) {
          const found = keys.map(untagged).filter((key) => key?.kind === kind);
          if (found.length === 0) continue;
          await this.connection.run(`create or replace temp table doomed (key ${kind === "i" ? "bigint" : "varchar"})`);
          await this.#append("doomed", [found.map((key) => key?.key ?? null)]);
          for (const table of this.#tables.filter(({ keys: of }) => of === kind)) {
            const ids = featureIds.filter((id) => this.#isIn(table, id));
            if (ids.length === 0) continue;
            removed += await this.#deleteFrom(
              table,
              `feature in (${ids.join(", ")}) and key in (select key from doomed) and (observed_at <= ${sqlNumber(until)} or inserted_at <= ${sqlNumber(until)})`,
            );
          }
          await this.connection.run("drop table doomed");
        }
        return removed;
      }),
    );
  }

  /** Removes a version with all its observations. */
  async dropVersion(featureId: number): Promise<void> {
    await this.#change(() =>
      this.#transaction(async () => {
        for (const table of this.#tables.filter((one) => this.#isIn(one, featureId)))
          await this.#deleteFrom(table, `feature = ${featureId}`);
        await this.connection.run(`delete from feature where id = ${featureId}`);
        this.#features.delete(featureId);
      }),
    );
  }

  /** Writes tables anew that are out of order, or of which much was deleted. Returns their number. */
  async compact(): Promise<number> {
    let compacted = 0;
    for (const { number } of [...this.#tables])
      await this.#change(async () => {
        const table = this.#tables.find((one) => one.number === number);
        if (!table || !this.#isCompactable(table)) return;
        const name = nameOfTable(table);
        await this.#transaction(async () => {
          await this.connection.run(createTableSql(table, "compacted"));
          await this.connection.run(`insert into compacted select * from ${name} order by feature, key, observed_at, sequence`);
          await this.connection.run(`drop table ${name}`);
          await this.connection.run(`alter table compacted rename to ${name}`);
          await this.#setCounts({ ...table, unordered: 0, deleted: 0 });
        });
        await this.connection.run("force checkpoint");
        compacted++;
      });
    return compacted;
  }

  /** As `OfflineStore.sample`. */
  sample(call: number, spine: Spine, features: readonly SampledFeature[], bounds: SampleBounds): Promise<SampledColumn[]> {
    return this.#reading(call, async (connection) => {
      const kinds = new Set<KeyKind>();
      for (const kind of KINDS) {
        const rows = spine.keys.flatMap((text, rn) => {
          const key = untagged(text);
          return key?.kind === kind ? [[rn, key.key] as const] : [];
        });
        if (rows.length === 0) continue;
        kinds.add(kind);
        await connection.run(`create temp table spine_${kind} (rn bigint, k ${kind === "i" ? "bigint" : "varchar"}, t double)`);
        await this.#append(
          `spine_${kind}`,
          [rows.map(([rn]) => BigInt(rn)), rows.map(([, key]) => key), rows.map(([rn]) => timeOf(spine, rn))],
          connection,
        );
      }
      const columns: SampledColumn[] = [];
      for (const { featureId, ttlMs = Number.POSITIVE_INFINITY } of features) {
        const values = new Array<FeatureValue>(spine.keys.length).fill(null);
        const observedAt = new Float64Array(spine.keys.length).fill(Number.NaN);
        const insertedAt = new Float64Array(spine.keys.length).fill(Number.NaN);
        let changedIfAsKnown = 0;
        for (const table of this.#tablesOf(featureId).filter(({ keys }) => kinds.has(keys))) {
          const joined = (asKnown: boolean) =>
            joinedSql(`spine_${table.keys}`, { table: nameOfTable(table), featureId }, ttlMs, bounds, asKnown);
          await connection.run(`create or replace temp table sampled as ${joined(false)}`);
          const late = Number((await this.#rows(connection, "select count(*) from sampled where late"))[0]?.[0] ?? 0);
          changedIfAsKnown += late;
          if (bounds.asKnown && late > 0) await connection.run(`create or replace temp table sampled as ${joined(true)}`);
          const found = "select rn, value, exact, observed_at, inserted_at from sampled where observed_at is not null";
          for (const [rn, value, exact, observed, inserted] of await this.#rows(connection, found)) {
            const row = Number(rn);
            values[row] = fromHistory(table.type, value as DuckDBValue, exact as DuckDBValue);
            observedAt[row] = observed as number;
            insertedAt[row] = inserted as number;
          }
        }
        columns.push({ featureId, values, observedAt, insertedAt, changedIfAsKnown });
      }
      return columns;
    });
  }

  /** As `OfflineStore.scanKeys`, in no order. */
  scanKeys(call: number, environmentId: string, namespace: string, bounds: ObservedBounds, limit?: number): Promise<string[]> {
    return this.#reading(call, async (connection) => {
      const sql = this.#keysSql(environmentId, namespace, bounds);
      if (!sql) return [];
      const rows = await this.#rows(
        connection,
        `select key from (${sql}) ${limit === undefined ? "" : `order by hash(key), key limit ${limit}`}`,
      );
      return rows.map(([key]) => key as string);
    });
  }

  /** As `OfflineStore.scan`. */
  scan(call: number, featureId: number, options: ScanOptions): Promise<Observation[]> {
    return this.#reading(call, async (connection) => {
      const { after } = options;
      const position = after && untagged(after.key);
      const found: Observation[] = [];
      for (const table of this.#tablesOf(featureId)) {
        if (found.length >= options.limit || (position?.kind === "s" && table.keys === "i")) continue;
        const from = `$1::${KEY_TYPES[table.keys]}`;
        const isAfter =
          after && position?.kind === table.keys
            ? [
                `key >= ${from} and (key > ${from} or observed_at > ${sqlNumber(after.observedAt)} or (observed_at = ${sqlNumber(after.observedAt)} and sequence > ${after.sequence}))`,
              ]
            : [];
        const rows = await this.#rows(
          connection,
          `select key, observed_at, sequence, inserted_at, coalesce(known_at, inserted_at), value, exact, resolver, deployment, operation
           from ${nameOfTable(table)} where ${[`feature = ${featureId}`, ...observedSql(options), ...insertedSql(options), ...isAfter].join(" and ")}
           order by key, observed_at, sequence limit ${options.limit - found.length}`,
          isAfter.length > 0 && position ? [position.key] : [],
        );
        for (const [key, observedAt, sequence, insertedAt, knownAt, value, exact, resolver, deployment, op] of rows)
          found.push({
            key: `${table.keys}:${key}`,
            observedAt: observedAt as number,
            sequence: Number(sequence),
            insertedAt: insertedAt as number,
            knownAt: knownAt as number,
            value: fromHistory(table.type, value as DuckDBValue, exact as DuckDBValue),
            resolver: this.#word(resolver as number),
            deploymentId: this.#word(deployment as number),
            op: op as string,
          });
      }
      return found;
    });
  }

  /** As `OfflineStore.latest`. */
  latest(
    call: number,
    featureIds: readonly number[],
    { after, limit }: { readonly after?: string; readonly limit: number },
  ): Promise<LatestTuple[]> {
    return this.#reading(call, async (connection) => {
      const position = after === undefined ? undefined : untagged(after);
      const tuples: LatestTuple[] = [];
      for (const kind of KINDS) {
        if (tuples.length >= limit || (position?.kind === "s" && kind === "i")) continue;
        const tables = featureIds.map((id) => this.#tablesOf(id).find(({ keys }) => keys === kind));
        const [first] = tables;
        if (!first || tables.includes(undefined)) continue;
        const isAfter = position?.kind === kind ? ` and key > $1::${KEY_TYPES[kind]}` : "";
        const parts = (tables as HistoryTable[]).map(
          (table, n) => `(select key, observed_at, value, exact from ${nameOfTable(table)} where feature = ${featureIds[n]}${isAfter}
            qualify row_number() over (partition by key order by observed_at desc, sequence desc) = 1) f${n}`,
        );
        const columns = parts.map((_, n) => `f${n}.observed_at, f${n}.value, f${n}.exact`);
        const joined = parts.slice(1).reduce((sql, part, n) => `${sql} join ${part} on f${n + 1}.key = f0.key`, parts[0] as string);
        const rows = await this.#rows(
          connection,
          `select f0.key, ${columns.join(", ")} from ${joined} order by f0.key limit ${limit - tuples.length}`,
          isAfter && position ? [position.key] : [],
        );
        for (const [key, ...cells] of rows)
          tuples.push({
            key: `${kind}:${key}`,
            observedAt: Math.max(...tables.map((_, n) => cells[n * 3] as number)),
            values: (tables as HistoryTable[]).map(({ type }, n) =>
              fromHistory(type, cells[n * 3 + 1] as DuckDBValue, cells[n * 3 + 2] as DuckDBValue),
            ),
          });
      }
      return tuples;
    });
  }

  /** Interrupts a call that reads. */
  interrupt(call: number): void {
    this.#running.get(call)?.interrupt();
  }

  /** Closes the file. */
  async close(): Promise<void> {
    await this.#changing.catch(() => undefined);
    this.connection.closeSync();
    this.db.closeSync();
  }

  async #isMade(): Promise<boolean> {
    return (await this.#rows(this.connection, "select 1 from duckdb_tables() where table_name = 'fact'")).length > 0;
  }

  async #create(): Promise<void> {
    await this.connection.run(
      `begin; ${HISTORY_SCHEMA} insert into fact values ('version', '${HISTORY_VERSION}'), ('moves', '0'), ('sequence', '0'), ('pending', ''); commit`,
    );
  }

  /** Reads what is known of the file. */
  async #load(): Promise<void> {
    const facts = new Map((await this.#rows(this.connection, "select name, value from fact")) as [string, string][]);
    if (facts.get("version") !== String(HISTORY_VERSION))
      throw new OfflineStoreError(
        "unusable",
        `${this.settings.path} has the schema ${facts.get("version")}, and this version of svc knows ${HISTORY_VERSION}. Use the version that wrote it, or a newer one.`,
      );
    this.#facts = { moves: Number(facts.get("moves")), sequence: Number(facts.get("sequence")) };
    const pending = facts.get("pending");
    this.#pending = pending ? (JSON.parse(pending) as Move) : undefined;
    this.#words.clear();
    for (const [id, text] of await this.#rows(this.connection, "select id, text from word")) this.#words.set(id as number, text as string);
    this.#features.clear();
    const features = "select id, environment, namespace, name, internal_version, type from feature";
    for (const [id, environmentId, namespace, name, internalVersion, type] of (await this.#rows(this.connection, features)) as [
      bigint,
      string,
      string,
      string,
      number,
      ColumnType,
    ][])
      this.#features.set(Number(id), { featureId: Number(id), environmentId, namespace, name, internalVersion, type });
    this.#tables.length = 0;
    const tables = "select number, environment, namespace, type, keys, rows, unordered, deleted from history order by number";
    for (const [number, environmentId, namespace, type, keys, rows, unordered, deleted] of (await this.#rows(this.connection, tables)) as [
      number,
      string,
      string,
      ColumnType,
      KeyKind,
      bigint,
      bigint,
      bigint,
    ][])
      this.#tables.push({
        number,
        environmentId,
        namespace,
        type,
        keys,
        rows: Number(rows),
        unordered: Number(unordered),
        deleted: Number(deleted),
      });
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
      syncFolder(dirname(this.settings.path));
      return result;
    } catch (error) {
      await this.connection.run("rollback").catch(() => undefined);
      await this.#load();
      throw error;
    }
  }

  /** Runs work that reads, on a connection of its own with temporary tables of its own. */
  async #reading<T>(call: number, work: (connection: DuckDBConnection) => Promise<T>): Promise<T> {
    const connection = await this.db.connect();
    this.#running.set(call, connection);
    try {
      return await work(connection);
    } finally {
      this.#running.delete(call);
      connection.closeSync();
    }
  }

  async #rows(connection: DuckDBConnection, sql: string, values: DuckDBValue[] = []): Promise<DuckDBValue[][]> {
    return (await connection.runAndReadAll(sql, values)).getRows();
  }

  /** Appends columns to a table. */
  async #append(table: string, columns: readonly (readonly DuckDBValue[])[], connection = this.connection): Promise<void> {
    const appender = await connection.createAppender(table);
    try {
      const types = columns.map((_, column) => appender.columnType(column));
      const rows = columns[0]?.length ?? 0;
      for (let at = 0; at < rows; at += CHUNK_ROWS) appender.appendDataChunk(chunkOf(types, columns, at, Math.min(at + CHUNK_ROWS, rows)));
      appender.flushSync();
    } finally {
      appender.closeSync();
    }
  }

  async #addFeatures(versions: readonly VersionRow[]): Promise<void> {
    if (versions.length === 0) return;
    await this.#append("feature", [
      versions.map(({ fid }) => BigInt(fid)),
      versions.map(({ environment_id }) => environment_id),
      versions.map(({ ns }) => ns),
      versions.map(({ name }) => name),
      versions.map(({ internal_version }) => internal_version),
      versions.map(({ type }) => type),
    ]);
    for (const { fid, environment_id, ns, name, internal_version, type } of versions)
      this.#features.set(fid, { featureId: fid, environmentId: environment_id, namespace: ns, name, internalVersion: internal_version, type });
  }

  /** Appends a page to its tables, in the order of landing: by feature and key. */
  async #insert(page: readonly { readonly version: VersionRow; readonly rows: readonly StoredRow[] }[], landing: Landing): Promise<void> {
    const columnsOf = new Map<HistoryTable, DuckDBValue[][]>();
    const words: [number, string][] = [];
    const wordOf = (id: bigint): number => {
      const number = Number(id);
      if (!this.#words.has(number)) {
        const text = landing.word(number);
        words.push([number, text]);
        this.#words.set(number, text);
      }
      return number;
    };
    for (const { version, rows } of page) {
      const feature = BigInt(version.fid);
      for (const [pk, observedAt, sequence, insertedAt, stored, op, resolver, deployment, , knownAt] of rows) {
        const key = untagged(pk);
        if (!key) throw damaged(landing.path, `${version.table_name} has the key ${JSON.stringify(pk)}`);
        const table = this.#tableOf(version, key.kind) ?? (await this.#createTable(version, key.kind));
        const columns = columnsOf.get(table) ?? Array.from({ length: COLUMNS }, () => []);
        columnsOf.set(table, columns);
        const row = [
          feature,
          key.key,
          ...toHistory(version.type, stored),
          Number(observedAt),
          Number(insertedAt),
          knownAt === null ? null : Number(knownAt),
          sequence,
          wordOf(resolver),
          wordOf(deployment),
          op,
        ];
        for (const [column, cell] of row.entries()) columns[column]?.push(cell);
      }
    }
    if (words.length > 0) await this.#append("word", [words.map(([id]) => id), words.map(([, text]) => text)]);
    for (const [table, columns] of columnsOf) {
      await this.#append(nameOfTable(table), columns);
      const rows = columns[0]?.length ?? 0;
      await this.#setCounts({ ...table, rows: table.rows + rows, unordered: table.unordered + rows });
    }
  }

  /** Rows by environment. */
  #environments(): [string, number][] {
    const rows = new Map<string, number>();
    for (const table of this.#tables) rows.set(table.environmentId, (rows.get(table.environmentId) ?? 0) + table.rows);
    return [...rows];
  }

  async #createTable({ environment_id, ns, type }: VersionRow, keys: KeyKind): Promise<HistoryTable> {
    const number = this.#tables.reduce((last, one) => Math.max(last, one.number), 0) + 1;
    const table = { number, environmentId: environment_id, namespace: ns, type, keys, rows: 0, unordered: 0, deleted: 0 };
    await this.connection.run(createTableSql(table));
    await this.connection.run(
      `insert into history values (${number}, ${literal(environment_id)}, ${literal(ns)}, '${type}', '${keys}', 0, 0, 0)`,
    );
    this.#tables.push(table);
    return table;
  }

  async #deleteFrom(table: HistoryTable, condition: string): Promise<number> {
    const { rowsChanged } = await this.connection.run(`delete from ${nameOfTable(table)} where ${condition}`);
    if (rowsChanged > 0) await this.#setCounts({ ...table, rows: table.rows - rowsChanged, deleted: table.deleted + rowsChanged });
    return rowsChanged;
  }

  async #setCounts({ number, rows, unordered, deleted }: HistoryTable): Promise<void> {
    await this.connection.run(`update history set rows = ${rows}, unordered = ${unordered}, deleted = ${deleted} where number = ${number}`);
    const table = this.#tables.find((one) => one.number === number);
    if (table) Object.assign(table, { rows, unordered, deleted });
  }

  async #setFact(name: string, value: string): Promise<void> {
    await this.connection.run(`update fact set value = ${literal(value)} where name = '${name}'`);
  }

  #isCompactable({ rows, unordered, deleted }: HistoryTable): boolean {
    return (
      (unordered > this.settings.unorderedRows && unordered > rows * DELETED_PART) ||
      (deleted > Math.min(FEW_DELETED, this.settings.unorderedRows) && deleted > rows * DELETED_PART)
    );
  }

  #isIn({ environmentId, namespace, type }: HistoryTable, featureId: number): boolean {
    const feature = this.#features.get(featureId);
    return feature !== undefined && feature.environmentId === environmentId && feature.namespace === namespace && feature.type === type;
  }

  /** The tables with a feature's observations: those of integer keys first. */
  #tablesOf(featureId: number): HistoryTable[] {
    const tables = this.#tables.filter((table) => this.#isIn(table, featureId));
    return KINDS.flatMap((kind) => tables.filter(({ keys }) => keys === kind));
  }

  #tableOf({ environment_id, ns, type }: VersionRow, kind: KeyKind): HistoryTable | undefined {
    return this.#tables.find(
      (table) => table.keys === kind && table.type === type && table.environmentId === environment_id && table.namespace === ns,
    );
  }

  /** The keys of a namespace's newest versions, with their tags; undefined when there are none. */
  #keysSql(environmentId: string, namespace: string, bounds: ObservedBounds): string | undefined {
    const newest = new Map<string, VersionTable>();
    for (const feature of this.#features.values()) {
      if (feature.environmentId !== environmentId || feature.namespace !== namespace) continue;
      if (feature.internalVersion > (newest.get(feature.name)?.internalVersion ?? 0)) newest.set(feature.name, feature);
    }
    const parts = this.#tables.flatMap((table) => {
      const ids = [...newest.values()].filter(({ featureId }) => this.#isIn(table, featureId)).map(({ featureId }) => featureId);
      if (ids.length === 0) return [];
      const conditions = [`feature in (${ids.join(", ")})`, ...observedSql(bounds)];
      return [`select distinct '${table.keys}:' || key as key from ${nameOfTable(table)} where ${conditions.join(" and ")}`];
    });
    return parts.length === 0 ? undefined : parts.join(" union ");
  }

  #word(id: number): string {
    const text = this.#words.get(id);
    if (text === undefined) throw damaged(this.settings.path, `word ${id} is missing`);
    return text;
  }
}

/** The time of a spine's row; a time that is no number is none. */
function timeOf({ times }: Spine, row: number): number | null {
  const time = times[row] as number;
  return Number.isNaN(time) ? null : time;
}

function chunkOf(types: readonly DuckDBType[], columns: readonly (readonly DuckDBValue[])[], from: number, to: number): DuckDBDataChunk {
  const chunk = DuckDBDataChunk.create(types, to - from);
  for (const [column, values] of columns.entries()) chunk.setColumnValues(column, values.slice(from, to));
  return chunk;
}
