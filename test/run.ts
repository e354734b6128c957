/**
 * The project's test command: regenerates and compares `gen/`, lints, type-checks, builds the binary, and runs every test file on it, one more at
 * once than there are cores, because many of them wait. What a machine lacks is named before the last line, which counts them all:
 * `N passed, N failed, N skipped`. With SVC_TEST_REQUIRE_ALL=1 a program that is absent fails the tests that need it.
 *
 *   bun test/run.ts                 everything
 *   bun test/run.ts cli server/sql  the checks, and the test files whose path contains one of the words
 */

import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { delimiter, join, relative } from "node:path";
import { ABSENT } from "./harness/needs.ts";

const ROOT = join(import.meta.dir, "..");
process.chdir(ROOT);

/** Tools of the dependencies (buf's plugin) are found although this was not started by `bun run`. */
const ENV = { ...process.env, NO_COLOR: "1", PATH: `${join(ROOT, "node_modules/.bin")}${delimiter}${process.env.PATH ?? ""}` };

const counts = { passed: 0, failed: 0, skipped: 0 };
/** What tests were skipped for. */
const absent = new Set<string>();

/** Files that take long, the longest first, so that none of them is the last to start; what builds releases is not all at once. */
const LONG_FIRST = [
  "binary/update.test",
  "server/durability",
  "python/venv",
  "binary/update-windows",
  "packaging/release",
  "install/refusals",
  "binary/flights",
  "parsing/",
  "sdk/analyzer",
  "binary/windows",
  "binary/hostile",
  "install/",
  "binary/update-killed",
  "server/deployments/",
  "sdk/",
  "server/python/",
  "commands/lsp",
  "server/query/pushdown",
  "binary/",
  "commands/",
  "browser/",
  "server/",
];

interface Ended {
  readonly ok: boolean;
  readonly output: string;
}

async function run(argv: readonly string[]): Promise<Ended> {
  const child = Bun.spawn([...argv], {
    cwd: ROOT,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    env: ENV,
  });
  const [stdout, stderr, exitCode] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { ok: exitCode === 0, output: stdout + stderr };
}

/** One check with a name; what it printed is shown when it fails. */
async function check(name: string, work: () => Promise<Ended>): Promise<boolean> {
  const started = performance.now();
  const { ok, output } = await work();
  counts[ok ? "passed" : "failed"]++;
  report(ok, name, started, output);
  return ok;
}

function report(ok: boolean, name: string, started: number, output: string): void {
  console.log(`${ok ? "ok  " : "FAIL"} ${name} (${((performance.now() - started) / 1000).toFixed(1)} s)`);
  if (!ok) console.log(output);
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

/** Runs one test file and adds its figures to the count; what it printed is shown when it fails, and what it skipped always. */
async function testFile(path: string): Promise<void> {
  const started = performance.now();
  const { ok, output } = await run([process.execPath, "test", "--timeout=60000", `./${path}`]);
  const figure = (word: string) => Number(new RegExp(`^\\s*(\\d+) ${word}$`, "m").exec(output)?.[1] ?? 0);
  counts.passed += figure("pass");
  counts.failed += Math.max(figure("fail"), ok ? 0 : 1);
  counts.skipped += figure("skip") + figure("todo");
  report(ok, path, started, output);
  for (const line of output.split("\n")) {
    if (line.startsWith(ABSENT)) absent.add(line.slice(ABSENT.length));
    if (ok && (line.startsWith("(skip)") || line.startsWith(ABSENT))) console.log(`     ${line}`);
  }
}

async function testFiles(words: readonly string[]): Promise<void> {
  const rank = (path: string) =>
    (LONG_FIRST.findIndex((part) => path.startsWith(`test/${part}`)) + LONG_FIRST.length + 1) % (LONG_FIRST.length + 1);
  const queue = [...new Bun.Glob("test/**/*.test.ts").scanSync(".")]
    .filter((path) => words.length === 0 || words.some((word) => path.includes(word)))
    .sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
  const worker = async () => {
    for (let path = queue.shift(); path !== undefined; path = queue.shift()) await testFile(path);
  };
  await Promise.all(Array.from({ length: Math.min(6, availableParallelism() + 1) }, worker));
}

const [built] = await Promise.all([
  check("build", () => run([process.execPath, "build.ts", "--single"])),
  check("gen/ is what proto/ gives", generatedCodeIsCurrent),
  check("proto lint", () => run(["node_modules/.bin/buf", "lint", "proto"])),
  check("types", () => run(["node_modules/.bin/tsc", "--noEmit"])),
  check("lint and format", () => run(["node_modules/.bin/biome", "check", "--error-on-warnings", "."])),
]);
if (built) await testFiles(process.argv.slice(2));
if (absent.size > 0)
  console.log(`${ABSENT}${[...absent].sort().join(", ")}. On Debian, .ci/install as root installs all of it but PowerShell.`);
console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
process.exitCode = counts.failed > 0 ? 1 : 0;
