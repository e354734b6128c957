/** Filters of has-many rows mean the same to the SDK, which applies them in tests, and to the server, which is sent them as expressions. */

import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { fromJson, type JsonValue } from "@bufbuild/protobuf";
import { ExpressionSchema } from "../../gen/svc/v1/graph_pb.ts";
import { GraphIndex } from "../../src/domain/graph-index.ts";
import { type FeatureValue, untagged } from "../../src/domain/value.ts";
import { compileExpression } from "../../src/server/expressions/compile.ts";
import { analyzeFixture, FIXTURES, removeBytecode } from "./analyze.ts";
import { INTERPRETERS, SDK_ROOT } from "./interpreters.ts";

setDefaultTimeout(60_000);
afterAll(removeBytecode);

interface Generated {
  readonly now: string;
  readonly columns: Readonly<Record<string, unknown[]>>;
  readonly cases: readonly { readonly text: string; readonly filter: JsonValue; readonly kept: readonly number[] }[];
}

const RUNS = 500;

test.each(INTERPRETERS.map((item) => [item.version, item.path] as const))(
  "random filters choose the same rows on Python %s",
  async (_, path) => {
    const seed = Number(process.env.SEED ?? Date.now() % 1_000_000);
    console.log(`seed ${seed}`);
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
    for (const { text, filter, kept } of generated.cases) {
      const compiled = compileExpression(fromJson(ExpressionSchema, filter), { index, set });
      const { values, errors } = compiled.evaluate({ rows, columns }, { nowMicros });
      expect(errors.size).toBe(0);
      const chosen = values.flatMap((value, row) => (value === true ? [row] : []));
      expect(chosen, `seed ${seed}: ${text}`).toEqual([...kept]);
      if (kept.length > 0 && kept.length < rows) some++;
    }
    expect(some).toBeGreaterThan(RUNS / 4);
  },
);

/** The engine keeps timedeltas as plain microseconds. */
function micros(value: FeatureValue): FeatureValue {
  return value !== null && typeof value === "object" && "$micros" in value ? (value.$micros as number) : value;
}
