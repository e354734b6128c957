import { expect, test } from "bun:test";
import { isNearLinear } from "./growth.ts";

let kept = 0;
const pass = (length: number) => {
  for (let at = 0; at < length; at++) kept = (Math.imul(kept, 31) + at) | 0;
};

test("one pass is near linear, and a pass for each part is not", () => {
  expect(isNearLinear(40_000_000, pass)).toBe(true);
  const passForEach = (size: number) => {
    for (let part = 0; part < size; part++) pass(size);
  };
  expect(isNearLinear(9_000, passForEach)).toBe(false);
});
