import { expect, test } from "bun:test";
import { driftWord } from "../../src/domain/drift.ts";

test("an index below a tenth is as before, from a quarter on it is far", () => {
  expect([0, 0.09, 0.1, 0.24, 0.25, 3].map(driftWord)).toEqual(["as before", "as before", "moved", "moved", "moved far", "moved far"]);
});
