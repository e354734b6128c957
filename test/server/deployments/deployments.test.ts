import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { Code, type ConnectError } from "@connectrpc/connect";
import { ChangeKind, type DeploymentDiff, DeploymentService, DeploymentStatus } from "../../../gen/svc/v1/deployment_pb.ts";
import { ErrorDetailSchema } from "../../../gen/svc/v1/error_pb.ts";
import { GraphService } from "../../../gen/svc/v1/graph_pb.ts";
import { HealthCheckStatus, HealthService } from "../../../gen/svc/v1/health_pb.ts";
import { QueryService } from "../../../gen/svc/v1/query_pb.ts";
import { addFeatures } from "../../../src/domain/graph-diff.ts";
import { entry, pax } from "../../disk/tar.ts";
import { eventually } from "../../harness/eventually.ts";
import { TempFolder, TestServer } from "../../harness/running-server.ts";
import { deploy, expectLive, follow, GREETING, graphBytes, type ProjectFiles, uploadProject } from "./deploying.ts";

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

/** Offset of a byte in the header of a gzip file that no checksum covers. */
const MODIFICATION_TIME_OFFSET = 4;

const saying = (word: string): ProjectFiles => ({ ...GREETING, "resolvers.py": GREETING["resolvers.py"]?.replace("hello", word) ?? "" });

interface Asked {
  readonly status: number;
  readonly body: {
    data: { field: string; value: unknown; error?: unknown }[];
    errors?: { code: string; message: string; hint?: string }[];
    meta?: { deployment_id: string; query_id: string };
  };
}

async function ask(headers: Record<string, string> = {}, id = 1): Promise<Asked> {
  const response = await fetch(`${server.url}/v1/query/online`, {
    method: "POST",
    headers: { authorization: `Bearer ${await server.token()}`, "content-type": "application/json", ...headers },
    body: JSON.stringify({ inputs: { "user.id": id }, outputs: ["user.greeting"], staleness: { "user.greeting": "0s" } }),
  });
  return { status: response.status, body: (await response.json()) as Asked["body"] };
}

async function greeting(headers: Record<string, string> = {}, id = 1): Promise<unknown> {
  const { status, body } = await ask(headers, id);
  if (status !== 200) throw new Error(JSON.stringify(body));
  return body.data[0]?.value;
}

const failure = (call: Promise<unknown>) =>
  call.then(
    () => Promise.reject(new Error("the call should have failed")),
    (reason: unknown) => reason as ConnectError,
  );

describe("deploying", () => {
  test("goes live and answers, and the next one takes over", async () => {
    const first = await deploy(server, saying("hello"));
    expectLive(first);
    expect([await greeting(), first.promoted, first.environmentId]).toEqual(["hello user 1", true, server.credentials.environmentId]);
    const second = await deploy(server, saying("bye"), {
      tags: ["t"],
      description: "second",
      metadata: { a: "b" },
      ciJobUrl: "https://ci.example.com",
    });
    expectLive(second);
    expect(await greeting()).toBe("bye user 1");
    const { deployments } = await server.client(DeploymentService).listDeployments({});
    expect(deployments.map(({ id, status }) => [id, status])).toEqual([
      [second.id, DeploymentStatus.LIVE],
      [first.id, DeploymentStatus.INACTIVE],
    ]);
    expect(second).toMatchObject({ tags: ["t"], description: "second", metadata: { a: "b" }, ciJobUrl: "https://ci.example.com" });
  });

  test("no query fails while one deployment takes over from another, and every answer is that of the deployment it names", async () => {
    const first = await deploy(server, saying("hello"));
    expectLive(first);
    const answers = new Set<string>();
    const pairs = new Set<string>();
    let asking = true;
    const clients = Array.from({ length: 4 }, async (_, n) => {
      for (let id = n * 1_000_000; asking; id++) {
        const { status, body } = await ask({}, id);
        const word = String(body.data[0]?.value).split(" ")[0] as string;
        pairs.add(`${body.meta?.deployment_id} says ${status === 200 ? word : JSON.stringify(body)}`);
        answers.add(word);
      }
    });
    const wanted = [`${first.id} says hello`];
    for (const word of ["bye", "again", "more"]) {
      const next = await deploy(server, saying(word));
      expectLive(next);
      wanted.push(`${next.id} says ${word}`);
      while (!answers.has(word)) await Bun.sleep(1);
    }
    asking = false;
    await Promise.all(clients);
    expect([...pairs].sort()).toEqual(wanted.sort());
  });

  test("one that fails says why, and what was live stays", async () => {
    expectLive(await deploy(server, saying("hello")));
    const broken = await deploy(server, { ...GREETING, "resolvers.py": "from features import Nothing\n" });
    expect(broken.status).toBe(DeploymentStatus.FAILED);
    expect(broken.error).toMatch(/^The project has errors: Error\[102\]/);
    expect(broken.diagnostics[0]).toMatchObject({ code: 102, span: { file: "resolvers.py", line: 1 } });
    expect(await greeting()).toBe("hello user 1");
    expect(existsSync(join(folder.path, "data", "deployments", broken.id))).toBe(false);
  });

  test("workers that import a project while its kept analysis is read run hooks only if it has no errors", async () => {
    const hooked = join(folder.path, "hooked");
    const withKey = (key: string): ProjectFiles => ({
      ...GREETING,
      "features.py": `${GREETING["features.py"]}\n@features\nclass Other:\n    ${key}: int\n`,
      "hooks.py": `import os
from svc import before_all

@before_all
def hook():
    with open("${hooked}", "a") as file:
        file.write(str(os.getpid()) + "\\n")
`,
    });
    for (const time of ["first", "second"]) {
      const refused = await deploy(server, withKey("no_key"));
      expect([time, refused.status, refused.error]).toEqual([
        time,
        DeploymentStatus.FAILED,
        expect.stringMatching(/^The project has errors: Error\[/),
      ]);
    }
    expect(existsSync(hooked)).toBe(false);
    for (const deployments of [1, 2]) {
      expectLive(await deploy(server, withKey("id")));
      expect(await greeting()).toBe("hello user 1");
      const pids = readFileSync(hooked, "utf8").trim().split("\n");
      expect(new Set(pids).size).toBe(pids.length);
      expect(pids.length).toBeGreaterThanOrEqual(deployments);
    }
  });

  test.each([
    ["no archive", new TextEncoder().encode("this is no archive"), "the archive is not a whole gzip file"],
    ["an archive of nothing", Bun.gzipSync(new Uint8Array(1024)), "the archive has no files"],
    [
      "an archive of folders",
      Bun.gzipSync(Buffer.concat([entry({ name: "a/b/", kind: "5" }), new Uint8Array(1024)])),
      "the archive has no files",
    ],
    [
      "a name that no file system takes",
      Bun.gzipSync(Buffer.concat([pax(`${"n".repeat(300)}.py`), entry({ name: "x" }), new Uint8Array(1024)])),
      `the name "${"n".repeat(99)}... is too long`,
    ],
  ])("a bundle that is %s fails the deployment, not the server", async (_, bytes, reason) => {
    const client = server.client(DeploymentService);
    const { uploadId, url } = await client.createUpload({
      sha256: new Bun.CryptoHasher("sha256").update(bytes).digest("hex"),
      sizeBytes: BigInt(bytes.length),
    });
    await fetch(new URL(url, server.url), { method: "PUT", body: bytes });
    const { deployment } = await client.createDeployment({ uploadId });
    const failed = await follow(server, deployment?.id ?? "");
    expect([failed.status, failed.error]).toEqual([DeploymentStatus.FAILED, `The source bundle was refused: ${reason}.`]);
    expect(existsSync(join(folder.path, "data", "deployments", failed.id))).toBe(false);
  });

  test("a bundle whose bytes changed in the object store is not built, although it unpacks", async () => {
    const uploadId = await uploadProject(server, GREETING);
    const objects = join(folder.path, "data", "objects");
    const bundle = readdirSync(objects, { recursive: true, encoding: "utf8" }).find((name) => /[0-9a-f]{64}$/.test(name)) ?? "";
    const bytes = readFileSync(join(objects, bundle));
    bytes.writeUInt8(bytes.readUInt8(MODIFICATION_TIME_OFFSET) ^ 1, MODIFICATION_TIME_OFFSET);
    writeFileSync(join(objects, bundle), bytes);
    const { deployment } = await server.client(DeploymentService).createDeployment({ uploadId });
    const failed = await follow(server, deployment?.id ?? "");
    const digest = basename(bundle);
    expect([failed.status, failed.error]).toEqual([
      DeploymentStatus.FAILED,
      `The source bundle cannot be used: the stored object ${digest} is damaged. Deploy again with \`svc apply\`.`,
    ]);
  });

  test("a requirements file that is not there is said", async () => {
    const failed = await deploy(server, GREETING, { requirements: "../../etc/passwd" });
    expect(failed.error).toContain("The requirements file '../../etc/passwd' is not in the source bundle.");
  });

  test("deployments of one scope go live in the order they came", async () => {
    const client = server.client(DeploymentService);
    const uploads = await Promise.all(["one", "two", "three"].map((word) => uploadProject(server, saying(word))));
    const ids: string[] = [];
    for (const uploadId of uploads) ids.push((await client.createDeployment({ uploadId })).deployment?.id ?? "");
    for (const id of ids) await follow(server, id);
    expect(await greeting()).toBe("three user 1");
  });

  test("what it needs is asked of the request", async () => {
    const client = server.client(DeploymentService);
    const uploadId = await uploadProject(server, GREETING);
    expect((await failure(client.createDeployment({ uploadId: "upl_0" }))).code).toBe(Code.NotFound);
    expect((await failure(client.createDeployment({ uploadId, reset: true }))).code).toBe(Code.InvalidArgument);
    expect((await failure(client.createDeployment({ uploadId, branch: "a\u0007b" }))).code).toBe(Code.InvalidArgument);
    expect((await failure(client.createDeployment({ uploadId, description: "x".repeat(70_000) }))).code).toBe(Code.InvalidArgument);
    expect((await failure(client.getDeployment({ deploymentId: "dpl_0" }))).code).toBe(Code.NotFound);
    expect((await failure(follow(server, "dpl_0"))).code).toBe(Code.NotFound);
    expect((await failure(server.client(GraphService).getGraph({}))).code).toBe(Code.FailedPrecondition);
    expect((await client.listDeployments({})).deployments).toEqual([]);
  });
});

describe("a query that meets a deployment under way", () => {
  /** A project whose import says that it began by a file, and waits until the file `name` is there. */
  const waitingFor = (name: string): ProjectFiles => ({
    ...GREETING,
    "wait.py": `import os, time\nopen(${JSON.stringify(join(folder.path, `${name}-began`))}, "w").close()\nwhile not os.path.exists(${JSON.stringify(join(folder.path, name))}): time.sleep(0.01)\n`,
  });
  const begin = async (name: string, request: Parameters<typeof deploy>[2] = {}): Promise<string> => {
    const uploadId = await uploadProject(server, waitingFor(name));
    const { deployment } = await server.client(DeploymentService).createDeployment({ ...request, uploadId });
    await eventually(() => existsSync(join(folder.path, `${name}-began`)), "it is analyzed");
    return deployment?.id ?? "";
  };

  test("is told which one it is and how far, also when it is named, and when it would be the next", async () => {
    const message = async (headers: Record<string, string> = {}) => {
      const { status, body } = await ask(headers);
      return [status, body.errors?.[0]?.message, body.errors?.[0]?.hint];
    };
    const first = await begin("first");
    const analyzing = `deployment ${first} is being deployed (analyzing)`;
    expect(await message()).toEqual([
      412,
      `Nothing is live in environment 'default' yet: ${analyzing}.`,
      "Ask again in a moment; `svc apply --await` waits until it is live.",
    ]);
    expect((await failure(server.client(GraphService).getGraph({}))).rawMessage).toContain(analyzing);
    expect(await message({ "svc-deployment": first })).toEqual([
      412,
      `Deployment ${first} cannot answer queries: it is being deployed (analyzing).`,
      undefined,
    ]);
    writeFileSync(join(folder.path, "first"), "");
    await follow(server, first);
    expect(await greeting()).toBe("hello user 1");

    const beside = await begin("beside", { noPromote: true });
    const query = (headers: Record<string, string> = {}) =>
      failure(
        server
          .client(QueryService, { headers })
          .query({ inputs: [{ feature: "user.id", value: { case: "text", value: "1" } }], outputs: ["user.new"] }),
      );
    const hint = async (headers?: Record<string, string>) => (await query(headers)).findDetails(ErrorDetailSchema)[0]?.hint;
    expect(await hint()).toBe("");
    writeFileSync(join(folder.path, "beside"), "");
    await follow(server, beside);
    const next = await begin("next");
    expect(await hint()).toBe(`Not live yet: deployment ${next} is being deployed (analyzing).`);
    expect(await hint({ "svc-deployment": first })).toBe("");
    writeFileSync(join(folder.path, "next"), "");
    await follow(server, next);
    expect(await hint()).toBe("");
  });

  test("is told why the first one failed", async () => {
    const { id } = await deploy(server, { "a.py": "syntax error here\n" });
    const { status, body } = await ask();
    expect([status, body.errors?.[0]?.message]).toEqual([
      412,
      expect.stringMatching(
        new RegExp(`^Nothing is live in environment 'default': deployment ${id} failed: The project has errors: Error\\[101\\]`),
      ),
    ]);
  });
});

describe("branches", () => {
  test("answer beside the environment, with values of their own", async () => {
    expectLive(await deploy(server, saying("hello")));
    const branched = await deploy(server, saying("branched"), { branch: "main" });
    expectLive(branched);
    expect(await Promise.all([greeting(), greeting({ "svc-branch": "main" })])).toEqual(["hello user 1", "branched user 1"]);
    const cached = async (headers: Record<string, string>) => {
      const response = await fetch(`${server.url}/v1/query/online`, {
        method: "POST",
        headers: { authorization: `Bearer ${await server.token()}`, ...headers },
        body: JSON.stringify({ inputs: { "user.id": 1 }, outputs: ["user.greeting"], include_meta: true }),
      });
      const { data } = (await response.json()) as { data: { value: unknown; meta: { cache_hit: boolean } }[] };
      return [data[0]?.value, data[0]?.meta.cache_hit];
    };
    expect(await cached({})).toEqual(["hello user 1", true]);
    expect(await cached({ "svc-branch": "main" })).toEqual(["branched user 1", true]);
    const reset = await deploy(server, saying("fresh"), { branch: "main", reset: true });
    expectLive(reset);
    expect(await cached({ "svc-branch": "main" })).toEqual(["fresh user 1", false]);
    expect(await cached({})).toEqual(["hello user 1", true]);
    expect((await ask({ "svc-branch": "other" })).status).toBe(404);
    const { branches } = await server.client(DeploymentService).listBranches({});
    expect(branches.map(({ name, deploys, latestDeploymentId }) => [name, deploys, latestDeploymentId])).toEqual([["main", 2, reset.id]]);
  });

  test("stop when nobody asks, and start again with the next query", async () => {
    await server[Symbol.asyncDispose]();
    server = await TestServer.start(folder.path, { credentials: server.credentials, idleMs: 50 });
    expectLive(await deploy(server, saying("hello")));
    const branched = await deploy(server, saying("branched"), { branch: "b" });
    const source = join(folder.path, "data", "deployments", branched.id);
    while (existsSync(source)) await Bun.sleep(5);
    expect(
      server.log.filter(({ message }) => message === "a deployment that nobody asked for was stopped").map(({ deployment }) => deployment),
    ).toEqual([branched.id]);
    expect(await greeting({ "svc-branch": "b" })).toBe("branched user 1");
    expect(await greeting()).toBe("hello user 1");
  });
});

describe("named deployments", () => {
  test("answer without being promoted, and after they were replaced", async () => {
    const first = await deploy(server, saying("hello"));
    const second = await deploy(server, saying("quiet"), { noPromote: true });
    expectLive(second);
    expect(second.promoted).toBe(false);
    expect(await greeting()).toBe("hello user 1");
    expect(await greeting({ "svc-deployment": second.id })).toBe("quiet user 1");
    expectLive(await deploy(server, saying("third")));
    expect(await greeting({ "svc-deployment": first.id })).toBe("hello user 1");
    const broken = await deploy(server, { "a.py": "syntax error here\n" });
    const refused = await ask({ "svc-deployment": broken.id });
    expect([refused.status, refused.body.errors?.[0]?.message]).toEqual([
      412,
      expect.stringContaining("cannot answer queries: it failed (The project has errors"),
    ]);
    expect((await ask({ "svc-deployment": "dpl_0" })).status).toBe(404);
  });
});

describe("reading back", () => {
  test("the source that was sent, by deployment, by branch and by nothing", async () => {
    const first = await deploy(server, saying("hello"));
    const branched = await deploy(server, saying("branched"), { branch: "b" });
    const client = server.client(DeploymentService);
    for (const [target, deployment] of [
      ["", first],
      [first.id, first],
      ["b", branched],
    ] as const) {
      const source = await client.getSource({ target });
      expect(source.deployment?.id).toBe(deployment.id);
      const bytes = await (await fetch(new URL(source.url, server.url))).bytes();
      expect(new Bun.CryptoHasher("sha256").update(bytes).digest("hex")).toBe(deployment.sourceSha256);
    }
    const error = await failure(client.getSource({ target: "c" }));
    expect([error.code, error.rawMessage]).toEqual([Code.NotFound, "There is no branch or deployment 'c' in this environment."]);
  });

  test("the graph, its features with their resolvers, and pages of deployments", async () => {
    const { id } = await deploy(server, GREETING, { projectName: "greetings" });
    const graph = server.client(GraphService);
    const { features, deploymentId, projectName } = await graph.listFeatures({});
    expect([deploymentId, projectName]).toEqual([id, "greetings"]);
    expect(features.map(({ feature, resolvers, internalVersion }) => [feature?.fqn, resolvers, internalVersion])).toEqual([
      ["user.greeting", ["resolvers.greet"], 1],
      ["user.id", [], 1],
      ["user.name", ["resolvers.get_name"], 1],
    ]);
    expect((await graph.listResolvers({})).resolvers.map(({ fqn }) => fqn)).toEqual(["resolvers.get_name", "resolvers.greet"]);
    const text = { ...GREETING, "features.py": GREETING["features.py"]?.replace("id: int", "id: str") ?? "" };
    const second = await deploy(server, text);
    const versions = (await graph.listFeatures({})).features.map(({ feature, internalVersion }) => [feature?.name, internalVersion]);
    expect(versions).toEqual([
      ["greeting", 1],
      ["id", 2],
      ["name", 1],
    ]);
    const client = server.client(DeploymentService);
    const page = await client.listDeployments({ pageSize: 1 });
    expect(page.deployments.map((one) => one.id)).toEqual([second.id]);
    const rest = await client.listDeployments({ pageSize: 1, pageToken: page.nextPageToken });
    expect([rest.deployments.map((one) => one.id), rest.nextPageToken]).toEqual([[id], ""]);
    expect((await failure(client.listDeployments({ branch: "b", pageToken: page.nextPageToken }))).code).toBe(Code.InvalidArgument);
  });

  test("validation of a graph that would keep others waiting is refused", async () => {
    const graph = graphBytes({ resolvers: Array.from({ length: 60_000 }, () => ({})) });
    const refused = await failure(server.client(DeploymentService).validateGraph({ graph }));
    expect([refused.code, refused.rawMessage]).toEqual([Code.InvalidArgument, expect.stringContaining("60000 definitions")]);
  });

  test.each([
    ["none", new Uint8Array(), "no graph"],
    ["bytes that are none", new Uint8Array([0x0a, 0x7f, 1]), "cannot be read"],
    ["text that is not UTF-8", new Uint8Array([0x0a, 3, 0x0a, 1, 0xff]), "not UTF-8"],
  ])("validation of %s is refused before anything is decoded", async (_, graph, why) => {
    const refused = await failure(server.client(DeploymentService).validateGraph({ graph }));
    expect([refused.code, refused.rawMessage]).toEqual([Code.InvalidArgument, expect.stringContaining(why)]);
  });

  test("validation compares with what is live and changes nothing", async () => {
    const first = await deploy(server, saying("hello"));
    await deploy(server, { ...saying("bye"), "features.py": GREETING["features.py"]?.replace('"1h"', '"30m"') ?? "" }, { branch: "b" });
    const { graph } = await server.client(GraphService, { headers: { "svc-branch": "b" } }).getGraph({});
    const { diff, diagnostics } = await server.client(DeploymentService).validateGraph({ graph: graphBytes(graph) });
    expect(diagnostics).toEqual([]);
    expect(diff?.baseDeploymentId).toBe(first.id);
    expect(diff?.resolvers.map(({ fqn, change, oldVersion, newVersion }) => [fqn, change, oldVersion, newVersion])).toEqual([
      ["resolvers.greet", ChangeKind.CHANGED, 1, 2],
    ]);
    expect(diff?.features.map(({ fqn, details }) => [fqn, details])).toEqual([
      ["user.greeting", ["max_staleness 1h -> 30m"]],
      ["user.name", ["max_staleness 1h -> 30m"]],
    ]);
    const bare = await server.client(DeploymentService).validateGraph({ graph: graphBytes(graph), withoutFeatures: true });
    expect(bare.diff?.features.map(({ fqn, feature }) => [fqn, feature])).toEqual([
      ["user.greeting", undefined],
      ["user.name", undefined],
    ]);
    if (bare.diff && graph) addFeatures(bare.diff, graph);
    expect(bare.diff).toEqual(diff as DeploymentDiff);
    expect((await server.client(DeploymentService).listDeployments({})).deployments).toHaveLength(1);
  });

  test("health tells what is there and what is not", async () => {
    await deploy(server, GREETING);
    const { checks } = await server.client(HealthService).checkHealth({});
    expect(checks.map(({ name, status }) => [name, HealthCheckStatus[status]])).toEqual([
      ["Metadata DB", "OK"],
      ["gRPC Client Query", "OK"],
      ["Logging Client", "OK"],
      ["Metrics DB", "OK"],
      ["Push Registry", "NOT_CONFIGURED"],
      ["Source Bucket", "OK"],
      ["Online Store", "OK"],
      ["Tile Store", "OK"],
      ["Offline Store", "OK"],
      ["Table Engine", "OK"],
      ["Python Workers", "OK"],
      ["Topics", "OK"],
      ["Streams", "OK"],
      ["Scheduler", "OK"],
      ["Webhook Outbox", "OK"],
      ["Node Lease", "OK"],
    ]);
    expect(
      checks
        .filter(({ status }) => status === HealthCheckStatus.NOT_CONFIGURED)
        .every(({ message }) => message.startsWith("this installation ")),
    ).toBe(true);
  });
});

describe("after a restart", () => {
  const restart = async () => {
    await server[Symbol.asyncDispose]();
    server = await TestServer.start(folder.path, { credentials: server.credentials });
  };

  test("a query at once is answered, by the environment, a branch and a named deployment", async () => {
    const first = await deploy(server, saying("hello"));
    await deploy(server, saying("bye"));
    await deploy(server, saying("branched"), { branch: "b" });
    await restart();
    expect(await Promise.all([greeting(), greeting({ "svc-branch": "b" }), greeting({ "svc-deployment": first.id })])).toEqual([
      "bye user 1",
      "branched user 1",
      "hello user 1",
    ]);
  });

  test("folders of deployments that are not live are gone", async () => {
    await deploy(server, saying("hello"));
    const second = await deploy(server, saying("bye"));
    await restart();
    await server.server.ready;
    expect(readdirSync(join(folder.path, "data", "deployments"))).toEqual([second.id]);
  });
});
