/** Runs of resolvers over plain HTTP, as a thin client asks for them and follows them. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type Client, Code, ConnectError } from "@connectrpc/connect";
import { AuditService } from "../../../../gen/svc/v1/audit_pb.ts";
import { EnvironmentService } from "../../../../gen/svc/v1/environment_pb.ts";
import { ResolverRunService } from "../../../../gen/svc/v1/resolver_run_pb.ts";
import { ServiceTokenService } from "../../../../gen/svc/v1/service_token_pb.ts";
import { timestampToMs } from "../../../../src/domain/proto-time.ts";
import { eventually } from "../../../harness/eventually.ts";
import { TempFolder, TestServer } from "../../../harness/running-server.ts";
import { deploy, expectLive } from "../../deployments/deploying.ts";
import { ageOf, history, scheduledProject, USERS } from "../../resolver-runs/worlds.ts";

let folder: TempFolder;
let server: TestServer;
let service: Client<typeof ResolverRunService>;
let deploymentId: string;

beforeAll(async () => {
  folder = new TempFolder();
  server = await TestServer.start(folder.path);
  const deployment = await deploy(server, scheduledProject(folder.path));
  expectLive(deployment);
  deploymentId = deployment.id;
  service = server.client(ResolverRunService);
}, 300_000);
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

type Said = Readonly<Record<string, unknown>>;

async function call(method: string, path: string, body?: object | string, headers: Record<string, string> = {}) {
  const response = await fetch(`${server.url}/v1/runs${path}`, {
    method,
    headers: { "content-type": "application/json", authorization: `Bearer ${await server.token()}`, ...headers },
    ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
  return { status: response.status, said: (await response.json()) as Said };
}

async function finish(body: object, headers: Record<string, string> = {}): Promise<Said> {
  const { status, said } = await call("POST", "", body, headers);
  expect([status, said.status]).toEqual([200, expect.stringMatching(/^(received|running|succeeded|failed)$/)]);
  let last: Said = said;
  await eventually(async () => {
    last = (await call("GET", `/${String(said.id)}`, undefined, headers)).said;
    return last.status === "succeeded" || last.status === "failed";
  }, "the run ends");
  return last;
}

/** The code and the words of Connect's refusal of a request. */
async function refusalOf(request: Parameters<typeof service.triggerResolver>[0]): Promise<readonly [string, string]> {
  const error = await service.triggerResolver(request).catch((thrown: unknown) => thrown);
  if (!(error instanceof ConnectError)) throw new Error("the call was not refused");
  return [Code[error.code] ?? "", error.rawMessage];
}

const newToken = async (options: { permissions: string[]; environments?: string[] }): Promise<string> => {
  const { clientSecret, serviceToken } = await server.client(ServiceTokenService).createServiceToken({ name: "other", ...options });
  const answer = await server.exchange(serviceToken?.clientId ?? "", clientSecret);
  return ((await answer.json()) as { access_token: string }).access_token;
};

/** The steps follow each other: later runs have the keys that earlier ones stored. */
describe("a run", () => {
  test("is begun, followed to its end, and the same that Connect tells of", async () => {
    expect(await finish({ resolver: "users" })).toMatchObject({ resolver: "users", rows: USERS });
    const run = await finish({ resolver: "features.get_half" });
    const failing = Array.from({ length: USERS }, (_, at) => ageOf(at + 1)).filter((age) => age === 13).length;
    expect(run).toEqual({
      ...{ id: run.id, resolver: "features.get_half", status: "succeeded", cause: "trigger", deployment_id: deploymentId },
      ...{ created_at: run.created_at, started_at: run.started_at, ended_at: run.ended_at, rows: USERS, failed_rows: failing },
      ...{ error: expect.stringContaining("thirteen"), persist_online: true, persist_offline: true },
      ...{ lower_bound: null, upper_bound: null, idempotency_key: "" },
      url: `${server.url}/environments/${server.credentials.environmentId}/runs/${run.id}`,
    });
    const { run: told } = await service.getResolverRun({ id: String(run.id) });
    expect(told?.endedAt && timestampToMs(told.endedAt)).toBe(Date.parse(String(run.ended_at)));
    expect(history(folder.path, "user.half")).toHaveLength(USERS - failing);
  });

  test("takes bounds, where to store, and a deployment, in its body or by the header", async () => {
    const [{ at } = { at: 0 }] = history(folder.path, "user.age");
    const instant = (ms: number) => new Date(ms).toISOString();
    expect(await finish({ resolver: "get_half", lower_bound: instant(at), upper_bound: instant(at + 1) })).toMatchObject({ rows: USERS });
    expect(await finish({ resolver: "get_half", upper_bound: instant(at) })).toMatchObject({ rows: 0 });
    const offline = history(folder.path, "user.rank").length;
    const run = await finish({ resolver: "everyone", persist_offline: false, deployment_id: deploymentId, idempotency_key: null });
    expect(run).toMatchObject({ rows: 4, persist_online: true, persist_offline: false, deployment_id: deploymentId });
    expect(history(folder.path, "user.rank")).toHaveLength(offline);
    const byHeader = await call("POST", "", { resolver: "users" }, { "svc-deployment": "dpl_0" });
    expect([byHeader.status, byHeader.said.error]).toEqual([404, "not_found"]);
  });

  test("that fails says why", async () => {
    expect(await finish({ resolver: "broken" })).toMatchObject({ status: "failed", error: expect.stringContaining("no rows today") });
  });

  test("is one for a hundred calls with one key at once; another body under the key is a conflict", async () => {
    const asked = { resolver: "users", idempotency_key: "nightly" };
    const answers = await Promise.all(Array.from({ length: 100 }, () => call("POST", "", asked)));
    expect(new Set(answers.map(({ status, said }) => `${status} ${String(said.id)}`)).size).toBe(1);
    expect(answers[0]?.status).toBe(200);
    const id = answers[0]?.said.id;
    expect((await service.listResolverRuns({})).runs.filter((run) => run.idempotencyKey === "nightly").map((run) => run.id)).toEqual([
      id as string,
    ]);
    expect((await service.triggerResolver({ resolver: "users", idempotencyKey: "nightly" })).run?.id).toBe(id as string);
    const others = [{ resolver: "get_half" }, { persist_online: false }, { persist_offline: false }, { deployment_id: deploymentId }];
    for (const other of others) {
      const { status, said } = await call("POST", "", { ...asked, ...other });
      expect([status, said.code, said.message]).toEqual([409, "already_exists", expect.stringContaining(`belongs to run ${String(id)}`)]);
    }
    expect((await call("POST", "", { ...asked, persist_online: true })).said.id).toBe(id);
  });

  test("on a branch stays there, and has no history", async () => {
    expectLive(await deploy(server, scheduledProject(folder.path), { branch: "try" }));
    const before = history(folder.path, "user.age").length;
    expect(await finish({ resolver: "users" }, { "svc-branch": "try" })).toMatchObject({ rows: USERS, persist_offline: false });
    expect(history(folder.path, "user.age")).toHaveLength(before);
    const { status, said } = await call("POST", "", { resolver: "users", persist_offline: true }, { "svc-branch": "try" });
    expect([status, said.message]).toEqual([400, expect.stringContaining("A branch has no history")]);
  }, 300_000);
});

describe("what is wrong", () => {
  test("is refused as Connect does, and leaves no run behind", async () => {
    const before = (await service.listResolverRuns({})).runs.length;
    const pairs: readonly (readonly [Said, Parameters<typeof service.triggerResolver>[0], number])[] = [
      [{}, {}, 400],
      [{ resolver: "get_hafl" }, { resolver: "get_hafl" }, 404],
      [{ resolver: "keyless" }, { resolver: "keyless" }, 412],
      [{ resolver: "users", deployment_id: "dpl_0" }, { resolver: "users", deploymentId: "dpl_0" }, 404],
      [{ resolver: "users", idempotency_key: "k".repeat(201) }, { resolver: "users", idempotencyKey: "k".repeat(201) }, 400],
    ];
    for (const [body, request, status] of pairs) {
      const [code, message] = await refusalOf(request);
      const answer = await call("POST", "", body);
      expect([answer.status, String(answer.said.code).replaceAll("_", ""), answer.said.message]).toEqual([
        status,
        code.toLowerCase(),
        message,
      ]);
    }
    expect((await service.listResolverRuns({})).runs).toHaveLength(before);
  });

  test.each([
    ["[]", /the body: expected an object/],
    ["{", /not JSON/],
    [{ resolver: "users", lower_bond: "x" }, /unknown field 'lower_bond'; did you mean 'lower_bound'/],
    [{ resolver: 5 }, /resolver: expected a string/],
    [{ resolver: "users", persist_online: "yes" }, /persist_online: expected true or false/],
    [{ resolver: "users", lower_bound: "2024-01-01T00:00:00" }, /lower_bound: the time "2024-01-01T00:00:00" has no zone/],
    [{ resolver: "users", upper_bound: 5 }, /upper_bound: expected an ISO 8601 time/],
    ['{"resolver": "users", "idempotency_key": "\\ud800"}', /idempotency_key: the text has half a character/],
  ])("%j is named by its place", async (body, says) => {
    const { status, said } = await call("POST", "", body);
    expect([status, said.message]).toEqual([400, expect.stringMatching(says)]);
  });

  test("is a body of more than 16 KiB, another method, or an address below a run's", async () => {
    expect((await call("POST", "", { resolver: "u".repeat(20_000) })).status).toBe(413);
    expect((await call("GET", "")).status).toBe(405);
    expect((await call("DELETE", "/job_0")).status).toBe(405);
    expect((await call("GET", "/job_0")).said).toMatchObject({ code: "not_found", hint: expect.stringContaining("scheduled-resolver") });
    expect((await call("GET", "/job_0/rows")).said.message).toBe("There is nothing at /v1/runs/job_0/rows.");
  });
});

test("environments are kept apart, also from credentials that are limited to one", async () => {
  const { said } = await call("POST", "", { resolver: "users" });
  const { environment } = await server.client(EnvironmentService).createEnvironment({ name: "other" });
  const id = environment?.id ?? "";
  expect((await call("GET", `/${String(said.id)}`, undefined, { "svc-environment": id })).status).toBe(404);
  const token = await newToken({ permissions: ["deploy", "read"], environments: ["other"] });
  const limited = { authorization: `Bearer ${token}`, "svc-environment": "default" };
  expect((await call("GET", `/${String(said.id)}`, undefined, limited)).status).toBe(403);
  expect((await call("POST", "", { resolver: "users" }, limited)).status).toBe(403);
});

test("calls have rows in the audit log, those that are refused too", async () => {
  const { said } = await call("POST", "", { resolver: "users", deployment_id: deploymentId });
  await call("POST", "", { resolver: "nobody" });
  const { logs } = await server.client(AuditService).listAuditLogs({});
  const rows = logs.filter(({ endpoint }) => endpoint === "POST /v1/runs").slice(0, 2);
  expect(rows.map(({ about }) => about as unknown)).toEqual([
    { resolver: "nobody" },
    { id: said.id as string, resolver: "users", deployment_id: deploymentId },
  ]);
});
