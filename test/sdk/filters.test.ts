/**
 * Filters of has-many rows mean the same to the SDK, which applies them in tests, and to the
 * server, which is sent them as expressions.
 */

import { expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { fromJson, type JsonValue } from "@bufbuild/protobuf";
import { ExpressionSchema } from "../../gen/svc/v1/graph_pb.ts";
import { GraphIndex } from "../../src/domain/graph-index.ts";
import { type FeatureValue, untagged } from "../../src/domain/value.ts";
import { compileExpression } from "../../src/server/expressions/compile.ts";
import type { RowTest } from "../../src/server/expressions/row-test.ts";
import { runs, seed } from "../harness/seed.ts";
import { analyzeFixture, FIXTURES } from "./analyze.ts";
import { INTERPRETERS, SDK_ROOT } from "./interpreters.ts";

setDefaultTimeout(300_000);

interface Generated {
  readonly now: string;
  readonly columns: Readonly<Record<string, unknown[]>>;
  readonly cases: readonly {
    readonly text: string;
    readonly filter: JsonValue;
    readonly kept: readonly number[];
    readonly python?: readonly number[];
  }[];
}

const RUNS = runs(250, 100_000);

test.each(INTERPRETERS.map((item) => [item.version, item.path] as const))(
  "random filters choose the same rows on Python %s",
  async (_, path) => {
    const { graph } = await analyzeFixture("filters", { python: path });
    const child = Bun.spawn([path, "-B", "-X", "utf8", join(import.meta.dir, "filters/generate.py"), String(seed), String(RUNS)], {
      env: { PATH: process.env.PATH, PYTHONPATH: `${SDK_ROOT}:${join(FIXTURES, "filters")}` },
      stdout: "pipe",
      stderr: "pipe",
    });
    const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text(), child.exited]);
    expect(stderr, `seed ${seed}`).toBe("");
    const generated = JSON.parse(stdout) as Generated;
    const index = new GraphIndex(graph);
    const set = index.sets.get("row");
    if (!set) throw new Error("no class row");
    const columns = new Map<string, FeatureValue[]>(
      Object.entries(generated.columns).map(([name, values]) => [name, values.map((value) => micros(untagged(value)))]),
    );
    const rows = columns.get("id")?.length ?? 0;
    const nowMicros = BigInt(Date.parse(generated.now)) * 1000n;
    let some = 0;
    for (const { text, filter, kept, python } of generated.cases) {
      const compiled = compileExpression(fromJson(ExpressionSchema, filter), { index, set });
      const { values, errors } = compiled.evaluate({ rows, columns }, { nowMicros });
      expect(errors.size).toBe(0);
      const chosen = values.flatMap((value, row) => (value === true ? [row] : []));
      expect(chosen, `seed ${seed}: ${text}`).toEqual([...kept]);
      if (python) expect(chosen, `seed ${seed}: ${text} in Python`).toEqual([...python]);
      const asked = compiled.test;
      if (asked) for (const row of chosen) expect(passes(asked, columns, row), `seed ${seed}: ${text}, row ${row}`).toBe(true);
      if (kept.length > 0 && kept.length < rows) some++;
    }
    expect(some).toBeGreaterThan(RUNS / 4);
  },
);

/**
 * Whether a row passes what a database would be asked for a filter, as far as it compares with
 * bools: null passes nothing.
 */
function passes(asked: RowTest, columns: ReadonlyMap<string, readonly FeatureValue[]>, row: number): boolean {
  if ("tests" in asked) return asked.tests[asked.kind === "all" ? "every" : "some"]((one) => passes(one, columns, row));
  const value = columns.get(asked.path)?.[row] ?? null;
  if (value === null) return false;
  if (asked.kind !== "compare" || !("literal" in asked.value) || typeof asked.value.literal !== "boolean") return true;
  return (value === asked.value.literal) === (asked.operator === "eq");
}

/** The engine keeps timedeltas as plain microseconds. */
function micros(value: FeatureValue): FeatureValue {
  return value !== null && typeof value === "object" && "$micros" in value ? (value.$micros as number) : value;
}
