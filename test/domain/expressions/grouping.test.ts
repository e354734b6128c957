/** Groups of rows as states: bounds, order, and bytes that are damaged. What their values are, windows are tested for. */

import { expect, test } from "bun:test";
import { chooseAccumulator, type MakeAccumulator } from "../../../src/domain/expressions/accumulators.ts";
import { type GroupFields, groupedAccumulator, isGroupable, MAX_GROUPS } from "../../../src/domain/expressions/grouping.ts";
import { DamagedState } from "../../../src/domain/expressions/state-bytes.ts";
import { listOf, PRIMITIVES } from "../../../src/domain/expressions/types.ts";

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
