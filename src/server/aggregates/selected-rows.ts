/** Rows of a class that a statement gives, over the environment's tables. */

import { type SpineSqlParts, selectSpine } from "../offline-queries/spine-sql.ts";
import type { ClassTable } from "../query/class-rows.ts";

/** Rows that are read together. */
const ROWS_PER_CHUNK = 10_000;

/**
 * Answers a statement with a table.
 * @param isTried whether the tables that it names have their columns and no rows
 * @throws Failure invalid_argument for a statement that is wrong
 */
export async function selectedRows(statement: string, parts: SpineSqlParts, isTried: boolean): Promise<ClassTable> {
  const path = await selectSpine(statement, parts, isTried);
  const { columns } = await parts.tables.describe(path);
  return {
    names: columns.map(({ name }) => name),
    read(names, signal) {
      const asked = names.flatMap((name) => columns.find((column) => column.name === name) ?? []);
      return parts.tables.read(path, { columns: asked, chunkRows: ROWS_PER_CHUNK, signal });
    },
  };
}
