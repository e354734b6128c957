/** Changes of stored values, branches and plans over plain HTTP, as a thin client sends them. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { AuditService } from "../../../../gen/svc/v1/audit_pb.ts";
import { TempFolder, TestServer } from "../../../harness/running-server.ts";
import { deploy, expectLive, GREETING } from "../../deployments/deploying.ts";

let folder: TempFolder;
let server: TestServer;
beforeAll(async () => {
  folder = new TempFolder();
  server = await TestServer.start(folder.path);
  await server.server.ready;
  expectLive(await deploy(server, GREETING));
}, 300_000);
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

type Body = Readonly<Record<string, unknown>>;

async function send(method: string, path: string, body?: object | string, headers: Record<string, string> = {}) {
  const response = await fetch(server.url + path, {
    method,
    headers: { "content-type": "application/json", authorization: `Bearer ${await server.token()}`, ...headers },
    ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
  return { status: response.status, body: (await response.json()) as Body };
}

const nameOf = async (id: number): Promise<unknown> => {
  const { body } = await send("POST", "/v1/query/online", { inputs: { "user.id": id }, outputs: ["user.name"] });
  return (body.data as { value: unknown }[])[0]?.value;
};

describe("POST /v1/features/upload", () => {
  test("stores columns, and says under which trace", async () => {
    const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    const columns = { "user.id": [1, 2], "user.name": ["ann", "bob"] };
    const { status, body } = await send("POST", "/v1/features/upload", { columns, time_column: null }, { traceparent });
    expect(status).toBe(200);
    expect(body).toEqual({
      ...{ errors: [], trace_id: "0af7651916cd43dd8448eb211c80319c", rows: 2 },
      ...{ online_values: 2, offline_values: 2, deleted_values: 0 },
    });
    expect(await nameOf(2)).toBe("bob");
    const { body: dry } = await send("POST", "/v1/features/upload", { columns: { "user.id": [3], "user.name": ["x"] }, dry_run: true });
    expect([dry.rows, dry.online_values, String(dry.trace_id).length]).toEqual([1, 0, 32]);
    expect(await nameOf(3)).toBe("user 3");
  });

  test("tells each problem with its row and column", async () => {
    const columns = { "user.id": [1, "x"], "user.nam": ["a", "b"], "user.greeting": [1, null] };
    const unknown = await send("POST", "/v1/features/upload", { columns });
    expect(unknown.status).toBe(400);
    expect(unknown.body.errors).toEqual([expect.objectContaining({ code: "PARSE_FAILED", category: "REQUEST", column: "user.nam" })]);
    const { "user.nam": _, ...known } = columns;
    const { body } = await send("POST", "/v1/features/upload", { columns: known });
    expect((body.errors as Body[]).map(({ row, column }) => [row, column])).toEqual([
      [2, "user.id"],
      [2, "user.greeting"],
    ]);
  });

  const REFUSED: readonly (readonly [why: string, body: object | string, says: RegExp])[] = [
    ["no JSON", "{", /not JSON/],
    ["no columns", {}, /columns: expected an object/],
    ["a column that is no list", { columns: { "user.id": 1 } }, /columns\['user\.id'\]: expected a list/],
    ["an unknown field", { columns: {}, tme: "x" }, /unknown field 'tme'; did you mean 'time/],
    ["a column twice", '{"columns": {"user.id": [1], "user.id": [2]}}', /'user\.id' twice/],
    ["a time without a zone", { columns: { "user.id": [1] }, time: "2024-01-01T00:00:00" }, /time: expected an ISO 8601 time with a zone/],
    ["another target", { columns: { "user.id": [1] }, target: "of" }, /target: expected online/],
  ];
  test.each(REFUSED)("is refused: %s", async (_, body, says) => {
    const answer = await send("POST", "/v1/features/upload", body);
    expect([answer.status, answer.body.message]).toEqual([400, expect.stringMatching(says)]);
    expect(answer.body.trace_id).toHaveLength(32);
  });
});

test("DELETE /v1/features/rows deletes values of rows, and /columns all versions of features", async () => {
  const fill = () => send("POST", "/v1/features/upload", { columns: { "user.id": [10, 11], "user.name": ["a", "b"] } });
  await fill();
  const rows = await send("DELETE", "/v1/features/rows", { namespace: "user", features: ["name"], primary_keys: [10] });
  expect([rows.status, rows.body]).toEqual([200, expect.objectContaining({ errors: [], done: true, online_values: 1, offline_values: 1 })]);
  expect([await nameOf(10), await nameOf(11)]).toEqual(["user 10", "b"]);
  const columns = await send("DELETE", "/v1/features/columns", { features: ["user.name"] });
  expect(columns.body).toMatchObject({ done: true, features: [{ feature: "user.name", internal_version: 2 }] });
  expect(await nameOf(11)).toBe("user 11");
  const none = await send("DELETE", "/v1/features/columns", {});
  expect([none.status, none.body.message]).toEqual([400, expect.stringMatching(/Nothing was selected/)]);
  const { logs } = await server.client(AuditService).listAuditLogs({});
  const about = logs.filter(({ endpoint }) => endpoint.includes("/v1/features/")).map((row) => [row.endpoint, JSON.stringify(row.about)]);
  expect(about.some(([endpoint, said]) => endpoint === "DELETE /v1/features/rows" && said?.includes("name"))).toBe(true);
  expect(about.some(([endpoint, said]) => endpoint === "POST /v1/features/upload" && said?.includes("user.name"))).toBe(true);
});

test("GET /v1/branches lists branches", async () => {
  expect((await send("GET", "/v1/branches")).body).toEqual({ branches: [] });
  const deployment = await deploy(server, GREETING, { branch: "try-it" });
  expectLive(deployment);
  const { branches } = (await send("GET", "/v1/branches")).body as { branches: Body[] };
  expect(branches).toEqual([expect.objectContaining({ name: "try-it", deploys: 1, latest_deployment_id: deployment.id })]);
  expect(String(branches[0]?.last_deployed_at)).toMatch(/^\d{4}-.*Z$/);
}, 300_000);

describe("POST /v1/query/multi", () => {
  const named = (id: number | string, ...outputs: string[]) => ({ inputs: { "user.id": id }, outputs });

  test("answers each query as POST /v1/query/online does", async () => {
    const queries = [named(31, "user.name"), named(32, "user.nmae"), named("x", "user.name"), { ...named(33, "user.name"), explain: true }];
    const { status, body } = await send("POST", "/v1/query/multi", { queries });
    const outcomes = body.outcomes as Body[];
    expect([status, outcomes.length]).toEqual([200, 4]);
    const alone = await Promise.all(queries.map((query) => send("POST", "/v1/query/online", query)));
    const lasting = ({ data, meta, ...more }: Body) => ({
      ...more,
      data: (data as Body[]).map(({ ts: _, ...item }) => item),
      types: (meta as Body | undefined)?.types,
      isExplained: (meta as Body | undefined)?.explain_output !== undefined,
    });
    expect(outcomes.map(lasting)).toEqual(alone.map((answer) => lasting(answer.body)));
    expect(outcomes.map(({ code }) => code)).toEqual([undefined, "invalid_argument", "invalid_argument", undefined]);
  });

  test("keeps the digits of integers, and names what a text only seems to have", async () => {
    const tricky =
      '{"queries" : [ {"inputs": {"user.id": 9007199254740993}, "outputs": ["user.id"], "meta": {"a": "],{\\"queries\\":["}} ] }';
    const { body } = await send("POST", "/v1/query/multi", tricky);
    expect((body.outcomes as { data: Body[] }[])[0]?.data[0]?.value).toBe("9007199254740993");
  });

  const one = JSON.stringify(named(1, "user.name"));
  const REFUSED: readonly (readonly [why: string, body: string, says: RegExp])[] = [
    ["no object", "[]", /the body: expected an object/],
    ["no queries", "{}", /queries: expected a list of queries/],
    ["an object for a list", '{"queries": {}}', /queries: expected a list of queries/],
    ["an empty list", '{"queries": [ ]}', /1 to 100 of them, and this one has 0/],
    ["too many", `{"queries": [${Array.from({ length: 101 }, () => one)}]}`, /1 to 100 of them, and this one has 101/],
    ["a comma without a query", `{"queries": [${one},]}`, /queries\[1\]: the body is not JSON/],
    ["what is no query", `{"queries": [${one}, 5]}`, /queries\[1\]: the body: expected an object/],
    ["an unknown field of a query", '{"queries": [{"input": {"user.id": 1}}]}', /queries\[0\]: unknown field 'input'/],
    ["an input twice", '{"queries": [{"inputs": {"user.id": 1, "user.id": 2}}]}', /queries\[0\]: inputs: 'user.id' is given twice/],
    ["an unknown field", `{"queries": [${one}], "querys": [1]}`, /unknown field 'querys'; did you mean 'queries'/],
    ["queries twice", `{"queries": [${one}], "queries": [${one}]}`, /'queries' is given twice/],
    ["a list that does not end", `{"queries": [${one}`, /not JSON/],
    ["nesting without an end", `{"queries": [${"[".repeat(300)}`, /more than 200 deep/],
  ];
  test.each(REFUSED)("is refused: %s", async (_, body, says) => {
    const answer = await send("POST", "/v1/query/multi", body);
    expect([answer.status, answer.body.message, answer.body.outcomes]).toEqual([400, expect.stringMatching(says), []]);
  });

  test("fails as a whole for a deployment that there is not", async () => {
    const queries = [named(1, "user.name"), { ...named(1, "user.name"), deployment_id: "dpl_x" }];
    expect((await send("POST", "/v1/query/multi", { queries })).status).toBe(404);
  });
});

test("POST /v1/query/plan tells the plan of a query, and runs nothing", async () => {
  const query = { inputs: { "user.id": 77 }, outputs: ["user.greeting"] };
  const { status, body } = await send("POST", "/v1/query/plan", query);
  expect(status).toBe(200);
  expect(body.steps).toHaveLength(2);
  const step = (provider: string, from: string, to: string) => ({ kind: "PyResolver translated", provider, inputs: [from], outputs: [to] });
  expect(body.steps).toContainEqual(step("resolvers.get_name", "user.id", "user.name"));
  expect(body.steps).toContainEqual(step("resolvers.greet", "user.name", "user.greeting"));
  expect(String(body.explain).split("\n").slice(0, 2)).toEqual(["Output", "└─ user.greeting"]);
  expect(body.outputs).toEqual([{ field: "user.greeting", reason: null }]);
  const again = await send("POST", "/v1/query/plan", { ...query, inputs: { "user.id": 78 } });
  expect(again.body.plan_hash).toBe(body.plan_hash);
  const refused = await send("POST", "/v1/query/plan", { ...query, outputs: ["user.gretting"] });
  expect([refused.status, (refused.body.errors as Body[])[0]?.code]).toEqual([400, "PARSE_FAILED"]);
});
