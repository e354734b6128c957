/** The embedded server as other commands of this machine see it: its note and lock in the data directory, its process, its log file. */

import { Database } from "bun:sqlite";
import { appendFileSync, chmodSync, closeSync, constants, openSync } from "node:fs";
import { mkdir, open, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { systemCode } from "../disk/disk-error.ts";
import { readPrivateFile } from "../disk/private-file.ts";
import { renameInPlaceSync } from "../disk/rename.ts";
import { CliError } from "../errors/cli-error.ts";

/** Size at which a start of the server begins a new log file; one older file is kept. */
const LARGEST_LOG_BYTES = 32 * 1024 * 1024;

/** What a running server says of itself in `server.json`. */
export interface LocalServer {
  readonly pid: number;
  readonly url: string;
  readonly version: string;
  /** ISO 8601. */
  readonly startedAt: string;
}

/** Paths below a data directory. */
export function serverFiles(dataDir: string): {
  readonly note: string;
  readonly lock: string;
  readonly log: string;
  readonly errors: string;
} {
  return {
    note: join(dataDir, "server.json"),
    lock: join(dataDir, "server.lock"),
    log: join(dataDir, "server.log"),
    errors: join(dataDir, "server.err"),
  };
}

/** Who announced itself in a data directory; undefined when nobody did. */
export async function readLocalServer(dataDir: string): Promise<LocalServer | undefined> {
  try {
    const note = JSON.parse(readPrivateFile(serverFiles(dataDir).note) ?? "") as Partial<LocalServer>;
    if (typeof note.pid !== "number" || typeof note.url !== "string" || !URL.canParse(note.url)) return undefined;
    return { pid: note.pid, url: note.url, version: String(note.version ?? ""), startedAt: String(note.startedAt ?? "") };
  } catch {
    return undefined;
  }
}

/** Whether a server holds the data directory: its lock is gone the moment it is, however it ended. */
export async function isHeld(dataDir: string): Promise<boolean> {
  const { lock } = serverFiles(dataDir);
  if (!(await stat(lock).catch(() => undefined))) return false;
  const database = new Database(lock, { readwrite: true });
  try {
    database.run("PRAGMA busy_timeout = 0");
    database.run("BEGIN IMMEDIATE");
    database.run("ROLLBACK");
    return false;
  } catch (error) {
    if (String(systemCode(error)).startsWith("SQLITE_BUSY")) return true;
    throw error;
  } finally {
    database.close();
  }
}

/** Asks a process to end (SIGTERM). False when there is none, or it belongs to somebody else. */
export function terminate(pid: number): boolean {
  try {
    return process.kill(pid, "SIGTERM");
  } catch {
    return false;
  }
}

/** A function that appends lines to the server's log file, private, begun anew when it has grown large. The folder is made when it is missing. */
export async function openServerLog(dataDir: string): Promise<(line: string) => void> {
  const { log } = serverFiles(dataDir);
  await mkdir(dirname(log), { recursive: true, mode: 0o700 });
  const size = await stat(log).then(
    (found) => found.size,
    () => 0,
  );
  if (size > LARGEST_LOG_BYTES) renameInPlaceSync(log, `${log}.1`);
  const flags = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | (constants.O_NOFOLLOW ?? 0);
  const descriptor = openSync(log, flags, 0o600);
  chmodSync(log, 0o600);
  return (line) => appendFileSync(descriptor, `${line}\n`);
}

/** The last `count` lines of the log file, and the offset behind them. */
export async function readServerLog(dataDir: string, count: number): Promise<{ readonly lines: string[]; readonly offset: number }> {
  const { lines, offset } = await readServerLogFrom(dataDir, 0);
  return { lines: count === 0 ? [] : lines.slice(-count), offset };
}

/** Whole lines that were appended since `offset`, and the offset behind them; a file that was begun anew is read from its start. */
export async function readServerLogFrom(dataDir: string, offset: number): Promise<{ readonly lines: string[]; readonly offset: number }> {
  const { log } = serverFiles(dataDir);
  const file = await open(log, constants.O_RDONLY).catch((error) => {
    if (systemCode(error) === "ENOENT") return undefined;
    throw error;
  });
  if (!file) return { lines: [], offset: 0 };
  try {
    const { size } = await file.stat();
    const from = size < offset ? 0 : offset;
    const bytes = Buffer.alloc(size - from);
    const { bytesRead } = await file.read(bytes, 0, bytes.length, from);
    const whole = bytes.subarray(0, bytes.subarray(0, bytesRead).lastIndexOf(10) + 1);
    const lines = whole.toString("utf8").split("\n");
    lines.pop();
    return { lines, offset: from + whole.length };
  } finally {
    await file.close();
  }
}

/** What starts a server in the background. */
export interface BackgroundStart {
  /** Words of the program that starts it in the foreground and prints one line of JSON when it is ready. */
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly dataDir: string;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/**
 * Starts a server that outlives this process, and resolves with the line that it prints when it is ready. Rejects with a CliError when it ends before, or
 * takes too long; it is ended then.
 */
export async function startInBackground(start: BackgroundStart): Promise<{ readonly pid: number; readonly line: string }> {
  const { errors } = serverFiles(start.dataDir);
  await mkdir(start.dataDir, { recursive: true, mode: 0o700 });
  const stderr = openSync(errors, constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | (constants.O_NOFOLLOW ?? 0), 0o600);
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
      throw startFailure(readPrivateFile(errors), errors);
    }
    child.unref();
    return { pid: child.pid, line };
  } finally {
    clearTimeout(timer);
    start.signal.removeEventListener("abort", stop);
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

function startFailure(stderr: string | undefined, path: string): CliError {
  for (const line of (stderr ?? "").split("\n")) {
    try {
      const { error } = JSON.parse(line) as { error?: { code?: unknown; message?: unknown; details?: { hint?: unknown } } };
      if (typeof error?.message !== "string") continue;
      const hint = error.details?.hint;
      return new CliError(error.message, { code: String(error.code ?? "start_failed"), hint: typeof hint === "string" ? hint : undefined });
    } catch {}
  }
  return new CliError("the server ended before it was ready", { code: "start_failed", hint: `${path} holds what it said.` });
}
