/** Groups of rows as states: bounds, order, and bytes that are damaged. What their values are, windows are tested for. */

import { expect, test } from "bun:test";
import { chooseAccumulator, type MakeAccumulator } from "../../../src/domain/expressions/accumulators.ts";
import {
  type GroupFields,
  groupedAccumulator,
  isGroupable,
  MAX_GROUPED_BYTES,
  MAX_GROUPS,
} from "../../../src/domain/expressions/grouping.ts";
import { DamagedState } from "../../../src/domain/expressions/state-bytes.ts";
import { listOf, PRIMITIVES } from "../../../src/domain/expressions/types.ts";
import { seed } from "../../harness/seed.ts";
import { randomOf } from "../../server/query/random-values.ts";

const FIELDS: GroupFields = {
  columns: [
    { name: "kind", type: PRIMITIVES.str },
    { name: "price", type: PRIMITIVES.decimal },
  ],
  value: "total",
};
const make = groupedAccumulator(FIELDS, chooseAccumulator("sum", PRIMITIVES.int, [])?.make as MakeAccumulator);

test("a struct for each group, in the order of the columns' values", () => {
  const parts = [make(), make()];
  parts[0]?.add(1, null, "b", "10");
  parts[0]?.add(2, null, "a", "9.50");
  parts[1]?.add(4, null, "b", "9.5");
  parts[1]?.add(8, null, "a", "9.5");
  parts[1]?.add(null, null, null, "1");
  for (const order of [parts, parts.toReversed()]) {
    const whole = make();
    for (const part of order) whole.merge(part.encode());
    expect(whole.result()).toEqual([
      { kind: null, price: "1", total: 0 },
      { kind: "a", price: "9.5", total: 10 },
      { kind: "b", price: "9.5", total: 4 },
      { kind: "b", price: "10", total: 1 },
    ]);
  }
});

test("one group too many is an error, wherever it came in, and the state stays small", () => {
  const [first, second] = [make(), make()];
  for (let group = 0; group < MAX_GROUPS; group++) first.add(1, null, `group ${group}`, "1");
  second.add(1, null, "another", "1");
  expect(first.result()).toHaveLength(MAX_GROUPS);
  const whole = make();
  whole.merge(second.encode());
  whole.merge(first.encode());
  expect(() => whole.result()).toThrow("the rows have more than 1000 groups");
  expect(whole.encode().length).toBeLessThan(10);
  const again = make();
  again.merge(whole.encode());
  expect(() => again.result()).toThrow("the rows have more than 1000 groups");
});

const BY_KIND: GroupFields = { columns: [{ name: "kind", type: PRIMITIVES.str }], value: "total" };
const KINDS = Array.from({ length: MAX_GROUPS }, (_, group) => `${"a long name of a group ".repeat(8)}${group}`);

test.each([
  ["approx_count_distinct", PRIMITIVES.int, []],
  ["approx_percentile", PRIMITIVES.float, [0.5]],
  ["sum", PRIMITIVES.float, []],
  ["std", PRIMITIVES.float, []],
] as const)("as many groups of %s as there can be are kept, and merge to what the rows give", (name, type, constants) => {
  const { make: single } = chooseAccumulator(name, type, constants) as { make: MakeAccumulator };
  const grouped = groupedAccumulator(BY_KIND, single);
  const random = randomOf(seed);
  const [whole, merged, parts] = [grouped(), grouped(), [grouped(), grouped(), grouped()]];
  for (let row = 0; row < 10_000; row++) {
    const [value, kind] = [Math.floor(random() * 1e6), KINDS[Math.floor(random() * MAX_GROUPS)] as string];
    whole.add(value, null, kind);
    parts[Math.floor(random() * 3)]?.add(value, null, kind);
  }
  for (const part of parts) merged.merge(part.encode());
  expect(merged.result()).toEqual(whole.result());

  // Each group with the state of so many rows that it grows no more.
  const full = single();
  for (let row = 0; row < 20_000; row++) full.add(Math.floor(random() * 1e6), null);
  const state = full.encode();
  const largest = groupedAccumulator(BY_KIND, () => ({ ...full, add: () => undefined, encode: () => state }))();
  for (const kind of KINDS) largest.add(1, null, kind);
  const kept = grouped();
  kept.merge(largest.encode());
  const again = grouped();
  again.merge(kept.encode());
  const total = full.result();
  expect(again.result()).toEqual([...KINDS].sort().map((kind) => ({ kind, total })));
});

test("groups that are more than is kept are told, and those before are still there", () => {
  const { make: single } = chooseAccumulator("approx_top_k", PRIMITIVES.str, [1]) as { make: MakeAccumulator };
  const state = groupedAccumulator(BY_KIND, single)();
  const text = "x".repeat(30_000);
  const most = Math.floor(MAX_GROUPED_BYTES / text.length);
  for (let group = 0; group < most - 3; group++) state.add(`${group} ${text}`, null, `kind ${group}`);
  expect(state.encode().length).toBeLessThan(MAX_GROUPED_BYTES);
  for (let group = most - 3; group < most + 3; group++) state.add(`${group} ${text}`, null, `kind ${group}`);
  expect(() => state.encode()).toThrow(`the ${most + 3} groups take more than the 4 MiB that are kept`);
  expect(state.result()).toHaveLength(most + 3);
});

test("bytes that are damaged, or of another version, are refused", () => {
  const state = make();
  state.add(1, null, "a", "1");
  state.add(2, null, null, "2");
  const bytes = state.encode();
  for (let length = 0; length < bytes.length; length++) expect(() => make().merge(bytes.slice(0, length))).toThrow(DamagedState);
  expect(() => make().merge(Uint8Array.of(2, ...bytes.slice(1)))).toThrow(DamagedState);
  expect(() => make().merge(Uint8Array.of(...bytes, 0))).toThrow(DamagedState);
});

test("rows are told apart by values of which equal ones are the same", () => {
  expect([PRIMITIVES.int, PRIMITIVES.decimal, PRIMITIVES.datetime].map(isGroupable)).toEqual([true, true, true]);
  expect([PRIMITIVES.float, PRIMITIVES.json, listOf(PRIMITIVES.int)].map(isGroupable)).toEqual([false, false, false]);
});
