/**
 * The embedded server as other commands of this machine see it: its status file and lock in the
 * data directory, and its process.
 */

import { Database } from "bun:sqlite";
import { randomUUID } from "node:crypto";
import { closeSync, constants, openSync } from "node:fs";
import { mkdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { isFull, reasonAt, systemCode } from "../disk/disk-error.ts";
import { readPrivateFile } from "../disk/private-file.ts";
import { renameInPlace } from "../disk/rename.ts";
import { CliError } from "../errors/cli-error.ts";

/** The facts about a running server in `server.json`. */
export interface LocalServer {
  readonly pid: number;
  readonly url: string;
  /** Its address for gRPC; undefined = its version does not say. */
  readonly grpcUrl: string | undefined;
  /** The address of its gateway to containers; undefined = its version does not say. */
  readonly gatewayUrl: string | undefined;
  readonly version: string;
  /** ISO 8601. */
  readonly startedAt: string;
  /** Milliseconds for which it finishes running requests after it was told to stop. */
  readonly drainMs: number;
}

/** Paths below a data directory. */
export function serverFiles(dataDir: string): {
  readonly note: string;
  /** Credentials of the server's owner, valid while it runs. */
  readonly owner: string;
  readonly lock: string;
  readonly errors: string;
} {
  return {
    note: join(dataDir, "server.json"),
    owner: join(dataDir, "server.owner.json"),
    lock: join(dataDir, "server.lock"),
    errors: join(dataDir, "server.err"),
  };
}

/** Lines of a failed start that its error includes. */
const LAST_LINES = 5;

/** The server that announced itself in a data directory; undefined when there is none. */
export async function readLocalServer(dataDir: string): Promise<LocalServer | undefined> {
  try {
    const note = JSON.parse(readPrivateFile(serverFiles(dataDir).note) ?? "") as Partial<LocalServer>;
    if (typeof note.pid !== "number" || typeof note.url !== "string" || !URL.canParse(note.url)) return undefined;
    return {
      pid: note.pid,
      url: note.url,
      grpcUrl: typeof note.grpcUrl === "string" ? note.grpcUrl : undefined,
      gatewayUrl: typeof note.gatewayUrl === "string" ? note.gatewayUrl : undefined,
      version: String(note.version ?? ""),
      startedAt: String(note.startedAt ?? ""),
      drainMs: Number(note.drainMs ?? 0),
    };
  } catch {
    return undefined;
  }
}

/**
 * Credentials that prove that this user owns a server: readable by that user only, for the server
 * at `url` and only while it runs.
 */
export interface OwnerCredentials {
  readonly url: string;
  readonly clientId: string;
  readonly clientSecret: string;
}

/**
 * The credentials of a data directory's owner; undefined when no server runs on it, or it belongs
 * to another user.
 */
export async function readOwner(dataDir: string): Promise<OwnerCredentials | undefined> {
  try {
    const text = readPrivateFile(serverFiles(dataDir).owner, { followLinks: false });
    if (text === undefined || !(await isHeld(dataDir))) return undefined;
    const { url, client_id: clientId, client_secret: clientSecret } = JSON.parse(text) as Record<string, unknown>;
    if (typeof url !== "string" || typeof clientId !== "string" || typeof clientSecret !== "string") return undefined;
    return { url, clientId, clientSecret };
  } catch {
    return undefined;
  }
}

/**
 * Whether a server holds the data directory: its lock is released the moment it ends, however it
 * ends.
 */
export async function isHeld(dataDir: string): Promise<boolean> {
  const { lock } = serverFiles(dataDir);
  if (!(await stat(lock).catch(() => undefined))) return false;
  const database = new Database(lock, { readwrite: true });
  try {
    database.run("PRAGMA busy_timeout = 0");
    database.run("PRAGMA journal_mode = memory");
    database.run("BEGIN IMMEDIATE");
    database.run("ROLLBACK");
    return false;
  } catch (error) {
    if (systemCode(error)?.startsWith("SQLITE_BUSY")) return true;
    throw new CliError(`the lock file ${lock} cannot be used: ${reasonAt(lock, error)}`, {
      code: "lock_failed",
      hint: "When no server runs on that folder, delete the file: nothing is kept in it.",
      cause: error,
    });
  } finally {
    database.close();
  }
}

/** Sends SIGTERM to a process. False when there is none, or it belongs to another user. */
export function terminate(pid: number): boolean {
  try {
    return process.kill(pid, "SIGTERM");
  } catch {
    return false;
  }
}

/** Options of starting a server in the background. */
export interface BackgroundStart {
  /** Command that starts it in the foreground and prints one line of JSON when it is ready. */
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly dataDir: string;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/**
 * Starts a server that outlives this process, and resolves with the line that it prints when it is
 * ready. Rejects with a CliError when it ends before, or takes too long; then the server is
 * stopped.
 */
export async function startInBackground(start: BackgroundStart): Promise<{ readonly pid: number; readonly line: string }> {
  const { errors } = serverFiles(start.dataDir);
  await mkdir(start.dataDir, { recursive: true, mode: 0o700 });
  /**
   * A file of this start only, so that concurrent starts do not empty each other's; the one that
   * wins renames it to the lasting name.
   */
  const ownErrors = `${errors}.${randomUUID()}`;
  const stderr = openSync(ownErrors, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600);
  const child = Bun.spawn([...start.argv], {
    cwd: start.dataDir,
    env: { ...start.env },
    stdin: "ignore",
    stdout: "pipe",
    stderr,
    detached: true,
  });
  closeSync(stderr);
  const stop = () => child.kill("SIGTERM");
  start.signal.addEventListener("abort", stop, { once: true });
  const timer = setTimeout(stop, start.timeoutMs);
  try {
    const line = await firstLine(child.stdout);
    if (line === undefined) {
      await child.exited;
      start.signal.throwIfAborted();
      throw startFailure(readPrivateFile(ownErrors), start.dataDir);
    }
    await renameInPlace(ownErrors, errors);
    child.unref();
    return { pid: child.pid, line };
  } finally {
    clearTimeout(timer);
    start.signal.removeEventListener("abort", stop);
    await rm(ownErrors, { force: true });
  }
}

async function firstLine(stream: ReadableStream<Uint8Array>): Promise<string | undefined> {
  const reader = stream.getReader();
  const decoder = new TextDecoder();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return undefined;
    text += decoder.decode(value, { stream: true });
    const end = text.indexOf("\n");
    if (end >= 0) {
      reader.releaseLock();
      return text.slice(0, end);
    }
  }
}

/**
 * The error for a server that ended at once: its own error, else the last lines that it or its
 * runtime wrote.
 */
function startFailure(stderr: string | undefined, dataDir: string): CliError {
  const lines = (stderr ?? "").split("\n").filter((line) => line.trim() !== "");
  for (const line of lines) {
    try {
      const { error } = JSON.parse(line) as { error?: { code?: unknown; message?: unknown; details?: { hint?: unknown } } };
      if (typeof error?.message !== "string") continue;
      const hint = error.details?.hint;
      return new CliError(error.message, { code: String(error.code ?? "start_failed"), hint: typeof hint === "string" ? hint : undefined });
    } catch {}
  }
  if (isFull(dataDir)) {
    return new CliError(`the server ended before it was ready: no space is left on the device of ${dataDir}`, {
      code: "start_failed",
      hint: "Make room on that device and start again.",
    });
  }
  return new CliError("the server ended before it was ready", {
    code: "start_failed",
    hint:
      lines.length > 0
        ? `It said: ${lines.slice(-LAST_LINES).join("\n")}`
        : "It said nothing; `svc server start` without --detach shows more.",
  });
}
