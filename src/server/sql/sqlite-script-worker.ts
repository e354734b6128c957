/** Worker thread that fills a SQLite database in memory by a script. */

import { Database } from "bun:sqlite";
import { serve } from "../thread/rpc.ts";

/** Most pages of a database, of 4 KiB. */
const MAX_PAGES = 16_384;

/** Fills one database. */
export class ScriptRunner {
  readonly #script: string;

  constructor(script: string) {
    this.#script = script;
  }

  /** The bytes of the database. Throws what SQLite says of the script. */
  fill(): Uint8Array {
    const db = new Database(":memory:");
    try {
      db.run(`pragma page_size = 4096; pragma max_page_count = ${MAX_PAGES}`);
      db.run(this.#script);
      return db.serialize();
    } catch (error) {
      if ((error as { readonly code?: string }).code !== "SQLITE_FULL") throw error;
      throw new Error(`the database is larger than ${(MAX_PAGES * 4) / 1024} MiB`);
    } finally {
      db.close();
    }
  }
}

serve<ScriptRunner, string>({ make: (script) => new ScriptRunner(script), close: () => undefined });
