/**
 * The built-in pager, for machines that have none: it uses the terminal's alternate screen, so that
 * the screen's content is restored.
 */

import type { Context } from "./context.ts";
import { atEnd, type Pages, press, startPages } from "./pages.ts";

const SECOND_SCREEN = "\u001b[?1049h\u001b[?25l";
const FIRST_SCREEN = "\u001b[?25h\u001b[?1049l";
const TOP_LEFT = "\u001b[H";
const REST_OF_LINE = "\u001b[0m\u001b[K";

/**
 * Shows a text until the user quits; a text that fits on the screen is printed. Rejects with the
 * signal's reason when the command is interrupted.
 */
export async function showPages({ io, signal }: Pick<Context, "io" | "signal">, text: string): Promise<void> {
  const { stdin, stdout } = process;
  const width = stdout.columns || 80;
  const height = Math.max(2, stdout.rows || 24) - 1;
  const lines = Bun.wrapAnsi(text.trimEnd(), width, { hard: true }).split("\n");
  if (lines.length <= height) return io.writeOut(`${text.trimEnd()}\n`);
  let pages = startPages(lines, height);
  const { promise: ended, resolve: end, reject } = Promise.withResolvers<void>();
  const stop = () => end();
  const onKeys = (data: Buffer) => {
    for (const key of keysOf(data.toString())) pages = press(pages, key);
    if (pages.done) end();
    else io.writeOut(screenOf(pages)).catch(reject);
  };
  signal.addEventListener("abort", stop, { once: true });
  stdin.setRawMode(true);
  stdin.on("data", onKeys);
  try {
    stdin.resume();
    await io.writeOut(SECOND_SCREEN + screenOf(pages));
    await ended;
  } finally {
    signal.removeEventListener("abort", stop);
    stdin.off("data", onKeys);
    stdin.setRawMode(false);
    stdin.pause();
    await io.writeOut(FIRST_SCREEN);
  }
  signal.throwIfAborted();
}

/** The keys in a terminal's input: an escape sequence is one key. */
function keysOf(data: string): string[] {
  return data.match(/\u001b(?:\[[0-9;]*[A-Za-z~])?|[\s\S]/gu) ?? [];
}

function screenOf(pages: Pages): string {
  const { lines, top, height, typing, message } = pages;
  const rows = Array.from({ length: height }, (_, row) => `${lines[top + row] ?? ""}${REST_OF_LINE}`);
  const position = atEnd(pages) ? "end" : `${Math.floor(((top + height) / lines.length) * 100)} %`;
  const last = typing === undefined ? message || `${position}  (q leaves, / searches)` : `/${typing}`;
  return `${TOP_LEFT}${[...rows, `\u001b[7m${last}${REST_OF_LINE}`].join("\r\n")}`;
}
