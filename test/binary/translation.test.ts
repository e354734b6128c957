/** Translated resolvers as a user of the binary sees them. */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { Sandbox } from "../harness/sandbox.ts";

const PROJECT = {
  "svc.yaml": "project: shop\nenvironments:\n  default: {}\n",
  "features.py": `from svc import online
from svc.features import features


@features
class Order:
    id: int
    price: float
    count: int
    total: float
    each: float


@online
def total(price: Order.price, count: Order.count) -> Order.total:
    return round(price * count, 2)


@online
def each(total: Order.total, count: Order.count) -> Order.each:
    return total / count
`,
};

const sandbox = new Sandbox();
let project = "";

beforeAll(async () => {
  await sandbox.startServer();
  project = await sandbox.write(PROJECT);
  const applied = await sandbox.svc(["apply", "--force", "--await"], { cwd: project });
  expect(applied.exitCode, applied.stderr).toBe(0);
}, 300_000);
afterAll(() => sandbox[Symbol.asyncDispose]());

const query = (count: number, ...more: string[]) =>
  sandbox.svc(["query", "--in", "order.price=2.5", "--in", `order.count=${count}`, "--out", "order.each", ...more], { cwd: project });

test("explain says what was translated, and what fell back to Python", async () => {
  const text = await query(3, "--explain");
  expect(text.stdout).toMatch(/PyResolver translated features\.each \(features\.py:\d+\) {2}rows 1 -> 1 {2}\S+ ms, 0 fell back to Python/);
  expect(text.stdout).toMatch(/PyResolver translated features\.total /);
  const json = await query(0, "--explain", "--json");
  expect(json.exitCode).toBe(1);
  const { errors, meta } = JSON.parse(json.stdout);
  expect(errors).toMatchObject([{ message: "resolver 'features.each' raised ZeroDivisionError: float division by zero (features.py:21)" }]);
  expect(meta.explain_output).toMatch(/PyResolver translated features\.each .* 1 fell back to Python/);
  expect(meta.explain_output).toMatch(/PyResolver translated features\.total .* 0 fell back to Python/);
}, 300_000);

test("a planner option runs Python instead, with the same answer", async () => {
  for (const option of [[], ["--planner-option", "disable_translation=true"]])
    expect(JSON.parse((await query(3, "--json", ...option)).stdout).data).toMatchObject([{ field: "order.each", value: 2.5 }]);
  const explained = await query(3, "--explain", "--planner-option", "disable_translation=true");
  expect(explained.stdout).toMatch(/PyResolver features\.each .*, not translated: the planner option disable_translation/);
}, 300_000);
