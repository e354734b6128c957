import { expect, test } from "bun:test";
import { vectorText } from "../../../src/ui/parts/vector-text.ts";

test("a long list of numbers is told by its size, its norm and its first numbers", () => {
  expect(vectorText([3, 4, 0, 0, 0, 0, 0, 0, 0])).toBe("9 numbers, norm 5: 3, 4, 0, 0, ...");
  const vector = Array.from({ length: 768 }, (_, at) => (at % 2 === 0 ? 1 : -1) / 3);
  expect(vectorText(vector)).toBe("768 numbers, norm 9.238: 0.3333, -0.3333, 0.3333, -0.3333, ...");
  expect(vectorText(Array.from({ length: 65_536 }, () => 1))).toStartWith("65536 numbers, norm 256: 1, 1");
});

test("other values are shown as they are", () => {
  for (const value of [null, 5, "text", [1, 2, 3], [1, 2, 3, 4, 5, 6, 7, 8], [1, 2, 3, 4, 5, 6, 7, 8, "9"], { a: 1 }])
    expect(vectorText(value)).toBeUndefined();
});
