import { expect, test } from "bun:test";
import { flatScale, loneValues } from "../../../src/ui/parts/value-scale.ts";

test("flat lines have a scale that says how much they are", () => {
  expect(flatScale(0, 0)).toEqual([0, 1]);
  expect(flatScale(null, null)).toEqual([0, 1]);
  expect(flatScale(0.25, 0.25)).toEqual([0, 0.5]);
  expect(flatScale(-4, -4)).toEqual([-8, 0]);
  expect(flatScale(0, 0.25)).toBeUndefined();
});

test("values with nothing beside them are lone", () => {
  expect(loneValues([7])).toEqual([0]);
  expect(loneValues([null, 0, null, 1, 2, null, 3])).toEqual([1, 6]);
  expect(loneValues([null, null])).toEqual([]);
});
