/**
 * The streams of a command that passes them on to a program elsewhere: the terminal in raw mode, so
 * that every key is the program's, or the pipes as they are. The terminal comes back as it was,
 * however the command ends.
 */

import type { Context } from "./context.ts";

/** The streams, while they are held. */
export interface Attached {
  /** Whether they are a terminal. */
  readonly isTerminal: boolean;
  /** Columns and rows of the terminal now. */
  readonly columns: number;
  readonly rows: number;
  /** The next input; undefined at its end. Rejects with the signal's reason. */
  read(): Promise<Uint8Array | undefined>;
  write(stream: "stdout" | "stderr", bytes: Uint8Array): Promise<void>;
  /** Calls a function when the size of the terminal has changed. */
  onResize(listener: () => void): void;
}

/** Keys that wait before the terminal is told to hold further ones. */
const MOST_WAITING = 64;

/**
 * Holds the streams while `run` runs. Rejects with what it rejects with.
 * @param asPipes whether a terminal is passed on as pipes are: by lines; Ctrl-C ends this command
 */
export async function attach<T>(
  { io, signal }: Pick<Context, "io" | "signal">,
  run: (attached: Attached) => Promise<T>,
  asPipes = false,
): Promise<T> {
  const write: Attached["write"] = async (stream, bytes) => {
    if (stream === "stdout") await io.writeOut(bytes);
    else await Bun.write(Bun.stderr, bytes);
  };
  if (asPipes || !io.stdinIsTTY || !io.stdoutIsTTY)
    return run({ isTerminal: false, columns: 0, rows: 0, read: () => io.readChunk(), write, onResize: () => undefined });
  const { stdin, stdout } = process;
  const keys: Uint8Array[] = [];
  let hasEnded = false;
  let wake: () => void = () => undefined;
  let listener: () => void = () => undefined;
  const onKeys = (data: Buffer): void => {
    keys.push(new Uint8Array(data));
    if (keys.length > MOST_WAITING) stdin.pause();
    wake();
  };
  const onEnd = (): void => {
    hasEnded = true;
    wake();
  };
  const onResize = (): void => listener();
  const restoreAtOnce = (): void => void stdin.setRawMode(false);
  process.once("exit", restoreAtOnce);
  stdin.setRawMode(true);
  stdin.on("data", onKeys);
  stdin.once("end", onEnd);
  stdout.on("resize", onResize);
  signal.addEventListener("abort", onEnd, { once: true });
  try {
    stdin.resume();
    return await run({
      isTerminal: true,
      get columns() {
        return stdout.columns || 80;
      },
      get rows() {
        return stdout.rows || 24;
      },
      async read() {
        while (keys.length === 0 && !hasEnded)
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        signal.throwIfAborted();
        const next = keys.shift();
        if (keys.length === 0) stdin.resume();
        return next;
      },
      write,
      onResize(on) {
        listener = on;
      },
    });
  } finally {
    signal.removeEventListener("abort", onEnd);
    stdin.off("data", onKeys);
    stdin.off("end", onEnd);
    stdout.off("resize", onResize);
    stdin.setRawMode(false);
    stdin.pause();
    process.off("exit", restoreAtOnce);
  }
}
