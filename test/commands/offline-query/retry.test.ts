/** Offline queries begun again by the command line, as they were and with changes. */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { eventually } from "../../harness/eventually.ts";
import { type Platform, runCommand, startPlatform, writeProject } from "../platform.ts";

interface Query {
  readonly id: string;
  readonly resource_group: string;
  readonly status: string;
  readonly retry_of: string;
  readonly options: Readonly<Record<string, unknown>>;
}

let platform: Platform;
const svc = (line: string, dir?: string) => {
  const [first = "", ...others] = line.split(" ");
  return runCommand(first, others, { ...platform, ...(dir !== undefined && { dir }) });
};
const get = async (id: string) => (await svc(`offline-query get ${id} --json`)).json() as Query;

beforeAll(async () => {
  platform = await startPlatform();
  expect((await svc("apply --force --await", writeProject())).exitCode).toBe(0);
}, 300_000);
afterAll(() => platform.server.stop());

test("a query is begun again as it was, or with what flags say and all else as it was", async () => {
  const first = (
    await svc("offline-query --in user.id=1,2 --out user.name --recompute --dataset named --test-fraction 0.5 --await --json")
  ).json() as Query;
  const again = async (flags: string): Promise<Query> => {
    const made = await svc(`offline-query retry ${first.id} ${flags} --json`.replace("  ", " "));
    expect([flags, made.exitCode, made.stderr]).toEqual([flags, 0, ""]);
    const { id } = made.json() as Query;
    await eventually(async () => (await get(id)).status === "completed", `the query again ${flags} is done`);
    return get(id);
  };
  const { options } = await get(first.id);
  expect(options).toMatchObject({ outputs: ["user.name"], recompute: true, dataset_name: "named", test_fraction: 0.5 });
  expect(await again("")).toMatchObject({ retry_of: first.id, options });
  expect(await again("--out user.name,user.score --num-shards 2 --test-fraction 0")).toMatchObject({
    retry_of: first.id,
    options: { ...options, outputs: ["user.name", "user.score"], num_shards: 2, test_fraction: 0 },
  });
  expect((await again("--recompute user.name --dataset other --store-online")).options).toMatchObject({
    ...{ recompute: false, recompute_features: ["user.name"], dataset_name: "other", store_online: true, test_fraction: 0.5 },
  });
  for (const [flags, says] of [
    ["--out user.nothing", "nothing"],
    ["--max-samples 3", "were given, so no keys are chosen for it"],
    ["--recompute none --store-online", "Nothing is computed that could be stored"],
    ["--num-shards 0", "--num-shards takes 1 or more"],
    ["--lower-bound 2026-01-02T00:00:00Z --upper-bound 2026-01-01T00:00:00Z", "the bounds are empty"],
  ] as const)
    expect([flags, (await svc(`offline-query retry ${first.id} ${flags}`)).stderr]).toEqual([flags, expect.stringContaining(says)]);
}, 300_000);

test("a query's job is submitted again to a resource group that the environment has", async () => {
  const groups = "specs_config:\n  resource_groups:\n    - resource_group_name: big\n";
  const dir = writeProject({ "groups.yaml": groups });
  expect((await svc("environment update -f groups.yaml --force", dir)).exitCode).toBe(0);
  const first = (await svc("offline-query --in user.id=1 --out user.name --recompute --await --json")).json() as Query;
  expect(first.resource_group).toBe("");
  const submitted = await svc(`jobs submit --from-job ${first.id}.1 --resource-group big --json`);
  const { query_id: id } = submitted.json() as { readonly query_id: string };
  await eventually(async () => (await get(id)).status === "completed", "the query in the group is done");
  expect(await get(id)).toMatchObject({ resource_group: "big", retry_of: first.id, options: { resource_group: "big" } });
  const again = (await svc(`offline-query retry ${id} --json`)).json() as Query;
  expect((await get(again.id)).resource_group).toBe("big");
  for (const command of [
    `jobs submit --from-job ${first.id}.1`,
    `offline-query retry ${first.id}`,
    "offline-query --in user.id=1 --out user.name",
  ]) {
    const refused = await svc(`${command} --resource-group bgi`);
    expect([command, refused.exitCode, refused.stderr]).toEqual([
      command,
      1,
      expect.stringMatching(/no resource group 'bgi'[\s\S]*id you mean 'big'/),
    ]);
    expect((await svc(`${command} --resource-group=`)).stderr).toContain("--resource-group is the name of a group");
  }
}, 300_000);
