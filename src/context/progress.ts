/**
 * Progress on stderr: spinners on a terminal, lines elsewhere, nothing with --json; logs with -v
 * and -vv. Texts may come from servers and files, so their control characters are escaped.
 */

import { visibleLines } from "../domain/visible.ts";
import type { GlobalFlags } from "./flags.ts";
import type { Io } from "./io.ts";
import type { Progress } from "./prompt.ts";

const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const FRAME_MS = 80;
/** Milliseconds from which a step's duration is shown. */
const SHOW_DURATION_FROM_MS = 2_000;
const CLEAR_LINE = "\r\u001b[2K";

/** The output of -v and -vv. */
interface Log {
  step(text: string): void;
  detail(text: string): void;
}

/** consola on stderr, loaded only when something is logged. */
async function createLog(io: Pick<Io, "writeErr">): Promise<Log> {
  const { createConsola } = await import("consola/basic");
  const stderr = { write: (text: string) => io.writeErr(text) } as unknown as NodeJS.WriteStream;
  const log = createConsola({ level: 4, stdout: stderr, stderr, formatOptions: { date: false } });
  return { step: (text) => log.info(text), detail: (text) => log.debug(text) };
}

/** The progress of one command. */
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

/** A step in progress. */
interface Step {
  readonly label: string;
  readonly since: number;
  /** The current activity; empty when none was reported. */
  doing: string;
}

/** One spinner for all steps; it shows the innermost one. */
class Spinner {
  private readonly steps: Step[] = [];
  private timer: ReturnType<typeof setInterval> | undefined;
  private frame = 0;

  constructor(
    private readonly io: Pick<Io, "writeErr">,
    private readonly mode: { readonly animated: boolean; readonly silent: boolean },
  ) {}

  async run<T>(label: string, work: (say: (doing: string) => void) => Promise<T>, failed?: (result: T) => boolean): Promise<T> {
    const step: Step = { label: visibleLines(label), since: performance.now(), doing: "" };
    this.steps.push(step);
    if (this.mode.animated) this.start();
    else if (!this.mode.silent) this.io.writeErr(`${step.label}\n`);
    const say = (doing: string) => {
      step.doing = visibleLines(doing);
      this.draw();
    };
    try {
      const result = await work(say);
      this.end(step, failed?.(result) ? "✗" : "✓");
      return result;
    } catch (error) {
      this.end(step, "✗");
      throw error;
    }
  }

  /** Writes other text without mixing it with the spinner's line. */
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
    const step = this.steps.at(-1);
    if (!this.mode.animated || !step) return;
    const room = (process.stderr.columns || 80) - 3;
    const text = step.doing === "" ? step.label : `${step.label}: ${step.doing}`;
    const shown = Bun.stringWidth(text) > room ? `${Bun.sliceAnsi(text, 0, room - 1)}…` : text;
    this.io.writeErr(`${CLEAR_LINE}${FRAMES[this.frame % FRAMES.length]} ${shown}`);
  }

  private end(step: Step, mark: string): void {
    this.steps.splice(this.steps.indexOf(step), 1);
    if (!this.mode.animated) return;
    const ms = performance.now() - step.since;
    const took = ms < SHOW_DURATION_FROM_MS ? "" : ` (${(ms / 1000).toFixed(1)}s)`;
    this.io.writeErr(`${CLEAR_LINE}${mark} ${step.label}${took}\n`);
    this.draw();
    if (this.steps.length > 0) return;
    clearInterval(this.timer);
    this.timer = undefined;
  }
}
