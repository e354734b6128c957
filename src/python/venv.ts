/**
 * Virtual environments, kept by the hash of their contents. Each is built under a lock, in a folder
 * that no other build uses, and marked when it is complete: a build that was killed leaves no mark
 * and starts over in another folder, as its installer may still be writing to the first one.
 */

import { createHash, randomBytes } from "node:crypto";
import { existsSync, readdirSync } from "node:fs";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { type Span, SpanSchema } from "../../gen/svc/v1/error_pb.ts";
import { systemCode } from "../disk/disk-error.ts";
import { withFileLock } from "../disk/lock.ts";
import { finding } from "../domain/finding.ts";
import { IMPORT_FAILED } from "../domain/rules/loading.ts";
import { installProgress } from "./install-progress.ts";
import type { SearchContext } from "./interpreter.ts";
import type { RequirementLocation, Requirements } from "./requirements.ts";
import { lastLines, type RunResult, runProgram } from "./subprocess.ts";
import { type Interpreter, ToolchainError, type VenvObserver } from "./toolchain.ts";
import { installerEnv } from "./user-code-env.ts";

/** The contents of a virtual environment, and options of building it. */
export interface VenvOptions {
  /** Folder of all virtual environments. */
  readonly folder: string;
  readonly interpreter: Interpreter;
  readonly requirements: Requirements;
  /** The project's folder, in which relative paths of the requirements are looked up. */
  readonly root?: string;
  readonly searchContext: SearchContext;
  /** Called with the current activity in a few words. */
  readonly onProgress?: (doing: string) => void;
  readonly signal?: AbortSignal;
  readonly observer?: VenvObserver;
}

/** Time limit of an installation. */
const INSTALL_TIMEOUT_MS = 15 * 60_000;
/** Most lines of the installer's log in a finding. */
const SHOWN_LINES = 12;
/** The prefix of commands in the log. */
const COMMAND = "$ ";
/** Name of the requirements file that the installer reads: a copy with included files inserted. */
const COPIED = "requirements.txt";
/** The forms in which installers name a line of it. */
const COUNTED = /from line (\d+) of requirements\.txt|-r requirements\.txt \(line (\d+)\)/g;
const COMPLETE = ".svc-complete";

/** The hash under which a virtual environment is kept. */
export function venvKey(interpreter: Interpreter, requirements: Requirements, platform: string): string {
  return createHash("sha256")
    .update(`${interpreter.version}\0${requirements.sha256}\0${platform}-${process.arch}`)
    .digest("hex")
    .slice(0, 32);
}

/**
 * The interpreter of the virtual environment, which is built when it is missing: by `uv` when that
 * is installed, else by `python -m venv` and pip. Without requirements it is empty and nothing is
 * downloaded. Several processes may ask at once; one of them builds. Throws ToolchainError with the
 * installer's log.
 */
export async function ensureVenv(options: VenvOptions): Promise<string> {
  const { folder, searchContext } = options;
  const key = venvKey(options.interpreter, options.requirements, searchContext.platform);
  const pythonOf = (built: string) => join(folder, built, searchContext.platform === "win32" ? "Scripts/python.exe" : "bin/python");
  const ready = () => buildsOf(folder, key).find((built) => existsSync(join(folder, built, COMPLETE)) && existsSync(pythonOf(built)));
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const isEmpty = options.requirements.lines.length === 0;
  const kept = (built: string): string => {
    options.observer?.onFound(isEmpty ? "empty" : "kept");
    return pythonOf(built);
  };
  const found = ready();
  if (found !== undefined) return kept(found);
  const lock = { what: "the virtual environment", timeoutMs: INSTALL_TIMEOUT_MS, ...(options.signal && { signal: options.signal }) };
  return withFileLock(join(folder, `${key}.lock`), lock, async () => {
    const already = ready();
    if (already !== undefined) return kept(already);
    options.observer?.onFound(isEmpty ? "empty" : "installing");
    for (const left of buildsOf(folder, key)) await removeBuild(join(folder, left));
    const built = `${key}-${randomBytes(4).toString("hex")}`;
    try {
      await build(join(folder, built), pythonOf(built), options);
    } catch (error) {
      await removeBuild(join(folder, built));
      throw error;
    }
    return pythonOf(built);
  });
}

/** The folders in which an environment was built, complete or not. */
function buildsOf(folder: string, key: string): string[] {
  return readdirSync(folder).filter((name) => name.startsWith(key) && !name.endsWith(".lock"));
}

/** Removes a build, or leaves to the next one what an installer that still runs writes there. */
async function removeBuild(path: string): Promise<void> {
  await rm(path, { recursive: true, force: true }).catch((error) => {
    if (systemCode(error) !== "ENOTEMPTY") throw error;
  });
}

async function build(target: string, python: string, options: VenvOptions): Promise<void> {
  const { interpreter, requirements, searchContext: places } = options;
  const file = join(target, COPIED);
  const lines: string[] = [];
  const note = (line: string) => {
    lines.push(line);
    if (lines.length > 2000) lines.shift();
    options.observer?.onLine(line);
    const doing = installProgress(line);
    if (doing !== undefined) options.onProgress?.(doing);
  };
  const step = async (doing: string, what: string, argv: readonly string[]): Promise<void> => {
    options.onProgress?.(doing);
    note(`${COMMAND}${argv.join(" ")}`);
    const result = await runProgram(argv, {
      env: { ...installerEnv(places.env), PIP_NO_INPUT: "1", PIP_DISABLE_PIP_VERSION_CHECK: "1", UV_PYTHON_DOWNLOADS: "never" },
      cwd: options.root,
      timeoutMs: INSTALL_TIMEOUT_MS,
      onLine: note,
      ...(options.signal && { signal: options.signal }),
    });
    if (result.exitCode !== 0) throw installFailure(what, result, lines, { requirements, file });
  };
  const uv = requirements.lines.length > 0 ? (Bun.which("uv", { PATH: places.env.PATH ?? "" }) ?? undefined) : undefined;
  const [preparing, filling] = ["making the virtual environment", "installing the requirements"];
  const making = "the virtual environment could not be made";
  const installing = "the requirements could not be installed";
  if (uv) await step(preparing, `${making}: uv`, [uv, "venv", "--no-project", "--python", interpreter.path, target]);
  else {
    const bare = requirements.lines.length === 0 ? ["--without-pip"] : [];
    await step(preparing, `${making}: python -m venv`, [interpreter.path, "-I", "-m", "venv", ...bare, target]);
  }
  if (requirements.lines.length > 0) {
    await writeFile(file, `${requirements.lines.join("\n")}\n`, { mode: 0o600 });
    if (uv) await step(filling, `${installing}: uv`, [uv, "pip", "install", "--python", python, "-r", file]);
    else await step(filling, `${installing}: pip`, [python, "-I", "-m", "pip", "install", "--no-input", "-r", file]);
  }
  await writeFile(join(target, COMPLETE), "", { mode: 0o600 });
}

function installFailure(
  what: string,
  result: RunResult,
  lines: readonly string[],
  { requirements, file }: { readonly requirements: Requirements; readonly file: string },
): ToolchainError {
  const how = result.timedOut ? "took too long" : result.signal ? `was killed by ${result.signal}` : `exited with ${result.exitCode}`;
  const log = lines.join("\n");
  const output = lines.filter((line) => !line.startsWith(COMMAND)).join("\n");
  const shown = lastLines(inProject(output, file, requirements), SHOWN_LINES).map((line) => `  ${line}`);
  const message = [`${what} ${how}`, ...shown].join("\n");
  return new ToolchainError(
    message,
    [finding(IMPORT_FAILED.install({ problem: message }), spanOf(failedRequirement(lines, requirements)))],
    log,
  );
}

/**
 * An installer's output in which lines of the copied requirements are replaced by those of the
 * project's files.
 */
function inProject(output: string, copy: string, { locations }: Requirements): string {
  return output.replaceAll(copy, COPIED).replace(COUNTED, (whole, from?: string, of?: string) => {
    const location = locations[Number(from ?? of) - 1];
    return location ? `${location.file ?? COPIED}, line ${location.line}` : whole;
  });
}

/**
 * The requirement that an installer's errors are about: the one whose line number, text or name
 * they contain. Undefined when they name none.
 */
function failedRequirement(log: readonly string[], { lines, locations }: Requirements): RequirementLocation | undefined {
  for (const error of log.filter((line) => /error|because/i.test(line))) {
    const counted = /\(from line (\d+) of /.exec(error)?.[1];
    const repeated = lines.findIndex((line) => error.includes(line));
    const named = lines.findIndex((line) => new RegExp(`(?<![\\w.-])${packageName(line)}(?![\\w-])`, "i").test(error));
    const found = locations[[Number(counted ?? 0) - 1, repeated, named].find((index) => index >= 0) ?? -1];
    if (found) return found;
  }
  return undefined;
}

/**
 * A pattern for the name of a requirement's package in all its forms; one that matches nothing for
 * an option or a path.
 */
function packageName(requirement: string): string {
  const [name] = /^[a-z\d](?:[\w.-]*[a-z\d])?(?=$|[\s[<>=!~@;(])/i.exec(requirement) ?? [];
  return name?.replace(/[-_.]+/g, "[-_.]+") ?? "$^";
}

function spanOf(location: RequirementLocation | undefined): Span | undefined {
  if (location?.file === undefined) return undefined;
  return create(SpanSchema, { file: location.file, line: location.line, column: 1, endLine: location.line, endColumn: 1 });
}
