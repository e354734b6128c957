/**
 * A small disk mounted at a folder, visible only to programs run through it, that can be filled and
 * emptied. Linux only; root is not needed.
 */

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { lacksNamespaces, lacksProgram } from "./needs.ts";

/** Whether such a disk cannot be mounted here: see `lacksProgram`. */
export const lacksSmallDisk = (): boolean => lacksNamespaces("-rm") || lacksProgram("nsenter");

/** A mounted disk. */
export class SmallDisk implements AsyncDisposable {
  /**
   * The argument prefix that makes the disk visible to a command. Its working directory is the
   * root.
   */
  readonly wrapper: readonly string[];

  private constructor(
    private readonly holder: Bun.Subprocess<"pipe", "pipe", "inherit">,
    readonly folder: string,
  ) {
    this.wrapper = ["nsenter", "-t", String(holder.pid), "-U", "-m", "--preserve-credentials"];
  }

  /** Mounts an empty disk of a size in KiB at a folder, which is created. */
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

  /** Runs a program to which the disk is visible, and returns its output. */
  run(...argv: string[]): string {
    return Bun.spawnSync([...this.wrapper, ...argv], { stdin: "ignore" }).stdout.toString();
  }

  /** Fills all space that is left. */
  fill(): void {
    this.run("sh", "-c", 'cat /dev/zero >> "$0" 2>/dev/null', join(this.folder, "filler"));
  }

  /** Frees the space that `fill` took. */
  empty(): void {
    this.run("rm", "-f", join(this.folder, "filler"));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.holder.stdin.end();
    await this.holder.exited;
  }
}
