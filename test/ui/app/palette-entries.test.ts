import { expect, test } from "bun:test";
import { entryOfId, fitting } from "../../../src/ui/app/palette-entries.ts";

const entries = ["user.age", "user.name", "Deployments", "Overview", "transfer.user_id"].map((title) => ({ kind: "x", title, to: "/" }));
const found = (typed: string) => fitting(entries, typed, 3).map(({ title }) => title);

test("what begins with the words comes first, then parts of names, then letters in their order", () => {
  expect(found("user")).toEqual(["user.age", "user.name", "transfer.user_id"]);
  expect(found("name")).toEqual(["user.name"]);
  expect(found("dpm")).toEqual(["Deployments"]);
  expect(found("zzz")).toEqual([]);
  expect(found("")).toHaveLength(3);
});

test("an id from a log leads to the page of what it names", () => {
  expect(entryOfId(" dpl_01a2 ", "e")?.to).toBe("/environments/e/deployments/dpl_01a2");
  expect(entryOfId("0123456789abcdef0123456789abcdef", "e")?.kind).toBe("trace");
  expect(entryOfId("bench_01a2", "e")?.to).toBe("/environments/e/benchmarks/bench_01a2");
  expect(entryOfId("user.name", "e")).toBeUndefined();
  expect(entryOfId("dpl_../x", "e")).toBeUndefined();
});
