/** The data directory, its lock, and the note about the server that holds it. */

import { readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { reasonAt } from "../../disk/disk-error.ts";
import { createPrivateFile, makePrivateFolder, syncFolder, writePrivateFile } from "../../disk/private-file.ts";
import { renameInPlaceSync } from "../../disk/rename.ts";
import { StartError } from "../failure.ts";
import { takeExclusiveLock } from "./exclusive-lock.ts";

/**
 * The content of `server.json`: a note about the running server for people and for `svc server
 * status`. Only the lock decides who holds the directory.
 */
export interface ServerNote {
  readonly pid: number;
  readonly url: string;
  /** Its address for gRPC. */
  readonly grpcUrl?: string;
  /** Its gateway to containers, as this machine reaches it. */
  readonly gatewayUrl?: string;
  readonly version: string;
  /** ISO 8601. */
  readonly startedAt: string;
  /** Milliseconds that the server continues to serve after it was told to stop; absent = 0. */
  readonly drainMs?: number;
}

/** A data directory that this process holds. */
export interface DataDirectory {
  readonly path: string;
  /** Absolute path of a file or folder in the directory. */
  file(name: string): string;
  /**
   * Moves all state into a new folder of the directory and returns its path; undefined when there
   * is no state. None of it may be open.
   */
  setAside(now: number): string | undefined;
  /** Writes `server.json`. */
  announce(note: ServerNote): void;
  /** Removes `server.json` and releases the lock. */
  release(): void;
}

/**
 * Names of a server's state in its data directory: everything but its log, its note, its lock, and
 * files that a start removes or that are unpacked again.
 */
const STATE =
  /^((meta|meta\.outbox|online|offline|tiles|telemetry|metrics|logs|topics)\.db(-wal|-shm|-journal|\..*)?|offline\.duckdb(\..*)?|server\.key|stores\.json|objects|deployments)$/;

/** The last note in a data directory; undefined when there is none or it is unreadable. */
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
 * Creates the folder if needed (mode 0700) and takes its lock.
 * @throws StartError "locked", which names the holder's process and address; "data_unusable" when
 * the folder cannot be written
 */
export function holdDataDirectory(path: string): DataDirectory {
  const lockFile = join(path, "server.lock");
  try {
    makePrivateFolder(path);
    createPrivateFile(lockFile);
  } catch (error) {
    throw new StartError(
      "data_unusable",
      `The data directory ${path} cannot be used: ${reasonAt(lockFile, error)}.`,
      "Choose another one with `--data-dir`.",
    );
  }
  const lock = takeExclusiveLock(lockFile, "Choose another data directory with `--data-dir`.");
  if (!lock) {
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
    setAside(now) {
      const state = readdirSync(path).filter((name) => STATE.test(name));
      if (state.length === 0) return undefined;
      const folder = join(path, `set-aside-${new Date(now).toISOString().replace(/[:.]/g, "-")}`);
      makePrivateFolder(folder);
      for (const name of state) renameInPlaceSync(join(path, name), join(folder, name));
      syncFolder(path);
      return folder;
    },
    announce: (content) => writePrivateFile(note, `${JSON.stringify(content, undefined, 2)}\n`, { durable: false }),
    release() {
      rmSync(note, { force: true });
      lock.release();
    },
  };
}
