/** What waits in `offline.db` to be moved, read beside its writer. */

import { Database, type Statement } from "bun:sqlite";
import { Catalog } from "../catalog.ts";
import type { VersionRow } from "../schema.ts";
import { checkedRow, STORED_COLUMNS, type StoredRow } from "../stored-row.ts";
import type { MovedRange } from "./move.ts";

/** A page of what waits: all of it up to `sequence`, or its beginning. */
export interface LandingPage {
  /** Every version of the file. */
  readonly versions: readonly VersionRow[];
  readonly rows: readonly { readonly version: VersionRow; readonly rows: readonly StoredRow[] }[];
  readonly ranges: readonly MovedRange[];
  /** No row of the page was stored after this one. */
  readonly sequence: number;
  /** Whether more waits up to the sequence that was asked for. */
  readonly isMore: boolean;
}

/** Reads the file through a connection of its own. */
export class Landing {
  readonly #db: Database;
  readonly #catalog: Catalog;

  constructor(readonly path: string) {
    this.#db = new Database(path, { readonly: true, strict: true, safeIntegers: true });
    this.#db.run("pragma busy_timeout = 5000");
    this.#db.run("pragma mmap_size = 0");
    this.#catalog = new Catalog(this.#db, path);
  }

  /** The last sequence that was given out. */
  sequence(): number {
    return this.#catalog.sequence();
  }

  /** The text of a word. */
  word(id: number): string {
    return this.#catalog.word(id);
  }

  /** At most `limit` rows of those stored until a sequence, table by table in their order. */
  page(until: number, limit: number): LandingPage {
    this.#db.run("begin");
    try {
      const sequence = Math.min(until, this.#catalog.sequence());
      const versions = this.#catalog.versions();
      const rows: { version: VersionRow; rows: StoredRow[] }[] = [];
      const ranges: MovedRange[] = [];
      let left = limit;
      for (const version of versions) {
        const found = this.#rows(version, sequence, left + 1);
        if (found.length === 0) continue;
        if (left === 0) return { versions, rows, ranges, sequence, isMore: true };
        const isCut = found.length > left;
        if (isCut) found.pop();
        const [key, observedAt, last] = found.at(-1) as StoredRow;
        rows.push({ version, rows: found });
        ranges.push({ table: version.table_name, through: isCut ? [key, Number(observedAt), Number(last)] : null });
        left -= found.length;
        if (isCut) return { versions, rows, ranges, sequence, isMore: true };
      }
      return { versions, rows, ranges, sequence, isMore: false };
    } finally {
      this.#db.run("commit");
    }
  }

  close(): void {
    this.#db.close();
  }

  #rows(version: VersionRow, sequence: number, limit: number): StoredRow[] {
    const statement = this.#db.prepare(
      `select ${STORED_COLUMNS} from "${version.table_name}" where seq <= ? order by pk, observed_at, seq limit ?`,
    ) as Statement<unknown, [number, number]>;
    // Numbers are read several times as fast; all others are small.
    const rows = statement.safeIntegers(version.type === "integer").values(sequence, limit) as unknown as StoredRow[];
    statement.finalize();
    for (const row of rows) checkedRow(this.path, version, row);
    return rows;
  }
}
