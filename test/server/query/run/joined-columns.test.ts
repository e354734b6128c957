/**
 * Relations on two columns, many to many, of a class to itself and to another, with nulls and equal
 * keys on both sides, through parents that may be their own: what is answered, alone and in bulk,
 * is what plain loops over the rows give.
 */

import { expect, test } from "bun:test";
import fc from "fast-check";
import type { FeatureValue } from "../../../../src/domain/value.ts";
import { bulkColumn } from "../../../../src/server/query/request/request.ts";
import { patience, seeded } from "../../../harness/seed.ts";
import { agg, featureClass, fn, graph, lit, python, sql } from "../graphs.ts";
import { ask, MemorySource, World } from "../worlds.ts";

interface Node {
  readonly id: number;
  readonly parent: number | null;
  readonly a: number | null;
  readonly b: string | null;
  readonly v: number | null;
}

interface RandomWorld {
  readonly nodes: readonly Node[];
  readonly items: readonly Omit<Node, "parent">[];
  readonly nodesFrom: "sql" | "python";
  readonly itemsFrom: "sql" | "placeholders" | "python";
}

const columns = {
  a: fc.option(fc.constantFrom(1, 12), { freq: 6 }),
  // Texts that are equal to some database, or spell a key together with the other column in more
  // than one way.
  b: fc.option(fc.constantFrom("a", "A", "2a", ""), { freq: 6 }),
  v: fc.option(fc.integer({ min: -9, max: 9 })),
};
const worlds: fc.Arbitrary<RandomWorld> = fc.integer({ min: 1, max: 8 }).chain((count) =>
  fc.record({
    nodes: fc
      .array(fc.record({ parent: fc.option(fc.integer({ min: 1, max: count }), { freq: 3 }), ...columns }), {
        minLength: count,
        maxLength: count,
      })
      .map((rows) => rows.map((row, at) => ({ id: at + 1, ...row }))),
    items: fc.array(fc.record(columns), { maxLength: 12 }).map((rows) => rows.map((row, at) => ({ id: at + 100, ...row }))),
    nodesFrom: fc.constantFrom("sql", "python"),
    itemsFrom: fc.constantFrom("sql", "placeholders", "python"),
  }),
);

const TOGETHER = [
  ["a", "a"],
  ["b", "b"],
] as const;

function make({ nodes, items, nodesFrom, itemsFrom }: RandomWorld): World {
  const nodeColumns = { "node.id": "id", "node.parent_id": "parent", "node.a": "a", "node.b": "b", "node.v": "v" };
  const itemColumns = { "item.id": "id", "item.a": "a", "item.b": "b", "item.v": "v" };
  const ofItems = "select id, a, b, v from items";
  const made = graph(
    [
      featureClass("item", {
        id: "int",
        a: "int?",
        b: "str?",
        v: "int?",
        nodes: { many: "node", on: TOGETHER },
        used: { type: "int", expression: agg("count", "nodes") },
      }),
      featureClass("node", {
        id: "int",
        parent_id: "int?",
        parent: { to: "node", on: [["parent_id", "id"]], optional: true },
        children: { many: "node", on: [["id", "parent_id"]] },
        a: "int?",
        b: "str?",
        v: "int?",
        peers: { many: "node", on: TOGETHER },
        items: { many: "item", on: TOGETHER },
        own: { type: "int", expression: agg("sum", "items", "v") },
        born: { type: "int", expression: agg("count", "children") },
        around: { type: "int", expression: agg("sum", "peers", "v") },
        shared: { type: "int", expression: agg("sum", "peers", "own", fn("gt", "own", lit(-3))) },
        back: { type: "int", expression: agg("sum", "items", "used") },
        above: { type: "int?", expression: fn("add", "parent.own", "parent.parent.born") },
        told: "int",
      }),
    ],
    [
      nodesFrom === "sql"
        ? sql("nodes", "select id, parent, a, b, v from nodes", nodeColumns)
        : python("m.nodes", [], Object.keys(nodeColumns), { rows: true }),
      itemsFrom === "python"
        ? python("m.items", [], Object.keys(itemColumns), { rows: true })
        : sql("items", itemsFrom === "sql" ? ofItems : `${ofItems} where a = \${item.a} and b = \${item.b}`, itemColumns, {
            count: itemsFrom === "sql" ? 0 : 3,
          }),
      python("m.told", [{ rows: "node.peers", columns: ["node.v"], filters: [fn("gt", "v", lit(0))] }, "node.own"], ["node.told"]),
    ],
  );
  // A body with placeholders says itself what is equal; of rows that are looked up by key, those
  // that the database alone takes for equal are left out.
  const collation = itemsFrom === "sql" ? " collate nocase" : "";
  const source = new MemorySource(
    "db",
    `create table nodes (id integer primary key, parent integer, a integer, b text, v integer);
     create table items (id integer primary key, a integer, b text${collation}, v integer)`,
  );
  for (const { id, parent, a, b, v } of nodes) source.db.run("insert into nodes values (?, ?, ?, ?, ?)", [id, parent, a, b, v]);
  for (const { id, a, b, v } of items) source.db.run("insert into items values (?, ?, ?, ?)", [id, a, b, v]);
  return new World(made, {
    sources: [source],
    python: {
      "m.nodes": () =>
        nodes.map((one) => ({ "node.id": one.id, "node.parent_id": one.parent, "node.a": one.a, "node.b": one.b, "node.v": one.v })),
      "m.items": () => items.map((one) => ({ "item.id": one.id, "item.a": one.a, "item.b": one.b, "item.v": one.v })),
      "m.told": ([rows, own]) => (rows as unknown as readonly unknown[]).length * 100 + Number(own),
    },
  });
}

type Joined = Pick<Node, "a" | "b">;
const isJoined = (one: Joined, other: Joined) => one.a !== null && one.b !== null && one.a === other.a && one.b === other.b;
const sum = (values: readonly (number | null)[]) => values.reduce<number>((total, value) => total + (value ?? 0), 0);

function oracle({ nodes, items }: RandomWorld, node: Node): Record<string, FeatureValue> {
  const itemsOf = (one: Joined) => items.filter((item) => isJoined(one, item));
  const peersOf = (one: Joined) => nodes.filter((other) => isJoined(one, other));
  const own = (one: Joined) => sum(itemsOf(one).map(({ v }) => v));
  const born = (id: number) => nodes.filter((other) => other.parent === id).length;
  const parent = nodes.find(({ id }) => id === node.parent);
  return {
    "node.peers.v": peersOf(node).map(({ v }) => v),
    "node.items.id": itemsOf(node).map(({ id }) => id),
    "node.own": own(node),
    "node.around": sum(peersOf(node).map(({ v }) => v)),
    "node.shared": sum(
      peersOf(node)
        .map(own)
        .filter((value) => value > -3),
    ),
    "node.back": sum(itemsOf(node).map((item) => peersOf(item).length)),
    "node.above": parent?.parent == null ? null : own(parent) + born(parent.parent),
    "node.told": peersOf(node).filter(({ v }) => v !== null && v > 0).length * 100 + own(node),
    "node.born": born(node.id),
  };
}

test(
  "two columns join what is equal in both, and nothing by null",
  async () => {
    let joined = 0;
    await fc.assert(
      fc.asyncProperty(worlds, async (random) => {
        const world = make(random);
        const expected = random.nodes.map((node) => oracle(random, node));
        joined += expected.filter((one) => (one["node.items.id"] as FeatureValue[]).length > 0).length;
        const outputs = Object.keys(expected[0] ?? {});
        const ids = random.nodes.map(({ id }) => id);
        const bulk = await world.engine.answerBulk(
          world.deployment,
          { request: ask({}, outputs), columns: [bulkColumn("node.id", ids)] },
          world.now,
        );
        expect(bulk.failures).toEqual([]);
        for (const { path, values } of bulk.columns)
          expect([path, values]).toEqual([path, expected.map((one) => one[path] as FeatureValue)]);
        for (const [at, id] of ids.entries()) expect(await world.values({ "node.id": id }, outputs)).toEqual(expected[at] as never);
      }),
      seeded(150, 20_000),
    );
    expect(joined).toBeGreaterThan(50);
  },
  patience(300_000),
);
