import { describe, expect, test } from "bun:test";
import type { FeatureValue } from "../../../../src/domain/value.ts";
import { buildGraphIndex } from "../../../../src/server/query/graph/graph-index.ts";
import type { ScalarInfo } from "../../../../src/server/query/graph/index-types.ts";
import { keyTextOf } from "../../../../src/server/query/ops/key-text.ts";
import { bulkColumn } from "../../../../src/server/query/request/request.ts";
import type { SqlType } from "../../../../src/server/sql/source.ts";
import { featureClass, graph, python } from "../graphs.ts";
import { ask, World } from "../worlds.ts";

const TYPES = { i: "int", f: "float", s: "str", d: "decimal", b: "bytes", t: "datetime" } as const;
const index = buildGraphIndex(graph([featureClass("k", { id: "int", ...TYPES })]), {
  environmentName: "",
  featureIds: new Map(),
  sources: [],
});
const UUID: SqlType = { name: "uuid", kind: "uuid" };
const ID = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11";

function isEqual(name: keyof typeof TYPES, a: FeatureValue, b: FeatureValue, type?: SqlType): boolean {
  const textOf = keyTextOf([index.scalars.get(`k.${name}`) as ScalarInfo], [type]);
  return textOf([a]) === textOf([b]);
}

describe("keys are equal", () => {
  test("when their numbers are, whatever their digits", () => {
    const equal = [
      ["1", "1.0"],
      ["1", "1e0"],
      ["-2.50", "-25e-1"],
      ["0", "-0.00"],
      ["0", "0e99999999999999999999"],
      ["100", "1E+2"],
      [".5", "0.5"],
      ["+7", "7."],
    ] as const;
    for (const [a, b] of equal) expect([a, b, isEqual("d", a, b)]).toEqual([a, b, true]);
    const unlike = [
      ["1", "-1"],
      ["1", "10"],
      ["0.1", "0.01"],
      ["1e999999999", "1e1000000000"],
      ["1e99999999999999999998", "1e99999999999999999999"],
      ["9007199254740993", "9007199254740992"],
    ] as const;
    for (const [a, b] of unlike) expect([a, b, isEqual("d", a, b)]).toEqual([a, b, false]);
    expect([isEqual("f", 0, -0), isEqual("f", 0.1, 0.2), isEqual("i", 2n ** 53n, 2n ** 53n + 1n)]).toEqual([true, false, false]);
  });

  test("when their texts are the same; UUIDs of a database however they are spelt", () => {
    expect(["A", "a ", "á", "a\u0301"].map((text) => isEqual("s", "a", text))).toEqual([false, false, false, false]);
    const spellings = [ID.toUpperCase(), ID.replaceAll("-", ""), `{${ID}}`];
    expect(spellings.map((text) => isEqual("s", ID, text, UUID))).toEqual([true, true, true]);
    expect(spellings.map((text) => isEqual("s", ID, text))).toEqual([false, false, false]);
    expect(isEqual("b", new Uint8Array([1]), new Uint8Array([1]))).toBe(true);
    expect(isEqual("b", new Uint8Array([1]), new Uint8Array([1, 0]))).toBe(false);
  });
});

test("rows of Python are found by the value of a key", async () => {
  const made = graph(
    [
      featureClass("price", { id: "decimal", label: "str?" }),
      featureClass("sale", { id: "int", price: "decimal" }),
      featureClass("tag", { id: "decimal", sales: { many: "sale", on: [["id", "price"]] } }),
    ],
    [python("m.prices", [], ["price.id", "price.label"], { rows: true }), python("m.sales", [], ["sale.id", "sale.price"], { rows: true })],
  );
  const rows = (columns: readonly string[], values: readonly FeatureValue[][]) => () =>
    values.map((row) => Object.fromEntries(columns.map((column, at) => [column, row[at] ?? null])));
  const world = new World(made, {
    python: {
      "m.prices": rows(["price.id", "price.label"], [["1.50", "a"]]),
      "m.sales": rows(
        ["sale.id", "sale.price"],
        [
          [1, "1.5"],
          [2, "1.500"],
          [3, "2"],
        ],
      ),
    },
  });
  expect(await world.values({ "price.id": "1.5" }, ["price.label"])).toEqual({ "price.label": "a" });
  expect(await world.values({ "tag.id": "1.50" }, ["tag.sales.id"])).toEqual({ "tag.sales.id": [1, 2] });
  const bulk = { request: ask({}, ["tag.sales.id"]), columns: [bulkColumn("tag.id", ["1.5", "2.0", "3"])] };
  const answer = await world.engine.answerBulk(world.deployment, bulk, world.now);
  expect(answer.columns[0]?.values).toEqual([[1, 2], [3], []]);
});
