import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import { DeploymentService, DeploymentStatus } from "../../../gen/svc/v1/deployment_pb.ts";
import { createSqliteMetadataStore } from "../../../src/server/stores/metadata/sqlite.ts";
import { TempFolder, TestServer } from "../../harness/running-server.ts";
import { patience, runs, seed } from "../../harness/seed.ts";
import { type SpawnedServer, spawnServer } from "../../harness/spawned-server.ts";
import { bundleOf, deploy, expectLive, follow, GREETING } from "../deployments/deploying.ts";
import { buildPowerCut, Lane } from "./random-kills.ts";

async function tokenOf({ url, credentials }: SpawnedServer): Promise<string> {
  const response = await fetch(`${url}/v1/oauth/token`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ client_id: credentials.clientId, client_secret: credentials.clientSecret, grant_type: "client_credentials" }),
  });
  return ((await response.json()) as { access_token: string }).access_token;
}

async function deploymentsOf(server: SpawnedServer) {
  const token = await tokenOf(server);
  const transport = createConnectTransport({
    baseUrl: server.url,
    useBinaryFormat: true,
    interceptors: [
      (next) => (request) => {
        request.header.set("authorization", `Bearer ${token}`);
        return next(request);
      },
    ],
  });
  return createClient(DeploymentService, transport);
}

const integrity = (path: string) => {
  const db = new Database(path);
  const said = db.query("pragma integrity_check").all();
  db.close();
  return said;
};

describe("kill -9", () => {
  test("a deployment that was acknowledged is built by the next server", async () => {
    using folder = new TempFolder();
    await using killed = await spawnServer(folder.path);
    const client = await deploymentsOf(killed);
    const bytes = await bundleOf(GREETING);
    const sha256 = new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
    const { uploadId, url } = await client.createUpload({ sha256, sizeBytes: BigInt(bytes.length) });
    expect((await fetch(new URL(url, killed.url), { method: "PUT", body: bytes })).status).toBe(201);
    const { deployment } = await client.createDeployment({ uploadId, description: "kept" });
    await killed.kill();
    await using server = await TestServer.start(folder.path, { credentials: killed.credentials });
    const settled = await follow(server, deployment?.id ?? "");
    expectLive(settled);
    expect(settled).toMatchObject({ description: "kept", sourceSha256: sha256, promoted: true });
  });

  test("a live deployment answers after the kill, without a wait", async () => {
    using folder = new TempFolder();
    const first = await TestServer.start(folder.path);
    expectLive(await deploy(first, GREETING));
    await first.server.stop();
    await using killed = await spawnServer(folder.path, first.credentials);
    await killed.kill();
    await using server = await TestServer.start(folder.path, { credentials: first.credentials });
    const response = await fetch(`${server.url}/v1/query/online`, {
      method: "POST",
      headers: { authorization: `Bearer ${await server.token()}` },
      body: JSON.stringify({ inputs: { "user.id": 3 }, outputs: ["user.greeting"] }),
    });
    expect(await response.json()).toMatchObject({ data: [{ value: "hello user 3" }] });
  });

  test("no acknowledged write is lost, and the file stays whole, however often", async () => {
    using folder = new TempFolder();
    await using first = await spawnServer(folder.path);
    const { credentials } = first;
    await first.kill();
    const acknowledged: string[] = [];
    for (let round = 0; round < 5; round++) {
      await using server = await spawnServer(folder.path, credentials);
      const client = await deploymentsOf(server);
      const killedAt = acknowledged.length + 60;
      const writes = Array.from({ length: 200 }, async (_, n) => {
        const { uploadId } = await client.createUpload({ sha256: n.toString(16).padStart(64, "0"), sizeBytes: 1n });
        acknowledged.push(uploadId);
        if (acknowledged.length === killedAt) await server.kill();
      });
      await Promise.allSettled(writes);
      await server.kill();
    }
    expect(acknowledged.length).toBeGreaterThanOrEqual(5 * 12);
    const store = createSqliteMetadataStore({ path: join(folder.path, "data", "meta.db"), programVersion: "1" });
    const lost: string[] = [];
    for (const id of acknowledged) if (!(await store.upload(id))) lost.push(id);
    await store.close();
    expect(lost).toEqual([]);
    expect(integrity(join(folder.path, "data", "meta.db"))).toEqual([{ integrity_check: "ok" }]);
  });

  test("a deployment that the server died over twice fails, and the server starts", async () => {
    using folder = new TempFolder();
    const first = await TestServer.start(folder.path);
    const live = await deploy(first, GREETING);
    await first.server.stop();
    const db = new Database(join(folder.path, "data", "meta.db"));
    db.run(`update deployment set status = ${DeploymentStatus.BUILDING}`);
    db.run("update job set state = 'running', node = 'node_other', attempts = 2, lease_until = 0");
    db.run("delete from live");
    db.close();
    await using server = await TestServer.start(folder.path, { credentials: first.credentials });
    const failed = await follow(server, live.id);
    expect([failed.status, failed.error]).toEqual([
      DeploymentStatus.FAILED,
      expect.stringMatching(/^The deployment was given up: each of its 2 attempts failed: .*\. Deploy again/),
    ]);
    expectLive(await deploy(server, GREETING));
  });
});

/** Rounds of a run. */
const ROUNDS = runs(30, 100_000);
/** Rounds on one data directory before an empty one takes its place. */
const ROUNDS_PER_FOLDER = 25;

test(
  "random kills under mixed writes: no acknowledged write is lost, by a kill or by a power cut, and the files stay whole",
  async () => {
    using tools = new TempFolder();
    const library = buildPowerCut(tools.path);
    const wrong: string[] = [];
    let rounds = 0;
    const run = async (name: string, laneSeed: number): Promise<{ readonly acknowledged: number; readonly slowestStart: number }> => {
      let state = laneSeed | 0;
      const random = (limit: number): number => {
        state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
        return Math.floor(((state >>> 0) / 2 ** 32) * limit);
      };
      using lane = new Lane(name, random, library);
      for (let round = 0; rounds < ROUNDS && wrong.length === 0; round++) {
        rounds++;
        if (round > 0 && round % ROUNDS_PER_FOLDER === 0) lane.renew();
        if (round % 8 === 7) await lane.serveAndKill();
        else await lane.writeAndKill(`${name}${round}`);
        wrong.push(...lane.check());
      }
      return lane;
    };
    const lanes = await Promise.all([run("a", seed), run("b", seed + 1)]);
    const acknowledged = lanes.reduce((sum, lane) => sum + lane.acknowledged, 0);
    const slowestStart = Math.round(Math.max(...lanes.map((lane) => lane.slowestStart)));
    console.log(
      `random kills: ${rounds} rounds, ${acknowledged} acknowledged writes, slowest start ${slowestStart} ms${library ? "" : "; no C compiler, so power cuts were not played"}`,
    );
    expect(wrong).toEqual([]);
    expect(rounds).toBe(ROUNDS);
    expect(acknowledged).toBeGreaterThan(rounds * 5);
  },
  patience(600_000),
);
