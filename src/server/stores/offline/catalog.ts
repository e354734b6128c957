/**
 * The catalog of the file's tables: versions of features, words (interned FQNs and ids), and the
 * insert sequence. Every row read is checked against its checksum.
 */

import type { Database } from "bun:sqlite";
import { damaged } from "./damage.ts";
import { sumOfCounter, sumOfMoves, sumOfVersion, sumOfWord, tableNameOf, type VersionRow, type VersionTable } from "./schema.ts";
import { OfflineStoreError } from "./store.ts";

/** The table that a row of `version` describes. */
export function tableOf(row: VersionRow): VersionTable {
  return {
    featureId: row.fid,
    environmentId: row.environment_id,
    namespace: row.ns,
    name: row.name,
    internalVersion: row.internal_version,
    type: row.type,
  };
}

/** Whether two tables hold the same version of the same feature. */
export function isSameTable(a: VersionTable, b: VersionTable): boolean {
  return (
    a.featureId === b.featureId &&
    a.environmentId === b.environmentId &&
    a.namespace === b.namespace &&
    a.name === b.name &&
    a.internalVersion === b.internalVersion &&
    a.type === b.type
  );
}

/** Reads the catalog through one connection. */
export class Catalog {
  constructor(
    private readonly db: Database,
    private readonly path: string,
  ) {}

  /** A version by its feature's id. */
  version(featureId: number): VersionRow | undefined {
    const row = this.db.query<VersionRow, [number]>("select * from version where fid = ?").safeIntegers(false).get(featureId);
    return row ? this.checked(row) : undefined;
  }

  /** All versions of a version's feature, oldest first. */
  versionsOf({ environment_id, ns, name }: VersionRow): VersionRow[] {
    return this.db
      .query<VersionRow, [string, string, string]>(
        "select * from version where environment_id = ? and ns = ? and name = ? order by internal_version",
      )
      .safeIntegers(false)
      .all(environment_id, ns, name)
      .map((row) => this.checked(row));
  }

  /** The newest version of each feature of a namespace. */
  current(environmentId: string, namespace: string): VersionRow[] {
    const newest = new Map<string, VersionRow>();
    for (const row of this.db
      .query<VersionRow, [string, string]>("select * from version where environment_id = ? and ns = ? order by internal_version")
      .safeIntegers(false)
      .all(environmentId, namespace))
      newest.set(row.name, this.checked(row));
    return [...newest.values()];
  }

  /** Every version. */
  versions(): VersionRow[] {
    return this.db
      .query<VersionRow, []>("select * from version")
      .safeIntegers(false)
      .all()
      .map((row) => this.checked(row));
  }

  /** The text of a word. */
  word(id: number): string {
    const row = this.db
      .query<{ text: string; sum: number }, [number]>("select text, sum from word where id = ?")
      .safeIntegers(false)
      .get(id);
    if (!row || row.sum !== sumOfWord(id, row.text)) throw damaged(this.path, `word ${id} is not what was written`);
    return row.text;
  }

  /** The id of a word; undefined when it is not stored. */
  wordId(text: string): number | undefined {
    return this.db.query<{ id: number }, [string]>("select id from word where text = ?").safeIntegers(false).get(text)?.id;
  }

  /** The last insert sequence. */
  sequence(): number {
    const row = this.db.query<{ sequence: number; sum: number }, []>("select sequence, sum from counter").safeIntegers(false).get();
    if (!row || row.sum !== sumOfCounter(row.sequence)) throw damaged(this.path, "the insert sequence is not what was written");
    return row.sequence;
  }

  /** The last move to the history whose rows were forgotten; 0 = none. */
  moves(): number {
    const row = this.db.query<{ moves: number; sum: number }, []>("select moves, sum from moved").safeIntegers(false).get();
    if (!row || row.sum !== sumOfMoves(row.moves)) throw damaged(this.path, "the number of moves is not what was written");
    return row.moves;
  }

  private checked(row: VersionRow): VersionRow {
    let expected: string | undefined;
    try {
      expected = tableNameOf(tableOf(row));
    } catch (error) {
      if (!(error instanceof OfflineStoreError)) throw error;
    }
    if (row.table_name !== expected || row.sum !== sumOfVersion(row))
      throw damaged(this.path, `the entry of feature ${row.fid} is not what was written`);
    return row;
  }
}
