/** A machine on which svc was installed as the installer does it. */

import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { linkOrCopy, TARGET, type TestFeed } from "./release-feed.ts";
import type { Outcome, RunOptions } from "./sandbox.ts";

/** A machine on which svc was installed, with builds of a feed. */
export class InstalledMachine implements Disposable {
  readonly root = mkdtempSync(join(tmpdir(), "svc-installed-"));
  readonly home: string;
  readonly bin: string;
  readonly svc: string;

  /**
   * `versions` are installed, the last of them is current. The folder's name may hold awkward
   * characters.
   */
  constructor(
    readonly feed: TestFeed,
    versions: readonly string[] = ["v0.1.0"],
    options: { readonly home?: string; readonly source?: string } = {},
  ) {
    this.home = join(this.root, options.home ?? "home");
    this.bin = join(this.home, ".svc", "bin");
    this.svc = join(this.bin, "svc");
    mkdirSync(this.bin, { recursive: true, mode: 0o700 });
    for (const version of versions) linkOrCopy(join(feed.dir, "releases", version, `svc-${TARGET}`), join(this.bin, `svc-${version}`));
    symlinkSync(`svc-${versions.at(-1)}`, this.svc);
    writeFileSync(join(this.bin, ".svc-install.json"), JSON.stringify({ source: options.source ?? feed.dir, target: TARGET }));
  }

  get env(): Record<string, string> {
    return { HOME: this.home, PATH: `${this.bin}:${process.env.PATH ?? ""}`, LANG: "C.UTF-8", SVC_NO_UPDATE_CHECK: "1" };
  }

  /** Runs the current svc to its end. */
  async run(
    args: readonly string[],
    options: RunOptions & { readonly wrapper?: readonly string[] } = {},
  ): Promise<Outcome & { readonly pid: number }> {
    const child = Bun.spawn([...(options.wrapper ?? []), this.svc, ...args], {
      cwd: options.cwd ?? this.root,
      env: { ...this.env, ...options.env },
      stdin: options.input === undefined ? "ignore" : new TextEncoder().encode(options.input),
      stdout: "pipe",
      stderr: "pipe",
      timeout: options.timeoutMs ?? 300_000,
      killSignal: "SIGKILL",
    });
    const [stdout, stderr, exitCode] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
      child.exited,
    ]);
    return { exitCode, stdout, stderr, pid: child.pid };
  }

  /**
   * Runs `svc ... --json`, which has to fail, and resolves with the code of its error and its exit
   * code.
   */
  async refusal(args: readonly string[], options: RunOptions = {}): Promise<{ code: string; message: string; exitCode: number }> {
    const { exitCode, stdout, stderr } = await this.run([...args, "--json"], options);
    if (stdout !== "") throw new Error(`svc ${args.join(" ")} was not refused: ${stdout}`);
    const { error } = JSON.parse(stderr.trim().split("\n").at(-1) ?? "") as { error: { code: string; message: string } };
    return { ...error, exitCode };
  }

  /** Runs the current svc on a terminal; `keys` are typed when the screen first shows `until`. */
  async onTerminal(
    args: readonly string[],
    options: {
      readonly env?: Record<string, string | undefined>;
      readonly keys?: readonly (readonly [until: string, keys: string])[];
    } = {},
  ): Promise<{ readonly exitCode: number; readonly screen: string }> {
    let screen = "";
    let seen = 0;
    const waiting = [...(options.keys ?? [])];
    const decoder = new TextDecoder();
    const { promise: drained, resolve: drain } = Promise.withResolvers<void>();
    const child = Bun.spawn([this.svc, ...args], {
      cwd: this.root,
      env: { ...this.env, TERM: "xterm-256color", ...options.env },
      timeout: 300_000,
      killSignal: "SIGKILL",
      terminal: {
        cols: 80,
        rows: 12,
        exit: () => drain(),
        data: (terminal, data) => {
          screen += decoder.decode(data, { stream: true });
          for (let next = waiting[0]; next && screen.indexOf(next[0], seen) >= 0; next = waiting[0]) {
            seen = screen.length;
            terminal.write(next[1]);
            waiting.shift();
          }
        },
      },
    });
    const exitCode = await child.exited;
    await drained;
    return { exitCode, screen };
  }

  /** The output of `svc version --tag-only`. */
  async version(): Promise<string> {
    const { exitCode, stdout, stderr } = await this.run(["version", "--tag-only"]);
    return exitCode === 0 ? stdout.trim() : `exit ${exitCode}: ${stderr}`;
  }

  /** Names in the folder of builds. */
  files(): string[] {
    return readdirSync(this.bin).sort();
  }

  [Symbol.dispose](): void {
    rmSync(this.root, { recursive: true, force: true });
  }
}
