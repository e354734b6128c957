import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { foldClasses, type Lineage, lineageId, lineageOf } from "../../src/domain/lineage.ts";
import { findInLineage, type LineageDirection, partOfLineage, walkLineage } from "../../src/domain/lineage-choice.ts";
import { seeded } from "../harness/seed.ts";

const lineageOfNames = (names: readonly string[], edges: Lineage["edges"] = []): Lineage => ({
  nodes: new Map(names.map((name) => [lineageId("feature", name), { id: lineageId("feature", name), kind: "feature" as const, name }])),
  edges,
});

/** Lineages of any shape, cycles and loops among them. */
const anyLineage = fc
  .record({ size: fc.integer({ min: 1, max: 14 }), ends: fc.array(fc.tuple(fc.nat(13), fc.nat(13)), { maxLength: 40 }) })
  .map(({ size, ends }) => {
    const name = (at: number) => `c${at % 3}.n${at}`;
    const edges = ends
      .filter(([from, to]) => from < size && to < size)
      .map(([from, to]) => ({ from: lineageId("feature", name(from)), to: lineageId("feature", name(to)) }));
    return lineageOfNames(
      Array.from({ length: size }, (_, at) => name(at)),
      edges,
    );
  });
const choice = fc.record({
  lineage: anyLineage,
  at: fc.nat(13),
  depth: fc.integer({ min: 0, max: 15 }),
  direction: fc.constantFrom<LineageDirection>("upstream", "downstream", "both"),
});
const chosenOf = ({ nodes }: Lineage, at: number): string => [...nodes.keys()][at % nodes.size] as string;

/** Nodes within `depth` edges of the choice, by going over all edges again and again. */
function reachable({ edges }: Lineage, on: string, depth: number, start: "from" | "to"): Set<string> {
  let reached = new Set([on]);
  for (let step = 0; step < depth; step++)
    reached = new Set([
      ...reached,
      ...edges.filter((edge) => reached.has(edge[start])).map(({ from, to }) => (start === "from" ? to : from)),
    ]);
  return reached;
}

describe("what is around a choice", () => {
  test("is what a plain loop over all edges reaches, by as many steps", () => {
    fc.assert(
      fc.property(choice, ({ lineage, at, depth, direction }) => {
        const on = chosenOf(lineage, at);
        const within = (most: number) => [
          ...(direction === "downstream" ? [] : reachable(lineage, on, most, "to")),
          ...(direction === "upstream" ? [] : reachable(lineage, on, most, "from")),
        ];
        const walked = walkLineage(lineage, { on: [on, "gone"], direction, depth });
        expect([...walked.keys()].sort()).toEqual([...new Set(within(depth))].sort());
        for (const [id, distance] of walked) expect(distance === 0 ? id === on : !within(distance - 1).includes(id)).toBe(true);
      }),
      seeded(300),
    );
  });

  test("is the nearest within its limits, says what it left off, and has both ends of each edge", () => {
    fc.assert(
      fc.property(choice, fc.integer({ min: 1, max: 8 }), fc.nat(6), ({ lineage, at, depth, direction }, nodes, edges) => {
        const walk = { on: [chosenOf(lineage, at)], direction, depth };
        const walked = walkLineage(lineage, walk);
        for (const [of, total] of [
          [walk, walked.size],
          [undefined, lineage.nodes.size],
        ] as const) {
          const part = partOfLineage(lineage, of, { nodes, edges });
          const ids = new Set(part.nodes.map(({ id }) => id));
          const between = lineage.edges.filter(({ from, to }) => ids.has(from) && ids.has(to));
          expect([ids.size, ids.size + part.nodesLeftOff]).toEqual([Math.min(nodes, total), total]);
          expect(part.edges).toEqual(between.slice(0, edges));
          expect(part.edgesLeftOff).toBe(between.length - part.edges.length);
        }
        const kept = new Set(partOfLineage(lineage, walk, { nodes, edges }).nodes.map(({ id }) => id));
        const farthest = Math.max(...[...kept].map((id) => walked.get(id) as number));
        expect([...walked].filter(([id, distance]) => !kept.has(id) && distance < farthest)).toEqual([]);
      }),
      seeded(200),
    );
  });

  test("folded classes keep every edge between two of them", () => {
    fc.assert(
      fc.property(anyLineage, (lineage) => {
        const folded = foldClasses(lineage);
        const classOf = (id: string) => id.slice("feature:".length).split(".")[0];
        const wanted = lineage.edges.map(({ from, to }) => [classOf(from), classOf(to)]).filter(([from, to]) => from !== to);
        expect(new Set(folded.edges.map(({ from, to }) => `${from} ${to}`))).toEqual(
          new Set(wanted.map(([from, to]) => `class:${from} class:${to}`)),
        );
      }),
      seeded(100),
    );
  });
});

test("a name means an id, a whole name, windows, versions, the end of a resolver's name, or a namespace", () => {
  const lineage = lineageOf({
    featureSets: [
      {
        namespace: "user",
        features: ["id", "fails__60__", "fails__600__", "fails__x__"].map((name) => ({ fqn: `user.${name}`, scalar: {} })),
      },
    ],
    resolvers: [{ fqn: "risk.score", outputs: ["user.id"] }],
    namedQueries: [
      { name: "risk", version: "1" },
      { name: "risk", version: "2" },
    ],
    scheduledQueries: [{ name: "nightly", outputs: ["user.id"] }],
  });
  const found = (name: string) => findInLineage(lineage, name).map(({ id }) => id);
  expect(found("user.id")).toEqual(["feature:user.id"]);
  expect(found("resolver:risk.score")).toEqual(["resolver:risk.score"]);
  expect(found("user.fails")).toEqual(["feature:user.fails__60__", "feature:user.fails__600__"]);
  expect(found("risk")).toEqual(["query:risk 1", "query:risk 2"]);
  expect(found("score")).toEqual(["resolver:risk.score"]);
  expect(found("user")).toHaveLength(4);
  expect(found("nightly")).toEqual(["scheduledQuery:nightly"]);
  expect(found("nothing")).toEqual([]);
});

test("a source is found by its kind, and a select * gives what may be among its columns", () => {
  const lineage = lineageOf({
    featureSets: [
      {
        namespace: "bank",
        features: [
          { fqn: "bank.id", scalar: {} },
          { fqn: "bank.sum", namespace: "bank", scalar: { expression: { feature: { path: ["id"] } } } },
        ],
      },
    ],
    sources: [{ name: "shop", kind: "SOURCE_KIND_POSTGRESQL" }],
    resolvers: [{ fqn: "banks", sql: { source: "Postgres", star: true, namespace: "bank" } }],
  });
  expect(lineage.edges).toEqual([
    { from: "feature:bank.id", to: "feature:bank.sum" },
    { from: "source:shop", to: "resolver:banks" },
    { from: "resolver:banks", to: "feature:bank.id" },
  ]);
});
