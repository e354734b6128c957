/** A command's context on the real machine, with captured output and a home folder of its own. */

import { mkdirSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Deps } from "../../src/cli/run.ts";
import { categories, commandTree } from "../../src/commands/index.ts";
import type { Clock } from "../../src/context/clock.ts";
import type { Context } from "../../src/context/context.ts";
import { createContext } from "../../src/context/create-context.ts";
import type { GlobalFlags } from "../../src/context/flags.ts";
import type { Io } from "../../src/context/io.ts";
import { createProgress } from "../../src/context/progress.ts";
import { systemClock } from "../../src/context/system-clock.ts";
import { systemMachine } from "../../src/context/system-machine.ts";
import { createPrompt } from "../../src/context/system-prompt.ts";
import { removeAtEnd } from "../harness/end-of-process.ts";
import { shareAnalyses } from "../harness/first-use.ts";

/** What a test may set. */
export interface TestOptions {
  readonly env?: Record<string, string>;
  readonly flags?: Partial<GlobalFlags>;
  /** Home folder; default a fresh one. */
  readonly home?: string;
  /** Lines on stdin. */
  readonly input?: readonly string[];
  readonly clock?: Clock;
  readonly terminal?: boolean;
  /** Columns of the terminal; default 120. */
  readonly columns?: number;
  readonly machine?: Partial<Context["machine"]>;
  readonly signal?: AbortSignal;
  /** Members of the context to put in place of the real ones. */
  readonly replace?: (context: Context) => Partial<Context>;
}

/** The context and what was written to its streams. */
export interface TestContext {
  readonly context: Context;
  readonly home: string;
  stdout(): string;
  stderr(): string;
}

/** A new empty folder, removed when the process ends. */
export function tempFolder(prefix = "svc-test-"): string {
  const folder = mkdtempSync(join(tmpdir(), prefix));
  removeAtEnd(folder);
  return folder;
}

/** Makes the context. */
export async function testContext(options: TestOptions = {}): Promise<TestContext> {
  const { contextOf, home, signal: _, surroundings: __, io: ___, ...said } = testSurroundings(options);
  const context = await contextOf({
    json: false,
    spinners: false,
    verbose: options.flags?.debug ?? false,
    debug: false,
    updateCheck: false,
    dir: home,
    color: "never",
    pager: false,
    ...options.flags,
  });
  return { context, home, ...said };
}

/** What `main` runs with, and what was written to its streams. */
export interface TestRun {
  readonly deps: Deps;
  stdout(): string;
  stderr(): string;
}

/** Makes what `main` needs to run a command in this process. */
export function testRun(options: TestOptions & { readonly dir?: string } = {}): TestRun {
  const { contextOf, home, io, signal, surroundings, ...said } = testSurroundings(options);
  const clock = options.clock ?? systemClock;
  const createContext = (flags: GlobalFlags) => contextOf({ ...flags, color: "never", pager: false });
  const deps = { tree: commandTree, categories, io, surroundings, cwd: options.dir ?? home, now: () => clock.now(), signal, createContext };
  return { deps, ...said };
}

function newHome(): string {
  const home = tempFolder("svc-home-");
  shareAnalyses(join(home, ".svc"));
  return home;
}

function testSurroundings(options: TestOptions) {
  const home = options.home ?? newHome();
  mkdirSync(home, { recursive: true });
  const signal = options.signal ?? new AbortController().signal;
  const lines = [...(options.input ?? [])];
  let out = "";
  let err = "";
  const decoder = new TextDecoder();
  const io: Io = {
    async writeOut(text) {
      out += typeof text === "string" ? text : decoder.decode(text);
    },
    writeErr(text) {
      err += text;
    },
    readLine: async () => lines.shift(),
    readChunk: async () => (lines.length > 0 ? new TextEncoder().encode(lines.splice(0).join("\n")) : undefined),
    readAll: async () => new TextEncoder().encode(lines.splice(0).join("\n")),
    stdoutIsTTY: options.terminal ?? false,
    stderrIsTTY: options.terminal ?? false,
    stdinIsTTY: options.terminal ?? false,
    width: options.terminal ? (options.columns ?? 120) : Number.POSITIVE_INFINITY,
    height: options.terminal ? 40 : Number.POSITIVE_INFINITY,
  };
  const surroundings = {
    env: { PATH: process.env.PATH ?? "", HOME: home, NO_COLOR: "1", ...options.env },
    platform: process.platform,
    arch: process.arch,
    hostname: "test-host",
    homeDir: home,
    execPath: process.execPath,
    pid: process.pid,
  };
  const contextOf = async (flags: GlobalFlags): Promise<Context> => {
    const context = createContext({
      flags,
      io,
      clock: options.clock ?? systemClock,
      surroundings,
      machine: { ...systemMachine(surroundings, signal), ...options.machine },
      prompt: createPrompt(io, flags, signal),
      progress: await createProgress(io, flags),
      signal,
    });
    return { ...context, ...options.replace?.(context) };
  };
  return { contextOf, home, io, signal, surroundings, stdout: () => out, stderr: () => err };
}
