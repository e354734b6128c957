/**
 * The whole screen of the terminal, for a program that draws it and is told of keys. It is the
 * alternate screen: what was there before comes back, however the program ends.
 */

import { writeSync } from "node:fs";
import { InterruptedError, UsageError } from "../errors/cli-error.ts";
import type { Context } from "./context.ts";

/** What happens on a screen: a key, as the terminal sends it, or a change of its size. */
export type ScreenEvent = { readonly is: "key"; readonly key: string } | { readonly is: "resize" };

/** The screen, while it is held. */
export interface Screen {
  /** Columns and rows now. */
  readonly width: number;
  readonly height: number;
  /**
   * Draws rows from the top on; what is below them is cleared, and what is wider or higher than the
   * screen is cut.
   */
  draw(rows: readonly string[]): Promise<void>;
  /**
   * Calls a function with each event. Ctrl-C is no key: it ends the program, as outside of it.
   */
  listen(onEvent: (event: ScreenEvent) => void): void;
}

/** Without wrapping: a terminal may think a sign wider than others do. */
const ENTER = "\u001b[?1049h\u001b[?25l\u001b[?7l";
const LEAVE = "\u001b[0m\u001b[?7h\u001b[?25h\u001b[?1049l";
const HOME = "\u001b[H";
/** Before a row: behind one as wide as the screen it would take its last sign. */
const CLEAR_LINE = "\u001b[0m\u001b[K";
const REST_OF_SCREEN = "\u001b[J";
const CTRL_C = "\u0003";
const INTERRUPTED = 130;

/**
 * Holds the screen while `run` runs. Rejects with UsageError without a terminal, with
 * InterruptedError after Ctrl-C, and with what `run` rejects with.
 */
export async function holdScreen(
  { io, signal, surroundings }: Pick<Context, "io" | "signal" | "surroundings">,
  run: (screen: Screen, signal: AbortSignal) => Promise<void>,
): Promise<void> {
  if (!io.stdoutIsTTY || !io.stdinIsTTY || surroundings.env.TERM === "dumb")
    throw new UsageError("the interactive view needs a terminal", { hint: "Leave --tui out to print instead." });
  const { stdin, stdout } = process;
  const stopping = new AbortController();
  const stop = () => stopping.abort(signal.reason);
  let onEvent: (event: ScreenEvent) => void = () => undefined;
  const decoder = new TextDecoder();
  const onKeys = (data: Buffer) => {
    for (const key of keysOf(decoder.decode(data, { stream: true }))) {
      if (key === CTRL_C) stopping.abort(new InterruptedError(INTERRUPTED));
      else onEvent({ is: "key", key });
    }
  };
  const onResize = () => onEvent({ is: "resize" });
  const restoreAtOnce = () => writeSync(1, LEAVE);
  const { promise: ended, reject: end } = Promise.withResolvers<never>();
  stopping.signal.addEventListener("abort", () => end(stopping.signal.reason), { once: true });
  signal.addEventListener("abort", stop, { once: true });
  process.once("exit", restoreAtOnce);
  stdin.setRawMode(true);
  stdin.on("data", onKeys);
  stdout.on("resize", onResize);
  try {
    stdin.resume();
    await io.writeOut(ENTER);
    const screen: Screen = {
      get width() {
        return stdout.columns || 80;
      },
      get height() {
        return stdout.rows || 24;
      },
      draw(rows) {
        const shown = rows.slice(0, this.height);
        const rest = shown.length < this.height ? `\r\n${REST_OF_SCREEN}` : "";
        return io.writeOut(`${HOME}${shown.map((row) => CLEAR_LINE + row).join("\r\n")}\u001b[0m${rest}`);
      },
      listen: (listener) => {
        onEvent = listener;
      },
    };
    const running = run(screen, stopping.signal);
    running.catch(() => undefined);
    await Promise.race([running, ended]);
  } finally {
    stopping.abort(new InterruptedError(INTERRUPTED));
    signal.removeEventListener("abort", stop);
    stdin.off("data", onKeys);
    stdout.off("resize", onResize);
    stdin.setRawMode(false);
    stdin.pause();
    process.off("exit", restoreAtOnce);
    await io.writeOut(LEAVE);
  }
  signal.throwIfAborted();
}

/** The keys in a terminal's input: an escape sequence is one key. */
function keysOf(data: string): string[] {
  return data.match(/\u001b(?:[[O][0-9;]*[A-Za-z~])?|[\s\S]/gu) ?? [];
}
