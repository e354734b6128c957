/**
 * Several nodes on one metadata store. Periodic work is held, so that nodes learn of each other's
 * changes by the bus only.
 */

import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { Code } from "@connectrpc/connect";
import { ApprovalService } from "../../../gen/svc/v1/approval_pb.ts";
import { AuditService } from "../../../gen/svc/v1/audit_pb.ts";
import { AuthService } from "../../../gen/svc/v1/auth_pb.ts";
import { DeploymentService, DeploymentStatus } from "../../../gen/svc/v1/deployment_pb.ts";
import { EnvironmentService } from "../../../gen/svc/v1/environment_pb.ts";
import { QueryService } from "../../../gen/svc/v1/query_pb.ts";
import { SecretService } from "../../../gen/svc/v1/secret_pb.ts";
import { ServiceTokenService } from "../../../gen/svc/v1/service_token_pb.ts";
import { TrafficService } from "../../../gen/svc/v1/traffic_pb.ts";
import { hashSecret } from "../../../src/server/access/secrets.ts";
import type { Bus } from "../../../src/server/jobs/bus.ts";
import { exchange } from "../../harness/browser-session.ts";
import { eventually } from "../../harness/eventually.ts";
import type { TestServer } from "../../harness/running-server.ts";
import { deploy, expectLive, follow, GREETING, type ProjectFiles, uploadProject } from "../deployments/deploying.ts";
import { Cluster, mortal, until } from "./two-nodes.ts";

const saying = (word: string): ProjectFiles => ({
  ...GREETING,
  "resolvers.py": (GREETING["resolvers.py"] ?? "").replace('"hello "', `"${word} "`),
});

const AHEAD_FAILED = "a deployment of another node could not be started ahead";
let user = 0;

/**
 * A node's answer to a query for a greeting, each time of another user, whose greeting is not
 * stored yet.
 */
async function greeting(server: TestServer): Promise<string> {
  const id = ++user;
  const response = await fetch(`${server.url}/v1/query/online`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${await server.token()}` },
    body: JSON.stringify({ inputs: { "user.id": id }, outputs: ["user.greeting"] }),
  });
  const body = (await response.json()) as { data?: { value: unknown }[]; message?: string };
  return response.ok ? String(body.data?.[0]?.value).replace(` user ${id}`, "") : `${response.status} ${body.message}`;
}

/** Follows a deployment, and adds its events to `lines`. */
async function listen(server: TestServer, deploymentId: string, lines: string[]): Promise<void> {
  for await (const { deployment, progress } of server.client(DeploymentService).watchDeployment({ deploymentId }))
    lines.push(progress || DeploymentStatus[deployment?.status ?? 0] || "");
}

const attempts = (cluster: Cluster) =>
  cluster.rows<{ job: string; outcome: string }>(
    "select job_id as job, outcome from job_attempt join job on job.id = job_id where kind = 'deployment' order by job.seq, number",
  );

describe("two nodes", () => {
  test("what is asked for on one is approved on the other, also when the one that was asked has stopped", async () => {
    await using cluster = new Cluster();
    const a = await cluster.start("a");
    const b = await cluster.start("b");
    const metadata = cluster.openMetadata();
    const teamId = (await metadata.environments())[0]?.teamId ?? "";
    const bob = { id: "client_b0b", teamId, name: "bob", secretHash: hashSecret("b0b"), permissions: ["admin"], createdAt: 1 };
    await metadata.createClient(bob);
    const { config, environment, etag } = await a.client(EnvironmentService).getEnvironmentConfig({});
    if (!config || !environment) throw new Error("there is no environment");
    await a
      .client(EnvironmentService)
      .updateEnvironmentConfig({ environmentId: environment.id, config: { ...config, protected: true }, etag });
    const { approvalId: id } = await b.client(SecretService).setSecrets({ secrets: [{ name: "KEY", value: "v" }] });
    const { approvalId: other } = await a.client(SecretService).setSecrets({ secrets: [{ name: "OTHER", value: "v" }] });
    const token = await exchange(b.url, bob.id, "b0b");
    const [on, alsoOn] = [a, b].map((node) => node.client(ApprovalService, { token }));
    const both = await Promise.allSettled([on?.approve({ id }), alsoOn?.approve({ id })]);
    expect(both.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    await b.server.stop();
    await on?.approve({ id: other });
    const { secrets } = await a.client(SecretService).listSecrets({});
    expect(secrets.map(({ name }) => name)).toEqual(["KEY", "OTHER"]);
  }, 300_000);

  test("what is promoted on one is served by the other, and each deployment is built once", async () => {
    await using cluster = new Cluster();
    const a = await cluster.start("a");
    const b = await cluster.start("b");
    expect(await greeting(b)).toMatch(/^412 Nothing is deployed/);
    expectLive(await deploy(a, saying("hello")));
    expect([
      await until(
        () => greeting(b),
        (said) => !/^4/.test(said),
      ),
      await greeting(a),
    ]).toEqual(["hello", "hello"]);
    for (const [node, word] of [
      [b, "good day"],
      [a, "hi"],
    ] as const) {
      expectLive(await deploy(node, saying(word)));
      for (const other of [a, b])
        expect(
          await until(
            () => greeting(other),
            (said) => said === word,
          ),
        ).toBe(word);
    }
    expect(attempts(cluster).map(({ outcome }) => outcome)).toEqual(["succeeded", "succeeded", "succeeded"]);
    expect([a, b].map(({ log }) => log.filter(({ message }) => message === AHEAD_FAILED))).toEqual([[], []]);
    expect(new Set(attempts(cluster).map(({ job }) => job)).size).toBe(3);
    expect(cluster.rows<{ n: number }>("select count(*) as n from node")).toEqual([{ n: 2 }]);
  }, 300_000);

  test("progress is told on both, whichever builds", async () => {
    await using cluster = new Cluster();
    const [a, b] = [await cluster.start("a"), await cluster.start("b")];
    const gate = join(cluster.folder, "gate");
    const waiting = `import os, time\nwhile not os.path.exists(${JSON.stringify(gate)}): time.sleep(0.01)\n`;
    const uploadId = await uploadProject(a, { ...GREETING, "waiting.py": waiting });
    const { deployment } = await a.client(DeploymentService).createDeployment({ uploadId });
    const told = [a, b].map((node) => ({ node, lines: [] as string[] }));
    const over = told.map(({ node, lines }) => listen(node, deployment?.id ?? "", lines));
    await eventually(() => told.every(({ lines }) => lines.length > 0), "both nodes tell of the build");
    await Bun.write(gate, "");
    await Promise.all(over);
    for (const { lines } of told) {
      expect(lines.at(-1)).toBe("LIVE");
      expect(lines).toContain("STARTING");
      expect(lines).toContain("starting workers");
    }
  }, 300_000);

  test("an environment that is suspended, configured, renamed or deleted on one is so on the other", async () => {
    await using cluster = new Cluster();
    const [a, b] = [await cluster.start("a"), await cluster.start("b")];
    expectLive(
      await deploy(a, {
        ...GREETING,
        "resolvers.py": (GREETING["resolvers.py"] ?? "").replace('"hello "', '__import__("os").environ.get("WORD", "hello") + " "'),
      }),
    );
    const onBoth = async (expected: RegExp) => {
      for (const node of [a, b]) {
        const said = await until(
          () => greeting(node),
          (text) => expected.test(text),
        );
        expect(said).toMatch(expected);
      }
    };
    await onBoth(/^hello/);
    const service = b.client(EnvironmentService);
    const { environment } = await service.suspendEnvironment({});
    await onBoth(/^503 Environment 'default' is suspended/);
    await a.client(EnvironmentService).resumeEnvironment({});
    await onBoth(/^hello/);
    const { etag, config } = await service.getEnvironmentConfig({});
    const environmentId = environment?.id ?? "";
    await service.updateEnvironmentConfig({
      environmentId,
      etag,
      name: "renamed",
      config: { ...config, additionalEnvVars: { WORD: "servus" } } as never,
    });
    await onBoth(/^servus/);
    expect((await a.client(AuthService).whoAmI({})).environmentName).toBe("renamed");
    const { environment: spare } = await a.client(EnvironmentService).createEnvironment({ name: "spare" });
    expect((await service.listEnvironments({})).environments.map(({ name }) => name)).toEqual(["renamed", "spare"]);
    await service.deleteEnvironment({ environmentId });
    await onBoth(/^412 Nothing is deployed in environment 'spare'/);
    await expect(a.client(EnvironmentService).deleteEnvironment({ environmentId: spare?.id ?? "" })).rejects.toMatchObject({
      code: Code.FailedPrecondition,
    });
  }, 300_000);

  test("a client that is deleted on one is refused by the other at once", async () => {
    await using cluster = new Cluster();
    const metadata = cluster.openMetadata();
    const [a, b] = [await cluster.start("a"), await cluster.start("b")];
    const teamId = (await metadata.environments())[0]?.teamId ?? "";
    const client = { id: "client_leaving", teamId, name: "leaving", secretHash: hashSecret("s"), permissions: ["read"], createdAt: 1 };
    await metadata.createClient(client);
    const token = ((await (await b.exchange(client.id, "s")).json()) as { access_token: string }).access_token;
    const whoAmI = () => b.client(AuthService, { token }).whoAmI({});
    expect((await whoAmI()).userId).toBe(client.id);
    await a.client(AuthService).deleteClient({ id: client.id });
    await expect(whoAmI()).rejects.toMatchObject({ code: Code.Unauthenticated });
  }, 300_000);

  test("what a service token loses on one is refused by the other at once", async () => {
    await using cluster = new Cluster();
    const [a, b] = [await cluster.start("a"), await cluster.start("b")];
    const tokens = a.client(ServiceTokenService);
    const { clientSecret, serviceToken } = await tokens.createServiceToken({ name: "ci", permissions: ["read", "deploy"] });
    const { clientId = "", id = "" } = serviceToken ?? {};
    const token = ((await (await b.exchange(clientId, clientSecret)).json()) as { access_token: string }).access_token;
    const upload = () => b.client(DeploymentService, { token }).createUpload({ sha256: "0".repeat(64), sizeBytes: 1n });
    expect((await upload()).complete).toBe(false);
    await tokens.updateServiceToken({ id, permissions: ["read"] });
    await expect(upload()).rejects.toMatchObject({ code: Code.PermissionDenied });
    expect((await b.client(AuthService, { token }).whoAmI({})).userId).toBe(clientId);
    await tokens.deleteServiceToken({ id });
    await expect(upload()).rejects.toMatchObject({ code: Code.Unauthenticated });
  }, 300_000);

  test("rows of the audit log that both write at once are one chain", async () => {
    await using cluster = new Cluster();
    const nodes = [await cluster.start("a"), await cluster.start("b")];
    const make = (node: TestServer, n: number) =>
      node.client(ServiceTokenService).createServiceToken({ name: `t${n}`, permissions: ["read"] });
    await Promise.all(nodes.flatMap((node) => Array.from({ length: 50 }, (_, n) => make(node, n))));
    for (const node of nodes) {
      const audit = node.client(AuditService);
      const { brokenSeq, brokenReason } = await audit.verifyAuditLog({});
      expect([brokenSeq, brokenReason]).toEqual([0n, ""]);
      const { logs } = await audit.listAuditLogs({ endpoint: "CreateServiceToken", pageSize: 500 });
      expect(logs.length).toBe(100);
    }
  }, 300_000);

  test("what a node was building when it died is built by the other when its lease has ended", async () => {
    await using cluster = new Cluster();
    let reached: () => void = () => undefined;
    const building = new Promise<void>((resolve) => {
      reached = resolve;
    });
    const putGraph = (): Promise<void> => {
      reached();
      return new Promise(() => undefined);
    };
    const dying = mortal({ ...cluster.openMetadata(), putGraph });
    const a = await cluster.start("a", { metadata: dying.store });
    const uploadId = await uploadProject(a, GREETING);
    const { deployment } = await a.client(DeploymentService).createDeployment({ uploadId });
    await building;
    const b = await cluster.start("b");
    const following = follow(b, deployment?.id ?? "");
    dying.die();
    cluster.bus.publish("jobs");
    await Bun.sleep(50);
    expect(attempts(cluster).map(({ outcome }) => outcome)).toEqual(["running"]);
    cluster.clock.advance(31_000);
    cluster.bus.publish("jobs");
    expectLive(await following);
    const outcomes = async () => attempts(cluster).map(({ outcome }) => outcome);
    expect(await until(outcomes, (all) => !all.includes("running"))).toEqual(["lost", "succeeded"]);
    expect(await greeting(b)).toBe("hello");
    cluster.clock.release();
  }, 300_000);

  test("weights that one sets share the queries of both, and what one deletes is gone on both", async () => {
    await using cluster = new Cluster();
    const [a, b] = [await cluster.start("a"), await cluster.start("b")];
    const blue = await deploy(a, saying("blue"), { tags: ["blue"] });
    const green = await deploy(a, saying("green"), { tags: ["green"], noPromote: true });
    await a.client(TrafficService).setTraffic({ weights: { blue: 50, green: 50 } });
    const said = async (count: number) => new Set(await Promise.all(Array.from({ length: count }, () => greeting(b))));
    expect(
      await until(
        () => said(8),
        (words) => words.size === 2,
      ),
    ).toEqual(new Set(["blue", "green"]));
    await b.client(TrafficService).setTraffic({ weights: { blue: 0, green: 100 } });
    expect(
      await until(
        () => greeting(a),
        (word) => word === "green",
      ),
    ).toBe("green");
    expectLive(await deploy(b, saying("newer"), { tags: ["green"] }));
    expect(
      await until(
        () => greeting(a),
        (word) => word === "newer",
      ),
    ).toBe("newer");
    await a.client(TrafficService).suspendTraffic({ tag: "blue" });
    const known = (server: TestServer, deploymentId: string) =>
      server
        .client(QueryService)
        .query({ deploymentId, inputs: [], outputs: ["user.greeting"] })
        .then(
          () => "answered",
          (error: Error) => error.message,
        );
    expect(await known(b, blue.id)).not.toContain("There is no deployment");
    for (const { id } of [blue, green]) await a.client(DeploymentService).deleteDeployment({ deploymentId: id });
    for (const { id } of [blue, green])
      await until(
        () => known(b, id),
        (words) => words.includes("There is no deployment"),
      );
    expect(await greeting(b)).toBe("newer");
  }, 300_000);

  test("a node that dies after a deployment was given its tag's traffic, and before that was said, is followed by one that says so", async () => {
    await using cluster = new Cluster();
    const b = await cluster.start("b");
    expectLive(await deploy(b, saying("old"), { tags: ["blue"] }));
    await b.client(TrafficService).setTraffic({ weights: { blue: 100 } });
    await b[Symbol.asyncDispose]();
    const metadata = cluster.openMetadata();
    const given = Promise.withResolvers<void>();
    const updateDeployment: typeof metadata.updateDeployment = (id, patch, now) => {
      if (patch.status !== DeploymentStatus.LIVE) return metadata.updateDeployment(id, patch, now);
      given.resolve();
      return new Promise(() => undefined);
    };
    const dying = mortal({ ...metadata, updateDeployment });
    const a = await cluster.start("a", { metadata: dying.store });
    const uploadId = await uploadProject(a, saying("new"));
    const { deployment } = await a.client(DeploymentService).createDeployment({ uploadId, tags: ["blue"] });
    await given.promise;
    dying.die();
    const c = await cluster.start("c");
    expect(await greeting(c)).toBe("new");
    const following = follow(c, deployment?.id ?? "");
    cluster.clock.advance(31_000);
    cluster.bus.publish("jobs");
    expectLive(await following);
    expect(await greeting(c)).toBe("new");
    expect(cluster.rows("select text from deployment_progress where text = 'analyzing'")).toHaveLength(2);
    cluster.clock.release();
  }, 300_000);

  test("a node that hears nothing is right after its timer", async () => {
    await using cluster = new Cluster();
    const deaf: Bus = { publish: cluster.bus.publish, subscribe: () => () => undefined };
    const [a, b] = [await cluster.start("a"), await cluster.start("b", { bus: deaf })];
    expectLive(await deploy(a, GREETING));
    expect(await greeting(b)).toMatch(/^412 Nothing is deployed/);
    cluster.clock.release();
    expect(
      await until(
        () => greeting(b),
        (said) => !/^4/.test(said),
      ),
    ).toBe("hello");
  }, 300_000);
});
