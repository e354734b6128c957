/**
 * A test that fails, for the test of the runner, which names this file; no run finds it by itself.
 */

import { expect, test } from "bun:test";
import { runs, seed } from "../harness/seed.ts";

test("fails, and says with which random cases", () => {
  expect(`seed ${seed}, ${runs(1)} runs`).toBe("");
});
