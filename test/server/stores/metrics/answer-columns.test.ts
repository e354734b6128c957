import { expect, test } from "bun:test";
import fc from "fast-check";
import { fromColumns, toColumns } from "../../../../src/server/stores/metrics/answer-columns.ts";
import { seeded } from "../../../harness/seed.ts";

const number = fc.double({ noNaN: true });
const bucket = fc.record(
  {
    at: fc.integer({ min: 0, max: 4e12 }),
    count: number,
    sum: number,
    min: number,
    max: number,
    histogram: fc.uint8Array({ maxLength: 20 }),
  },
  { requiredKeys: ["at", "count", "sum", "min", "max"] },
);
const answer = fc.record({
  groups: fc.array(fc.record({ labels: fc.constant({ query_name: "q" }), buckets: fc.array(bucket, { maxLength: 5 }) }), { maxLength: 4 }),
  omitted: fc.nat(),
});

test("an answer is the same after it was columns, also copied to another thread", () => {
  fc.assert(
    fc.property(answer, (given) => {
      expect(fromColumns(structuredClone(toColumns(given)))).toEqual(given);
    }),
    seeded(200, 2_000),
  );
});
