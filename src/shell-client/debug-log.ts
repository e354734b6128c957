/**
 * The log of what goes over a shell's connection: a line of JSON for each message, with the number
 * of its bytes and never the bytes, which may be secret.
 */

import { appendFile } from "node:fs/promises";

/** A log. */
export interface DebugLog {
  /** Notes a message. Never rejects. @param way `>` to the server, `<` from it, `-` neither */
  note(way: ">" | "<" | "-", what: Readonly<Record<string, unknown>>): void;
  /** Resolves when all is written. */
  close(): Promise<void>;
}

/** A log that keeps nothing. */
export const NO_LOG: DebugLog = { note: () => undefined, close: async () => undefined };

/** Opens a log at a path, which is private. @param now epoch milliseconds */
export function openDebugLog(path: string, now: () => number): DebugLog {
  let written: Promise<unknown> = appendFile(path, "", { mode: 0o600 });
  const began = now();
  return {
    note(way, what) {
      const line = `${JSON.stringify({ ms: now() - began, way, ...what })}\n`;
      written = written.then(() => appendFile(path, line, { mode: 0o600 })).catch(() => undefined);
    },
    close: async () => void (await written.catch(() => undefined)),
  };
}
