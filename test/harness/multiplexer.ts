/** A terminal multiplexer (tmux), whose screen a test reads as a person would. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually } from "./eventually.ts";
import type { Sandbox } from "./sandbox.ts";

/** A terminal with a shell in it. */
export class Multiplexer {
  private readonly folder = mkdtempSync(join(tmpdir(), "svc-tmux-"));

  constructor(
    private readonly sandbox: Sandbox,
    columns: number,
    rows: number,
  ) {
    this.tmux("-f", "/dev/null", "new-session", "-d", "-x", String(columns), "-y", String(rows), "sh");
    this.tmux("set-option", "-g", "status", "off");
  }

  private tmux(...words: string[]): string {
    const { exitCode, stdout, stderr } = Bun.spawnSync(["tmux", "-S", join(this.folder, "socket"), ...words], {
      env: { ...this.sandbox.env, TERM: "xterm-256color", LC_ALL: "C.UTF-8" },
    });
    if (exitCode !== 0) throw new Error(stderr.toString());
    return stdout.toString();
  }

  /** Presses keys by the names that tmux has for them. */
  press(...keys: string[]): void {
    this.tmux("send-keys", ...keys);
  }

  /** Types a text. */
  type(text: string): void {
    this.tmux("send-keys", "-l", text);
  }

  /** Changes the size of the terminal. */
  resize(columns: number, rows: number): void {
    this.tmux("resize-window", "-x", String(columns), "-y", String(rows));
  }

  /** Lines of the screen. */
  screen(): string[] {
    return this.tmux("capture-pane", "-p").split("\n");
  }

  /** Waits until the screen is as it should be, and returns it. */
  async until(holds: (screen: string[]) => boolean, what: string): Promise<string[]> {
    try {
      await eventually(() => holds(this.screen()), what);
    } catch (error) {
      throw new Error(`${error}:\n${this.screen().join("\n")}`);
    }
    return this.screen();
  }

  [Symbol.dispose](): void {
    this.tmux("kill-server");
    rmSync(this.folder, { recursive: true, force: true });
  }
}
