import { describe, expect, test } from "bun:test";
import { type Lineage, lineageId } from "../../../../src/domain/lineage.ts";
import { layOut } from "../../../../src/domain/lineage-layout.ts";
import { edgePath, MOST_UNFOLDED, nodeBeside, nodeText, shownLineage } from "../../../../src/ui/pages/define/graph-view.ts";

/** A chain of features `a.0 -> a.1 -> ...`. */
function chain(length: number): Lineage {
  const names = Array.from({ length }, (_, at) => `a.${at}`);
  return {
    nodes: new Map(names.map((name) => [lineageId("feature", name), { id: lineageId("feature", name), kind: "feature", name }])),
    edges: names.slice(1).map((name, at) => ({ from: lineageId("feature", `a.${at}`), to: lineageId("feature", name) })),
  };
}
const size = (lineage: Lineage, choice: object) => shownLineage(lineage, { on: "", depth: "", fold: "", ...choice }).shown.nodes.size;

describe("what is shown of a lineage", () => {
  test("all of a small one, classes of a large one, unless one asks otherwise", () => {
    expect(size(chain(MOST_UNFOLDED), {})).toBe(MOST_UNFOLDED);
    expect(size(chain(MOST_UNFOLDED + 1), {})).toBe(1);
    expect(size(chain(MOST_UNFOLDED + 1), { fold: "no" })).toBe(MOST_UNFOLDED + 1);
    expect(size(chain(3), { fold: "yes" })).toBe(1);
  });

  test("two steps around a node unless one asks otherwise; all around none that is known", () => {
    const on = lineageId("feature", "a.5");
    expect(size(chain(20), { on })).toBe(5);
    expect(size(chain(20), { on, depth: "1" })).toBe(3);
    expect(size(chain(20), { on, depth: "all" })).toBe(20);
    expect(size(chain(20), { on, depth: "nonsense" })).toBe(5);
    expect(size(chain(20), { on: "feature:gone" })).toBe(20);
  });

  test("arrows walk to neighbours, and up and down in a layer", () => {
    const edges = [
      ["a", "x"],
      ["b", "x"],
      ["x", "y"],
    ].map(([from = "", to = ""]) => ({ from, to }));
    const layout = layOut(
      ["a", "b", "x", "y"].map((id) => ({ id, width: 50 })),
      edges,
    );
    expect(nodeBeside(layout, "x", "ArrowRight")).toBe("y");
    expect(nodeBeside(layout, "y", "ArrowLeft")).toBe("x");
    expect(["a", "b"]).toContain(nodeBeside(layout, "x", "ArrowLeft") ?? "");
    const [upper, lower] = layout.nodes.filter(({ layer }) => layer === 0).toSorted((one, other) => one.y - other.y);
    expect(nodeBeside(layout, upper?.id ?? "", "ArrowDown")).toBe(lower?.id ?? "none");
    expect(nodeBeside(layout, upper?.id ?? "", "ArrowUp")).toBeUndefined();
    expect(nodeBeside(layout, "y", "ArrowRight")).toBeUndefined();
    expect(nodeBeside(layout, "gone", "ArrowRight")).toBe("a");
  });

  test("long names lose their middle, edges are one path", () => {
    const text = nodeText({ id: "", kind: "feature", name: `user.${"x".repeat(60)}__600__` });
    expect(text).toHaveLength(36);
    expect(text).toEndWith("[10m]");
    expect(
      edgePath([
        [0, 0],
        [10, 20],
        [30, 20],
      ]),
    ).toBe("M0 0C5 0 5 20 10 20L30 20");
  });
});
