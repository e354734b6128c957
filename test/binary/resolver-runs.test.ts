/** Resolvers that run by themselves, with the compiled binary, over the death of its server. */

import { afterEach, beforeEach, expect, test } from "bun:test";
import { eventually } from "../harness/eventually.ts";
import { Sandbox } from "../harness/sandbox.ts";

let sandbox: Sandbox;
beforeEach(() => {
  sandbox = new Sandbox();
});
afterEach(() => sandbox[Symbol.asyncDispose]());

const FEATURES = `from svc import DataFrame, offline
from svc.features import features


@features(max_staleness="infinity")
class User:
    id: int
    score: int


@offline(cron="0 3 * * *")
def all_scores() -> DataFrame[User.id, User.score]:
    return DataFrame({User.id: list(range(1, 20001)), User.score: [n * 2 for n in range(1, 20001)]})
`;

test("a scheduled resolver is listed and triggered; the run outlives the server, and queries find what it stored", async () => {
  const cwd = await sandbox.write({ "svc.yaml": "project: runs\nenvironments:\n  default: {}\n", "features.py": FEATURES });
  const svc = (...words: string[]) => sandbox.svc(words, { cwd });
  await sandbox.startServer();
  expect((await svc("apply", "--yes", "--await")).exitCode).toBe(0);
  await eventually(
    async () => /^features\.all_scores +0 3 \* \* \* +\d{4}-\d\d-\d\dT03:00:00Z/m.test((await svc("scheduled-resolver", "list")).stdout),
    "the schedule is listed with its next run",
  );
  const asked = ["trigger", "--resolver=all_scores", "--idempotency-key=first"];
  const { id } = await sandbox.json<{ id: string }>(asked, { cwd });
  await sandbox.killServer();
  await sandbox.startServer();
  expect((await svc(...asked)).stdout).toContain(`ID:       ${id}\n`);
  const run = () => sandbox.json<{ state: string; rows: number }>(["scheduled-resolver", "runs", "get", id], { cwd });
  await eventually(async () => (await run()).state === "succeeded", "the run has ended");
  const awaited = await svc(...asked, "--await");
  expect([awaited.exitCode, awaited.stdout]).toEqual([0, expect.stringMatching(/^Status: +Succeeded$/m)]);
  expect(await run()).toMatchObject({ rows: 20_000, failed_rows: 0, error: "", cause: "trigger" });
  const list = await svc("scheduled-resolver", "runs", "list", "--resolver=features.all_scores", "--start=1h");
  expect(list.stdout).toMatch(new RegExp(`^${id} +features\\.all_scores +Succeeded +trigger +20000 +0 `, "m"));
  const query = await svc("query", "--in=user.id=19999", "--out=user.score");
  expect(query.stdout).toMatch(/^user\.score +✓ +39998$/m);

  const refused = await svc("trigger", "--resolver=all_scores", "--idempotency-key=first", "--persist-online=False");
  expect([refused.exitCode, refused.stderr]).toEqual([1, expect.stringContaining(`belongs to run ${id}`)]);
  const unknown = await svc("trigger", "--resolver=features.all_score");
  expect(unknown.stderr).toContain("did you mean 'features.all_scores'?");
}, 300_000);
