/** The queue of jobs with the binary: a build that waits behind another one says so. */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "../harness/eventually.ts";
import { Sandbox } from "../harness/sandbox.ts";

/** A project whose builds on the server wait while the file exists that its environment names. */
const PROJECT = {
  "svc.yaml": "project: shop\n",
  "features.py": `from svc.features import features

@features
class User:
    id: int
    name: str
`,
  "resolvers.py": `import os
import time
from svc import online
from features import User

while os.path.exists(os.environ.get("GATE", "")):
    time.sleep(0.02)

@online
def get_name(id: User.id) -> User.name:
    return f"user {id}"
`,
};

interface Job {
  readonly number: number;
  readonly state: string;
  readonly subject: string;
  readonly waits_for: { readonly reason: string; readonly behind: readonly number[] } | null;
  readonly attempts_made: readonly { readonly state: string }[];
}

let sandbox: Sandbox;
let cwd = "";
let gate = "";

beforeAll(async () => {
  sandbox = new Sandbox();
  await sandbox.startServer();
  gate = join(sandbox.root, "gate");
  cwd = await sandbox.write({ ...PROJECT, "environment.yaml": `additional_env_vars:\n  GATE: ${JSON.stringify(gate)}\n` });
  const { exitCode, stderr } = await sandbox.svc(["environment", "update", "-f", "environment.yaml", "--force"], { cwd });
  expect([exitCode, stderr]).toEqual([0, expect.any(String)]);
}, 300_000);
afterAll(async () => {
  if (existsSync(gate)) rmSync(gate);
  await sandbox[Symbol.asyncDispose]();
});

test("a build that waits behind another says for which, and neither waits once both are live", async () => {
  const get = (id: string | number) => sandbox.json<Job>(["jobs", "get", String(id)]);
  const apply = async () => (await sandbox.json<{ deployment_id: string }>(["apply", "--force"], { cwd })).deployment_id;
  writeFileSync(gate, "");
  const first = await apply();
  const second = await apply();
  await eventually(async () => (await get(1)).state === "running", "the first build runs");
  expect(await get(1)).toMatchObject({ subject: first, waits_for: null, attempts_made: [{ state: "running" }] });
  expect(await get(2)).toMatchObject({
    subject: second,
    state: "scheduled",
    waits_for: { reason: "slot", behind: [1] },
    attempts_made: [],
  });
  const listed = await sandbox.svc(["jobs", "list", "--kind", "deployment", "--state", "scheduled"]);
  expect([listed.exitCode, listed.stdout]).toEqual([0, expect.stringMatching(/^ *2 +deployment +scheduled +default +the slot of job 1 /m)]);
  rmSync(gate);
  await eventually(async () => (await get(2)).state === "completed", "the second build is done");
  expect([await get(1), await get(2)]).toMatchObject([
    { state: "completed", waits_for: null },
    { state: "completed", waits_for: null, attempts_made: [{ state: "completed" }] },
  ]);
}, 300_000);
