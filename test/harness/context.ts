/**
 * A command's context for tests: streams that keep what was written, a clock that moves only when
 * told, and `main` in this process.
 */

import { tmpdir } from "node:os";
import type { Tree } from "../../src/cli/resolve.ts";
import { main } from "../../src/cli/run.ts";
import { categories, commandTree } from "../../src/commands/index.ts";
import type { Clock } from "../../src/context/clock.ts";
import type { Context } from "../../src/context/context.ts";
import { createContext } from "../../src/context/create-context.ts";
import type { GlobalFlags } from "../../src/context/flags.ts";
import type { Io } from "../../src/context/io.ts";
import type { Surroundings } from "../../src/context/machine.ts";
import { createProgress } from "../../src/context/progress.ts";
import { systemMachine } from "../../src/context/system-machine.ts";
import { createPrompt } from "../../src/context/system-prompt.ts";

/** Options of the streams. */
export interface TestIoOptions {
  /** Content of stdin. Default: none, at its end. */
  readonly stdin?: string;
  readonly stdoutIsTTY?: boolean;
  readonly stderrIsTTY?: boolean;
  readonly stdinIsTTY?: boolean;
  /** Columns of the terminal. Default: 80 on a terminal. */
  readonly width?: number;
  /** Rows of the terminal. Default: 24 on a terminal. */
  readonly height?: number;
  /** Called for each write to stdout; may throw, as a write to a full disk does. */
  readonly onWrite?: (text: string) => void;
}

/** Streams in memory. */
export interface TestIo {
  readonly io: Io;
  stdout(): string;
  stderr(): string;
}

/** Makes streams in memory. */
export function testIo(options: TestIoOptions = {}): TestIo {
  let out = "";
  let err = "";
  let input = options.stdin ?? "";
  const io: Io = {
    async writeOut(content) {
      const text = typeof content === "string" ? content : new TextDecoder().decode(content);
      options.onWrite?.(text);
      out += text;
    },
    writeErr(text) {
      err += text;
    },
    async readLine() {
      if (input === "") return undefined;
      const end = input.indexOf("\n");
      const line = end < 0 ? input : input.slice(0, end);
      input = end < 0 ? "" : input.slice(end + 1);
      return line;
    },
    async readChunk() {
      const all = new TextEncoder().encode(input);
      input = "";
      return all.length > 0 ? all : undefined;
    },
    async readAll() {
      const all = new TextEncoder().encode(input);
      input = "";
      return all;
    },
    stdoutIsTTY: options.stdoutIsTTY ?? false,
    stderrIsTTY: options.stderrIsTTY ?? false,
    stdinIsTTY: options.stdinIsTTY ?? false,
    width: options.stdoutIsTTY ? (options.width ?? 80) : Number.POSITIVE_INFINITY,
    height: options.stdoutIsTTY ? (options.height ?? 24) : Number.POSITIVE_INFINITY,
  };
  return { io, stdout: () => out, stderr: () => err };
}

/** A clock that stands still until `advance` or a `sleep` moves it. */
function testClock(start = Date.UTC(2024, 4, 1, 12)): Clock & { advance(ms: number): void } {
  let now = start;
  return {
    now: () => now,
    async sleep(ms, signal) {
      signal?.throwIfAborted();
      now += ms;
    },
    advance(ms) {
      now += ms;
    },
  };
}

/** Surroundings with their own environment, which has only PATH from the developer's machine. */
export function testSurroundings(env: Readonly<Record<string, string | undefined>> = {}): Surroundings {
  const home = env.HOME ?? `${tmpdir()}/no-home-of-svc-tests`;
  return {
    env: { PATH: process.env.PATH, HOME: home, SVC_KEYCHAIN: "off", ...env },
    platform: process.platform,
    arch: process.arch,
    hostname: "host.example",
    homeDir: home,
    execPath: process.execPath,
    pid: process.pid,
  };
}

/** Global flags with their defaults, except those given. */
function testFlags(flags: Partial<GlobalFlags> = {}): GlobalFlags {
  return {
    json: false,
    spinners: false,
    verbose: false,
    debug: false,
    updateCheck: false,
    dir: tmpdir(),
    color: "never",
    pager: true,
    ...flags,
  };
}

/** Options of a test context. */
export interface TestContextOptions extends TestIoOptions {
  readonly flags?: Partial<GlobalFlags>;
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly clock?: Clock;
  readonly signal?: AbortSignal;
  /** Members that replace the real ones. */
  readonly replace?: Partial<Context>;
}

/** A context on streams in memory; settings, project, Python and client are the real ones. */
export async function testContext(options: TestContextOptions = {}): Promise<TestIo & { readonly context: Context }> {
  const streams = testIo(options);
  const flags = testFlags(options.flags);
  const surroundings = testSurroundings(options.env);
  const signal = options.signal ?? new AbortController().signal;
  const context = createContext({
    flags,
    io: streams.io,
    clock: options.clock ?? testClock(),
    surroundings,
    machine: systemMachine(surroundings, signal),
    prompt: createPrompt(streams.io, flags, signal),
    progress: await createProgress(streams.io, flags),
    signal,
  });
  return { ...streams, context: Object.assign(context, options.replace) };
}

/** Options of `runMain`. Default: a run in a pipe. */
export interface RunMainOptions extends Omit<TestContextOptions, "flags"> {
  readonly tree?: Tree;
  readonly cwd?: string;
}

/** Runs `main` in this process; resolves with its exit code and what it wrote. */
export async function runMain(
  argv: readonly string[],
  options: RunMainOptions = {},
): Promise<{ readonly exitCode: number; readonly stdout: string; readonly stderr: string }> {
  const streams = testIo(options);
  const surroundings = testSurroundings(options.env);
  const signal = options.signal ?? new AbortController().signal;
  const clock = options.clock ?? testClock();
  const exitCode = await main(argv, {
    tree: options.tree ?? commandTree,
    categories,
    io: streams.io,
    surroundings,
    cwd: options.cwd ?? tmpdir(),
    now: () => clock.now(),
    signal,
    async createContext(flags) {
      const context = createContext({
        flags,
        io: streams.io,
        clock,
        surroundings,
        machine: systemMachine(surroundings, signal),
        prompt: createPrompt(streams.io, flags, signal),
        progress: await createProgress(streams.io, flags),
        signal,
      });
      return Object.assign(context, options.replace);
    },
  });
  return { exitCode, stdout: streams.stdout(), stderr: streams.stderr() };
}
