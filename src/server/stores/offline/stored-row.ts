/** Rows of the versions' tables as SQLite returns them, and what of them is checked. */

import { checksum, type SqlValue } from "./column.ts";
import { damaged } from "./damage.ts";
import type { VersionRow } from "./schema.ts";

/** The columns of a stored row. */
export const STORED_COLUMNS = "pk, observed_at, seq, inserted_at, value, op, resolver, deployment, sum, known_at";

/** A row as it is stored; integers are bigints, where the column `value` may have large ones. */
export type StoredRow = [
  string,
  number | bigint,
  number | bigint,
  number | bigint,
  SqlValue,
  string,
  number | bigint,
  number | bigint,
  number | bigint,
  number | bigint | null,
];

/** The same row. Throws OfflineStoreError when it is not what was written. */
export function checkedRow(path: string, version: Pick<VersionRow, "table_name">, row: StoredRow): StoredRow {
  const [key, observedAt, sequence, insertedAt, value, op, resolver, deployment, sum, knownAt] = row;
  const found = checksum(key, op, [observedAt, sequence, insertedAt, resolver, deployment, knownAt], value);
  if (found !== Number(sum)) throw damaged(path, `an observation in ${version.table_name} is not what was written`);
  return row;
}

/** When an observation was known to the outside world. */
export function knownAtOf([, , , insertedAt, , , , , , knownAt]: StoredRow): number {
  return Number(knownAt ?? insertedAt);
}
