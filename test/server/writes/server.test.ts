import { expect, test } from "bun:test";
import { join } from "node:path";
import { createSqliteOfflineStore } from "../../../src/server/stores/offline/sqlite.ts";
import { deploy, expectLive, GREETING } from "../deployments/deploying.ts";
import { TempFolder, TestServer } from "../running-server.ts";

test("what a server computed is in the offline store when it has stopped; what a branch computed is not", async () => {
  using folder = new TempFolder();
  const server = await TestServer.start(folder.path);
  const live = await deploy(server, GREETING);
  expectLive(live);
  expectLive(await deploy(server, GREETING, { branch: "dev" }));
  const query = async (id: number, headers: Record<string, string> = {}) => {
    const response = await fetch(`${server.url}/v1/query/online`, {
      method: "POST",
      headers: { authorization: `Bearer ${await server.token()}`, ...headers },
      body: JSON.stringify({ inputs: { "user.id": id }, outputs: ["user.greeting"] }),
    });
    expect(await response.json()).toMatchObject({ data: [{ value: `hello user ${id}` }] });
  };
  await query(3);
  await query(3);
  await query(4);
  await query(5, { "svc-branch": "dev" });
  await server.server.stop();
  expect(server.log.filter(({ level }) => level === "error")).toEqual([]);
  const store = createSqliteOfflineStore({ path: join(folder.path, "data", "offline.db"), programVersion: "1", now: Date.now });
  const { rows } = await store.query("select fid from version where name = 'greeting'");
  const featureId = Number(rows[0]?.[0]);
  const observations = await store.scanFeature(featureId, { limit: 99 });
  expect(observations.map(({ key, value, resolver, deploymentId }) => [key, value, resolver, deploymentId])).toEqual([
    ["i:3", "hello user 3", "resolvers.greet", live.id],
    ["i:4", "hello user 4", "resolvers.greet", live.id],
  ]);
  expect(await store.tableName(featureId)).toEqual([`obs_${featureId}_user__greeting__v1`]);
  await store.close();
}, 60_000);
