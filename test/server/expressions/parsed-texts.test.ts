/** Regular expressions, URLs and JSON: Python's `re`, `urllib.parse` and `json` say what is right. */

import { expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { encodeStored, type FeatureValue, untagged } from "../../../src/domain/value.ts";
import { compileExpression } from "../../../src/server/expressions/compile.ts";
import { seeded } from "../../harness/seed.ts";
import { INTERPRETERS, SDK_ROOT } from "../../sdk/interpreters.ts";
import { call, graphOfTypes, ref, scopeOf } from "./build-expression.ts";

setDefaultTimeout(300_000);

type Told = readonly (readonly [name: string, signature: string, values: readonly unknown[], result: unknown])[];

test("random texts give what Python gives", async () => {
  const { seed, numRuns } = seeded(1500);
  const child = Bun.spawn(
    [INTERPRETERS.at(-1)?.path ?? "", "-B", join(import.meta.dir, "parsed-texts.py"), String(seed), String(numRuns)],
    {
      env: { PATH: process.env.PATH, PYTHONPATH: SDK_ROOT },
      stdout: "pipe",
      stderr: "pipe",
    },
  );
  const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text(), child.exited]);
  expect(stderr).toBe("");
  const told = JSON.parse(stdout) as Told;
  const byFunction = Map.groupBy(told, ([name]) => name);
  expect(byFunction.size).toBe(13);
  for (const [name, own] of byFunction) {
    const [, signature] = own[0] as Told[number];
    const types = (signature.split(" -> ")[0] as string).split(", ");
    const scope = scopeOf(graphOfTypes({ Row: types.map((type, index) => `a${index}:${type}`).join(" ") }), "row");
    const compiled = compileExpression(call(name, ...types.map((_, index) => ref(`a${index}`))), scope);
    const columns = new Map(types.map((_, index) => [`a${index}`, own.map(([, , values]) => untagged(values[index]))]));
    const { values, errors } = compiled.evaluate({ rows: own.length, columns }, { nowMicros: 0n });
    for (const [row, [, , given, result]] of own.entries()) {
      const isError = result !== null && typeof result === "object" && "$error" in result;
      const got = errors.has(row) ? "an error" : encodeStored(values[row] as FeatureValue);
      const wanted = isError ? "an error" : encodeStored(untagged(result));
      if (got !== wanted)
        expect(`${name} of ${JSON.stringify(given)} is ${got} ${errors.get(row) ?? ""}`).toBe(
          `${name} of ${JSON.stringify(given)} is ${wanted}`,
        );
    }
    const known = own.filter(([, , , result]) => result !== null && !(Array.isArray(result) && result.length === 0));
    expect(known.length).toBeGreaterThan(own.length / 20);
  }
});
