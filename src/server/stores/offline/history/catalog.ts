/** What `offline.duckdb` says of itself: its tables, the versions of features, and words. */

import type { ColumnType } from "../column-type.ts";
import { damaged } from "../damage.ts";
import type { VersionRow, VersionTable } from "../schema.ts";
import { OfflineStoreError } from "../store.ts";
import type { Connection } from "./connection.ts";
import type { HistoryFacts, Move } from "./move.ts";
import { createTableSql, HISTORY_SCHEMA, HISTORY_VERSION, type HistoryTable, type KeyKind, literal, nameOfTable } from "./tables.ts";

/** Kinds of keys, in the order in which their rows come. */
export const KEY_KINDS: readonly KeyKind[] = ["i", "s"];

/** The catalog, read once and changed through the connection that writes. */
export class HistoryCatalog {
  readonly #tables: HistoryTable[] = [];
  readonly #features = new Map<number, VersionTable>();
  readonly #words = new Map<number, string>();
  #facts: HistoryFacts = { moves: 0, sequence: 0 };
  #pending: Move | undefined;

  constructor(
    readonly path: string,
    readonly connection: Connection,
  ) {}

  /** The last move, and the last sequence that was moved. */
  get facts(): HistoryFacts {
    return this.#facts;
  }

  /** The last move, until landing has forgotten it. */
  get pending(): Move | undefined {
    return this.#pending;
  }

  get tables(): readonly HistoryTable[] {
    return this.#tables;
  }

  get features(): ReadonlyMap<number, VersionTable> {
    return this.#features;
  }

  get words(): ReadonlyMap<number, string> {
    return this.#words;
  }

  /** Creates the tables unless they are there. */
  async create(): Promise<void> {
    const made = await this.connection.rows("select count(*) from duckdb_tables() where table_name = 'fact'", ["int64"]);
    if (made[0]?.[0] === 1) return;
    const facts = `insert into fact values ('version', '${HISTORY_VERSION}'), ('moves', '0'), ('sequence', '0'), ('pending', '')`;
    await this.connection.run(`begin; ${HISTORY_SCHEMA} ${facts}; commit`);
  }

  /** Reads all of it. */
  async load(): Promise<void> {
    const facts = new Map((await this.connection.rows("select name, value from fact", ["text", "text"])) as [string, string][]);
    if (facts.get("version") !== String(HISTORY_VERSION))
      throw new OfflineStoreError(
        "unusable",
        `${this.path} has version ${facts.get("version")} of its tables, and this svc knows version ${HISTORY_VERSION}. Use the svc that wrote it, or a newer one.`,
      );
    this.#facts = { moves: Number(facts.get("moves")), sequence: Number(facts.get("sequence")) };
    const pending = facts.get("pending");
    this.#pending = pending ? (JSON.parse(pending) as Move) : undefined;
    this.#words.clear();
    for (const [id, text] of (await this.connection.rows("select id, text from word", ["int64", "text"])) as [number, string][])
      this.#words.set(id, text);
    this.#features.clear();
    for (const [featureId, environmentId, namespace, name, internalVersion, type] of (await this.connection.rows(
      "select id, environment, namespace, name, internal_version, type from feature",
      ["int64", "text", "text", "text", "int64", "text"],
    )) as [number, string, string, string, number, ColumnType][])
      this.#features.set(featureId, { featureId, environmentId, namespace, name, internalVersion, type });
    this.#tables.length = 0;
    for (const [number, environmentId, namespace, type, keys, rows, unordered, deleted] of (await this.connection.rows(
      "select number, environment, namespace, type, keys, rows, unordered, deleted from history order by number",
      ["int64", "text", "text", "text", "text", "int64", "int64", "int64"],
    )) as [number, string, string, ColumnType, KeyKind, number, number, number][])
      this.#tables.push({ number, environmentId, namespace, type, keys, rows, unordered, deleted });
  }

  /** The text of a word. */
  word(id: number): string {
    const text = this.#words.get(id);
    if (text === undefined) throw damaged(this.path, `word ${id} is missing`);
    return text;
  }

  /** The tables with a version's observations: those of integer keys first. */
  tablesOf(featureId: number): HistoryTable[] {
    const tables = this.#tables.filter((table) => this.isIn(table, featureId));
    return KEY_KINDS.flatMap((kind) => tables.filter(({ keys }) => keys === kind));
  }

  /** Whether a version's observations are in a table. */
  isIn({ environmentId, namespace, type }: HistoryTable, featureId: number): boolean {
    const feature = this.#features.get(featureId);
    return feature !== undefined && feature.environmentId === environmentId && feature.namespace === namespace && feature.type === type;
  }

  /** The newest version of each feature of a namespace. */
  current(environmentId: string, namespace: string): VersionTable[] {
    const newest = new Map<string, VersionTable>();
    for (const feature of this.#features.values()) {
      if (feature.environmentId !== environmentId || feature.namespace !== namespace) continue;
      if (feature.internalVersion > (newest.get(feature.name)?.internalVersion ?? 0)) newest.set(feature.name, feature);
    }
    return [...newest.values()];
  }

  /** Rows by environment. */
  environments(): [environmentId: string, rows: number][] {
    const rows = new Map<string, number>();
    for (const table of this.#tables) rows.set(table.environmentId, (rows.get(table.environmentId) ?? 0) + table.rows);
    return [...rows];
  }

  /** Adds versions. All that follows is part of the connection's transaction. */
  async addFeatures(versions: readonly VersionRow[]): Promise<void> {
    if (versions.length === 0) return;
    await this.connection.append(
      "feature",
      ["int64", "text", "text", "text", "int64", "text"],
      [
        versions.map(({ fid }) => fid),
        versions.map(({ environment_id }) => environment_id),
        versions.map(({ ns }) => ns),
        versions.map(({ name }) => name),
        versions.map(({ internal_version }) => internal_version),
        versions.map(({ type }) => type),
      ],
    );
    for (const { fid, environment_id, ns, name, internal_version, type } of versions)
      this.#features.set(fid, {
        featureId: fid,
        environmentId: environment_id,
        namespace: ns,
        name,
        internalVersion: internal_version,
        type,
      });
  }

  /** Removes a version. */
  async removeFeature(featureId: number): Promise<void> {
    await this.connection.run(`delete from feature where id = ${featureId}`);
    this.#features.delete(featureId);
  }

  /** Adds words. */
  async addWords(words: ReadonlyMap<number, string>): Promise<void> {
    if (words.size === 0) return;
    await this.connection.append("word", ["int64", "text"], [[...words.keys()], [...words.values()]]);
    for (const [id, text] of words) this.#words.set(id, text);
  }

  /** The table of a version's observations with keys of a kind; it is made when there is none. */
  async tableFor({ environment_id, ns, type }: VersionRow, keys: KeyKind): Promise<HistoryTable> {
    const known = this.#tables.find(
      (table) => table.keys === keys && table.type === type && table.environmentId === environment_id && table.namespace === ns,
    );
    if (known) return known;
    const number = this.#tables.reduce((last, one) => Math.max(last, one.number), 0) + 1;
    const table = { number, environmentId: environment_id, namespace: ns, type, keys, rows: 0, unordered: 0, deleted: 0 };
    await this.connection.run(createTableSql(table, nameOfTable(table)));
    await this.connection.run(
      `insert into history values (${number}, ${literal(environment_id)}, ${literal(ns)}, '${type}', '${keys}', 0, 0, 0)`,
    );
    this.#tables.push(table);
    return table;
  }

  /** Changes what is counted of a table. */
  async setCounts(table: HistoryTable, counts: Partial<Pick<HistoryTable, "rows" | "unordered" | "deleted">>): Promise<void> {
    Object.assign(table, counts);
    const { number, rows, unordered, deleted } = table;
    await this.connection.run(`update history set rows = ${rows}, unordered = ${unordered}, deleted = ${deleted} where number = ${number}`);
  }

  /** Counts a move, of which landing does not know yet. */
  async setMove(move: Move): Promise<void> {
    const { moves, sequence } = move;
    for (const [name, value] of Object.entries({ moves, sequence, pending: JSON.stringify(move) }))
      await this.connection.run(`update fact set value = ${literal(String(value))} where name = '${name}'`);
    this.#facts = { moves, sequence };
    this.#pending = move;
  }
}
