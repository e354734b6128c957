/**
 * The embedded server's log file: bounded in size, written without ever failing the server, and
 * read while it grows.
 */

import { chmodSync, closeSync, constants, fstatSync, openSync, readSync, writeSync } from "node:fs";
import { open, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../context/clock.ts";
import { systemCode, systemWords } from "../disk/disk-error.ts";
import { makePrivateFolder } from "../disk/private-file.ts";
import { renameInPlaceSync } from "../disk/rename.ts";
import { CliError } from "../errors/cli-error.ts";

/** Limits of the log on disk. */
export interface LogBounds {
  /** Size at which a file is full, in bytes. A longer line gets a file of its own. */
  readonly fileBytes: number;
  /** Number of files kept, including the newest. */
  readonly files: number;
}

/** 48 MiB in all. */
const LOG_BOUNDS: LogBounds = { fileBytes: 16 * 1024 * 1024, files: 3 };

/** Paths of the log's files, the newest first. */
export function logFiles(dataDir: string, { files }: LogBounds = LOG_BOUNDS): string[] {
  const newest = join(dataDir, "server.log");
  return Array.from({ length: files }, (_, age) => (age === 0 ? newest : `${newest}.${age}`));
}

/**
 * A function that appends lines to the log, which is private and whose folder is made when it is
 * missing. A line that the disk refuses is dropped and counted; before the next line that succeeds,
 * a line says how many are missing and why. Throws a CliError when the file cannot be opened; the
 * returned function never throws.
 */
export function openServerLog(dataDir: string, clock: Pick<Clock, "now">, bounds: LogBounds = LOG_BOUNDS): (line: string) => void {
  try {
    makePrivateFolder(dataDir);
    const log = new BoundedLog(logFiles(dataDir, bounds), clock, bounds.fileBytes);
    return (line) => log.append(line);
  } catch (error) {
    throw new CliError(`the data directory ${dataDir} cannot be used: its log cannot be opened: ${systemWords(error) ?? String(error)}`, {
      code: "data_unusable",
      hint: "Choose another one with --data-dir.",
      cause: error,
    });
  }
}

class BoundedLog {
  #descriptor: number | undefined;
  #bytes = 0;
  /** Whether the file ends with a partial line. */
  #torn = false;
  #lost = 0;
  #reason = "";

  constructor(
    private readonly paths: readonly string[],
    private readonly clock: Pick<Clock, "now">,
    private readonly fileBytes: number,
  ) {
    this.#open();
  }

  append(line: string): void {
    try {
      this.#write(Buffer.from(`${this.#torn ? "\n" : ""}${this.#gap()}${line}\n`));
      this.#lost = 0;
    } catch (error) {
      this.#lost++;
      this.#reason = systemWords(error) ?? String(error);
    }
  }

  #gap(): string {
    if (this.#lost === 0) return "";
    const time = new Date(this.clock.now()).toISOString();
    return `${JSON.stringify({ time, level: "warning", message: "log lines are missing here", lines: this.#lost, reason: this.#reason })}\n`;
  }

  #write(bytes: Buffer): void {
    let descriptor = this.#descriptor ?? this.#open();
    if (this.#bytes > 0 && this.#bytes + bytes.length > this.fileBytes) descriptor = this.#rotate();
    for (let at = 0; at < bytes.length; ) {
      const written = writeSync(descriptor, bytes, at);
      at += written;
      this.#bytes += written;
      this.#torn = bytes[at - 1] !== 10;
    }
  }

  #open(): number {
    const [path = ""] = this.paths;
    const descriptor = openSync(path, constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | (constants.O_NOFOLLOW ?? 0), 0o600);
    chmodSync(path, 0o600);
    this.#bytes = fstatSync(descriptor).size;
    const last = new Uint8Array(1);
    this.#torn = this.#bytes > 0 && readSync(descriptor, last, 0, 1, this.#bytes - 1) === 1 && last[0] !== 10;
    this.#descriptor = descriptor;
    return descriptor;
  }

  /** Renames every file to the next older name; the oldest is removed. */
  #rotate(): number {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    this.#descriptor = undefined;
    for (let age = this.paths.length - 1; age > 0; age--) {
      try {
        renameInPlaceSync(this.paths[age - 1] as string, this.paths[age] as string);
      } catch (error) {
        if (systemCode(error) !== "ENOENT") throw error;
      }
    }
    return this.#open();
  }
}

/**
 * The position up to which a log was read: a file, identified by its inode because it is renamed
 * when it is full, and the offset in it.
 */
export interface LogPosition {
  readonly inode: number;
  readonly offset: number;
}

/** Lines of the log, and the position after them; undefined when there is no log yet. */
export interface LogRead {
  readonly lines: string[];
  readonly position: LogPosition | undefined;
}

/** The last `count` lines of the log, over all of its files. Rejects with the system's error. */
export async function readServerLog(dataDir: string, count: number): Promise<LogRead> {
  const lines: string[] = [];
  let position: LogPosition | undefined;
  for (const path of logFiles(dataDir)) {
    const read = await readFrom(path, 0);
    if (read === undefined) continue;
    position ??= read.position;
    lines.unshift(...read.lines.slice(Math.max(0, read.lines.length - (count - lines.length))));
    if (lines.length >= count) break;
  }
  return { lines, position };
}

/**
 * Complete lines that were appended since `position`, including those in files begun since then.
 * Rejects with the system's error.
 */
export async function readServerLogSince(dataDir: string, position: LogPosition | undefined): Promise<LogRead> {
  const paths = logFiles(dataDir);
  const inodes = await Promise.all(
    paths.map((path) =>
      stat(path).then(
        ({ ino, size }) => (position === undefined || size >= position.offset ? ino : undefined),
        () => undefined,
      ),
    ),
  );
  const age = position === undefined ? -1 : inodes.indexOf(position.inode);
  const unread = paths.slice(0, age < 0 ? paths.length : age + 1).reverse();
  const lines: string[] = [];
  let end = position;
  for (const [index, path] of unread.entries()) {
    const read = await readFrom(path, index === 0 && age >= 0 ? (position?.offset ?? 0) : 0);
    if (read === undefined) continue;
    lines.push(...read.lines);
    end = read.position;
  }
  return { lines, position: end };
}

async function readFrom(path: string, offset: number): Promise<{ readonly lines: string[]; readonly position: LogPosition } | undefined> {
  const file = await open(path, constants.O_RDONLY).catch((error) => {
    if (systemCode(error) === "ENOENT") return undefined;
    throw error;
  });
  if (!file) return undefined;
  try {
    const { size, ino } = await file.stat();
    const bytes = Buffer.alloc(Math.max(0, size - offset));
    const { bytesRead } = await file.read(bytes, 0, bytes.length, offset);
    const whole = bytes.subarray(0, bytes.subarray(0, bytesRead).lastIndexOf(10) + 1);
    const lines = whole.toString("utf8").split("\n");
    lines.pop();
    return { lines, position: { inode: ino, offset: offset + whole.length } };
  } finally {
    await file.close();
  }
}
