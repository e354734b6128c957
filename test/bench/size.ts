/**
 * Projects of three sizes: what checking and deploying them costs, against CPython's own import of
 * as many plain dataclasses and functions.
 */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Sandbox } from "../harness/sandbox.ts";
import { anyPython } from "../server/python/project.ts";
import { type Line, median, milliseconds } from "./figures.ts";
import { plainProject, sizedProject, sizedProjectEdit } from "./generate-project.ts";

const SIZES = [1_000, 4_000, 16_000] as const;
const SAMPLE_MS = 10;
const MEGABYTE = 1024 * 1024;

/**
 * One run of a program: wall time in milliseconds, and the largest resident memory of the program
 * itself, without those that it starts, in bytes.
 */
interface Run {
  readonly ms: number;
  readonly peakBytes: number;
}

/** What is measured of a project; each is a list of runs. */
type Measured = Record<"peer" | "lint" | "lintAgain" | "apply" | "applyChanged", Run[]>;

/**
 * For each size: `lint --local` after a change of one file and without one; `apply` of a project
 * that this machine has not seen, and after a change of one file, each to a branch until it is
 * live. The peer is `python -B` that imports modules with the same classes as dataclasses, and the
 * same functions: what the language itself takes to read such a project, with nothing checked.
 */
export async function measureSize(sandbox: Sandbox, rounds: number): Promise<readonly Line[]> {
  const python = await anyPython();
  if (!python) return [{ what: "skipped", value: "there is no Python 3.10 or newer" }];
  await sandbox.startServer();
  const lines: Line[] = [];
  for (const features of SIZES) lines.push(...(await measureOne(sandbox, python, features, rounds)));
  return [...lines, { what: "server, after all of these", value: megabytes(await serverBytes(sandbox)) }];
}

async function measureOne(sandbox: Sandbox, python: string, features: number, rounds: number): Promise<Line[]> {
  const plain = await sandbox.write(plainProject(features), `plain-${features}`);
  const project = await sandbox.write(sizedProject(features, 0), `project-${features}`);
  const svc = (...args: string[]): Promise<Run> => run([sandbox.binary, ...args], project, sandbox.env);
  const apply = (): Promise<Run> => svc("apply", "--branch", `size-${features}`, "--force", "--await");
  let edits = 0;
  const change = async (): Promise<void> => {
    const [path, text] = sizedProjectEdit(features, ++edits);
    await Bun.write(join(project, path), text);
  };

  const measured: Measured = { peer: [], lint: [], lintAgain: [], apply: [await apply()], applyChanged: [] };
  for (let round = 0; round < rounds; round++) {
    measured.peer.push(await run([python, "-B", "-c", "import everything"], plain, sandbox.env));
    await change();
    measured.lint.push(await svc("lint", "--local"));
    measured.lintAgain.push(await svc("lint", "--local"));
    await change();
    measured.applyChanged.push(await apply());
  }
  return linesOf(features, measured);
}

function linesOf(features: number, measured: Measured): Line[] {
  const time = (runs: readonly Run[]): number => median(runs.map(({ ms }) => ms));
  const anchor = time(measured.peer);
  const line = (what: string, runs: readonly Run[]): Line => ({
    what: `${features} features, ${what}`,
    value: milliseconds(time(runs)),
    ratio: time(runs) / anchor,
    anchor: "of CPython's import",
  });
  const peak = Math.max(...[...measured.lint, ...measured.apply, ...measured.applyChanged].map(({ peakBytes }) => peakBytes));
  return [
    { what: `${features} features, import of plain dataclasses`, value: milliseconds(anchor) },
    line("lint after a change of one file", measured.lint),
    line("lint again", measured.lintAgain),
    line("apply, the first time", measured.apply),
    line("apply after a change of one file", measured.applyChanged),
    { what: `${features} features, largest memory of the command line`, value: megabytes(peak) },
  ];
}

/** Runs a program to its end. Throws when it fails. */
async function run(argv: readonly string[], cwd: string, env: Record<string, string>): Promise<Run> {
  const started = performance.now();
  const child = Bun.spawn([...argv], { cwd, env, stdin: "ignore", stdout: "pipe", stderr: "pipe" });
  let peakBytes = 0;
  const sampler = setInterval(() => {
    peakBytes = Math.max(peakBytes, peakOf(child.pid));
  }, SAMPLE_MS);
  const [stdout, stderr, exitCode] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  clearInterval(sampler);
  const ms = performance.now() - started;
  if (exitCode !== 0) throw new Error(`${argv.join(" ")}: exit ${exitCode}\n${stdout.slice(-2_000)}${stderr.slice(-2_000)}`);
  return { ms, peakBytes };
}

/** The largest resident memory that a running process had; 0 when the system does not tell. */
function peakOf(pid: number): number {
  return statusOf(pid, "VmHWM");
}

async function serverBytes(sandbox: Sandbox): Promise<number> {
  const { pid } = await sandbox.json<{ pid: number }>(["server", "status"]);
  return statusOf(pid, "VmRSS");
}

function statusOf(pid: number, name: string): number {
  try {
    const [, kilobytes = "0"] = new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
    return Number(kilobytes) * 1024;
  } catch {
    return 0;
  }
}

function megabytes(bytes: number): string {
  return bytes === 0 ? "not told here" : `${Math.round(bytes / MEGABYTE)} MB`;
}
