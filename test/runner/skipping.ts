/** A file of tests of which one is skipped, for the tests of `test/run.ts`. */

import { expect, test } from "bun:test";

test("passes", () => {
  expect(1).toBe(1);
});

test.skip("is skipped", () => undefined);
