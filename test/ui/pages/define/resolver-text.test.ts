import { expect, test } from "bun:test";
import { resolverMetric } from "../../../../src/ui/pages/define/metric-expressions.ts";
import { inputPaths, resolverKind, resolverWords, resultText, translationText } from "../../../../src/ui/pages/define/resolver-text.ts";
import { stalenessText } from "../../../../src/ui/pages/define/staleness-text.ts";

const SQL = { fqn: "banks", sql: { parameters: [{ path: "bank.id" }, { path: "" }, { path: "bank.id" }] }, outputs: ["bank.title"] };
const PYTHON = {
  ...({ fqn: "r.f", python: { name: "f" }, kind: "RESOLVER_KIND_OFFLINE", owner: "Ann@example.com" } as const),
  inputs: [{ feature: { path: "user.name" } }, { rows: { path: "user.txns" } }, { now: {} }, { table: { columns: ["user.id"] } }],
};

test("resolvers in words", () => {
  expect([SQL, PYTHON].map(resolverKind)).toEqual(["SQL, online", "Python, offline"]);
  expect([SQL, PYTHON].map(inputPaths)).toEqual([["bank.id"], ["user.name", "user.txns", "user.id"]]);
  expect([SQL, { ...PYTHON, untranslated: "line 2: it loops" }, { ...PYTHON, translated: { "user.a": {} } }].map(translationText)).toEqual([
    "",
    "in Python: line 2: it loops",
    "without Python",
  ]);
  expect(resultText({ outputShape: "OUTPUT_SHAPE_ROWS", outputs: ["user.id"] })).toBe("rows of user");
  expect(resultText({ outputShape: "OUTPUT_SHAPE_RELATION", relation: "user.txns" })).toBe("the rows of user.txns");
  expect(resolverWords(PYTHON)).toContain("ann@example.com");
  expect(stalenessText({ "user.a__600__": "90s", "user.b": "315576000000s" })).toBe("user.a[10m] up to 1m30s, user.b of any age");
});

test("metric expressions quote what the grammar would read", () => {
  expect(resolverMetric("p99", "resolver.latency", "r.f", "")).toBe("p99:resolver.latency{resolver:r.f}");
  expect(resolverMetric("sum", "resolver.count", 'a "b"', "x,y")).toBe('sum:resolver.count{resolver:"a \\"b\\"",branch:"x,y"}');
});
