import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { Partitions } from "../../../src/server/query/partitions.ts";
import { seeded } from "../../harness/seed.ts";

/** Rows by what they are alike in, and the size of parts; undefined = a row is like no other. */
const rows = fc.array(
  fc.record({
    one: fc.option(fc.integer({ min: 0, max: 12 }), { nil: undefined, freq: 6 }),
    other: fc.option(fc.integer({ min: 0, max: 30 }), { nil: undefined, freq: 2 }),
  }),
  { maxLength: 200 },
);

function textOf(value: number | undefined): string | undefined {
  return value === undefined ? undefined : String(value);
}

/** The rows that belong to a row, found by looking at all rows again until nothing is added. */
function togetherWith(all: readonly { readonly one: number | undefined; readonly other: number | undefined }[], row: number): Set<number> {
  const found = new Set([row]);
  for (let size = 0; size < found.size; ) {
    size = found.size;
    for (const [at, given] of all.entries())
      for (const known of found) {
        const have = all[known];
        const isLike = (given.one !== undefined && given.one === have?.one) || (given.other !== undefined && given.other === have?.other);
        if (isLike) found.add(at);
      }
  }
  return found;
}

describe("parts of rows", () => {
  for (const times of [1, 2, 4, 8, 16])
    test(`hold every row once and every partition whole, with parts of ${times} rows`, () => {
      fc.assert(
        fc.property(rows, (all) => {
          const partitions = new Partitions(all.length);
          partitions.join(all.map(({ one }) => textOf(one)));
          partitions.join(all.map(({ other }) => textOf(other)));
          const parts = partitions.parts(times);
          expect(parts.flat().sort((a, b) => a - b)).toEqual([...all.keys()]);
          for (const part of parts) {
            const [first] = part;
            if (first === undefined) throw new Error("a part is empty");
            expect(part).toEqual([...part].sort((a, b) => a - b));
            const partOf = new Set(part);
            for (const row of part) for (const other of togetherWith(all, row)) expect(partOf.has(other)).toBe(true);
            if (part.length > times) expect(togetherWith(all, first).size).toBe(part.length);
          }
          for (let at = 1; at < parts.length; at++) {
            const [open, next] = [parts[at - 1] as number[], parts[at] as number[]];
            expect(open.length + togetherWith(all, next[0] as number).size).toBeGreaterThan(times);
          }
        }),
        seeded(60),
      );
    });

  test("no rows are no parts", () => {
    expect(new Partitions(0).parts(10)).toEqual([]);
  });
});
