import { describe, expect, test } from "bun:test";
import { readYaml, scalarText } from "../../src/domain/yaml-tree.ts";

const valuesOf = (text: string) => {
  const { root, problems } = readYaml(text);
  expect(problems).toEqual([]);
  return root?.kind === "map" ? Object.fromEntries(root.entries.map(({ key, value }) => [key, scalarText(value)])) : undefined;
};

describe("an alias", () => {
  test("stands for the last node before it with its anchor", () => {
    expect(valuesOf("a: &x 1\nb: *x\nc: &x 2\nd: *x\n")).toEqual({ a: "1", b: "1", c: "2", d: "2" });
  });

  test("of a list or a mapping is that", () => {
    const { root } = readYaml("a: &x {k: [1, &y 2]}\nb: *x\nc: *y\n");
    expect(root).toMatchObject({
      entries: [
        {},
        { key: "b", value: { kind: "map", entries: [{ key: "k", value: { kind: "list", items: [{ value: 1 }, { value: 2 }] } }] } },
        { key: "c", value: { kind: "scalar", value: 2 } },
      ],
    });
  });

  test("of a node that holds it is a problem", () => {
    expect(readYaml("a: &x [*x]\n").problems).toHaveLength(1);
  });

  test("whose anchor is missing, or stands behind it, is a problem at its place", () => {
    for (const text of ["a: 1\nb: *x\n", "b: *x\na: &x 1\n", "- *x\n"]) {
      const start = text.indexOf("*x");
      expect(readYaml(text).problems).toEqual([{ message: expect.stringContaining("*x"), start, end: start + 2 }]);
    }
  });

  /** Walking the document for each of them would take minutes. */
  test("may come often", () => {
    const values = valuesOf(`a: &x 1\n${Array.from({ length: 9_000 }, (_, i) => `k${i}: *x`).join("\n")}\n`);
    expect([Object.keys(values ?? {}).length, values?.k8999]).toEqual([9_001, "1"]);
  }, 300_000);
});
