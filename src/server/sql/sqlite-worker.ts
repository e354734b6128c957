/** Worker thread that runs the statements of a SQLite source that may take long, one at a time. */

import { type Bound, openReadOnly, readRows, sqliteError } from "./sqlite-file.ts";

declare const self: Worker;

/** A statement to run, or the request to end. */
export type ThreadRequest =
  | { readonly path: string; readonly statement: string; readonly parameters: readonly Bound[] }
  | { readonly close: true };

/** Part of an answer. Rows come in portions, so that the receiver is never long busy with one; `error` or `done` ends it. */
export interface ThreadAnswer {
  readonly columns?: readonly string[];
  readonly rows?: readonly (readonly unknown[])[];
  readonly done?: boolean;
  readonly error?: { readonly message: string; readonly offset?: number };
}

const ROWS_PER_PORTION = 500;
const BUSY_TIMEOUT_MS = 5_000;

let open: { readonly path: string; readonly db: ReturnType<typeof openReadOnly> } | undefined;

function answer(message: ThreadAnswer): void {
  self.postMessage(message);
}

self.onmessage = ({ data }: MessageEvent<ThreadRequest>): void => {
  if ("close" in data) {
    open?.db.close();
    process.exit();
    return;
  }
  try {
    open ??= { path: data.path, db: openReadOnly(data.path, BUSY_TIMEOUT_MS) };
    const statement = open.db.prepare(data.statement);
    try {
      const { columns, rows } = readRows(statement, data.parameters);
      let at = 0;
      do {
        const portion = rows.slice(at, at + ROWS_PER_PORTION);
        at += portion.length;
        answer({ columns, rows: portion, done: at >= rows.length });
      } while (at < rows.length);
    } finally {
      statement.finalize();
    }
  } catch (error) {
    const { message, offset } = sqliteError(error, data.statement);
    answer({ error: offset === undefined ? { message } : { message, offset } });
  }
};
