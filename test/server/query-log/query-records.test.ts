import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { Code, ConnectError } from "@connectrpc/connect";
import { QueryService, TraceSpanKind } from "../../../gen/svc/v1/query_pb.ts";
import { fromProtoValue } from "../../../src/domain/proto-value.ts";
import { eventually } from "../../harness/eventually.ts";
import { TempFolder, TestClock, TestServer } from "../../harness/running-server.ts";
import { deploy, expectLive } from "../deployments/deploying.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT = "00f067aa0ba902b7";
const FILES = {
  "features.py": `from svc.features import features

@features(max_staleness="1h")
class User:
    id: int
    name: str
    seen: str
    fragile: str
    loud: str
`,
  "resolvers.py": `import logging
import svc
from svc import online
from features import User

@online
def get_name(id: User.id) -> User.name:
    return ", ".join(["user", str(id)])

@online
def seen(id: User.id) -> User.seen:
    return svc.traceparent()

@online
def loud(id: User.id) -> User.loud:
    print("loud", id)
    logging.warning("careful %s", id)
    return "said"

@online
def fragile(id: User.id) -> User.fragile:
    raise ValueError("<b>unlucky</b>")
`,
};

const folder = new TempFolder();
const clock = new TestClock();
let server: TestServer;

beforeAll(async () => {
  server = await TestServer.start(folder.path, { clock });
  expectLive(await deploy(server, FILES));
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

interface Answer {
  readonly data: { readonly field: string; readonly value: unknown }[];
  readonly meta: { readonly query_id: string; readonly trace_id?: string; readonly plan_stages?: number };
  readonly errors?: { readonly message: string }[];
}

async function post(body: object, headers: Record<string, string> = {}, path = "/v1/query/online"): Promise<Answer> {
  const response = await fetch(new URL(path, server.url), {
    method: "POST",
    headers: { authorization: `Bearer ${await server.token()}`, ...headers },
    body: JSON.stringify(body),
  });
  return (await response.json()) as Answer;
}

const spansOf = async (trace: { case: "traceId" | "queryId"; value: string }) =>
  (await server.client(QueryService).getTrace({ trace })).spans;
const codeOf = (call: Promise<unknown>) =>
  call.then(
    () => "answered",
    (error: unknown) => (error instanceof ConnectError ? Code[error.code] : String(error)),
  );
const inputs = { "user.id": 3 };
const request = { inputs: [{ feature: "user.id", value: { case: "text" as const, value: "3" } }], outputs: ["user.seen"] };

describe("a trace", () => {
  test("is kept when the query asks for it, with the worker's call in it", async () => {
    const { data, meta } = await post({ inputs, outputs: ["user.seen"], trace: true, correlation_id: "c-1" });
    const spans = await spansOf({ case: "queryId", value: meta.query_id });
    expect(new Set(spans.map(({ traceId }) => traceId))).toEqual(new Set([meta.trace_id ?? "?"]));
    const of = (kind: TraceSpanKind) => spans.find((span) => span.kind === kind);
    const worker = of(TraceSpanKind.WORKER);
    expect(of(TraceSpanKind.GATEWAY)).toMatchObject({ name: "POST /v1/query/online", parentSpanId: "" });
    expect(of(TraceSpanKind.GATEWAY)?.attributes).toMatchObject({ "svc.correlation_id": "c-1", "svc.encoding": "json" });
    expect(worker).toMatchObject({ name: "resolvers.seen", parentSpanId: of(TraceSpanKind.OP)?.spanId });
    expect(data[0]?.value).toBe(`00-${meta.trace_id}-${worker?.spanId}-01`);
    expect(await spansOf({ case: "traceId", value: meta.trace_id ?? "" })).toEqual(spans);
  });

  test("is the caller's when its header is sampled, at both endpoints and for bulk", async () => {
    const headers = { traceparent: `00-${TRACE}-${PARENT}-01` };
    const json = await post({ inputs, outputs: ["user.seen"], staleness: { "user.seen": "0s" } }, headers);
    const bulk = await post({ inputs: { "user.id": [1, 2] }, outputs: ["user.seen"] }, headers, "/v1/query/bulk");
    const connect = await server.client(QueryService, { headers }).query(request);
    const connectBulk = await server.client(QueryService, { headers }).queryBulk({
      query: { outputs: ["user.seen"] },
      inputs: [{ feature: "user.id", values: [{ value: { case: "text", value: "1" } }] }],
    });
    const metas = [json.meta.trace_id, bulk.meta.trace_id, connect.meta?.traceId, connectBulk.meta?.traceId];
    expect(metas).toEqual([TRACE, TRACE, TRACE, TRACE]);
    const roots = (await spansOf({ case: "traceId", value: TRACE })).filter(({ parentSpanId }) => parentSpanId === PARENT);
    expect(roots.map(({ name }) => name)).toEqual([
      "POST /v1/query/online",
      "POST /v1/query/bulk",
      "QueryService.Query",
      "QueryService.QueryBulk",
    ]);
  });

  test("is not kept for a header that is not sampled or not one, and the resolver sees the caller's", async () => {
    const ask = { inputs, outputs: ["user.seen"], staleness: { "user.seen": "0s" } };
    const header = `00-${TRACE.replace("4", "5")}-${PARENT}-00`;
    const unsampled = await post(ask, { traceparent: header });
    expect([unsampled.meta.trace_id, unsampled.data[0]?.value]).toEqual([undefined, header]);
    const broken = await post(ask, { traceparent: `00-${TRACE}-1` });
    expect([broken.meta.trace_id, broken.data[0]?.value]).toEqual([undefined, ""]);
    expect(await codeOf(spansOf({ case: "queryId", value: unsampled.meta.query_id }))).toBe("NotFound");
  });

  test("of a query that is refused says why", async () => {
    const trace = TRACE.replace("4", "6");
    await post({ inputs, outputs: ["user.nmae"] }, { traceparent: `00-${trace}-${PARENT}-01` });
    const spans = await spansOf({ case: "traceId", value: trace });
    expect(spans.map(({ error }) => error)).toContainEqual(expect.stringContaining("did you mean 'user.name'"));
  });

  test("that there is not is not found, and one has to be named, by a caller with a token", async () => {
    expect(await codeOf(spansOf({ case: "traceId", value: "0".repeat(32) }))).toBe("NotFound");
    expect(await codeOf(spansOf({ case: "queryId", value: "" }))).toBe("InvalidArgument");
    expect(await codeOf(server.client(QueryService).getTrace({}))).toBe("InvalidArgument");
    expect(await codeOf(server.client(QueryService, { token: null }).getTrace({}))).toBe("Unauthenticated");
  });
});

describe("the log of a run", () => {
  test("has what its resolvers printed and logged, no more lines than are asked for, and none of another run", async () => {
    const client = server.client(QueryService);
    const { meta } = await post({ inputs: { "user.id": 41 }, outputs: ["user.loud"] });
    await post({ inputs: { "user.id": 42 }, outputs: ["user.loud"] });
    const read = async (queryId: string, limit = 0) =>
      (await client.getQueryRunLog({ queryId, limit })).lines.map(({ level, logger, resolver, text }) => [level, logger, resolver, text]);
    const lines = [
      ["info", "stdout", "resolvers.loud", "loud 41"],
      ["warning", "root", "resolvers.loud", "careful 41"],
    ];
    expect(await read(meta.query_id)).toEqual(lines);
    expect(await read(meta.query_id, 1)).toEqual(lines.slice(1));
    expect(await read("nothing")).toEqual([]);
    expect(await codeOf(client.getQueryRunLog({}))).toBe("InvalidArgument");
    expect(await codeOf(server.client(QueryService, { token: null }).getQueryRunLog({ queryId: meta.query_id }))).toBe("Unauthenticated");
  });
});

describe("stages", () => {
  const ask = { inputs, outputs: ["user.name", "user.fragile"], store_plan_stages: true };

  test("are listed, and their rows read page by page", async () => {
    const { meta } = await post({ ...ask, inputs: { "user.id": [1, 2, 3, 4, 5] } }, {}, "/v1/query/bulk");
    const { stages } = await server.client(QueryService).getQueryRunStages({ queryId: meta.query_id });
    expect(stages).toHaveLength(meta.plan_stages ?? -1);
    const names = stages.find(({ provider }) => provider === "resolvers.get_name");
    expect(names).toMatchObject({ kind: "python", path: "user", rows: 5, columns: ["user.name"], omitted: "" });
    const rows: unknown[] = [];
    let pageToken = "";
    do {
      const page = await server
        .client(QueryService)
        .getQueryRunStageRows({ queryId: meta.query_id, stage: names?.stage ?? -1, pageSize: 2, pageToken });
      expect(page.rows.length).toBeLessThanOrEqual(2);
      for (const { row, values } of page.rows) rows.push([row, ...values.map((value) => fromProtoValue(value))]);
      pageToken = page.nextPageToken;
    } while (pageToken !== "");
    expect(rows).toEqual([1, 2, 3, 4, 5].map((id, row) => [row, `user, ${id}`]));
    const fragile = stages.find(({ provider }) => provider === "resolvers.fragile");
    const page = await server.client(QueryService).getQueryRunStageRows({ queryId: meta.query_id, stage: fragile?.stage ?? -1 });
    expect(page.rows[0]?.errors["user.fragile"]).toContain("ValueError: <b>unlucky</b>");
    expect(await codeOf(server.client(QueryService).getQueryRunStageRows({ queryId: meta.query_id, stage: 9 }))).toBe("NotFound");
  });

  test("are those of the query that asked, and of no other", async () => {
    const plain = await post({ inputs, outputs: ["user.name"] });
    expect(plain.meta.plan_stages).toBeUndefined();
    expect(await codeOf(server.client(QueryService).getQueryRunStages({ queryId: plain.meta.query_id }))).toBe("NotFound");
  });

  test("survive a restart, and go with the run when it is too old", async () => {
    const objects = () =>
      readdirSync(join(folder.path, "data", "objects"), { recursive: true }).filter((path) => /[0-9a-f]{64}$/.test(String(path))).length;
    const before = objects();
    const { meta } = await post(ask);
    expect(objects()).toBe(before + (meta.plan_stages ?? 0));
    const { credentials } = server;
    await server[Symbol.asyncDispose]();
    server = await TestServer.start(folder.path, { clock, credentials });
    const { stages } = await server.client(QueryService).getQueryRunStages({ queryId: meta.query_id });
    expect(stages.length).toBe(meta.plan_stages ?? 0);
    clock.advance(15 * 86_400_000);
    const { credentials: again } = server;
    await server[Symbol.asyncDispose]();
    server = await TestServer.start(folder.path, { clock, credentials: again });
    const later = await post(ask);
    expect(await codeOf(server.client(QueryService).getQueryRunStages({ queryId: meta.query_id }))).toBe("NotFound");
    expect((await server.client(QueryService).getQueryRunStages({ queryId: later.meta.query_id })).stages.length).toBeGreaterThan(0);
    await eventually(() => objects() <= before + (later.meta.plan_stages ?? 0), "the objects of old stages are gone");
  });
});
