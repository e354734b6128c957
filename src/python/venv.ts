/**
 * Virtual environments, kept by the hash of what is in them. One is built where it stays, under a lock, and marked when it is complete: a build
 * that was killed leaves no mark and is begun anew.
 */

import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { withFileLock } from "../disk/lock.ts";
import { errorAt } from "../domain/finding.ts";
import type { SearchPlaces } from "./interpreter.ts";
import type { Requirements } from "./requirements.ts";
import { lastLines, type RunResult, runProgram } from "./subprocess.ts";
import { type Interpreter, ToolchainError } from "./toolchain.ts";
import { installerEnv } from "./user-code-env.ts";

/** What a virtual environment is made of. */
export interface VenvOptions {
  /** Folder of all virtual environments. */
  readonly folder: string;
  readonly interpreter: Interpreter;
  readonly requirements: Requirements;
  /** The project's folder, in which relative paths of the requirements are looked up. */
  readonly root?: string;
  readonly places: SearchPlaces;
  /** Called with every line that the installer prints. */
  readonly onProgress?: (line: string) => void;
  readonly signal?: AbortSignal;
}

/** Longest installation. */
const INSTALL_TIMEOUT_MS = 15 * 60_000;
/** Lines of the installer's log that a finding shows. */
const SHOWN_LINES = 12;
const COMPLETE = ".svc-complete";

/** The hash by which a virtual environment is kept. */
export function venvKey(interpreter: Interpreter, requirements: Requirements, platform: string): string {
  return createHash("sha256")
    .update(`${interpreter.version}\0${requirements.sha256}\0${platform}-${process.arch}`)
    .digest("hex")
    .slice(0, 32);
}

/**
 * The interpreter of the virtual environment, built if need be: by `uv` when it is installed, else by `python -m venv` and pip. Without
 * requirements it is a bare one and nothing is fetched. Several processes may ask at once; one of them builds. Throws ToolchainError with the
 * installer's log.
 */
export async function ensureVenv(options: VenvOptions): Promise<string> {
  const target = join(options.folder, venvKey(options.interpreter, options.requirements, options.places.platform));
  const python = join(target, options.places.platform === "win32" ? "Scripts/python.exe" : "bin/python");
  const ready = () => existsSync(join(target, COMPLETE)) && existsSync(python);
  if (ready()) return python;
  await mkdir(options.folder, { recursive: true, mode: 0o700 });
  const lock = { what: "the virtual environment", timeoutMs: INSTALL_TIMEOUT_MS, ...(options.signal && { signal: options.signal }) };
  await withFileLock(`${target}.lock`, lock, async () => {
    if (ready()) return;
    await rm(target, { recursive: true, force: true });
    try {
      await build(target, python, options);
    } catch (error) {
      await rm(target, { recursive: true, force: true });
      throw error;
    }
  });
  return python;
}

async function build(target: string, python: string, options: VenvOptions): Promise<void> {
  const { interpreter, requirements, places } = options;
  const lines: string[] = [];
  const say = (line: string) => {
    lines.push(line);
    if (lines.length > 2000) lines.shift();
    options.onProgress?.(line);
  };
  const step = async (what: string, argv: readonly string[]): Promise<void> => {
    say(`$ ${argv.join(" ")}`);
    const result = await runProgram(argv, {
      env: { ...installerEnv(places.env), PIP_NO_INPUT: "1", PIP_DISABLE_PIP_VERSION_CHECK: "1", UV_PYTHON_DOWNLOADS: "never" },
      cwd: options.root,
      timeoutMs: INSTALL_TIMEOUT_MS,
      onLine: say,
      ...(options.signal && { signal: options.signal }),
    });
    if (result.exitCode !== 0) throw installFailure(what, result, lines);
  };
  const uv = requirements.lines.length > 0 ? (Bun.which("uv", { PATH: places.env.PATH ?? "" }) ?? undefined) : undefined;
  const making = "the virtual environment could not be made";
  const installing = "the requirements could not be installed";
  if (uv) await step(`${making}: uv`, [uv, "venv", "--no-project", "--python", interpreter.path, target]);
  else {
    const bare = requirements.lines.length === 0 ? ["--without-pip"] : [];
    await step(`${making}: python -m venv`, [interpreter.path, "-I", "-m", "venv", ...bare, target]);
  }
  if (requirements.lines.length > 0) {
    const file = join(target, "requirements.txt");
    await writeFile(file, `${requirements.lines.join("\n")}\n`, { mode: 0o600 });
    if (uv) await step(`${installing}: uv`, [uv, "pip", "install", "--python", python, "-r", file]);
    else await step(`${installing}: pip`, [python, "-I", "-m", "pip", "install", "--no-input", "-r", file]);
  }
  await writeFile(join(target, COMPLETE), "", { mode: 0o600 });
}

function installFailure(what: string, result: RunResult, lines: readonly string[]): ToolchainError {
  const how = result.timedOut ? "took too long" : result.signal ? `was killed by ${result.signal}` : `exited with ${result.exitCode}`;
  const log = lines.join("\n");
  const shown = lastLines(log, SHOWN_LINES).map((line) => `  ${line}`);
  const message = [`${what} ${how}`, ...shown].join("\n");
  return new ToolchainError(message, [errorAt(102, undefined, message, { label: "not installed" })], log);
}
