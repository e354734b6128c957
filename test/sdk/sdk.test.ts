/** The SDK's own unit tests, in Python, run by every supported interpreter that is installed. */

import { expect, test } from "bun:test";
import { join } from "node:path";
import { lacks } from "../harness/needs.ts";
import { seed } from "../harness/seed.ts";
import { INTERPRETERS, SDK_ROOT } from "./interpreters.ts";

const UNIT = join(import.meta.dir, "unit");

console.log(`SDK unit tests run on Python ${INTERPRETERS.map((item) => item.version).join(", ") || "none"}`);

for (const library of ["pandas", "polars", "pyarrow"])
  lacks(
    library,
    INTERPRETERS.some(
      ({ path }) => Bun.spawnSync([path, "-c", `from importlib.util import find_spec\nassert find_spec("${library}")`]).success,
    ),
  );

test("a supported interpreter is installed", () => {
  expect(INTERPRETERS.length).toBeGreaterThan(0);
});

test.each(INTERPRETERS.map((item) => [item.version, item.path] as const))(
  "unit tests on Python %s",
  async (_, path) => {
    const child = Bun.spawn([path, "-B", "-X", "utf8", "-W", "error", "-m", "unittest", "discover", "-s", UNIT], {
      env: { ...process.env, PYTHONPATH: `${SDK_ROOT}:${UNIT}`, SVC_TEST_SEED: String(seed) },
      stdout: "pipe",
      stderr: "pipe",
    });
    const [stderr, exitCode] = await Promise.all([new Response(child.stderr).text(), child.exited]);
    expect(exitCode, stderr).toBe(0);
    const ran = Number(/^Ran (\d+) tests/m.exec(stderr)?.[1] ?? 0);
    expect(ran, stderr).toBeGreaterThan(70);
  },
  300_000,
);
