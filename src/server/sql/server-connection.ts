/** Running of abortable statements, and connection errors, for sources on database servers. */

import type { SQL } from "bun";
import { errorText } from "../../domain/error-text.ts";
import { SqlError } from "./source.ts";

/** Rows with the columns as the server described them. */
export interface DriverRows {
  readonly columns: readonly { readonly name: string; readonly type: number; readonly flags?: number }[];
  readonly rows: unknown[][];
}

/**
 * Runs a query; when the signal is aborted, cancels it and rejects with the signal's reason at
 * once.
 */
export function runAbortable(query: SQL.Query<unknown[][]>, signal?: AbortSignal): Promise<DriverRows> {
  if (!signal) return query.then(driverRows);
  signal.throwIfAborted();
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      reject(signal.reason);
      query.cancel();
    };
    signal.addEventListener("abort", onAbort, { once: true });
    query.then(
      (result) => {
        signal.removeEventListener("abort", onAbort);
        resolve(driverRows(result));
      },
      (error) => {
        signal.removeEventListener("abort", onAbort);
        reject(error);
      },
    );
  });
}

function driverRows(result: unknown[][] & SQL.ResultMetadata): DriverRows {
  if (!result.columns) throw new SqlError("a source runs one statement at a time");
  return { columns: result.columns, rows: [...result] };
}

/** The error for a failed connection. Never contains the password. */
export function connectionFailure(error: unknown, server: string, password: string): SqlError {
  const text = errorText(error);
  const safe = password === "" ? text : text.replaceAll(password, "***");
  return new SqlError(`${server}: ${safe}`);
}
