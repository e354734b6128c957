/** What is going on, on stderr: spinners on a terminal, lines elsewhere, nothing with --json; logs with -v and -vv. */

import type { GlobalFlags } from "./context.ts";
import type { Io } from "./io.ts";
import type { Progress } from "./prompt.ts";

const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const FRAME_MS = 80;
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
    step: (label, work) => spinner.run(label, work),
    note(text) {
      if (!flags.json) say(`${text}\n`);
    },
    warn: (text) => say(`Warning: ${text}\n`),
    verbose: (text) => log && spinner.around(() => log.step(text)),
    debug(text) {
      if (flags.debug) spinner.around(() => log?.detail(text));
    },
  };
}

/** One spinner for all steps: the innermost label is shown. */
class Spinner {
  private readonly labels: { text: string }[] = [];
  private timer: ReturnType<typeof setInterval> | undefined;
  private frame = 0;

  constructor(
    private readonly io: Pick<Io, "writeErr">,
    private readonly mode: { readonly animated: boolean; readonly silent: boolean },
  ) {}

  async run<T>(label: string, work: (update: (label: string) => void) => Promise<T>): Promise<T> {
    const shown = { text: label };
    this.labels.push(shown);
    if (this.mode.animated) this.start();
    else if (!this.mode.silent) this.io.writeErr(`${label}\n`);
    const update = (text: string) => {
      shown.text = text;
      this.draw();
    };
    try {
      const result = await work(update);
      this.end(shown, "✓");
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

  private end(shown: { text: string }, mark: string): void {
    this.labels.splice(this.labels.indexOf(shown), 1);
    if (!this.mode.animated) return;
    this.io.writeErr(`${CLEAR_LINE}${mark} ${shown.text}\n`);
    this.draw();
    if (this.labels.length > 0) return;
    clearInterval(this.timer);
    this.timer = undefined;
  }
}
