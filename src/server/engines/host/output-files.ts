/**
 * The output of a program in files of bounded size: lines with their stream and time, of which no
 * two have the same. Its supervisor writes them; the server reads them, then or later.
 */

import { closeSync, existsSync, openSync, rmSync, writeSync } from "node:fs";
import { type FileHandle, open, readdir } from "node:fs/promises";
import { join } from "node:path";
import type { EngineOutput } from "../container-engine.ts";

/** Bytes after which another file is begun, and how many files are kept. */
const FILE_BYTES = 8 * 1024 * 1024;
const KEPT = 2;
const PIECE = 65_536;
/** Milliseconds until a reader looks for more: at once after some came, and less and less often. */
const LOOK_MS = 20;
const MOST_LOOK_MS = 500;
const NAME = /^output-(\d+)$/;
const NEW_LINE = 10;

const fileAt = (folder: string, at: number): string => join(folder, `output-${at}`);

/** Writes lines. The oldest are removed when there are too many. */
export class OutputWriter {
  readonly #folder: string;
  #at = 0;
  #size = FILE_BYTES;
  #file: number | undefined;
  #last = 0;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Writes a line. Throws the system's error. */
  write(stream: EngineOutput["stream"], line: string): void {
    this.#last = Math.max(Date.now() * 1_000, this.#last + 1);
    const bytes = Buffer.from(`${this.#last} ${stream} ${line}\n`);
    if (this.#file === undefined || this.#size + bytes.length > FILE_BYTES) this.#next();
    this.#size += writeSync(this.#file as number, bytes);
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }

  #next(): void {
    this.close();
    this.#at++;
    this.#size = 0;
    this.#file = openSync(fileAt(this.#folder, this.#at), "ax", 0o600);
    rmSync(fileAt(this.#folder, this.#at - KEPT), { force: true });
  }
}

/**
 * The lines from a time on (epoch microseconds), to the end of the output.
 * @param isOver whether nothing more is written
 */
export async function* readOutput(folder: string, from: number, isOver: () => boolean, signal: AbortSignal): AsyncIterable<EngineOutput> {
  let at = await oldest(folder, 1);
  let file: FileHandle | undefined;
  let begun: Uint8Array = new Uint8Array(0);
  let wait = LOOK_MS;
  try {
    for (;;) {
      signal.throwIfAborted();
      const hasEnded = isOver();
      const hasNext = existsSync(fileAt(folder, at + 1));
      file ??= await open(fileAt(folder, at)).catch(() => undefined);
      const { bytesRead, buffer } = (await file?.read(new Uint8Array(PIECE), 0, PIECE)) ?? { bytesRead: 0, buffer: new Uint8Array(0) };
      if (bytesRead > 0) {
        wait = LOOK_MS;
        const all = Buffer.concat([begun, buffer.subarray(0, bytesRead)]);
        let start = 0;
        for (let end = all.indexOf(NEW_LINE); end >= 0; end = all.indexOf(NEW_LINE, start)) {
          const line = lineOf(all.toString("utf8", start, end));
          if (line && line.at >= from) yield line;
          start = end + 1;
        }
        begun = all.subarray(start);
        continue;
      }
      // What was there before the next file began was read: this one has ended.
      if (hasNext || (!file && (await oldest(folder, at)) > at)) {
        await file?.close();
        file = undefined;
        begun = new Uint8Array(0);
        at = await oldest(folder, at + 1);
        continue;
      }
      if (hasEnded) return;
      await Bun.sleep(wait);
      wait = Math.min(wait * 2, MOST_LOOK_MS);
    }
  } finally {
    await file?.close();
  }
}

/** The number of the oldest file that is there, from one on; that one when there is none. */
async function oldest(folder: string, from: number): Promise<number> {
  const there = (await readdir(folder).catch(() => [])).map((name) => Number(NAME.exec(name)?.[1])).filter((number) => number >= from);
  return there.length > 0 ? Math.min(...there) : from;
}

function lineOf(text: string): EngineOutput | undefined {
  const [, at = "", stream = "", line = ""] = /^(\d{1,16}) (stdout|stderr) (.*)$/s.exec(text) ?? [];
  return at === "" ? undefined : { stream: stream as EngineOutput["stream"], at: Number(at), line };
}
