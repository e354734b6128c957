/** The SDK's own unit tests, in Python, run by every supported interpreter that is installed; in a quick run by some of them, and those that use libraries by one that has these. */

import { expect, test } from "bun:test";
import { join } from "node:path";
import { lacks } from "../harness/needs.ts";
import { seed } from "../harness/seed.ts";
import { INTERPRETERS, interpreterWithLibraries, LIBRARIES, SDK_ROOT, type TestInterpreter } from "./interpreters.ts";

const UNIT = join(import.meta.dir, "unit");

/** Those of the tests that use the libraries. */
const OF_LIBRARIES = ["test_client_frames", "test_dataframe", "test_notebook", "test_pytest_plugin"];

interface UnitRun extends TestInterpreter {
  /** The modules of tests; empty = all. */
  readonly modules: readonly string[];
}

const withLibraries = interpreterWithLibraries();
lacks(LIBRARIES.join(", "), withLibraries !== undefined);
const isLeftOut = withLibraries !== undefined && !INTERPRETERS.includes(withLibraries);
const RUNS: readonly UnitRun[] = [
  ...INTERPRETERS.map((item) => ({ ...item, modules: [] })),
  ...(isLeftOut ? [{ ...withLibraries, modules: OF_LIBRARIES }] : []),
];
const named = ({ version, modules }: UnitRun) => (modules.length === 0 ? version : `${version} (${modules.join(", ")})`);

console.log(`SDK unit tests run on Python ${RUNS.map(named).join(", ") || "none"}`);

test("a supported interpreter is installed", () => {
  expect(INTERPRETERS.length).toBeGreaterThan(0);
});

test.each(RUNS.map((item) => [named(item), item] as const))(
  "unit tests on Python %s",
  async (_, { path, modules }) => {
    const chosen = modules.length === 0 ? ["discover", "-s", UNIT] : modules;
    const child = Bun.spawn([path, "-B", "-X", "utf8", "-W", "error", "-m", "unittest", ...chosen], {
      env: { ...process.env, PYTHONPATH: `${SDK_ROOT}:${UNIT}`, SVC_TEST_SEED: String(seed) },
      stdout: "pipe",
      stderr: "pipe",
    });
    const [stderr, exitCode] = await Promise.all([new Response(child.stderr).text(), child.exited]);
    expect(exitCode, stderr).toBe(0);
    const ran = Number(/^Ran (\d+) tests/m.exec(stderr)?.[1] ?? 0);
    expect(ran, stderr).toBeGreaterThan(modules.length === 0 ? 70 : 20);
  },
  300_000,
);
