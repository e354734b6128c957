/**
 * What is going on, on stderr: spinners on a terminal, lines elsewhere, nothing with --json; logs with -v and -vv. Texts may hold what servers and files say, so
 * their control characters are written visibly.
 */

import { visibleLines } from "../domain/visible.ts";
import type { GlobalFlags } from "./context.ts";
import type { Io } from "./io.ts";
import type { Progress } from "./prompt.ts";

const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const FRAME_MS = 80;
/** Milliseconds from which on a step says how long it took. */
const TOLD_FROM_MS = 2_000;
const CLEAR_LINE = "\r\u001b[2K";

/** Where -v and -vv go. */
interface Log {
  step(text: string): void;
  detail(text: string): void;
}

/** consola on stderr, loaded only when there is something to log. */
async function createLog(io: Pick<Io, "writeErr">): Promise<Log> {
  const { createConsola } = await import("consola/basic");
  const stderr = { write: (text: string) => io.writeErr(text) } as unknown as NodeJS.WriteStream;
  const log = createConsola({ level: 4, stdout: stderr, stderr, formatOptions: { date: false } });
  return { step: (text) => log.info(text), detail: (text) => log.debug(text) };
}

/** Makes the progress of one command. */
export async function createProgress(
  io: Pick<Io, "writeErr" | "stderrIsTTY" | "stdoutIsTTY">,
  flags: Pick<GlobalFlags, "json" | "spinners" | "verbose" | "debug" | "color">,
): Promise<Progress> {
  const log = flags.verbose ? await createLog(io) : undefined;
  const spinner = new Spinner(io, { animated: flags.spinners && !flags.json && !flags.verbose && io.stderrIsTTY, silent: flags.json });
  const say = (text: string) => spinner.around(() => io.writeErr(text));
  return {
    step: (label, work, failed) => spinner.run(label, work, failed),
    note(text) {
      if (!flags.json) say(`${visibleLines(text)}\n`);
    },
    warn: (text) => say(`Warning: ${visibleLines(text)}\n`),
    verbose: (text) => log && spinner.around(() => log.step(visibleLines(text))),
    debug(text) {
      if (flags.debug) spinner.around(() => log?.detail(visibleLines(text)));
    },
  };
}

/** One spinner for all steps: the innermost label is shown. */
class Spinner {
  private readonly labels: { text: string; readonly since: number }[] = [];
  private timer: ReturnType<typeof setInterval> | undefined;
  private frame = 0;

  constructor(
    private readonly io: Pick<Io, "writeErr">,
    private readonly mode: { readonly animated: boolean; readonly silent: boolean },
  ) {}

  async run<T>(label: string, work: (update: (label: string) => void) => Promise<T>, failed?: (result: T) => boolean): Promise<T> {
    const shown = { text: visibleLines(label), since: performance.now() };
    this.labels.push(shown);
    if (this.mode.animated) this.start();
    else if (!this.mode.silent) this.io.writeErr(`${shown.text}\n`);
    const update = (text: string) => {
      shown.text = visibleLines(text);
      this.draw();
    };
    try {
      const result = await work(update);
      this.end(shown, failed?.(result) ? "✗" : "✓");
      return result;
    } catch (error) {
      this.end(shown, "✗");
      throw error;
    }
  }

  /** Writes something else without mixing it with the spinner's line. */
  around(write: () => void): void {
    if (this.timer) this.io.writeErr(CLEAR_LINE);
    write();
    this.draw();
  }

  private start(): void {
    this.draw();
    this.timer ??= setInterval(() => {
      this.frame++;
      this.draw();
    }, FRAME_MS);
    this.timer.unref();
  }

  private draw(): void {
    const shown = this.labels.at(-1);
    if (!this.mode.animated || !shown) return;
    const room = (process.stderr.columns || 80) - 3;
    const text = Bun.stringWidth(shown.text) > room ? `${Bun.sliceAnsi(shown.text, 0, room - 1)}…` : shown.text;
    this.io.writeErr(`${CLEAR_LINE}${FRAMES[this.frame % FRAMES.length]} ${text}`);
  }

  private end(shown: { text: string; readonly since: number }, mark: string): void {
    this.labels.splice(this.labels.indexOf(shown), 1);
    if (!this.mode.animated) return;
    const ms = performance.now() - shown.since;
    const took = ms < TOLD_FROM_MS ? "" : ` (${(ms / 1000).toFixed(1)}s)`;
    this.io.writeErr(`${CLEAR_LINE}${mark} ${shown.text}${took}\n`);
    this.draw();
    if (this.labels.length > 0) return;
    clearInterval(this.timer);
    this.timer = undefined;
  }
}
