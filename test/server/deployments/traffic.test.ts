import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { DeploymentService, DeploymentStatus } from "../../../gen/svc/v1/deployment_pb.ts";
import { GraphService } from "../../../gen/svc/v1/graph_pb.ts";
import { TrafficService } from "../../../gen/svc/v1/traffic_pb.ts";
import { eventually } from "../../harness/eventually.ts";
import { TempFolder, TestServer } from "../../harness/running-server.ts";
import { deploy, expectLive, type ProjectFiles } from "./deploying.ts";

let folder: TempFolder;
let server: TestServer;

beforeEach(async () => {
  folder = new TempFolder();
  server = await TestServer.start(folder.path);
});
afterEach(async () => {
  await server[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

/** A project whose one feature says which version of it answers, without Python. */
const saying = (word: string, more = ""): ProjectFiles => ({
  "features.py": `from svc.features import features, feature, _
import svc.functions as F

@features(max_staleness="1h")
class User:
    id: int
    name: str
    word: str = feature(expression=F.concat("${word}-", _.name), max_staleness="0s")
    kept: str = feature(expression=F.concat("${word}-", _.name))
${more}`,
});

async function ask(body: Record<string, unknown> = {}, headers: Record<string, string> = {}) {
  const response = await fetch(`${server.url}/v1/query/online`, {
    method: "POST",
    headers: { authorization: `Bearer ${await server.token()}`, "content-type": "application/json", ...headers },
    body: JSON.stringify({ inputs: { "user.id": 1, "user.name": "ada" }, outputs: ["user.word"], ...body }),
  });
  const answer = (await response.json()) as { data: { value: unknown }[]; errors?: unknown; meta?: { deployment_id: string } };
  if (response.status !== 200 || answer.errors) throw new Error(JSON.stringify(answer));
  return { word: String(answer.data[0]?.value).split("-")[0] as string, deployment: answer.meta?.deployment_id as string };
}

const traffic = () => server.client(TrafficService);
const deployments = () => server.client(DeploymentService);
const weights = (answer: { tags: { tag: string; weight?: number }[] }) =>
  Object.fromEntries(answer.tags.map(({ tag, weight }) => [tag, weight ?? null]));

/** The number of queries that each version answered. */
async function counted(queries: number, body: (n: number) => Record<string, unknown> = () => ({})): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  let next = 0;
  const client = async (): Promise<void> => {
    while (next < queries) {
      const { word } = await ask(body(next++));
      counts[word] = (counts[word] ?? 0) + 1;
    }
  };
  await Promise.all(Array.from({ length: 8 }, client));
  return counts;
}

async function twoTags(): Promise<{ blue: string; green: string }> {
  const blue = await deploy(server, saying("blue"), { tags: ["blue"] });
  const green = await deploy(server, saying("green"), { tags: ["green"], noPromote: true });
  expectLive(blue);
  expectLive(green);
  return { blue: blue.id, green: green.id };
}

describe("weights", () => {
  test("share 10,000 queries within a point, with correlation ids and without", async () => {
    await twoTags();
    expect(weights(await traffic().setTraffic({ weights: { blue: 73, green: 27 } }))).toEqual({ blue: 73, green: 27 });
    const free = await counted(10_000);
    expect(Math.abs((free.green ?? 0) / 100 - 27)).toBeLessThanOrEqual(1);
    expect((free.green ?? 0) + (free.blue ?? 0)).toBe(10_000);
    const sticky = await counted(10_000, (n) => ({ correlation_id: `order-${n}` }));
    expect(Math.abs((sticky.green ?? 0) / 100 - 27)).toBeLessThanOrEqual(1);
  }, 300_000);

  test("send a correlation id to the same deployment every time, also after a restart", async () => {
    await twoTags();
    await traffic().setTraffic({ weights: { blue: 50, green: 50 } });
    const ids = Array.from({ length: 40 }, (_, n) => `session-${n}`);
    const first = await Promise.all(ids.map(async (id) => (await ask({ correlation_id: id })).word));
    expect(new Set(first)).toEqual(new Set(["blue", "green"]));
    const credentials = server.credentials;
    await server[Symbol.asyncDispose]();
    server = await TestServer.start(folder.path, { credentials });
    expect(await Promise.all(ids.map(async (id) => (await ask({ correlation_id: id })).word))).toEqual(first);
  });

  test("0 gets nothing and null neither; without any the live deployment answers", async () => {
    const { blue, green } = await twoTags();
    await traffic().setTraffic({ weights: { blue: 0, green: 100 } });
    expect(await counted(50)).toEqual({ green: 50 });
    expect((await deployments().getDeployment({ deploymentId: green })).deployment).toMatchObject({ live: true, promoted: true });
    expect((await deployments().getDeployment({ deploymentId: blue })).deployment).toMatchObject({
      live: false,
      status: DeploymentStatus.LIVE,
    });
    expect((await server.client(GraphService).getGraph({})).deploymentId).toBe(green);
    expect(weights(await traffic().suspendTraffic({ tag: "blue" }))).toEqual({ blue: null, green: 100 });
    expect(await counted(50)).toEqual({ green: 50 });
    expect(weights(await traffic().suspendTraffic({ tag: "green" }))).toEqual({ blue: null, green: null });
    expect(await ask()).toEqual({ word: "green", deployment: green });
  });

  test("do not concern queries that name a deployment or a branch", async () => {
    const { blue } = await twoTags();
    expectLive(await deploy(server, saying("side"), { branch: "side" }));
    await traffic().setTraffic({ weights: { green: 100 } });
    expect((await ask({ deployment_id: blue })).word).toBe("blue");
    expect((await ask({}, { "svc-branch": "side" })).word).toBe("side");
    expect((await ask()).word).toBe("green");
  });

  test("of tags without a ready deployment, wrong ones and none are refused", async () => {
    await twoTags();
    const refused = (call: Promise<unknown>) =>
      call.then(
        () => "accepted",
        (error: Error) => error.message,
      );
    expect(await refused(traffic().setTraffic({ weights: { grene: 10 } }))).toContain(
      "No ready deployment of this environment has the tag 'grene'",
    );
    expect(await refused(traffic().setTraffic({ weights: { green: 101 } }))).toContain("from 0 to 100");
    expect(await refused(traffic().setTraffic({ mirrorWeights: { green: -1 } }))).toContain("from 0 to 100");
    expect(await refused(traffic().setTraffic({}))).toContain("at least one tag");
    expect(await refused(traffic().suspendTraffic({ tag: "nothing" }))).toContain("has the tag 'nothing'");
    expect(await refused(traffic().promoteTraffic({}))).toContain("this environment has none");
    expect(weights(await traffic().getTraffic({}))).toEqual({ blue: null, green: null });
  });
});

describe("promotion of traffic", () => {
  test("swaps two tags, and swaps them back; null is the lowest, and equal weights are refused", async () => {
    await twoTags();
    await traffic().setTraffic({ weights: { blue: 90, green: 10 } });
    expect(weights(await traffic().promoteTraffic({}))).toEqual({ blue: 0, green: 100 });
    expect(weights(await traffic().promoteTraffic({}))).toEqual({ blue: 100, green: 0 });
    await traffic().suspendTraffic({ tag: "green" });
    expect(weights(await traffic().promoteTraffic({}))).toEqual({ blue: 0, green: 100 });
    expect((await ask()).word).toBe("green");
    await traffic().setTraffic({ weights: { blue: 50, green: 50 } });
    await expect(traffic().promoteTraffic({})).rejects.toThrow("Both tags have the same weight (blue=50, green=50)");
    expectLive(await deploy(server, saying("red"), { tags: ["red"], noPromote: true }));
    await traffic().setTraffic({ weights: { red: 0 } });
    await expect(traffic().promoteTraffic({})).rejects.toThrow("this environment has 3");
  });

  test("fails no query, and a mirror neither", async () => {
    await twoTags();
    await traffic().setTraffic({ weights: { blue: 100, green: 0 }, mirrorWeights: { green: 100 } });
    const seen: string[] = [];
    let asking = true;
    const clients = Array.from({ length: 4 }, async () => {
      while (asking) seen.push((await ask()).word);
    });
    for (const word of ["green", "blue", "green", "blue"]) {
      await traffic().promoteTraffic({});
      const from = seen.length;
      while (!seen.slice(from + 8).includes(word)) await Bun.sleep(1);
      await traffic().suspendTraffic({ tag: word === "blue" ? "green" : "blue" });
    }
    asking = false;
    await Promise.all(clients);
    expect(seen.length).toBeGreaterThan(40);
  });
});

describe("a mirror", () => {
  /**
   * A project whose `other` may be an hour old; `seen` needs it in the version green, whose
   * resolver leaves a line in a file.
   */
  const leavingLines = (word: string): ProjectFiles => ({
    "features.py": `from svc.features import features, feature

@features
class User:
    id: int
    other: str = feature(max_staleness="1h")
    seen: str
`,
    "resolvers.py": `from svc import online
from features import User

@online
def other(id: User.id) -> User.other:
    return "${word}"

@online
def see(value: ${word === "green" ? "User.other" : "User.id"}) -> User.seen:
    open("${folder.path}/lines", "a").write(f"${word} {value}\\n")
    return "${word}"
`,
  });

  test("runs copies on its deployment after the answer, which store nothing and are not in the query log", async () => {
    const blue = await deploy(server, leavingLines("blue"), { tags: ["blue"] });
    const green = await deploy(server, leavingLines("green"), { tags: ["green"], noPromote: true });
    expectLive(blue);
    expectLive(green);
    await traffic().setTraffic({ mirrorWeights: { green: 100 } });
    const inputs = { "user.id": 1 };
    expect(await ask({ inputs, outputs: ["user.seen"] })).toEqual({ word: "blue", deployment: blue.id });
    const lines = Bun.file(join(folder.path, "lines"));
    await eventually(async () => (await lines.text()) === "blue 1\ngreen green\n", "the copy ran");
    await traffic().setTraffic({ mirrorWeights: { green: 0 } });
    expect(await ask({ inputs, outputs: ["user.other"] })).toEqual({ word: "blue", deployment: blue.id });
    await ask({ inputs, outputs: ["user.seen"] });
    expect(await lines.text()).toBe("blue 1\ngreen green\nblue 1\n");
  });
});

describe("deploying with traffic", () => {
  test("takes over its tags and nothing else; without one it waits", async () => {
    await twoTags();
    await traffic().setTraffic({ weights: { blue: 100, green: 0 } });
    const next = await deploy(server, saying("next"), { tags: ["blue", "v9"] });
    expectLive(next);
    expect(next).toMatchObject({ live: true, waitsForTraffic: false });
    expect(await counted(20)).toEqual({ next: 20 });
    const beside = await deploy(server, saying("beside"), { tags: ["v10"] });
    expectLive(beside);
    expect(beside).toMatchObject({ live: false, waitsForTraffic: true });
    expect(await counted(20)).toEqual({ next: 20 });
    await traffic().setTraffic({ weights: { v10: 100, blue: 0 } });
    expect(await counted(20)).toEqual({ beside: 20 });
  });

  test("blue and green: the first answers, the next waits warm, promotion switches and switches back", async () => {
    const first = await deploy(server, saying("one"), { blueGreen: true });
    expectLive(first);
    expect(first).toMatchObject({ tags: ["blue"], live: true });
    const second = await deploy(server, saying("two"), { blueGreen: true, tags: ["v2"] });
    expectLive(second);
    expect(second).toMatchObject({ tags: ["green", "v2"], live: false, waitsForTraffic: true });
    expect(await counted(10)).toEqual({ one: 10 });
    await traffic().promoteTraffic({});
    expect(await counted(10)).toEqual({ two: 10 });
    const third = await deploy(server, saying("three"), { blueGreen: true });
    expect(third).toMatchObject({ tags: ["blue"], live: false });
    expect(await counted(10)).toEqual({ two: 10 });
    await traffic().promoteTraffic({});
    expect(await counted(10)).toEqual({ three: 10 });
    await traffic().promoteTraffic({});
    expect(await counted(10)).toEqual({ two: 10 });
    for (const wrong of [{ branch: "b" }, { noPromote: true }, { tags: ["blue"] }])
      expect(
        await deploy(server, saying("no"), { blueGreen: true, ...wrong }).then(
          () => "accepted",
          () => "refused",
        ),
      ).toBe("refused");
  });

  test("an environment without weights promotes as ever, and a second environment has its own", async () => {
    await deploy(server, saying("a"), { tags: ["blue"] });
    await deploy(server, saying("b"), { tags: ["blue"] });
    expect((await ask()).word).toBe("b");
    expect(weights(await traffic().getTraffic({}))).toEqual({ blue: null });
  });
});

describe("deployments", () => {
  test("are promoted and rolled back, and rolled back again", async () => {
    const one = await deploy(server, saying("one"), { tags: ["v1"] });
    await expect(deployments().rollBackDeployment({})).rejects.toThrow("There is no deployment to go back to");
    const two = await deploy(server, saying("two"), { tags: ["v2"] });
    const three = await deploy(server, saying("three"), { tags: ["v3"], noPromote: true });
    expect((await deployments().promoteDeployment({ deploymentId: "v3" })).replacedDeploymentId).toBe(two.id);
    expect(await ask()).toEqual({ word: "three", deployment: three.id });
    expect((await deployments().rollBackDeployment({})).deployment).toMatchObject({ id: two.id, live: true });
    expect((await ask()).word).toBe("two");
    await deployments().rollBackDeployment({});
    expect((await ask()).word).toBe("three");
    await deployments().promoteDeployment({ deploymentId: one.id });
    expect((await ask()).word).toBe("one");
    const broken = await deploy(server, { "features.py": "nonsense(" }, { tags: ["broken"] });
    await expect(deployments().promoteDeployment({ deploymentId: broken.id })).rejects.toThrow("failed, so it cannot be live");
    await traffic().setTraffic({ weights: { v1: 50, v2: 50 } });
    await expect(deployments().promoteDeployment({ deploymentId: three.id })).rejects.toThrow("shared by weights (v1=50, v2=50)");
    await expect(deployments().rollBackDeployment({})).rejects.toThrow("shared by weights");
  });

  test("are promoted and rolled back under load without a failed query", async () => {
    const one = await deploy(server, saying("one"));
    const two = await deploy(server, saying("two"));
    const seen: string[] = [];
    let asking = true;
    const clients = Array.from({ length: 4 }, async () => {
      while (asking) seen.push((await ask()).word);
    });
    const until = async (word: string): Promise<void> => {
      const from = seen.length;
      while (!seen.slice(from).includes(word)) await Bun.sleep(1);
    };
    for (let round = 0; round < 3; round++) {
      await deployments().promoteDeployment({ deploymentId: one.id });
      await until("one");
      await deployments().rollBackDeployment({});
      await until("two");
    }
    asking = false;
    await Promise.all(clients);
    expect((await ask()).deployment).toBe(two.id);
  });

  test("are deleted with their source, but not while they answer", async () => {
    const one = await deploy(server, saying("one"), { tags: ["v1"] });
    const two = await deploy(server, saying("two"), { tags: ["v2"] });
    await expect(deployments().deleteDeployment({ deploymentId: two.id })).rejects.toThrow("is live");
    await traffic().setTraffic({ weights: { v1: 0, v2: 100 } });
    await expect(deployments().deleteDeployment({ deploymentId: one.id })).rejects.toThrow("has traffic (v1=0)");
    await traffic().suspendTraffic({ tag: "v1" });
    expect((await deployments().deleteDeployment({ deploymentId: one.id })).deployment?.id).toBe(one.id);
    await expect(deployments().getDeployment({ deploymentId: one.id })).rejects.toThrow("There is no deployment");
    expect(weights(await traffic().getTraffic({}))).toEqual({ v2: 100 });
    const isGone = async () => !(await deployments().createUpload({ sha256: one.sourceSha256, sizeBytes: 1n })).complete;
    expect(await isGone()).toBe(true);
    expect((await ask()).word).toBe("two");
    const hidden = await deploy(server, saying("three"), { tags: ["v3"] });
    await traffic().setTraffic({ weights: { v3: 100, v2: 0 } });
    await traffic().suspendTraffic({ tag: "v2" });
    await deployments().deleteDeployment({ deploymentId: two.id });
    await traffic().suspendTraffic({ tag: "v3" });
    expect(await ask()).toEqual({ word: "three", deployment: hidden.id });
  });

  test("of a branch go with it, and so do its values", async () => {
    const main = await deploy(server, saying("main"));
    const side = await deploy(server, saying("side"), { branch: "side" });
    expectLive(side);
    const onBranch = { "svc-branch": "side" };
    const kept = { outputs: ["user.kept"] };
    expect((await ask(kept, onBranch)).word).toBe("side");
    expect((await ask({ ...kept, inputs: { "user.id": 1 } }, onBranch)).word).toBe("side");
    expect(await deployments().deleteBranch({ branch: "side" })).toMatchObject({ branch: "side", deployments: 1 });
    await expect(deployments().deleteBranch({ branch: "side" })).rejects.toThrow("There is no branch 'side'");
    expect((await deployments().listBranches({})).branches).toEqual([]);
    expect((await ask()).deployment).toBe(main.id);
    expectLive(await deploy(server, saying("again"), { branch: "side" }));
    await expect(ask({ ...kept, inputs: { "user.id": 1 } }, onBranch)).rejects.toThrow();
  });

  test("are found by tag, and listed by it", async () => {
    const one = await deploy(server, saying("one"), { tags: ["v1"], metadata: { commit: "abc123" } });
    const two = await deploy(server, saying("two"), { tags: ["v1"] });
    expect((await deployments().getDeployment({ deploymentId: "v1" })).deployment?.id).toBe(two.id);
    const page = await deployments().listDeployments({ tags: ["v1"], pageSize: 1 });
    expect(page.deployments.map(({ id, live }) => [id, live])).toEqual([[two.id, true]]);
    const rest = await deployments().listDeployments({ tags: ["v1"], pageSize: 1, pageToken: page.nextPageToken });
    expect(rest.deployments.map(({ id, live, metadata }) => [id, live, metadata])).toEqual([[one.id, false, { commit: "abc123" }]]);
    await expect(deployments().listDeployments({ tags: ["v2"], pageToken: page.nextPageToken })).rejects.toThrow(
      "does not belong to this list",
    );
    await expect(deployments().getDeployment({ deploymentId: "v2" })).rejects.toThrow("There is no deployment 'v2' in this environment");
  });
});
