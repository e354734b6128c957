/**
 * A failing test beside one that passes, for the test of the runner, which names this file; its name
 * keeps it out of other runs.
 */

import { expect, test } from "bun:test";
import { runs, seed } from "../harness/seed.ts";

test("fails, and says with which random cases", () => {
  expect(`seed ${seed}, ${runs(1)} runs`).toBe("");
});

test("passes, which is no part of what a failure shows", () => {
  expect(runs(1)).toBeGreaterThan(0);
});
