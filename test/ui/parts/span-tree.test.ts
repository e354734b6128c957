import { expect, test } from "bun:test";
import { arranged, type WaterfallSpan } from "../../../src/ui/parts/span-tree.ts";

const span = (id: string, parentId: string, startMs: number): WaterfallSpan => ({ id, parentId, name: id, startMs, durationMs: 1 });
const shown = (spans: readonly WaterfallSpan[], folded?: ReadonlySet<string>) =>
  arranged(spans, folded).map((placed) => `${"-".repeat(placed.depth)}${placed.span.id}/${placed.parts}`);

test("spans stand below their parents, siblings by their start, and orphans outside", () => {
  const spans = [span("c", "a", 3), span("b", "a", 2), span("a", "", 1), span("d", "c", 4), span("lost", "nowhere", 0)];
  expect(shown(spans)).toEqual(["lost/0", "a/2", "-b/0", "-c/1", "--d/0"]);
  expect(shown(spans, new Set(["c"]))).toEqual(["lost/0", "a/2", "-b/0", "-c/1"]);
});

test("a circle of parents ends, and a chain of 50,000 does not use up the stack", () => {
  expect(shown([span("a", "b", 1), span("b", "a", 2)])).toEqual([]);
  const chain = Array.from({ length: 50_000 }, (_, at) => span(`${at}`, at === 0 ? "" : `${at - 1}`, at));
  expect(arranged(chain)).toHaveLength(50_000);
});
