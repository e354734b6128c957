/**
 * A test that passes only the second time, for the test of the runner, which names this file and the
 * folder in which it leaves a mark; its name keeps it out of other runs.
 */

import { expect, test } from "bun:test";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";

test("passes once it has failed", () => {
  const mark = join(process.env.SVC_TEST_UNSTEADY ?? "", "mark");
  const isSecond = existsSync(mark);
  writeFileSync(mark, "");
  expect(isSecond).toBe(true);
});
