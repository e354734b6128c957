/** `svc delete` of the compiled binary, from a query that stores to one that computes anew. */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { eventually } from "../harness/eventually.ts";
import { Sandbox } from "../harness/sandbox.ts";
import { GREETING } from "../server/deployments/deploying.ts";

const sandbox = new Sandbox();
let project = "";
const svc = (...words: string[]) => sandbox.svc(words, { cwd: project });

interface Answer {
  readonly data: readonly { readonly field: string; readonly value: unknown; readonly meta: { readonly cache_hit: boolean } }[];
}
/** Which of the features of a user the online store served. */
async function hits(id: number): Promise<Record<string, boolean>> {
  const { data } = await sandbox.json<Answer>(
    ["query", "--in", `user.id=${id}`, "--out", "user.name", "--out", "user.greeting", "--include-meta"],
    { cwd: project },
  );
  return Object.fromEntries(data.map(({ field, meta }) => [field, meta.cache_hit]));
}

/** Observations of a user in the offline table that the command names. */
async function history(feature: string, id: number): Promise<number> {
  const { exitCode, stdout } = await svc("offline-store", "table", feature);
  if (exitCode !== 0) return 0;
  const found = await svc("sql", `select value from ${stdout.trim()} where key = ${id}`, "--format", "json");
  expect(found).toMatchObject({ exitCode: 0 });
  return found.stdout.split("\n").filter((line) => line !== "").length;
}

beforeAll(async () => {
  await sandbox.startServer();
  project = await sandbox.write({ "svc.yaml": "project: shop\nenvironments:\n  default: {}\n", ...GREETING });
  expect(await svc("apply", "--force", "--await")).toMatchObject({ exitCode: 0 });
}, 300_000);
afterAll(() => sandbox[Symbol.asyncDispose]());

// The keys are no numbers that a logged body has by chance: what only looks like a key counts too.
test("a query stores, the deletion takes out, the next query computes anew", async () => {
  for (const id of [7001, 7002]) await hits(id);
  await eventually(async () => (await history("user.greeting", 7002)) === 1, "the values are stored offline");
  expect(await hits(7001)).toEqual({ "user.name": true, "user.greeting": true });
  const done = await svc("delete", "--namespace", "user", "--features", "name", "--keys", "7001,7003", "--yes");
  expect(done).toMatchObject({ exitCode: 0 });
  expect(done.stderr).toContain("the online and offline values of 1 feature (user.name) of 2 rows are deleted from environment 'default'");
  expect(done.stdout.replace(/del_\w+/, "del_1")).toMatch(
    /^Deletion: +del_1\nOnline values: +1\nOffline values: +1\nLogged queries: +2\nWebhook values: +0\n$/,
  );
  expect([await history("user.name", 7001), await history("user.greeting", 7001), await history("user.name", 7002)]).toEqual([0, 1, 1]);
  expect([await hits(7001), await hits(7002)]).toEqual([
    { "user.name": false, "user.greeting": true },
    { "user.name": true, "user.greeting": true },
  ]);
  await eventually(async () => (await history("user.name", 7001)) === 1, "what was computed after it is stored");
  expect(await sandbox.json(["delete", "--namespace", "user", "--keys", "7001", "--yes"], { cwd: project })).toEqual({
    ...{ id: expect.stringMatching(/^del_/), done: true, online_values: 2, offline_values: 2, logged_queries: 1, waiting_nodes: 0 },
    webhook_values: 0,
  });
}, 300_000);

test("wrong words are refused before anything is asked", async () => {
  const cases: readonly (readonly [words: string, exitCode: number, says: RegExp])[] = [
    ["--features user.name", 2, /--keys is missing/],
    ["--keys 1", 2, /--features, --tags or --namespace is missing/],
    ["--features a --tags b --keys 1", 2, /not used together/],
    ["--features user.nam --keys 1", 1, /no feature 'user.nam'/],
    ["--namespace user --keys one", 1, /'one' is no key of 'user'/],
    ["--namespace user --keys 1", 1, /Pass --yes where there is nobody to ask/],
  ];
  for (const [words, exitCode, says] of cases) {
    const outcome = await svc("delete", ...words.split(" "));
    expect([words, outcome.exitCode, outcome.stderr]).toEqual([words, exitCode, expect.stringMatching(says)]);
  }
}, 300_000);
