/**
 * The project's test command: regenerates and compares `gen/`, lints, type-checks, builds the
 * binary, and runs every test file on it, several at once. What a machine lacks is named before the
 * last line, which counts them all: `N passed, N failed, N skipped`. With SVC_TEST_REQUIRE_ALL=1 a
 * program that is absent fails the tests that need it.
 *
 *   bun test/run.ts                 everything
 *   bun test/run.ts cli server/sql  the checks, and the test files whose path contains one of the words
 *   bun test/run.ts --quick         without what is slow by nature, which is named at the end
 *   bun test/run.ts --no-checks     test files alone, on the binary that was built last
 *   bun test/run.ts --times         and which took longest, in the form of runner/long-files.ts
 *   bun test/run.ts --seed=random   other random cases than those that gate, or those of a number;
 *                   --runs=10000    and more of them for each property
 *   bun test/run.ts --shuffle       files in an order that the seed gives, each in its own process
 *   bun test/run.ts --again         what failed once more, alone, at the end: up to three files may
 *                   pass only then, and are named before the last line
 *   bun test/run.ts --whole=FILE    writes which files passed with nothing skipped to FILE, and
 *   bun test/run.ts --except=FILE   leaves out those that FILE names: on a machine that has more
 *                                   than another, the files that were not run whole there
 */

import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join, relative } from "node:path";
import { prepareFirstUse } from "./harness/first-use.ts";
import { ABSENT } from "./harness/needs.ts";
import { parseOptions, type RunOptions, repeatedBy, variablesOf } from "./runner/options.ts";
import { programPath } from "./runner/program-path.ts";
import { processes, schedule, shuffled } from "./runner/schedule.ts";
import { SLOW_BY_NATURE } from "./runner/slow-by-nature.ts";

const ROOT = join(import.meta.dir, "..");
process.chdir(ROOT);
const options = optionsOrEnd();

/**
 * Of test files and what inherits from them, for processes of seconds; binaries of svc are started
 * without them. Bun's allocator hands unused memory back to the system at once and asks for it
 * again soon after, which is half of the system's time. And its engine compiles functions that ran
 * for a moment, in other threads, with more work than the compiled code saves before the end.
 */
const OF_SHORT_PROCESSES = {
  MIMALLOC_PURGE_DELAY: "10000",
  BUN_JSC_thresholdForOptimizeAfterWarmUp: "3000",
  BUN_JSC_thresholdForFTLOptimizeAfterWarmUp: "1000000",
};
const ENV = { ...process.env, ...OF_SHORT_PROCESSES, NO_COLOR: "1", PATH: programPath(ROOT), ...variablesOf(options) };

/** A file that has not come to its end by then hangs, and is ended; long runs have a day. */
const HANGS_AFTER_MS = options.runs === undefined ? 2_400_000 : 86_400_000;

/** Processes whose files may pass only when they run again; more have a fault in common. */
const MOST_UNSTEADY = 3;

const counts = { passed: 0, failed: 0, skipped: 0 };
/** Processes that failed, whose files may run again at the end. */
const failedOnce: { readonly paths: readonly string[]; readonly failed: number; readonly lines: readonly string[] }[] = [];
/** What failed, a line each, to be said again at the end. */
const failures: string[] = [];
/** Files that passed with nothing skipped. */
const whole: string[] = [];
/** What tests were skipped for. */
const absent = new Set<string>();
/**
 * Seconds that files took: by the clock, and of processors, without processes that outlive the
 * file's own.
 */
const times: { readonly path: string; readonly wall: number; readonly cpu: number }[] = [];

/** Options from the command line; ends the process in words when they are none. */
function optionsOrEnd(): RunOptions {
  try {
    return parseOptions(process.argv.slice(2));
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    return process.exit(2);
  }
}

interface Ended {
  readonly ok: boolean;
  readonly output: string;
  /** Seconds of processors, as in `times`. */
  readonly cpu?: number;
}

async function run(argv: readonly string[]): Promise<Ended> {
  const child = Bun.spawn([...argv], {
    cwd: ROOT,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    env: ENV,
    timeout: HANGS_AFTER_MS,
    killSignal: "SIGKILL",
  });
  const [stdout, stderr, exitCode] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  const hung = child.signalCode === "SIGKILL" ? `\nended by SIGKILL, after ${HANGS_AFTER_MS / 1000} s at the latest\n` : "";
  const cpu = Number(child.resourceUsage()?.cpuTime.total ?? 0) / 1e6;
  return { ok: exitCode === 0, output: stdout + stderr + hung, cpu };
}

/** Lines that tell nothing of a failure: tests that passed or were skipped. */
const OF_OTHERS = /^\((pass|skip|todo)\) /;

/** One check with a name; what it printed of failures is shown when it fails. */
async function check(name: string, work: () => Promise<Ended>): Promise<boolean> {
  const started = performance.now();
  const ended = await work();
  counts[ended.ok ? "passed" : "failed"]++;
  report(name, ended, (performance.now() - started) / 1000);
  return ended.ok;
}

function report(name: string, { ok, output, cpu }: Ended, wall: number): void {
  const computed = cpu === undefined ? "" : `, ${cpu.toFixed(1)} s CPU`;
  console.log(`${ok ? "ok  " : "FAIL"} ${name} (${wall.toFixed(1)} s${computed})`);
  if (ok) return;
  const lines = output.split("\n").filter((line) => !OF_OTHERS.test(line));
  console.log(lines.join("\n"));
  const failed = new Set(lines.filter((line) => line.startsWith("(fail) ")));
  failures.push(...(failed.size > 0 ? [...failed].map((line) => `${name}: ${line}`) : [`${name}: ended without the name of a test`]));
}

function filesBelow(dir: string): Map<string, string> {
  const found = new Map<string, string>();
  for (const entry of readdirSync(dir, { recursive: true, withFileTypes: true }))
    if (entry.isFile()) {
      const path = join(entry.parentPath, entry.name);
      found.set(relative(dir, path), readFileSync(path, "utf8"));
    }
  return found;
}

async function generatedCodeIsCurrent(): Promise<Ended> {
  const fresh = mkdtempSync(join(tmpdir(), "svc-gen-"));
  try {
    const template = readFileSync("proto/buf.gen.yaml", "utf8").replace("out: gen", `out: ${fresh}`).replace("clean: true\n", "");
    const generated = await run(["node_modules/.bin/buf", "generate", "proto", "--template", JSON.stringify(Bun.YAML.parse(template))]);
    if (!generated.ok) return generated;
    const [wanted, have] = [filesBelow(fresh), filesBelow("gen")];
    const stale = [...new Set([...wanted.keys(), ...have.keys()])].filter((path) => wanted.get(path) !== have.get(path));
    return { ok: stale.length === 0, output: stale.length > 0 ? `gen/ is stale, run \`bun run gen\`: ${stale.join(", ")}` : "" };
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}

/**
 * Builds the binary and checks the sources: whether there is a binary to test, and the end of all.
 * Types are checked in one thread: the others would each read all declarations again.
 */
function checks(): { readonly isBuilt: Promise<boolean>; readonly all: Promise<unknown> } {
  const isBuilt = check("build", () => run([process.execPath, "build.ts", "--single"]));
  const all = Promise.all([
    isBuilt,
    check("gen/ is what proto/ gives", generatedCodeIsCurrent),
    check("proto lint", () => run(["node_modules/.bin/buf", "lint", "proto"])),
    check("types", () => run(["node_modules/.bin/tsc", "--noEmit", "--singleThreaded"])),
    check("lint and format", () => run(["node_modules/.bin/biome", "check", "--error-on-warnings", "."])),
  ]);
  return { isBuilt, all };
}

/**
 * Runs test files in one process and adds their figures to the count; what they printed is shown
 * when one fails, and what they skipped always.
 */
async function testProcess(paths: readonly string[]): Promise<void> {
  const started = performance.now();
  const ended = await run([process.execPath, "test", "--timeout=300000", ...paths.map((path) => `./${path}`)]);
  const path = paths.length === 1 ? `${paths[0]}` : `${paths[0]} and ${paths.length - 1} more`;
  const wall = (performance.now() - started) / 1000;
  const figure = (word: string) => Number(new RegExp(`^\\s*(\\d+) ${word}$`, "m").exec(ended.output)?.[1] ?? 0);
  const failed = Math.max(figure("fail"), ended.ok ? 0 : 1);
  counts.passed += figure("pass");
  counts.failed += failed;
  counts.skipped += figure("skip") + figure("todo");
  times.push({ path, wall, cpu: ended.cpu ?? 0 });
  const saidBefore = failures.length;
  report(path, ended, wall);
  if (!ended.ok) failedOnce.push({ paths, failed, lines: failures.slice(saidBefore) });
  const lines = ended.output.split("\n").filter((line) => line.startsWith("(skip)") || line.startsWith(ABSENT));
  for (const line of lines) {
    if (line.startsWith(ABSENT)) absent.add(line.slice(ABSENT.length));
    if (ended.ok) console.log(`     ${line}`);
  }
  if (ended.ok && lines.length === 0) whole.push(...paths);
}

/**
 * Test files that the words ask for; a word that is the path of a file asks for that one, whatever
 * its name.
 */
function filesOf(words: readonly string[]): readonly string[] {
  const all = [...new Bun.Glob("test/**/*.test.ts").scanSync(".")].sort();
  const named = words.filter((word) => word.endsWith(".ts") && existsSync(word));
  const parts = words.filter((word) => !named.includes(word));
  if (words.length === 0) return all;
  return [...new Set([...named, ...all.filter((path) => parts.some((part) => path.includes(part)))])];
}

/** Runs processes of files, `width` of them at once. */
async function runLane(width: number, files: readonly (readonly string[])[]): Promise<void> {
  const queue = [...files];
  const place = async () => {
    for (let paths = queue.shift(); paths !== undefined; paths = queue.shift()) await testProcess(paths);
  };
  await Promise.all(Array.from({ length: Math.min(width, queue.length) }, place));
}

async function testFiles(): Promise<void> {
  await prepareFirstUse(ENV);
  const except = new Set(options.exceptIn === undefined ? [] : readFileSync(options.exceptIn, "utf8").split("\n").filter(Boolean));
  const wanted = filesOf(options.words).filter((path) => !except.has(path));
  const leftOut = options.isQuick ? wanted.filter((path) => path in SLOW_BY_NATURE) : [];
  const paths = wanted.filter((path) => !leftOut.includes(path));
  const cores = availableParallelism();
  const started = performance.now();
  if (options.isShuffled)
    await runLane(
      cores + 1,
      shuffled(paths, options.seed ?? 0).map((path) => [path]),
    );
  else await Promise.all(schedule(paths, cores).map((lane) => runLane(lane.width, processes(lane.paths))));
  if (options.isRepeating) await testAgain();
  if (options.wholeTo !== undefined) writeFileSync(options.wholeTo, whole.join("\n"));
  if (except.size > 0) console.log(`left out: ${except.size} files that ran whole before, as ${options.exceptIn} says`);
  if (options.times > 0) listTimes((performance.now() - started) / 1000, cores);
  if (options.isQuick && paths.some((path) => path.startsWith("test/sdk/")))
    console.log("left out: test/sdk: Python's versions between the oldest and the newest, but for tests that need libraries");
  for (const path of leftOut) console.log(`left out: ${path}: ${SLOW_BY_NATURE[path]}`);
}

/**
 * Runs what failed once more, one process after the other. What passes now has passed, and what
 * failed in it stays on record in the lines `UNSTEADY`: each is a fault of a test or of the project.
 */
async function testAgain(): Promise<void> {
  if (failedOnce.length > MOST_UNSTEADY) return;
  for (const { paths, failed, lines } of [...failedOnce]) {
    console.log(`again: ${paths.join(" ")}`);
    const ended = await run([process.execPath, "test", "--timeout=300000", ...paths.map((path) => `./${path}`)]);
    if (!ended.ok) continue;
    counts.failed -= failed;
    counts.passed += failed;
    for (const line of lines) {
      failures.splice(failures.indexOf(line), 1);
      console.log(`UNSTEADY ${line}`);
    }
  }
}

/** Prints the files that took longest, and the sum of all. */
function listTimes(wall: number, cores: number): void {
  const seconds = (number: number) => Number(number.toPrecision(2));
  for (const { path, ...took } of times.toSorted((a, b) => b.wall - a.wall).slice(0, options.times))
    console.log(`  ${JSON.stringify(path)}: { wall: ${seconds(took.wall)}, cpu: ${seconds(took.cpu)} },`);
  const cpu = times.reduce((sum, took) => sum + took.cpu, 0);
  console.log(`${times.length} processes: ${cpu.toFixed(0)} s CPU in ${wall.toFixed(0)} s on ${cores} cores`);
}

const repeated = repeatedBy(options);
if (repeated !== "") console.log(`random cases: ${repeated}`);
const checking = options.isWithoutChecks ? undefined : checks();
if (checking === undefined || (await checking.isBuilt)) await testFiles();
await checking?.all;
if (absent.size > 0)
  console.log(`${ABSENT}${[...absent].sort().join(", ")}. On Debian, .ci/install as root installs all of it but PowerShell.`);
for (const line of failures) console.log(`FAIL ${line}`);
if (counts.failed > 0 && repeated !== "") console.log(`the same random cases again: bun test/run.ts ${repeated}`);
console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
process.exitCode = counts.failed > 0 ? 1 : 0;
