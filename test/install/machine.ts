/**
 * A user's machine as the installer meets it: an empty HOME, the tools that a test wants there, and
 * the shells that run the script.
 */

import { lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { lacksProgram } from "../harness/needs.ts";
import type { BuiltFeed } from "../harness/release-feed.ts";
import type { Outcome } from "../harness/sandbox.ts";

/** What the script needs besides what downloads, unpacks and verifies. */
const NEEDED = "cat chmod cp cut date dd expr find getconf grep head ln mkdir mktemp mv readlink rm rmdir sed sh tail tr uname wc".split(
  " ",
);

/** How the script is run. */
export interface InstallOptions {
  /** Reads the script from stdin, as in `curl | sh`. Default: sh. */
  readonly shell?: readonly string[];
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Programs on PATH besides the needed ones. Default: everything that this machine has. */
  readonly tools?: readonly string[];
  /** Text of the script. Default: the feed's. */
  readonly script?: string;
  /** Runs the shell by another program: what comes before it on the command line. */
  readonly under?: readonly string[];
  readonly cwd?: string;
}

/**
 * What a machine needs to download from a host of the tests, which is served with a certificate
 * that openssl makes.
 */
export const DOWNLOADING = ["curl", "openssl"];

/** Whether any of these tools is absent here, named as in `InstallOptions`. */
export const lacksTools = (tools: readonly string[]): boolean => lacksProgram(...tools.map((name) => name.replace(/:.*/, "")));

let running = 0;
const waiting: (() => void)[] = [];

/** Runs `work` when fewer than one more than the number of cores run. */
async function inTurn<T>(work: () => Promise<T>): Promise<T> {
  if (running > availableParallelism()) await new Promise<void>((resolve) => waiting.push(resolve));
  running++;
  try {
    return await work();
  } finally {
    running--;
    waiting.shift()?.();
  }
}

/** A machine. Its folder goes with it. */
export class InstallMachine implements Disposable {
  readonly root = mkdtempSync(join(tmpdir(), "svc-install-"));
  readonly home: string;
  /** Where the script installs unless told otherwise. */
  readonly dir: string;

  constructor(
    readonly feed: BuiltFeed,
    readonly env: Readonly<Record<string, string>> = {},
    home = "home",
  ) {
    this.home = join(this.root, home);
    this.dir = join(this.home, ".svc", "bin");
    mkdirSync(this.home, { recursive: true });
  }

  /** Runs the script to its end; it writes no manual pages unless `SVC_NO_MANUAL` is emptied. */
  install(args: readonly string[], options: InstallOptions = {}): Promise<Outcome> {
    return inTurn(() => this.start(args, options).ended);
  }

  /** Starts the script without waiting for its turn. */
  start(args: readonly string[], options: InstallOptions = {}): { readonly pid: number; readonly ended: Promise<Outcome> } {
    const script = options.script ?? readFileSync(join(this.feed.dir, "install.sh"), "utf8");
    const path = options.tools ? this.toolbox(options.tools) : (process.env.PATH ?? "");
    const child = Bun.spawn([...(options.under ?? []), ...(options.shell ?? ["/bin/sh"]), "-s", "--", ...args], {
      cwd: options.cwd ?? this.root,
      env: { HOME: this.home, SHELL: "/bin/sh", PATH: path, SVC_NO_MANUAL: "1", ...this.env, ...options.env },
      stdin: new TextEncoder().encode(script),
      stdout: "pipe",
      stderr: "pipe",
    });
    const ended = (async () => {
      const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
      return { exitCode: await child.exited, stdout, stderr };
    })();
    return { pid: child.pid, ended };
  }

  /**
   * Puts a version there as the script would, without its cost: what runs is the feed's own file.
   */
  place(version: string): void {
    mkdirSync(this.dir, { recursive: true, mode: 0o755 });
    symlinkSync(join(this.feed.dir, "releases", version, `svc-${this.feed.target}`), join(this.dir, `svc-${version}`));
    symlinkSync(`svc-${version}`, join(this.dir, "svc"));
    writeFileSync(join(this.dir, ".svc-install.json"), "{}\n");
  }

  /** What the installed svc says its version is; empty when there is none. */
  version(dir = this.dir): string {
    try {
      return Bun.spawnSync([join(dir, "svc"), "version", "--tag-only"], { env: { HOME: this.home } })
        .stdout.toString()
        .trim();
    } catch {
      return "";
    }
  }

  /** Every file below a folder (default: the whole HOME), with what identifies it. */
  files(folder = this.home): readonly string[] {
    return readdirSync(folder, { recursive: true, encoding: "utf8" })
      .map((name) => {
        const found = lstatSync(join(folder, name));
        if (found.isSymbolicLink()) return `${name} -> ${readlinkSync(join(folder, name))}`;
        return found.isFile() ? `${name} ${found.size} ${(found.mode & 0o777).toString(8)}` : `${name}/`;
      })
      .sort();
  }

  /**
   * A folder with links to the programs that the script needs, and to those named; `busybox:`
   * before a name is busybox's, under that name.
   */
  toolbox(tools: readonly string[]): string {
    const folder = mkdtempSync(join(this.root, "tools-"));
    const onlyBusybox = tools.includes("busybox:*");
    const names = onlyBusybox
      ? Bun.spawnSync(["busybox", "--list"])
          .stdout.toString()
          .trim()
          .split("\n")
          .map((name) => `busybox:${name}`)
      : [...NEEDED, ...tools];
    for (const name of new Set([...names, ...tools.filter((tool) => tool !== "busybox:*")])) {
      const [program, link] = name.startsWith("busybox:") ? ["busybox", name.slice("busybox:".length)] : [name, name];
      const found = Bun.which(program);
      if (found === null) throw new Error(`${program} is not installed`);
      rmSync(join(folder, link), { force: true });
      symlinkSync(found, join(folder, link));
    }
    return folder;
  }

  [Symbol.dispose](): void {
    rmSync(this.root, { recursive: true, force: true });
  }
}
