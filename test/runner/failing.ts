/**
 * A failing test, for the test of the runner, which names this file; its name keeps it out of other
 * runs.
 */

import { expect, test } from "bun:test";
import { runs, seed } from "../harness/seed.ts";

test("fails, and says with which random cases", () => {
  expect(`seed ${seed}, ${runs(1)} runs`).toBe("");
});
