/** The start of a process that owns a database: this program again, with a hidden verb. */

import { type ChildEnded, type ChildLimits, ChildProcess } from "../../thread/child-process.ts";
import { ownProgram } from "../../thread/own-program.ts";
import type { ThrownError } from "../../thread/rpc.ts";
import { TableError, type TableErrorCode } from "../engine.ts";
import type { DatabaseProcess, DatabaseSettings } from "./database-process.ts";

/** How a database process is started. */
export interface DatabaseStart {
  /** What it is, for messages. */
  readonly name: string;
  /** Its hidden verb; default: one that serves a `DatabaseProcess` and nothing else. */
  readonly verb?: string;
  readonly settings: DatabaseSettings;
  readonly limits: ChildLimits;
  /** Working directory, and home of what it starts. */
  readonly folder: string;
  readonly onStart?: (pid: number) => void;
  readonly onEnd?: (ended: ChildEnded) => void;
}

/** The verb of a process that serves a `DatabaseProcess`. */
export const DATABASE_VERB = "__database";

/** A database process, not started yet; calls reject with TableError, or ChildEnded. */
export function startDatabase<T extends object = DatabaseProcess, S extends DatabaseSettings = DatabaseSettings>(
  start: DatabaseStart & { readonly settings: S },
): ChildProcess<T, S> {
  const { name, verb = DATABASE_VERB, settings, limits, folder, onStart, onEnd } = start;
  return new ChildProcess<T, S>({
    name,
    argv: [...ownProgram(), verb],
    env: { HOME: folder, TMPDIR: folder, TZ: "UTC", LANG: "C.UTF-8", DO_NOT_TRACK: "1" },
    cwd: folder,
    settings,
    limits,
    revive,
    ...(onStart && { onStart }),
    ...(onEnd && { onEnd }),
  });
}

function revive({ name, message, fields }: ThrownError): Error {
  if (name === "TableError") return new TableError(fields.code as TableErrorCode, message);
  return Object.assign(new Error(message), fields);
}
