/**
 * The project's test command: regenerates and compares `gen/`, lints, type-checks, builds the binary, and runs every test on it. The last line
 * counts them all: `N passed, N failed, N skipped`.
 */

import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";

const ROOT = join(import.meta.dir, "..");
process.chdir(ROOT);

const counts = { passed: 0, failed: 0, skipped: 0 };

function run(argv: string[], env: Record<string, string> = {}): { ok: boolean; output: string } {
  const child = Bun.spawnSync(argv, { cwd: ROOT, env: { ...process.env, ...env }, stderr: "pipe", stdout: "pipe" });
  return { ok: child.success, output: child.stdout.toString() + child.stderr.toString() };
}

/** One check with a name; what it printed is shown when it fails. */
function check(name: string, work: () => { ok: boolean; output: string }): boolean {
  const started = performance.now();
  const { ok, output } = work();
  counts[ok ? "passed" : "failed"]++;
  console.log(`${ok ? "ok  " : "FAIL"} ${name} (${((performance.now() - started) / 1000).toFixed(1)} s)`);
  if (!ok) console.log(output);
  return ok;
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

function generatedCodeIsCurrent(): { ok: boolean; output: string } {
  const fresh = mkdtempSync(join(tmpdir(), "svc-gen-"));
  try {
    const template = readFileSync("proto/buf.gen.yaml", "utf8").replace("out: gen", `out: ${fresh}`).replace("clean: true\n", "");
    const generated = run(["node_modules/.bin/buf", "generate", "proto", "--template", JSON.stringify(Bun.YAML.parse(template))]);
    if (!generated.ok) return generated;
    const [wanted, have] = [filesBelow(fresh), filesBelow("gen")];
    const stale = [...new Set([...wanted.keys(), ...have.keys()])].filter((path) => wanted.get(path) !== have.get(path));
    return { ok: stale.length === 0, output: stale.length > 0 ? `gen/ is stale, run \`bun run gen\`: ${stale.join(", ")}` : "" };
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}

/** Runs `bun test` and adds its figures to the count. */
function tests(paths: string[]): void {
  const child = Bun.spawnSync([process.execPath, "test", "--timeout=60000", ...paths], {
    cwd: ROOT,
    stdout: "inherit",
    stderr: "pipe",
    env: { ...process.env, NO_COLOR: "1" },
  });
  const output = child.stderr.toString();
  process.stdout.write(output);
  const figure = (word: string) => Number(new RegExp(`^\\s*(\\d+) ${word}$`, "m").exec(output)?.[1] ?? 0);
  counts.passed += figure("pass");
  counts.failed += figure("fail");
  counts.skipped += figure("skip") + figure("todo");
  if (!child.success && figure("fail") === 0) counts.failed++;
}

check("gen/ is what proto/ gives", generatedCodeIsCurrent);
check("proto lint", () => run(["node_modules/.bin/buf", "lint", "proto"]));
check("types", () => run(["node_modules/.bin/tsc", "--noEmit"]));
check("lint and format", () => run(["node_modules/.bin/biome", "check", "--error-on-warnings", "."]));
const built = check("build", () => run([process.execPath, "build.ts", "--single"]));
if (built) tests(process.argv.slice(2));
console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
process.exitCode = counts.failed > 0 ? 1 : 0;
