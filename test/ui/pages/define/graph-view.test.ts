import { describe, expect, test } from "bun:test";
import { layOut } from "../../../../src/domain/lineage-layout.ts";
import {
  edgePath,
  lineageRequest,
  MOST_DRAWN,
  MOST_UNFOLDED,
  nodeBeside,
  nodeText,
  nodeWidth,
} from "../../../../src/ui/pages/define/graph-view.ts";

const request = (choice: object, byClass = false) => lineageRequest({ on: "", depth: "", fold: "", ...choice }, byClass);

describe("what is shown of a lineage", () => {
  test("is asked for as far as it can be drawn: enough to see that there is too much, or all with classes", () => {
    expect(request({})).toEqual({ byClass: false, limit: MOST_UNFOLDED + 1 });
    expect(request({ fold: "no" })).toEqual({ byClass: false, limit: MOST_DRAWN });
    expect(request({ fold: "yes" }, true)).toEqual({ byClass: true, limit: MOST_DRAWN });
  });

  test("around a node is what lies two steps from it, unless one asks otherwise", () => {
    const direction = "LINEAGE_DIRECTION_BOTH";
    const steps = (depth: string) => request({ on: "feature:a.5", depth, fold: "no" });
    expect(steps("")).toEqual({ on: "feature:a.5", depth: 2, direction, byClass: false, limit: MOST_DRAWN });
    expect(["1", "all", "nonsense", "-1"].map((depth) => steps(depth).depth)).toEqual([1, 0, 2, 2]);
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
    const node = { id: "", kind: "feature", name: "user.name" } as const;
    expect(nodeWidth(node, "3 errors")).toBeGreaterThan(nodeWidth(node, ""));
    expect(
      edgePath([
        [0, 0],
        [10, 20],
        [30, 20],
      ]),
    ).toBe("M0 0C5 0 5 20 10 20L30 20");
  });
});
