/** Tables of `offline.db`. */

import type { Database } from "bun:sqlite";
import type { Migration } from "../sqlite/open.ts";
import { type ColumnType, SQL_TYPES } from "./column-type.ts";
import { type FeatureVersion, OfflineStoreError } from "./store.ts";

/** A version of a feature as stored: a table with a column for values of one type. */
export interface VersionTable extends Omit<FeatureVersion, "dtype"> {
  readonly type: ColumnType;
}

/** "svcf" as four bytes: marks a file as this program's offline store (`PRAGMA application_id`). */
export const OFFLINE_APPLICATION_ID = 0x73766366;

/**
 * Steps of the schema. `version` lists the table of each feature's version, `word` interns ids of
 * deployments and FQNs of resolvers, `counter` holds the last insert sequence; each row has a
 * checksum. `moved` holds the last move to the history whose rows this file has forgotten,
 * `moved_rows` what that history holds. The tables of versions are created with their first value,
 * see `createVersionTable`; those from before the second step get their last column by it.
 */
export const OFFLINE_MIGRATIONS: readonly Migration[] = [
  (db) => {
    db.run(`
create table version (
  fid integer primary key, environment_id text not null, ns text not null, name text not null, internal_version integer not null, type text not null,
  table_name text not null unique, sum integer not null
) strict;
create index version_by_name on version (environment_id, ns, name, internal_version);
create table word (id integer primary key, text text not null unique, sum integer not null) strict;
create table counter (id integer primary key check (id = 1), sequence integer not null, sum integer not null) strict;
`);
    db.query("insert into counter (id, sequence, sum) values (1, 0, ?)").run(sumOfCounter(0));
  },
  (db) => {
    for (const { table_name } of db.query<Pick<VersionRow, "table_name">, []>("select table_name from version").all())
      db.run(`alter table "${table_name}" add column known_at integer`);
    db.run(`
create table moved (id integer primary key check (id = 1), moves integer not null, sum integer not null) strict;
create table moved_rows (environment_id text primary key, rows integer not null) strict;
`);
    db.query("insert into moved (id, moves, sum) values (1, 0, ?)").run(sumOfMoves(0));
  },
];

/** Checksum of the counter. */
export function sumOfCounter(sequence: number): number {
  return Bun.hash.crc32(`counter\0${sequence}`);
}

/** Checksum of the number of moves. */
export function sumOfMoves(moves: number): number {
  return Bun.hash.crc32(`moved\0${moves}`);
}

/** Checksum of a word. */
export function sumOfWord(id: number, text: string): number {
  return Bun.hash.crc32(`word\0${id}\0${text}`);
}

/** Checksum of a row of `version`. */
export function sumOfVersion({ fid, environment_id, type, table_name }: Omit<VersionRow, "sum">): number {
  return Bun.hash.crc32(`version\0${fid}\0${environment_id}\0${type}\0${table_name}`);
}

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
/** A feature's name, with the version that it may end in. */
const FEATURE_NAME = /^[A-Za-z_][A-Za-z0-9_]*(?:@[1-9]\d*)?$/;

/**
 * Name of a version's table: `obs_<id>_<namespace>__<name>__v<version>`, with `__at` for an `@`.
 * @throws OfflineStoreError `refused` when a part is not valid in a table's name
 */
export function tableNameOf({ featureId, namespace, name, internalVersion, type }: VersionTable): string {
  const wrong =
    !Number.isSafeInteger(featureId) || featureId < 0
      ? `feature id ${featureId}`
      : !Number.isSafeInteger(internalVersion) || internalVersion < 1
        ? `internal version ${internalVersion}`
        : !NAME.test(namespace)
          ? `namespace ${JSON.stringify(namespace)}`
          : !FEATURE_NAME.test(name)
            ? `name ${JSON.stringify(name)}`
            : !Object.hasOwn(SQL_TYPES, type)
              ? `type ${JSON.stringify(type)}`
              : undefined;
  if (wrong !== undefined) throw new OfflineStoreError("refused", `a feature of the offline store cannot have the ${wrong}`);
  return `obs_${featureId}_${namespace}__${name.replace("@", "__at")}__v${internalVersion}`;
}

/**
 * Creates a version's table. `value` has the form of `toColumn`, `resolver` and `deployment` are
 * ids of words, `sum` is the checksum; `known_at` is null where it is `inserted_at`. Without rowid,
 * so that the observations of a row are adjacent, ordered by time.
 */
export function createVersionTable(db: Database, tableName: string, type: ColumnType): void {
  db.run(`create table "${tableName}" (
    pk text not null,
    observed_at integer not null,
    seq integer not null,
    inserted_at integer not null,
    value ${SQL_TYPES[type]},
    op text not null,
    resolver integer not null,
    deployment integer not null,
    sum integer not null,
    known_at integer,
    primary key (pk, observed_at, seq)
  ) without rowid`);
}

/** A row of `version`. */
export interface VersionRow {
  readonly fid: number;
  readonly environment_id: string;
  readonly ns: string;
  readonly name: string;
  readonly internal_version: number;
  readonly type: ColumnType;
  readonly table_name: string;
  readonly sum: number;
}
