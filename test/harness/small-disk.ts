/**
 * A small disk of its own at a folder, seen only by what is run through it, that can be filled and
 * emptied. Linux; nothing needs root.
 */

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { lacksNamespaces, lacksProgram } from "./needs.ts";

/** Whether there can be none on this machine: see `lacksProgram`. */
export const lacksSmallDisk = (): boolean => lacksNamespaces("-rm") || lacksProgram("nsenter");

/** A mounted disk. */
export class SmallDisk implements AsyncDisposable {
  /** Words before a command that is to see the disk. Its working directory is the root. */
  readonly wrapper: readonly string[];

  private constructor(
    private readonly holder: Bun.Subprocess<"pipe", "pipe", "inherit">,
    readonly folder: string,
  ) {
    this.wrapper = ["nsenter", "-t", String(holder.pid), "-U", "-m", "--preserve-credentials"];
  }

  /** Mounts an empty disk of that many KiB at a folder, which is made. */
  static async mount(folder: string, kib: number): Promise<SmallDisk> {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const script = 'mount -t tmpfs -o "size=$1k,mode=700" none "$0" && echo mounted && exec cat';
    const holder = Bun.spawn(["unshare", "-rm", "sh", "-c", script, folder, String(kib)], {
      stdin: "pipe",
      stdout: "pipe",
      stderr: "inherit",
    });
    const { value } = await holder.stdout.getReader().read();
    if (!new TextDecoder().decode(value).startsWith("mounted")) throw new Error(`no disk could be mounted at ${folder}`);
    return new SmallDisk(holder, folder);
  }

  /** Runs a program that sees the disk; gives what it printed. */
  run(...argv: string[]): string {
    return Bun.spawnSync([...this.wrapper, ...argv], { stdin: "ignore" }).stdout.toString();
  }

  /**
   * Takes all room that is left, in as many steps as it needs, because whoever uses the disk may
   * still free some.
   */
  fill(): void {
    this.run("sh", "-c", 'cat /dev/zero >> "$0" 2>/dev/null', join(this.folder, "filler"));
  }

  /** Gives the room back. */
  empty(): void {
    this.run("rm", "-f", join(this.folder, "filler"));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.holder.stdin.end();
    await this.holder.exited;
  }
}
