/**
 * What the fakes of Snowflake and BigQuery have in common: statements run in SQLite in memory, by
 * what the warehouses spell otherwise. `wait(600)` is a statement that runs until it is cancelled,
 * `own_text()` the text that was sent.
 */

import { Database } from "bun:sqlite";

/** Rows of the engine. */
export interface EngineRows {
  readonly names: readonly string[];
  /** Declared types, empty where a column is computed. */
  readonly declared: readonly string[];
  readonly rows: readonly (readonly unknown[])[];
}

/** A refusal of the engine: words, and the offset in code points where one is known. */
export class EngineRefusal extends Error {
  constructor(
    message: string,
    readonly at: number | undefined,
  ) {
    super(message);
  }
}

/** An engine of statements. */
export class FakeEngine {
  readonly db = new Database(":memory:", { safeIntegers: true });

  /** Whether a statement is one that never ends by itself. */
  waits(statement: string): boolean {
    return statement.includes("wait(600)");
  }

  run(statement: string, parameters: readonly (string | number | bigint | null)[]): EngineRows {
    const text = statement
      .replaceAll("wait(600)", "600")
      .replaceAll("own_text()", `'${statement.replaceAll("'", "''")}'`)
      .replaceAll("(?::double)", "cast(? as real)")
      .replaceAll("\\`", "``");
    try {
      const prepared = this.db.prepare(text);
      const rows = prepared.values(...parameters) as unknown[][];
      return { names: prepared.columnNames, declared: prepared.declaredTypes.map((type) => (type ?? "").toLowerCase()), rows };
    } catch (error) {
      const { message, byteOffset } = error as { readonly message: string; readonly byteOffset?: number };
      const before = byteOffset !== undefined && byteOffset >= 0 ? Buffer.from(text).subarray(0, byteOffset).toString() : undefined;
      throw new EngineRefusal(message, before === undefined ? undefined : [...before].length);
    }
  }
}
