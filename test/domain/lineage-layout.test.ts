import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { layOut } from "../../src/domain/lineage-layout.ts";
import { seeded } from "../harness/seed.ts";

const graphs = fc
  .record({
    widths: fc.array(fc.integer({ min: 10, max: 300 }), { minLength: 0, maxLength: 40 }),
    pairs: fc.array(fc.tuple(fc.nat(60), fc.nat(60)), { maxLength: 80 }),
  })
  .map(({ pairs, widths }) => ({
    nodes: widths.map((width, at) => ({ id: `n${at}`, width })),
    // Some lead to themselves, some from nowhere.
    edges: pairs.map(([from, to]) => ({ from: `n${from}`, to: `n${to}` })),
  }));

describe("a layout", () => {
  test("has every node once, and none lies on another or outside", () => {
    fc.assert(
      fc.property(graphs, ({ nodes, edges }) => {
        const drawn = layOut(nodes, edges);
        expect(drawn.nodes.map(({ id }) => id)).toEqual(nodes.map(({ id }) => id));
        for (const [at, a] of drawn.nodes.entries()) {
          expect(a.x >= 0 && a.y >= -1e-6 && a.x + a.width <= drawn.width + 1e-6 && a.y + a.height <= drawn.height + 1e-6).toBe(true);
          for (const b of drawn.nodes.slice(at + 1)) {
            const isApart = a.x + a.width < b.x || b.x + b.width < a.x || a.y + a.height < b.y + 1e-6 || b.y + b.height < a.y + 1e-6;
            expect(isApart, `${a.id} and ${b.id}`).toBe(true);
          }
        }
      }),
      seeded(200),
    );
  });

  test("has edges from left to right, but for one in each circle, between the nodes that they name", () => {
    fc.assert(
      fc.property(graphs, ({ nodes, edges }) => {
        const drawn = layOut(nodes, edges);
        const known = new Map(drawn.nodes.map((node) => [node.id, node]));
        expect(drawn.edges.length).toBe(edges.filter(({ from, to }) => from !== to && known.has(from) && known.has(to)).length);
        for (const { from, isBack, points, to } of drawn.edges) {
          const [a, b] = [known.get(from), known.get(to)];
          if (!a || !b) throw new Error("an edge of no node");
          expect(points[0]?.[0]).toBeCloseTo(a.x + a.width);
          expect(points.at(-1)?.[0]).toBeCloseTo(b.x);
          if (isBack) continue;
          expect(a.layer).toBeLessThan(b.layer);
          for (const [at, [x]] of points.entries()) expect(at === 0 || x >= (points[at - 1]?.[0] ?? 0)).toBe(true);
        }
        // Without the edges that lead back there is no circle: every other one leads to a later layer.
        const isAcyclic = edges.every(({ from, to }) => Number(from.slice(1)) < Number(to.slice(1)) || from === to);
        if (isAcyclic) expect(drawn.edges.some(({ isBack }) => isBack)).toBe(false);
      }),
      seeded(200),
    );
  });

  test("an edge passes the nodes of the layers between", () => {
    const nodes = ["a", "b", "c", "d"].map((id) => ({ id, width: 50 }));
    const edges = [
      ["a", "b"],
      ["b", "c"],
      ["c", "d"],
      ["a", "d"],
    ].map(([from = "", to = ""]) => ({ from, to }));
    const drawn = layOut(nodes, edges);
    const long = drawn.edges.find(({ from, to }) => from === "a" && to === "d");
    const between = drawn.nodes.filter(({ id }) => id === "b" || id === "c");
    for (const { height, y } of between) for (const [, at] of long?.points.slice(1, -1) ?? []) expect(at < y || at > y + height).toBe(true);
    expect(long?.points).toHaveLength(6);
  });

  test("few edges cross where none has to", () => {
    // Two trees whose nodes come mixed.
    const nodes = Array.from({ length: 30 }, (_, at) => ({ id: `n${at}`, width: 40 }));
    const edges = nodes.slice(2).map((_, at) => ({ from: `n${(at % 2) + 2 * Math.floor(at / 4)}`, to: `n${at + 2}` }));
    const { edges: drawn } = layOut(nodes, edges);
    const crossed = drawn.filter((a) =>
      drawn.some((b) => {
        const [a0, a1, b0, b1] = [a.points[0], a.points[1], b.points[0], b.points[1]];
        return a0 && a1 && b0 && b1 && a0[0] === b0[0] && a1[0] === b1[0] && (a0[1] - b0[1]) * (a1[1] - b1[1]) < 0;
      }),
    );
    expect(crossed).toEqual([]);
  });
});
