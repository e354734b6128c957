/** A command's context on the real machine, with captured output and a home folder of its own. */

import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Clock } from "../../src/context/clock.ts";
import type { Context, GlobalFlags } from "../../src/context/context.ts";
import { createContext } from "../../src/context/create-context.ts";
import type { Io } from "../../src/context/io.ts";
import { createProgress } from "../../src/context/progress.ts";
import { systemClock } from "../../src/context/system-clock.ts";
import { systemMachine } from "../../src/context/system-machine.ts";
import { createPrompt } from "../../src/context/system-prompt.ts";

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
  readonly machine?: Partial<Context["machine"]>;
  readonly signal?: AbortSignal;
}

/** The context and what was written to its streams. */
export interface TestContext {
  readonly context: Context;
  readonly home: string;
  stdout(): string;
  stderr(): string;
}

const made: string[] = [];
process.once("exit", () => {
  for (const folder of made) rmSync(folder, { recursive: true, force: true });
});

/** A new empty folder, removed when the process ends. */
export function tempFolder(prefix = "svc-test-"): string {
  const folder = mkdtempSync(join(tmpdir(), prefix));
  made.push(folder);
  return folder;
}

/** Makes the context. */
export async function testContext(options: TestOptions = {}): Promise<TestContext> {
  const home = options.home ?? tempFolder("svc-home-");
  mkdirSync(home, { recursive: true });
  const flags: GlobalFlags = {
    json: false,
    spinners: false,
    verbose: options.flags?.debug ?? false,
    debug: false,
    updateCheck: false,
    dir: home,
    color: "never",
    pager: false,
    ...options.flags,
  };
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
    width: options.terminal ? 120 : Number.POSITIVE_INFINITY,
    height: options.terminal ? 40 : Number.POSITIVE_INFINITY,
  };
  const surroundings = {
    env: { PATH: process.env.PATH ?? "", HOME: home, ...options.env },
    platform: process.platform,
    arch: process.arch,
    hostname: "test-host",
    homeDir: home,
    execPath: process.execPath,
    pid: process.pid,
  };
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
  return { context, home, stdout: () => out, stderr: () => err };
}
