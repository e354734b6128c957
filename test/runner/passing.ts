/** A file of tests of which all pass, for the tests of `test/run.ts`. */

import { expect, test } from "bun:test";

test("passes", () => {
  expect(1).toBe(1);
});
