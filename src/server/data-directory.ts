/**
 * The data directory and who holds it. The lock is an exclusive transaction on a database of its own, held for the server's life: the system takes it back the
 * moment the process is gone, however it went, so there is no stale lock to clean up.
 */

import { Database } from "bun:sqlite";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createPrivateFile, makePrivateFolder, writePrivateFile } from "../disk/private-file.ts";
import { StartError } from "./failure.ts";

/** What `server.json` says of the running server. It is a note for people and for `svc server status`; only the lock decides. */
export interface ServerNote {
  readonly pid: number;
  readonly url: string;
  readonly version: string;
  /** ISO 8601. */
  readonly startedAt: string;
}

/** A data directory that this process holds. */
export interface DataDirectory {
  readonly path: string;
  /** Absolute path of a file or folder in it. */
  file(name: string): string;
  /** Writes `server.json`. */
  announce(note: ServerNote): void;
  /** Removes `server.json` and lets go of the lock. */
  release(): void;
}

/** Reads who last announced itself in a data directory; undefined when nobody did or the note is unreadable. */
export function readServerNote(path: string): ServerNote | undefined {
  try {
    const note = JSON.parse(readFileSync(join(path, "server.json"), "utf8")) as Partial<ServerNote>;
    if (typeof note.pid !== "number" || typeof note.url !== "string") return undefined;
    return { pid: note.pid, url: note.url, version: String(note.version ?? ""), startedAt: String(note.startedAt ?? "") };
  } catch {
    return undefined;
  }
}

/**
 * Creates the folder where needed (mode 0700) and takes its lock.
 * @throws StartError "locked" that names the holder's process and address; "data_unusable" when the folder cannot be written
 */
export function holdDataDirectory(path: string): DataDirectory {
  const lockFile = join(path, "server.lock");
  try {
    makePrivateFolder(path);
    createPrivateFile(lockFile);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new StartError("data_unusable", `The data directory ${path} cannot be used: ${reason}.`, "Choose another one with `--data-dir`.");
  }
  const lock = new Database(lockFile, { strict: true });
  try {
    lock.run("pragma busy_timeout = 0");
    lock.run("pragma journal_mode = delete");
    lock.run("begin exclusive");
  } catch (error) {
    lock.close();
    const code = (error as { code?: unknown }).code;
    if (typeof code !== "string" || !code.startsWith("SQLITE_BUSY")) throw error;
    const holder = readServerNote(path);
    throw new StartError(
      "locked",
      holder
        ? `The data directory ${path} is held by a server that runs already: process ${holder.pid} at ${holder.url}.`
        : `The data directory ${path} is held by another server that is just starting or stopping.`,
      "Use that server, stop it with `svc server stop`, or choose another directory with `--data-dir`.",
    );
  }
  const note = join(path, "server.json");
  return {
    path,
    file: (name) => join(path, name),
    announce: (content) => writePrivateFile(note, `${JSON.stringify(content, undefined, 2)}\n`, { durable: false }),
    release() {
      rmSync(note, { force: true });
      lock.run("rollback");
      lock.close();
    },
  };
}
