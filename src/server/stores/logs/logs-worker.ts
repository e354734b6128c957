/**
 * Worker thread that owns the file of the logs: it writes, prunes, checkpoints and searches, so
 * that none of that delays a query.
 */

import { errorText } from "../../../domain/error-text.ts";
import { serve } from "../../thread/rpc.ts";
import { isDamage, setAside } from "../sqlite/open.ts";
import { LogsDatabase, type LogsFile } from "./database.ts";

/**
 * Events of the thread. `renewed`: a damaged file was replaced by an empty one; the damage, and the
 * old file's new path. `uncarried`: why lines of an older version could not be carried over.
 */
export type LogsEvents = {
  readonly renewed: readonly [reason: string, kept: string];
  readonly uncarried: readonly [reason: string];
};

/**
 * No answer to a query depends on the file: a damaged one is set aside, and the call repeated on an
 * empty one.
 */
serve<LogsDatabase, LogsFile, LogsEvents>({
  make: (file, emit) => new LogsDatabase(file, (error) => emit("uncarried", errorText(error))),
  close: (database) => database.close(),
  renewal: {
    isFor: isDamage,
    prepare: (damage, { path }, emit) => emit("renewed", errorText(damage), setAside(path)),
  },
});
