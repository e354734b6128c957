/**
 * Relations of a class to itself, followed any number of times by expressions, resolvers and
 * queries: a loop over the rows says what is right.
 */

import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { seeded } from "../../../harness/seed.ts";
import { agg, featureClass, fn, graph, lit, python, ref, sql } from "../graphs.ts";
import { MemorySource, valuesOf, World } from "../worlds.ts";

interface Node {
  readonly id: number;
  readonly parent_id: number | null;
  readonly x: number;
}
type Value = number | null;

/** A tree, a circle, a row that is its own parent, and parents that do not exist. */
const NODES: readonly Node[] = [
  ...Array.from({ length: 12 }, (_, i) => ({ id: i + 1, parent_id: i === 0 ? null : Math.ceil(i / 2), x: (i + 1) * 3 })),
  { id: 20, parent_id: 21, x: 5 },
  { id: 21, parent_id: 20, x: 7 },
  { id: 22, parent_id: 22, x: 11 },
  { id: 23, parent_id: 999, x: 13 },
  { id: 24, parent_id: 999, x: 17 },
];

const plus = (path: string) => ({ type: "int?" as const, expression: fn("add", ref(path), lit(0)) });

const MADE = graph(
  [
    featureClass("n", {
      id: "int",
      parent_id: "int?",
      parent: { to: "n", on: [["parent_id", "id"]], optional: true },
      kids: { many: "n", on: [["id", "parent_id"]] },
      x: "int",
      up2: plus("parent.parent.x"),
      up3: plus("parent.parent.parent.x"),
      made: "int?",
      nk: { type: "int", expression: agg("count", "kids") },
      e1: { type: "int", expression: agg("sum", "kids", "nk") },
      e2: { type: "int", expression: agg("sum", "kids", "e1") },
      side: { type: "int?", expression: agg("sum", "parent.kids", "up2") },
      top: plus("parent.parent.e2"),
    }),
  ],
  [
    sql("nodes", "select id, parent_id, x from nodes order by id", { "n.id": "id", "n.parent_id": "parent_id", "n.x": "x" }),
    python("m.made", ["n.parent.parent.up3?", "n.parent.up2?"], ["n.made"]),
  ],
);

function open(): World {
  const values = NODES.map(({ id, parent_id, x }) => `(${id}, ${parent_id ?? "null"}, ${x})`).join(", ");
  const source = new MemorySource(
    "db",
    `create table nodes (id integer primary key, parent_id integer, x integer); insert into nodes values ${values}`,
  );
  return new World(MADE, { sources: [source], python: { "m.made": ([a, b]) => Number(a ?? -1) * 1000 + Number(b ?? -1) } });
}

const parentOf = (node: Node | null): Node | null => NODES.find((one) => one.id === node?.parent_id) ?? null;
const kidsOf = (node: Node): Node[] => NODES.filter((one) => one.parent_id === node.id);
const sum = (values: readonly Value[]): number => values.reduce<number>((total, value) => total + (value ?? 0), 0);

/** Each feature as the loop has it. */
const FEATURES: Readonly<Record<string, (node: Node) => Value>> = {
  id: (node) => node.id,
  x: (node) => node.x,
  up2: (node) => parentOf(parentOf(node))?.x ?? null,
  up3: (node) => parentOf(parentOf(parentOf(node)))?.x ?? null,
  made: (node) => {
    const [a, b] = [parentOf(parentOf(node)), parentOf(node)];
    return ((a && value("up3", a)) ?? -1) * 1000 + ((b && value("up2", b)) ?? -1);
  },
  nk: (node) => kidsOf(node).length,
  e1: (node) => sum(kidsOf(node).map((kid) => value("nk", kid))),
  e2: (node) => sum(kidsOf(node).map((kid) => value("e1", kid))),
  side: (node) => {
    const parent = parentOf(node);
    return parent && sum(kidsOf(parent).map((kid) => value("up2", kid)));
  },
  top: (node) => {
    const far = parentOf(parentOf(node));
    return far && value("e2", far);
  },
};
const value = (name: string, node: Node): Value => (FEATURES[name] as (node: Node) => Value)(node);

/** The value at the end of a path of has-one relations from a row. */
function walked(node: Node, path: readonly string[], name: string): unknown {
  const [step, ...rest] = path;
  if (step === undefined) return value(name, node);
  const parent = parentOf(node);
  return parent && walked(parent, rest, name);
}

/** Paths with at most one step to the children, whose values are a list of what lies behind it. */
const PATHS = fc.record({
  id: fc.constantFrom(...NODES.map((node) => node.id)),
  before: fc.array(fc.constant("parent"), { maxLength: 4 }),
  kids: fc.boolean(),
  behind: fc.array(fc.constant("parent"), { maxLength: 3 }),
  feature: fc.constantFrom(...Object.keys(FEATURES)),
});

test("a feature is the same by whatever path it is reached", async () => {
  const world = open();
  await fc.assert(
    fc.asyncProperty(PATHS, async ({ id, before, kids, behind, feature }) => {
      const start = NODES.find((node) => node.id === id) as Node;
      const path = ["n", ...before, ...(kids ? ["kids", ...behind] : []), feature].join(".");
      let from: Node | null = start;
      for (const _ of before) from = parentOf(from);
      const right = from && (kids ? kidsOf(from).map((kid) => walked(kid, behind, feature)) : value(feature, from));
      const answer = await world.ask({ "n.id": id }, [path]);
      expect([path, answer.failures]).toEqual([path, []]);
      expect([path, valuesOf(answer)[path]]).toEqual([path, right as never]);
    }),
    seeded(300),
  );
});

describe("what needs itself of other rows", () => {
  const nodes = sql("nodes", "select id, parent_id, x from nodes", { "n.id": "id", "n.parent_id": "parent_id", "n.x": "x" });
  const source = () =>
    new MemorySource("db", "create table nodes (id integer, parent_id integer, x integer); insert into nodes values (1, null, 1)");
  const classes = (more: Parameters<typeof featureClass>[1]) => [
    featureClass("n", { id: "int", parent_id: "int?", parent: { to: "n", on: [["parent_id", "id"]], optional: true }, x: "int", ...more }),
  ];

  test("is refused, and the query ends", async () => {
    const world = new World(graph(classes({ sum: { type: "int?", expression: fn("add", ref("x"), ref("parent.sum")) } }), [nodes]), {
      sources: [source()],
    });
    const refusal = await world.refusal({ "n.id": 1 }, ["n.sum"]);
    expect(refusal.message).toContain("it would follow n.parent once more from n.parent");
  });

  test("is not where another source of it has all rows", async () => {
    const all = sql("all", "select id, x * 2 as y from nodes", { "n.id": "id", "n.y": "y" }, { total: true });
    const world = new World(
      graph(classes({ y: "int?", z: "int?" }), [nodes, all, python("m.y", ["n.parent.z?"], ["n.y"]), python("m.z", ["n.y"], ["n.z"])]),
      {
        sources: [source()],
        python: { "m.y": () => 0, "m.z": ([y]) => Number(y) + 1 },
      },
    );
    expect(await world.values({ "n.id": 1 }, ["n.y", "n.z"])).toEqual({ "n.y": 2, "n.z": 3 });
  });
});
