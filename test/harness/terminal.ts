/**
 * A terminal on which the binary runs as the foreground job of a shell: its screen, its keys, and
 * its state before and after.
 */

import { mkdirSync, mkdtempSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Sandbox } from "./sandbox.ts";

/** The shell's script: it survives a key that ends the program, and records the state. */
const JOB = `trap : INT
stty -a > before
sh -c 'echo $$ > pid; exec "$@"' sh "$@"
code=$?
stty -a > after
echo $code > code`;

/**
 * Longest wait for a text, in milliseconds: reaching it is a failure; no test measures time by it.
 */
const PATIENCE_MS = 180_000;

/** The state after a program has ended. */
export interface Ended {
  /**
   * Exit code as the shell reports it: 128 plus the number of the signal that ended the program.
   */
  readonly exitCode: number;
  /** The output of `stty -a`, before and after. */
  readonly before: string;
  readonly after: string;
  readonly screen: string;
}

/** One program on a terminal. */
export class Terminal {
  private screen = "";
  private waiters: (() => void)[] = [];
  private readonly child: Bun.Subprocess;

  private constructor(
    private readonly folder: string,
    start: (onData: (bytes: Uint8Array) => void) => Bun.Subprocess,
  ) {
    const decoder = new TextDecoder();
    this.child = start((bytes) => {
      this.screen += decoder.decode(bytes, { stream: true });
      for (const wake of this.waiters.splice(0)) wake();
    });
  }

  /** Starts `svc`, with 80 columns and 24 rows unless said otherwise. */
  static start(
    sandbox: Sandbox,
    args: readonly string[],
    options: { readonly cwd?: string; readonly env?: Record<string, string>; readonly columns?: number; readonly rows?: number } = {},
  ): Terminal {
    const notes = join(sandbox.root, "terminals");
    mkdirSync(notes, { recursive: true });
    const folder = mkdtempSync(join(notes, "t-"));
    const go = ["sh", "-c", `cd "$1" && shift\n${JOB.replaceAll(/> (before|pid|after|code)/g, `> ${folder}/$1`)}`, "sh"];
    return new Terminal(folder, (onData) =>
      Bun.spawn([...go, options.cwd ?? sandbox.work, sandbox.binary, ...args], {
        env: { ...sandbox.env, TERM: "xterm-256color", ...options.env },
        terminal: { cols: options.columns ?? 80, rows: options.rows ?? 24, data: (_, bytes) => onData(bytes) },
      }),
    );
  }

  /** Waits until a text is on the screen. */
  async until(text: string): Promise<void> {
    const deadline = performance.now() + PATIENCE_MS;
    while (!this.screen.includes(text)) {
      if (performance.now() > deadline || this.child.exitCode !== null) throw new Error(`'${text}' is not on the screen:\n${this.screen}`);
      const changed = new Promise<void>((resolve) => this.waiters.push(resolve));
      await Promise.race([changed, Bun.sleep(100)]);
    }
  }

  /** Presses keys. */
  press(keys: string): void {
    this.child.terminal?.write(keys);
  }

  /** Sends a signal to the program, not to the shell. */
  signal(name: NodeJS.Signals): void {
    process.kill(Number(readFileSync(join(this.folder, "pid"), "utf8")), name);
  }

  /** Waits for the end. A program that does not end is killed, and that is a failure. */
  async ended(): Promise<Ended> {
    const timer = setTimeout(() => this.child.kill("SIGKILL"), PATIENCE_MS);
    await this.child.exited;
    clearTimeout(timer);
    const read = (name: string) => readFileSync(join(this.folder, name), "utf8");
    try {
      return { exitCode: Number(read("code")), before: read("before"), after: read("after"), screen: this.screen };
    } catch {
      throw new Error(`the program did not end:\n${this.screen}`);
    } finally {
      this.child.terminal?.close();
    }
  }
}

/**
 * Works in a shell on a terminal of 91 columns and 33 rows: looks at that size, ends what runs
 * there by Ctrl-C, goes on, and exits with code 5. Rejects when one of them does not come.
 */
export async function workInShell(terminal: Terminal): Promise<Ended> {
  terminal.press("stty size; sh -c 'echo begun-$((1+1)); exec sleep 600'\r");
  await terminal.until("33 91");
  await terminal.until("begun-2");
  terminal.press("\u0003");
  terminal.press("echo after-$((1+2))\r");
  await terminal.until("after-3");
  terminal.press("exit 5\r");
  return terminal.ended();
}
