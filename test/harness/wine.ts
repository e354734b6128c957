/**
 * A Windows machine: Wine with its own prefix, and the Windows build of the binary in it. Its drive
 * `Z:` is the file system of this machine.
 *
 * Bun's runtime takes random numbers from `bcryptprimitives.dll!ProcessPrng`, which Wine has since
 * version 9; for older ones the function is built here.
 */

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { lacksProgram } from "./needs.ts";
import type { Outcome, RunOptions } from "./sandbox.ts";

const REPOSITORY = join(import.meta.dir, "../..");
const COMPILER = "x86_64-w64-mingw32-gcc";

const PROCESS_PRNG = `#include <windows.h>
BOOLEAN NTAPI SystemFunction036(PVOID, ULONG);
__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE data, SIZE_T size) {
  while (size > 0) {
    ULONG part = size > 0x10000000 ? 0x10000000 : (ULONG)size;
    if (!SystemFunction036(data, part)) return FALSE;
    data += part;
    size -= part;
  }
  return TRUE;
}
`;

/**
 * Whether Windows programs cannot run here: see `lacksProgram`. Wine runs the Windows build on x64
 * Linux only.
 */
export const lacksWine = (): boolean =>
  process.platform !== "linux" || process.arch !== "x64" || lacksProgram("wine", "wineboot", "wineserver", COMPILER);

/** The Windows path of a file of this machine. */
export function windowsPath(path: string): string {
  return `Z:${path.replaceAll("/", "\\")}`;
}

/** A program on a console. */
export interface ConsoleProgram {
  readonly exited: Promise<number>;
  /** Its output so far. */
  text(): string;
  /** Presses keys. */
  write(keys: string): void;
  /** Waits until a text is shown; rejects when the program ends without it. */
  until(text: string): Promise<void>;
}

/** Times that a program is run when Wine itself fails. */
const MAX_TRIES = 5;

/** A Windows machine. Every program started on it is ended with it. */
export class WineMachine implements AsyncDisposable {
  readonly root = mkdtempSync(join(tmpdir(), "svc-wine-"));
  /** A folder on drive `Z:`. */
  readonly work = join(this.root, "work");
  /** Path of the binary on this machine. */
  readonly exe = join(this.root, "bin", "svc.exe");
  /** The folder `C:`. */
  readonly drive = join(this.root, "prefix", "drive_c");
  private readonly env: Record<string, string>;

  private constructor() {
    this.env = {
      PATH: process.env.PATH ?? "",
      HOME: join(this.root, "unix-home"),
      LC_ALL: "C.UTF-8",
      WINEPREFIX: join(this.root, "prefix"),
      WINEDEBUG: "-all",
      WINEDLLOVERRIDES: "mscoree,mshtml,winemenubuilder.exe=",
      SVC_NO_UPDATE_CHECK: "1",
    };
  }

  /**
   * Makes the prefix, the missing function and the binary, all at once; the binary not for tests
   * that bring theirs.
   */
  static async boot(options: { readonly hasBinary: boolean } = { hasBinary: true }): Promise<WineMachine> {
    const machine = new WineMachine();
    const system = join(machine.drive, "windows", "system32");
    for (const folder of [machine.work, join(machine.root, "bin"), join(machine.root, "unix-home"), system])
      mkdirSync(folder, { recursive: true });
    const source = join(machine.root, "process-prng.c");
    writeFileSync(source, PROCESS_PRNG);
    const steps = await Promise.allSettled([
      machine.step("wineboot", "-i"),
      machine.step(COMPILER, "-shared", "-O1", "-o", join(system, "bcryptprimitives.dll"), source, "-ladvapi32"),
      ...(options.hasBinary
        ? [
            machine.step(
              process.execPath,
              join(REPOSITORY, "build.ts"),
              "--single",
              "--without-tables",
              "--targets=windows-amd64",
              `--out=${machine.exe}`,
            ),
          ]
        : []),
    ]);
    const failed = steps.find((step) => step.status === "rejected");
    if (failed === undefined) return machine;
    await machine[Symbol.asyncDispose]();
    throw failed.reason;
  }

  private async step(...argv: readonly string[]): Promise<void> {
    const isWine = argv[0] === "wineboot";
    const child = Bun.spawn([...argv], {
      cwd: this.root,
      env: isWine ? this.env : { ...process.env },
      stdin: "ignore",
      stdout: "ignore",
      stderr: "pipe",
    });
    const said = isWine ? "" : await new Response(child.stderr).text();
    if ((await child.exited) !== 0) throw new Error(`${argv.join(" ")}: exit ${child.exitCode}\n${said}`);
  }

  /** The user's folder on `C:`, `%USERPROFILE%`. */
  async userProfile(): Promise<string> {
    const { stdout } = await this.run(["cmd", "/c", "echo %USERPROFILE%"]);
    return join(this.drive, stdout.trim().replace(/^C:\\/i, "").replaceAll("\\", "/"));
  }

  /** Runs `svc.exe` to its end. */
  svc(args: readonly string[], options: RunOptions = {}): Promise<Outcome> {
    return this.run([this.exe, ...args], options);
  }

  /** Runs a script, bundled, with the runtime in the binary. */
  async script(path: string): Promise<Outcome> {
    const { outputs } = await Bun.build({ entrypoints: [path], target: "bun" });
    const bundled = join(this.root, `${crypto.randomUUID()}.js`);
    writeFileSync(bundled, (await outputs[0]?.text()) ?? "");
    return this.run([this.exe, windowsPath(bundled)], { env: { BUN_BE_BUN: "1" } });
  }

  /**
   * Runs a Windows program to its end. One that Wine ended before it said anything, because its own
   * server had gone away, is run again.
   */
  async run(argv: readonly string[], options: RunOptions = {}): Promise<Outcome> {
    for (let tries = 1; ; tries++) {
      const outcome = await this.runOnce(argv, options);
      if (tries === MAX_TRIES || outcome.stdout !== "" || !/^wine client error:\w+: \w+: .*\s*$/.test(outcome.stderr)) return outcome;
    }
  }

  /**
   * Output goes to files, because programs that a program leaves in the background would hold a
   * pipe open.
   */
  private async runOnce(argv: readonly string[], options: RunOptions): Promise<Outcome> {
    const [stdout, stderr] = [join(this.root, `${crypto.randomUUID()}.out`), join(this.root, `${crypto.randomUUID()}.err`)];
    const child = Bun.spawn(["wine", ...argv], {
      cwd: options.cwd ?? this.work,
      env: { ...this.env, ...options.env },
      stdin: options.input === undefined ? "ignore" : new TextEncoder().encode(options.input),
      stdout: Bun.file(stdout),
      stderr: Bun.file(stderr),
      timeout: options.timeoutMs ?? 300_000,
      killSignal: "SIGKILL",
    });
    const exitCode = await child.exited;
    return { exitCode, stdout: readFileSync(stdout, "utf8"), stderr: readFileSync(stderr, "utf8") };
  }

  /** Starts `svc.exe` on a console of 80 columns. */
  onTerminal(args: readonly string[], env: Record<string, string> = {}): ConsoleProgram {
    const decoder = new TextDecoder();
    let text = "";
    let changed = Promise.withResolvers<void>();
    const child = Bun.spawn(["wine", this.exe, ...args], {
      cwd: this.work,
      env: { ...this.env, TERM: "xterm-256color", ...env },
      timeout: 300_000,
      killSignal: "SIGKILL",
      terminal: {
        cols: 80,
        rows: 24,
        data(_terminal, chunk) {
          text += decoder.decode(chunk, { stream: true });
          changed.resolve();
          changed = Promise.withResolvers();
        },
      },
    });
    return {
      exited: child.exited,
      text: () => text,
      write: (keys) => void child.terminal?.write(keys),
      async until(wanted) {
        while (!text.includes(wanted)) {
          const ended = await Promise.race([changed.promise.then(() => false), child.exited.then(() => true)]);
          if (ended && !text.includes(wanted)) throw new Error(`ended without ${JSON.stringify(wanted)}: ${text}`);
        }
      },
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Bun.spawn(["wineserver", "-k"], { env: this.env, stdout: "ignore", stderr: "ignore" }).exited;
    await Bun.spawn(["wineserver", "-w"], { env: this.env, stdout: "ignore", stderr: "ignore" }).exited;
    rmSync(this.root, { recursive: true, force: true });
  }
}
