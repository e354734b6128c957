/** Errors of the engine as those of the store. */

import { dirname } from "node:path";
import { isFull } from "../../../../disk/disk-error.ts";
import { errorText } from "../../../../domain/error-text.ts";
import { TableError } from "../../../tables/engine.ts";
import { plainMessage } from "../../../tables/table-failure.ts";
import { damaged, toOfflineError } from "../damage.ts";
import { OfflineStoreError } from "../store.ts";

/** The store's error for one thrown while the history at `path` was used. */
export function toHistoryError(path: string, error: unknown): Error {
  if (error instanceof OfflineStoreError || error instanceof TableError) return error;
  if ((error as { code?: unknown } | undefined)?.code !== undefined) return toOfflineError(path, error);
  const message = errorText(error);
  if (/no space left/i.test(message) || isFull(dirname(path)))
    return new OfflineStoreError("failed", `${path} cannot be written: no space left on the device`);
  if (/^Out of Memory Error/.test(message))
    return new OfflineStoreError("failed", `the offline store ran out of memory: ${plainMessage(message)}`);
  if (/not a valid DuckDB database|Serialization Error|corrupt|checksum/i.test(message)) return damaged(path, plainMessage(message));
  return new OfflineStoreError("failed", `the offline store ${path} failed: ${plainMessage(message)}`);
}
