/** Protected environments through the real server: who approves what, once, and what comes of it. */

import { Database } from "bun:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { Code, ConnectError } from "@connectrpc/connect";
import { ApprovalService, ApprovalState } from "../../../gen/svc/v1/approval_pb.ts";
import { AuditService } from "../../../gen/svc/v1/audit_pb.ts";
import { DeploymentService, DeploymentStatus } from "../../../gen/svc/v1/deployment_pb.ts";
import { EnvironmentService } from "../../../gen/svc/v1/environment_pb.ts";
import { IntegrationService } from "../../../gen/svc/v1/integration_pb.ts";
import { QueryService } from "../../../gen/svc/v1/query_pb.ts";
import { SecretService } from "../../../gen/svc/v1/secret_pb.ts";
import { TrafficService } from "../../../gen/svc/v1/traffic_pb.ts";
import { eventually } from "../../harness/eventually.ts";
import { TempFolder, TestServer } from "../../harness/running-server.ts";
import { deploy, follow, GREETING, uploadProject } from "../deployments/deploying.ts";
import { configure, type Person, person, tokenOf } from "./persons.ts";

let folder: TempFolder;
let server: TestServer;
let bob: Person;

beforeEach(async () => {
  folder = new TempFolder();
  server = await TestServer.start(folder.path);
  await server.server.ready;
  bob = await person(server, folder.path, "bob", ["admin"]);
});
afterEach(async () => {
  await server[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

const protect = () => configure(server, { protected: true });
const approvals = () => server.client(ApprovalService);
const secrets = () => server.client(SecretService);
const refusal = async (call: Promise<unknown>): Promise<ConnectError> =>
  call.then(
    () => Promise.reject(new Error("the call was not refused")),
    (error: unknown) => ConnectError.from(error),
  );
const secretNames = async (): Promise<string[]> => (await secrets().revealSecrets({})).secrets.map(({ name, value }) => `${name}=${value}`);
const create = async (request: { branch?: string; noPromote?: boolean } = {}, files = GREETING) => {
  const uploadId = await uploadProject(server, files);
  const { deployment } = await server.client(DeploymentService).createDeployment({ ...request, uploadId });
  return { id: deployment?.id ?? "", approvalId: deployment?.approvalId ?? "" };
};
const statusOf = async (deploymentId: string) => (await server.client(DeploymentService).getDeployment({ deploymentId })).deployment;
const waiting = (id: string) => eventually(async () => (await statusOf(id))?.status === DeploymentStatus.WAITING, "the deployment waits");

describe("protection", () => {
  test("is refused while nobody else could approve anything, and says what to do", async () => {
    using alone = new TempFolder();
    await using other = await TestServer.start(alone.path);
    const refused = await refusal(configure(other, { protected: true }));
    expect([refused.code, refused.rawMessage]).toEqual([
      Code.FailedPrecondition,
      "Nobody else could approve changes of environment 'default'.",
    ]);
    await tokenOf(other, undefined, "ci", ["approve"]);
    expect((await refusal(configure(other, { protected: true }))).code).toBe(Code.FailedPrecondition);
  });

  test("ends, and the environment is renamed, only when another person approves it", async () => {
    await protect();
    for (const change of [{ protected: false }, { protected: true, name: "free" }]) {
      const id = await configure(server, change);
      expect(id).toStartWith("apr_");
      expect((await refusal(approvals().approve({ id }))).code).toBe(Code.PermissionDenied);
    }
    const { config, environment } = await server.client(EnvironmentService).getEnvironmentConfig({});
    expect([config?.protected, environment?.name]).toEqual([true, "default"]);
    const deletion = await refusal(server.client(EnvironmentService).deleteEnvironment({ environmentId: environment?.id ?? "" }));
    expect(deletion.rawMessage).toBe("Environment 'default' is protected, so it was not deleted.");

    const id = await configure(server, { protected: false, name: "free" });
    const { approval } = await bob.client(ApprovalService).approve({ id, reason: "we are done" });
    expect(approval).toMatchObject({
      state: ApprovalState.APPROVED,
      decidedBy: "bob",
      reason: "we are done",
      names: ['name: "default" -> "free"', "protected: true -> false"],
    });
    const after = await server.client(EnvironmentService).getEnvironmentConfig({ environment: environment?.id ?? "" });
    expect([after.config?.protected, after.environment?.name]).toEqual([false, "free"]);
    expect((await secrets().setSecrets({ secrets: [{ name: "A", value: "1" }] })).approvalId).toBe("");
  });
});

describe("secrets and integrations", () => {
  test("change when another person approves, and never show a value on the way", async () => {
    await secrets().setSecrets({ secrets: [{ name: "OLD", value: "old-value" }] });
    await protect();
    const { approvalId: set } = await secrets().setSecrets({ secrets: [{ name: "KEY", value: "s3cret-value" }] });
    const { approvalId: gone } = await secrets().deleteSecrets({ names: ["OLD"] });
    const integrations = server.client(IntegrationService);
    const given = {
      name: "pg",
      kind: "postgresql",
      environmentVariables: { PGHOST: "db", PGDATABASE: "d", PGUSER: "u", PGPASSWORD: "pw-value" },
    };
    const { approvalId: applied } = await integrations.applyIntegration(given);
    expect(await secretNames()).toEqual(["OLD=old-value"]);
    const listed = await approvals().listApprovals({ states: [ApprovalState.PENDING] });
    expect(listed.approvals.map(({ kind, names }) => [kind, names])).toEqual([
      ["integration.apply", ["pg"]],
      ["secret.delete", ["OLD"]],
      ["secret.set", ["KEY"]],
    ]);
    const { approvers } = await approvals().getApproval({ id: set });
    expect(approvers).toEqual(["bob"]);
    for (const id of [set, gone, applied]) await bob.client(ApprovalService).approve({ id });
    expect(await secretNames()).toEqual(["KEY=s3cret-value", "PG_PGDATABASE=d", "PG_PGHOST=db", "PG_PGPASSWORD=pw-value", "PG_PGUSER=u"]);
    const { approvalId: deletion } = await integrations.deleteIntegrations({ names: ["pg"] });
    await bob.client(ApprovalService).approve({ id: deletion });
    expect(await secretNames()).toEqual(["KEY=s3cret-value"]);
    const { logs } = await server.client(AuditService).listAuditLogs({});
    const asked = logs.filter(({ endpoint }) => endpoint.endsWith("/SetSecrets")).map(({ about }) => about);
    expect(asked).toContainEqual({ approval_id: set });
    const told = JSON.stringify([server.log, logs], (_, value) => (typeof value === "bigint" ? String(value) : value));
    for (const value of ["s3cret-value", "pw-value"]) expect(told).not.toContain(value);
  });

  test("that are wrong are refused at once, as they would be without protection", async () => {
    await protect();
    expect((await refusal(secrets().setSecrets({ secrets: [{ name: "not a name", value: "x" }] }))).code).toBe(Code.InvalidArgument);
    expect((await refusal(secrets().deleteSecrets({ names: ["NONE"] }))).code).toBe(Code.NotFound);
    expect((await refusal(server.client(IntegrationService).deleteIntegrations({ names: ["none"] }))).code).toBe(Code.NotFound);
    expect((await approvals().listApprovals({})).approvals).toEqual([]);
  });

  test("that others changed since are not overwritten, and who approves is told", async () => {
    await protect();
    const ask = async (value: string) => (await secrets().setSecrets({ secrets: [{ name: "KEY", value }] })).approvalId;
    const [first, second] = [await ask("one"), await ask("two")];
    await bob.client(ApprovalService).approve({ id: second });
    const refused = await refusal(bob.client(ApprovalService).approve({ id: first }));
    expect([refused.code, refused.rawMessage]).toEqual([
      Code.FailedPrecondition,
      expect.stringContaining("Somebody changed one of the secrets since this was asked for, so nothing was changed."),
    ]);
    expect(await secretNames()).toEqual(["KEY=two"]);
    expect((await approvals().getApproval({ id: first })).approval?.state).toBe(ApprovalState.FAILED);
  });
});

describe("decisions", () => {
  const ask = async (by?: Person) =>
    (await (by?.client(SecretService) ?? secrets()).setSecrets({ secrets: [{ name: "KEY", value: "v" }] })).approvalId;

  test("are not those of the person who asked, by whatever token, with whatever permissions", async () => {
    const [one, two] = [await tokenOf(server, bob, "one", ["secrets.write"]), await tokenOf(server, bob, "two", ["admin"])];
    const reader = await person(server, folder.path, "reader", ["read", "secrets.write"]);
    await protect();
    const id = await ask(one);
    for (const same of [one, two, bob]) {
      const refused = await refusal(same.client(ApprovalService).approve({ id }));
      expect(refused.code).toBe(Code.PermissionDenied);
      const isHolder = same !== one;
      if (isHolder) expect(refused.rawMessage).toBe(`${id} was asked for by 'one', so that another person has to decide it.`);
    }
    expect((await refusal(reader.client(ApprovalService).approve({ id }))).code).toBe(Code.PermissionDenied);
    expect((await refusal(reader.client(ApprovalService).withdraw({ id }))).code).toBe(Code.PermissionDenied);
    expect(await secretNames()).toEqual([]);
    expect((await approvals().approve({ id })).approval?.decidedBy).toBe("first start");
    expect(await secretNames()).toEqual(["KEY=v"]);
  });

  test("of two who approve and one who rejects at once are one", async () => {
    const ann = await person(server, folder.path, "ann", ["approve", "read"]);
    await protect();
    for (let round = 0; round < 5; round++) {
      const id = await ask();
      const outcomes = await Promise.allSettled([
        bob.client(ApprovalService).approve({ id }),
        ann.client(ApprovalService).approve({ id }),
        ann.client(ApprovalService).reject({ id }),
      ]);
      expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
      for (const outcome of outcomes)
        if (outcome.status === "rejected") expect(ConnectError.from(outcome.reason).code).toBe(Code.FailedPrecondition);
    }
  });

  test("end with a rejection, a withdrawal or the time, and change nothing then", async () => {
    await protect();
    const [rejected, withdrawn, late] = [await ask(), await ask(), await ask()];
    await bob.client(ApprovalService).reject({ id: rejected, reason: "no" });
    await approvals().withdraw({ id: withdrawn });
    server.clock.advance(7 * 86_400_000);
    bob = await bob.loggedInAgain();
    const refused = await refusal(bob.client(ApprovalService).approve({ id: late }));
    expect(refused.rawMessage).toBe(`The request ${late} has expired, so it cannot be decided.`);
    const states = (await bob.client(ApprovalService).listApprovals({})).approvals.map(({ id, state }) => [id, state]);
    expect(states).toEqual([
      [late, ApprovalState.EXPIRED],
      [withdrawn, ApprovalState.WITHDRAWN],
      [rejected, ApprovalState.REJECTED],
    ]);
    for (const id of [rejected, withdrawn])
      expect((await refusal(bob.client(ApprovalService).approve({ id }))).code).toBe(Code.FailedPrecondition);
    expect((await bob.client(SecretService).listSecrets({})).secrets).toEqual([]);
  });
});

describe("deployments", () => {
  test("are analyzed, wait without having run, and go live when they are approved", async () => {
    await protect();
    const { id, approvalId } = await create();
    await waiting(id);
    expect((await statusOf(id))?.approvalId).toBe(approvalId);
    expect((await refusal(server.client(DeploymentService).promoteDeployment({ deploymentId: id }))).code).toBe(Code.FailedPrecondition);
    const following = follow(server, id);
    await bob.client(ApprovalService).approve({ id: approvalId });
    expect(await following).toMatchObject({ status: DeploymentStatus.LIVE, live: true, approvalId: "" });
  }, 300_000);

  test("that are rejected fail, and one that comes later takes the place of one that waits", async () => {
    await protect();
    const first = await create();
    await waiting(first.id);
    const second = await create();
    expect(await follow(server, first.id)).toMatchObject({
      status: DeploymentStatus.FAILED,
      error: "A later deployment took its place before it was approved.",
    });
    expect((await refusal(bob.client(ApprovalService).approve({ id: first.approvalId }))).code).toBe(Code.FailedPrecondition);
    const branch = await create({ branch: "try" });
    await waiting(branch.id);
    expect((await statusOf(second.id))?.approvalId).toBe(second.approvalId);
    await bob.client(ApprovalService).reject({ id: second.approvalId, reason: "not today" });
    expect(await follow(server, second.id)).toMatchObject({
      status: DeploymentStatus.FAILED,
      error: "The deployment's approval was rejected by 'bob': not today",
    });
    expect((await server.client(DeploymentService).listDeployments({})).deployments.some(({ live }) => live)).toBe(false);
  }, 300_000);

  test("that fail leave nothing to approve", async () => {
    await protect();
    const { id, approvalId } = await create({}, { ...GREETING, "features.py": "this is no Python" });
    expect((await follow(server, id)).status).toBe(DeploymentStatus.FAILED);
    const hasFailed = async () => (await approvals().getApproval({ id: approvalId })).approval?.state === ApprovalState.FAILED;
    await eventually(hasFailed, "the request has failed");
    expect((await refusal(bob.client(ApprovalService).approve({ id: approvalId }))).code).toBe(Code.FailedPrecondition);
  }, 300_000);

  test("are given no secret before they are approved, on a branch and without promotion neither", async () => {
    await secrets().setSecrets({ secrets: [{ name: "KEY", value: "s3cret-value" }] });
    const seen = join(folder.path, "seen");
    const spying = {
      ...GREETING,
      "resolvers.py": `import os\n\nwith open(${JSON.stringify(seen)}, "a") as file:\n    file.write(os.environ.get("KEY", "nothing") + "\\n")\n\n${GREETING["resolvers.py"]}`,
    };
    await protect();
    const ask = (deploymentId: string) =>
      server
        .client(QueryService)
        .query({ deploymentId, inputs: [{ feature: "user.id", value: { case: "text", value: "1" } }], outputs: ["user.name"] });
    for (const request of [{ branch: "try" }, { noPromote: true }, {}]) {
      const { id, approvalId } = await create(request, spying);
      await waiting(id);
      expect((await refusal(ask(id))).code).toBe(Code.FailedPrecondition);
      expect(existsSync(seen) ? readFileSync(seen, "utf8") : "").not.toContain("s3cret-value");
      await bob.client(ApprovalService).approve({ id: approvalId });
      expect((await follow(server, id)).status).toBe(DeploymentStatus.LIVE);
      await ask(id);
      expect(readFileSync(seen, "utf8")).toContain("s3cret-value");
      rmSync(seen);
    }
  }, 300_000);

  test("from before run on when they served, are a way back, and are nothing else", async () => {
    const client = server.client(DeploymentService);
    const unused = await deploy(server, GREETING, { noPromote: true, tags: ["unused"] });
    const before = await deploy(server, GREETING);
    const live = await deploy(server, { ...GREETING, "more.py": "# more\n" });
    await protect();
    for (const call of [
      client.promoteDeployment({ deploymentId: unused.id }),
      server.client(TrafficService).setTraffic({ weights: { unused: 100 } }),
      server.client(TrafficService).setTraffic({ mirrorWeights: { unused: 1 } }),
    ]) {
      const refused = await refusal(call);
      expect(refused.rawMessage).toContain(`Deployment ${unused.id} was not approved`);
    }
    const query = { inputs: [{ feature: "user.id", value: { case: "text", value: "1" } as const }], outputs: ["user.name"] };
    const named = await refusal(server.client(QueryService).query({ ...query, deploymentId: unused.id }));
    expect(named.rawMessage).toContain("was not approved");
    expect((await server.client(QueryService).query(query)).data).toHaveLength(1);
    expect((await client.rollBackDeployment({})).deployment?.id).toBe(before.id);
    expect((await client.promoteDeployment({ deploymentId: live.id })).deployment?.live).toBe(true);
  }, 300_000);
});

test("what waits is sealed anew with a new key, so that the older one can be removed before it is approved", async () => {
  const [older, newer] = [7, 8].map((byte) => Buffer.alloc(32, byte).toString("base64"));
  const { clock, credentials } = server;
  const startWith = async (keys: string) => {
    await server[Symbol.asyncDispose]();
    const env = { PATH: process.env.PATH, HOME: process.env.HOME, SVC_SERVER_KEY: keys };
    server = await TestServer.start(folder.path, { clock, credentials, env });
    bob = await bob.loggedInAgain(server);
  };
  await startWith(`${older}`);
  await protect();
  const { approvalId: id } = await secrets().setSecrets({ secrets: [{ name: "API_KEY", value: "s3cret-value" }] });
  const stored = <Row>(statement: string, ...names: string[]) => {
    using db = new Database(join(folder.path, "data/meta.db"), { readonly: true });
    return db.query<Row, string[]>(statement).get(...names);
  };
  const payload = () => stored<{ payload: string }>("select payload from approval where id = ?", id)?.payload;
  const before = payload();
  const isPlanned = "select 1 from schedule where kind = 'reseal-approvals' and next_at is not null";
  await eventually(() => stored(isPlanned) !== null, "the sealing is planned");
  clock.advance(2 * 3_600_000);
  await startWith(`${newer}\n${older}`);
  await eventually(() => payload() !== before, "the request is sealed anew");
  await startWith(`${newer}`);
  await bob.client(ApprovalService).approve({ id });
  await eventually(async () => (await approvals().getApproval({ id })).approval?.appliedAt !== undefined, "the change is made");
  expect(await secretNames()).toEqual(["API_KEY=s3cret-value"]);
});
