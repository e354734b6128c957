/** `svc query --bulk` on the real server. */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { type Platform, runCommand, startPlatform, writeProject } from "../platform.ts";

let platform: Platform;
let project = "";
const run = (...words: string[]) => runCommand("query", ["--bulk", ...words], { home: platform.home, env: platform.env, dir: project });
const rows = (...ids: (string | number)[]) => ids.flatMap((id) => ["--in", `user.id=${id}`]);

const SHOPS = `from __future__ import annotations

from datetime import datetime

from svc import DataFrame, online
from svc.features import features


@features
class Shop:
    id: int
    name: str
    sales: DataFrame[Sale]


@features
class Sale:
    id: int
    shop_id: Shop.id
    at: datetime


@online
def shop_name(id: Shop.id) -> Shop.name:
    return f"shop-{id}"


@online
def sales(id: Shop.id) -> Shop.sales[Sale.id, Sale.shop_id, Sale.at]:
    return DataFrame([Sale(id=id * 10 + n, shop_id=id, at=datetime(2024, 1, 1 + n)) for n in range(id)])
`;

beforeAll(async () => {
  platform = await startPlatform();
  project = writeProject({ "shops.py": SHOPS });
  const done = await runCommand("apply", ["--force", "--await"], { home: platform.home, env: platform.env, dir: project });
  if (done.exitCode !== 0) throw new Error(done.stderr);
}, 300_000);
afterAll(() => platform.server.stop());

test("a table with a column per output", async () => {
  const done = await run(...rows(7, 8, 9), "--out", "user.name,user.score");
  expect([done.exitCode, done.stderr]).toEqual([0, ""]);
  const table = done.stdout.trimEnd().split("\n");
  const link = table.pop();
  expect(link).toStartWith(`${platform.url}/environments/`);
  expect(table).toEqual([
    "Row  user.id  user.name  user.score",
    "  0  7        user-7     3.5",
    "  1  8        user-8     4",
    "  2  9        user-9     4.5",
  ]);
});

test("what was stored has a check mark; an input that is an output too is shown once; one value for all rows stands in each", async () => {
  const words = [...rows(7, 10), "--in", "user.score=1.5", "--out", "user.id,user.name"];
  await run(...words);
  const table = (await run(...words)).stdout.trimEnd().split("\n").slice(0, -1);
  expect(table).toEqual([
    "Row  user.score  user.id  user.name",
    "  0  1.5         7        user-7 ✓",
    "  1  1.5         10       user-10 ✓",
  ]);
});

test("on a terminal the rows of a relation are a table below the features, in a pipe they are JSON", async () => {
  const words = ["--in", "shop.id=22", "--out", "shop.name,shop.sales"];
  const one = (options: object) => runCommand("query", words, { home: platform.home, env: platform.env, dir: project, ...options });
  const shown = (await one({ terminal: true })).stdout;
  expect(shown).toMatch(/^shop\.sales +22 rows$/m);
  expect(shown).toMatch(/\nshop\.sales\nid +shop_id +at\n220 +22 +2024-01-01T00:00:00Z\n/);
  expect(shown.match(/2024-01-/g)).toHaveLength(20);
  expect(shown).toContain("... and 2 more; a pipe or --json gets them all");
  expect((await one({})).stdout).toMatch(/^shop\.sales +- +\[\{"id":220,/m);
});

test("has-many outputs are tables of their own", async () => {
  const shops = ["--in", "shop.id=2", "--in", "shop.id=0", "--in", "shop.id=1", "--out", "shop.sales,shop.name"];
  const done = await run(...shops);
  expect([done.exitCode, done.stderr]).toEqual([0, ""]);
  expect(done.stdout.trimEnd().split("\n").slice(0, -1)).toEqual([
    "Row  shop.id  shop.name",
    "  0  2        shop-2",
    "  1  0        shop-0",
    "  2  1        shop-1",
    "",
    "shop.sales",
    "Row  shop.id  id  shop_id  at",
    "  0  2        20  2        2024-01-01T00:00:00Z",
    "  0  2        21  2        2024-01-02T00:00:00Z",
    "  2  1        10  1        2024-01-01T00:00:00Z",
  ]);
  const sale = (id: number, shop: number, day: number) => ({ id, shop_id: shop, at: `2024-01-0${day}T00:00:00.000000Z` });
  expect((await run(...shops, "--json")).json()).toMatchObject({
    data: { "shop.name": ["shop-2", "shop-0", "shop-1"], "shop.sales": [[sale(20, 2, 1), sale(21, 2, 2)], [], [sale(10, 1, 1)]] },
  });
});

test("one value stands for all rows; names may be written in both ways", async () => {
  const done = await run(
    "--in",
    "user.name=x",
    "--in",
    ".user.id=1",
    "--in",
    "user.id=2",
    "--out",
    "user.name_length,user.score",
    "--json",
  );
  expect(done.exitCode).toBe(0);
  expect((done.json() as { data: unknown }).data).toEqual({ "user.name_length": [1, 1], "user.score": [0.5, 1] });
});

test("the JSON is what the JSON query API answers", async () => {
  const done = await run(...rows(1, 13, 13, 2), "--out", "user.fragile,user.score", "--include-meta", "--json");
  expect(done.exitCode).toBe(1);
  const token = await fetch(`${platform.url}/v1/oauth/token`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      client_id: platform.env.SVC_CLIENT_ID,
      client_secret: platform.env.SVC_CLIENT_SECRET,
      grant_type: "client_credentials",
    }),
  });
  const { access_token } = (await token.json()) as { access_token: string };
  const response = await fetch(`${platform.url}/v1/query/bulk`, {
    method: "POST",
    headers: { authorization: `Bearer ${access_token}` },
    body: JSON.stringify({ inputs: { "user.id": [1, 13, 13, 2] }, outputs: ["user.fragile", "user.score"], include_meta: true }),
  });
  const steady = (answer: unknown) => {
    const { meta, ...rest } = answer as { meta: Record<string, unknown> };
    return { ...rest, meta: { ...meta, execution_duration_s: 0, query_id: "", query_timestamp: "" } };
  };
  const ours = steady(done.json());
  expect(ours).toEqual(steady(await response.json()));
  expect(ours).toMatchObject({ data: { "user.fragile": [1, null, null, 2], "user.score": [0.5, 6.5, 6.5, 1] }, meta: { rows: 4 } });
});

test("rows that fail: the others are answered, the cause stands below once, exit 1", async () => {
  const done = await run(...rows(1, 13, 13), "--out", "user.fragile,user.score");
  expect(done.exitCode).toBe(1);
  expect(done.stdout).toMatch(/ {2}1 {2}13 +\(failed\) +6\.5\n/);
  expect(done.stderr).toMatch(/^rows 1, 2: user\.fragile: .*unlucky number.*resolvers\.py:\d+/);
  expect(done.stderr).toContain("2 of 3 rows could not be answered in full");
});

test("outputs that are inferred are told on stderr", async () => {
  const done = await run(...rows(1, 2));
  expect(done.stderr).toBe("Using '--out=user'\n");
  expect(done.stdout).toContain("user.name_length");
});

test("columns of different lengths are refused", async () => {
  const done = await run(...rows(1, 2, 3), "--in", "user.name=a", "--in", "user.name=b");
  expect([done.exitCode, done.stdout]).toEqual([1, ""]);
  expect(done.stderr).toMatch(/user\.(id|name)/);
});

test("a wrong value is told with its row, a wrong name as a whole", async () => {
  expect((await run(...rows(1, "x", 3), "--out", "user.score")).stderr).toMatch(/row 1.*expected int/);
  expect((await run(...rows(1, 2), "--out", "user.skore")).stderr).toContain("did you mean 'user.score'");
});

test("without --bulk the message names it", async () => {
  const done = await runCommand("query", rows(1, 2), { home: platform.home, env: platform.env, dir: project });
  expect([done.exitCode, done.stderr.includes("--bulk")]).toEqual([2, true]);
});

test("a row whose inputs are wrong has failed as a whole", async () => {
  const done = await run(...rows(1, "x"), "--out", "user.name,user.score");
  expect(done.exitCode).toBe(1);
  expect(done.stdout).toMatch(/^ {2}1 {2}x +\(failed\) +\(failed\)$/m);
  expect(done.stderr).toContain('row 1: user.id: expected int, got str "x"');
});
