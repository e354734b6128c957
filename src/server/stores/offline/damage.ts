/** Errors of the offline store: damaged files, and all other failures. */

import { errorText } from "../../../domain/error-text.ts";
import { StartError } from "../../failure.ts";
import { OfflineStoreError } from "./store.ts";

/** The error for a damaged file at `path`. */
export function damaged(path: string, reason: string): OfflineStoreError {
  return new OfflineStoreError(
    "damaged",
    `${path} is damaged: ${reason}. Restore it from a backup, or move it away: the server then starts with an empty offline store.`,
  );
}

/**
 * The store's error for one thrown while the file was used. A missing table or column means damage,
 * because the catalog lists it.
 */
export function toOfflineError(path: string, error: unknown): OfflineStoreError {
  if (error instanceof OfflineStoreError) return error;
  if (error instanceof StartError) return new OfflineStoreError("unusable", error.hint ? `${error.message} ${error.hint}` : error.message);
  const message = errorText(error);
  const code = String((error as { code?: unknown })?.code ?? "");
  if (
    /^SQLITE_(CORRUPT|NOTADB|SCHEMA|MISMATCH|CONSTRAINT|IOERR_SHORT_READ|CANTOPEN)/.test(code) ||
    /no such (table|column)|has no column named/.test(message)
  )
    return damaged(path, message);
  return new OfflineStoreError("failed", `the offline store ${path} failed: ${message}`);
}
