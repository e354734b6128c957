/** What SQLite knows of a file. */

import type { Database } from "bun:sqlite";

/** Bytes of a file that are in use: without its free pages. */
export function usedBytes(db: Database): number {
  return (pragma(db, "page_count") - pragma(db, "freelist_count")) * pragma(db, "page_size");
}

/** The number of a file's schema. */
export function schemaVersion(db: Database): number {
  return pragma(db, "user_version");
}

function pragma(db: Database, name: string): number {
  return Object.values(db.query<Record<string, number>, []>(`pragma ${name}`).get() ?? {})[0] ?? 0;
}
