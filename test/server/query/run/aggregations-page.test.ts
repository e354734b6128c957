/** `docs/aggregations.md`: its project answers what it says, and its table is that of the program. */

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { AGGREGATIONS } from "../../../../src/domain/expressions/aggregations.ts";
import { PythonWorld } from "../python-world.ts";
import { valuesOf } from "../worlds.ts";

setDefaultTimeout(300_000);

const page = readFileSync(join(import.meta.dir, "../../../../docs/aggregations.md"), "utf8");
const fence = (info: string): string => page.split(`\`\`\`${info}\n`)[1]?.split("```")[0] ?? "";

let world: PythonWorld;

beforeAll(async () => {
  world = await PythonWorld.start({ "features.py": fence("python file: features.py") });
});

afterAll(() => world?.close());

test("the project answers what the page says", async () => {
  const said = JSON.parse(fence("json")) as Record<string, unknown>;
  const answer = await world.ask({ "user.id": 1 }, Object.keys(said));
  expect(answer.failures.map(({ message }) => message)).toEqual([]);
  expect(valuesOf(answer)).toEqual(said as ReturnType<typeof valuesOf>);
});

test("the table has every aggregation with its example", () => {
  const rows = [...page.matchAll(/^\| `(.+?)` \| (.+) \|$/gm)].map(([, example, doc]) => [example, doc]);
  expect(rows).toEqual([...AGGREGATIONS.values()].map(({ example, doc }) => [example as string, doc]));
});
