import { describe, expect, test } from "bun:test";
import { create } from "@bufbuild/protobuf";
import fc from "fast-check";
import { ErrorCode } from "../../../../gen/svc/v1/error_pb.ts";
import { DataTypeSchema } from "../../../../gen/svc/v1/value_pb.ts";
import { fromProtoValue } from "../../../../src/domain/proto-value.ts";
import type { QueryRecord } from "../../../../src/server/query-log/recorder.ts";
import type { QueryScope } from "../../../../src/server/wire/query/endpoint.ts";
import { readQueryRun } from "../../../../src/server/wire/query/logged-run.ts";
import { createQueryHttp } from "../../../../src/server/wire/query/query-http.ts";
import { seeded } from "../../../harness/seed.ts";
import { featureClass, graph, primitive, python } from "../../query/graphs.ts";
import { PlayedError, World } from "../../query/worlds.ts";

/** A recorded query with the deployment that it ran on. */
type DeploymentQuery = QueryRecord & { readonly deploymentId: string; readonly errorCount: number };

const point = create(DataTypeSchema, {
  kind: {
    case: "struct",
    value: {
      name: "Point",
      fields: [
        { name: "x", dtype: primitive("int") },
        { name: "y", dtype: primitive("float"), nullable: true },
      ],
    },
  },
});

const made = graph(
  [
    featureClass("user", {
      id: "int",
      name: "str",
      score: { type: "float", stale: "1h" },
      at: "datetime",
      span: "timedelta",
      big: "int",
      nan: "float",
      point,
      bad: "str",
      told: "str",
    }),
  ],
  [
    python("m.name", ["user.id"], ["user.name"]),
    python("m.score", ["user.id"], ["user.score"]),
    python("m.at", ["now"], ["user.at"]),
    python("m.odd", ["user.id"], ["user.span", "user.big", "user.nan", "user.point"]),
    python("m.bad", ["user.id"], ["user.bad"]),
    python("m.told", ["user.id"], ["user.told"]),
  ],
);

interface Answered {
  readonly data: readonly { readonly field: string; readonly value: unknown }[];
  readonly errors?: readonly { readonly code: string; readonly category: string; readonly message: string }[];
  readonly meta: Readonly<Record<string, unknown>>;
}

interface Endpoint {
  readonly world: World;
  readonly scopes: QueryScope[];
  readonly records: DeploymentQuery[];
  leases: number;
  post(body: unknown, headers?: Record<string, string>): Promise<{ status: number; body: Answered }>;
  send(request: Request): Promise<Response>;
}

function endpoint(): Endpoint {
  const world = new World(made, {
    python: {
      "m.name": ([id]) => `name ${id}`,
      "m.score": () => 0.5,
      "m.at": ([now]) => now,
      "m.odd": () => ({ "user.span": 1_500_000, "user.big": 2n ** 60n, "user.nan": Number.NaN, "user.point": { x: 1, y: null } }),
      "m.bad": () => {
        throw new PlayedError("no luck");
      },
      "m.told": (_, call) => JSON.stringify([call.context.tags, call.context.queryContext]),
    },
  });
  const one: Endpoint = {
    world,
    scopes: [],
    records: [],
    leases: 0,
    send: createQueryHttpFor(world),
    async post(body, headers = {}) {
      const text = typeof body === "string" ? body : JSON.stringify(body);
      const response = await one.send(
        new Request("http://localhost/v1/query/online", {
          method: "POST",
          body: text,
          headers: { "content-type": "application/json", ...headers },
        }),
      );
      return { status: response.status, body: await response.json() };
    },
  };
  return one;

  function createQueryHttpFor(of: World): (request: Request) => Promise<Response> {
    const handle = createQueryHttp<string>({
      engine: of.engine,
      clock: of.clock,
      isTracing: () => true,
      recordSpans: () => undefined,
      keepStages: async () => true,
      resolveDeployment: (scope, auth) => {
        expect(auth).toBe("caller");
        one.scopes.push(scope);
        one.leases++;
        return { deployment: of.deployment, release: () => void one.leases-- };
      },
      recordQuery: ({ id }, record, { failures }) => void one.records.push({ ...record, deploymentId: id, errorCount: failures.length }),
    });
    return (request) => handle(request, "caller", () => request.bytes());
  }
}

describe("answers", () => {
  test("have the form that thin clients know", async () => {
    const { status, body } = await endpoint().post({ inputs: { "user.id": 7 }, outputs: ["user.name", "user.bad"] });
    expect(status).toBe(200);
    expect(body as unknown).toEqual({
      data: [
        { field: "user.name", value: "name 7", pkey: 7, ts: "2024-05-01T12:00:00.000000Z" },
        {
          field: "user.bad",
          value: null,
          pkey: 7,
          ts: "2024-05-01T12:00:00.000000Z",
          error: { code: "RESOLVER_FAILED", category: "FIELD", message: "no luck", feature: "user.bad", resolver: "m.bad" },
        },
      ],
      errors: [{ code: "RESOLVER_FAILED", category: "FIELD", message: "no luck", feature: "user.bad", resolver: "m.bad" }],
      meta: {
        execution_duration_s: expect.any(Number),
        deployment_id: "dpl_1",
        environment_id: "env_1",
        environment_name: "default",
        query_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        query_timestamp: "2024-05-01T12:00:00.000000Z",
        query_hash: expect.stringMatching(/^[0-9a-f]{16}$/),
        types: { "user.name": "string", "user.bad": "string" },
      },
    });
  });

  test("meta per feature comes when asked for", async () => {
    const one = endpoint();
    const ask = async () =>
      (await one.post({ inputs: { "user.id": 7 }, outputs: ["user.score", "user.id"], include_meta: true })).body.data;
    expect((await ask()) as unknown).toMatchObject([
      { meta: { chosen_resolver_fqn: "m.score", cache_hit: false, primitive_type: "float", version: 1 } },
      { meta: { chosen_resolver_fqn: "", cache_hit: false } },
    ]);
    one.world.now += 60_000;
    expect((await ask()) as unknown).toMatchObject([
      { ts: "2024-05-01T12:00:00.000000Z", meta: { chosen_resolver_fqn: "m.score", cache_hit: true } },
      {},
    ]);
  });

  test("values are plain JSON: seconds, text for big integers, marked NaN", async () => {
    const { body } = await endpoint().post({
      inputs: { "user.id": 1 },
      outputs: ["user.span", "user.big", "user.nan", "user.point", "user.at"],
    });
    const values = body.data.map(({ field, value }) => [field, value]);
    expect(values).toEqual([
      ["user.span", 1.5],
      ["user.big", "1152921504606846976"],
      ["user.nan", { $float: "NaN" }],
      ["user.point", { x: 1, y: null }],
      ["user.at", "2024-05-01T12:00:00.000000Z"],
    ]);
    const { body: listed } = await endpoint().post({
      inputs: { "user.id": 1 },
      outputs: ["user.point"],
      encoding_options: { encode_structs_as_objects: false },
    });
    expect(listed.data as unknown).toMatchObject([{ value: [1, null] }]);
  });

  test("every field of the body has its effect", async () => {
    const one = endpoint();
    const { body } = await one.post(
      {
        inputs: { id: "9007199254740993", "user.name": "x" },
        outputs: ["user.id", "user.score", "user.at", "user.told"],
        staleness: { "user.score": "infinity" },
        context: { project: "", environment: "prod", branch: "b\u00e9", tags: ["t"] },
        query_context: { from: "here" },
        deployment_id: "dpl_7",
        correlation_id: "c-1",
        explain: true,
        query_name: "label",
        meta: { team: "risk" },
        now: "2001-02-03T04:05:06.000007Z",
        planner_options: { disable_translation: true, max_batch_rows: 5 },
      },
      { "svc-branch": "b%C3%A9", "svc-environment": "prod", "svc-deployment": "dpl_7" },
    );
    expect(body.errors).toBeUndefined();
    expect(body.data.map(({ value }) => value)).toEqual([
      "9007199254740993",
      0.5,
      "2001-02-03T04:05:06.000007Z",
      '[["t"],{"from":"here"}]',
    ]);
    expect(body.meta as unknown).toMatchObject({
      query_timestamp: "2001-02-03T04:05:06.000007Z",
      explain_output: expect.stringContaining("Output"),
    });
    expect(one.scopes).toEqual([{ project: "", environment: "prod", branch: "b\u00e9", deployment: "dpl_7" }]);
    expect(one.records[0]).toMatchObject({ correlationId: "c-1", queryName: "label", errorCount: 0 });
    expect(runOf(one.records[0]).request).toMatchObject({
      correlationId: "c-1",
      queryName: "label",
      tags: ["t"],
      meta: { team: "risk" },
      plannerOptions: { disable_translation: "true", max_batch_rows: "5" },
      deploymentId: "dpl_7",
    });
  });

  test("the branch and the environment may be named in the body, but not otherwise than in the headers", async () => {
    const one = endpoint();
    const post = (context: object, headers?: Record<string, string>) => one.post({ inputs: { "user.id": 1 }, context }, headers);
    await post({ project: "", environment: "100%25", branch: "mine" });
    expect(one.scopes).toEqual([{ project: "", environment: "100%25", branch: "mine", deployment: "" }]);
    await expect(post({ branch: "mine" }, { "svc-branch": "yours" })).rejects.toMatchObject({
      kind: "invalid_argument",
      message: "The query names the branch 'mine', its header svc-branch 'yours'. Name one.",
    });
    await expect(post({ project: "", environment: "dev" }, { "svc-environment": "prod" })).rejects.toMatchObject({
      kind: "invalid_argument",
    });
    expect(one.scopes).toHaveLength(1);
  });

  test("the scope's headers count where the body says nothing, and inferred outputs are told", async () => {
    const one = endpoint();
    const { body } = await one.post(
      { inputs: { "user.id": 1 }, outputs: null, context: null },
      { "svc-environment": "dev", "svc-deployment": "dpl_2" },
    );
    expect(one.scopes).toEqual([{ project: "", environment: "dev", branch: "", deployment: "dpl_2" }]);
    expect(body.meta as unknown).toMatchObject({ inferred_outputs: ["user"] });
    expect(body.data).toHaveLength(10);
  });

  test("integers beyond 2^53 in the body are read exactly", async () => {
    const { body } = await endpoint().post('{"inputs": {"user.id": 9007199254740993}, "outputs": ["user.id"]}');
    expect(body.data as unknown).toMatchObject([{ value: "9007199254740993" }]);
  });
});

describe("refusals", () => {
  const cases: readonly (readonly [body: unknown, message: string])[] = [
    ["{", "the body is not JSON"],
    ["[]", "the body: expected an object, got list of 0"],
    [{ input: { "user.id": 1 } }, "unknown field 'input'; did you mean 'inputs'?"],
    [{ inputs: [1] }, "inputs: expected an object, got list of 1"],
    [{ outputs: "user.id" }, 'outputs: expected a list of strings, got str "user.id"'],
    [{ outputs: ["user.id", 5] }, "outputs[1]: expected a string, got int 5"],
    [{ staleness: { "user.id": "soon" } }, "staleness['user.id']: expected a duration such as 90s, 5m, 1h30m, 7d or 2w"],
    [{ staleness: { "user.id": 5 } }, "staleness['user.id']: expected a duration"],
    [{ context: { tag: ["a"] } }, "unknown field 'context.tag'; did you mean 'tags'?"],
    [{ context: { tags: [1] } }, "context.tags[0]: expected a string, got int 1"],
    [{ query_context: 5 }, "query_context: expected an object, got int 5"],
    [{ explain: "yes" }, 'explain: expected true or false, got str "yes"'],
    [{ include_meta: 1 }, "include_meta: expected true or false, got int 1"],
    [{ now: "yesterday" }, "now: expected an ISO 8601 time"],
    [{ meta: { a: 1 } }, "meta['a']: expected a string, got int 1"],
    [{ planner_options: { a: [] } }, "planner_options['a']: expected a string, a number or a boolean"],
    [{ encoding_options: { structs: true } }, "unknown field 'encoding_options.structs'"],
    [{ query_name: 5 }, "query_name: expected a string, got int 5"],
  ];

  test("a wrong body names the field, what was wanted and what was given", async () => {
    const one = endpoint();
    for (const [given, message] of cases) {
      const { status, body } = await one.post(given);
      expect(status).toBe(400);
      expect(body.data as unknown).toEqual([]);
      const [error] = body.errors ?? [];
      expect(error).toMatchObject({ code: "PARSE_FAILED", category: "REQUEST" });
      expect(error?.message).toContain(message);
    }
    expect(one.leases + one.records.length).toBe(0);
  });

  test("unknown fields that say nothing are let be, those that say something are refused by name", async () => {
    const one = endpoint();
    const body = (given: unknown) => {
      const extra = { next: given };
      const nested = { context: { tags: [], ...extra }, encoding_options: extra };
      return { inputs: { "user.id": 7 }, outputs: ["user.id"], ...extra, ...nested };
    };
    for (const nothing of [null, "", [], {}]) expect((await one.post(body(nothing))).status).toBe(200);
    for (const given of [false, 0, " ", [null], { a: null }]) {
      const { status, body: answer } = await one.post(body(given));
      expect([given, status]).toEqual([given, 400]);
      expect(answer.errors?.[0]?.message).toStartWith("unknown field 'next'; the fields are inputs, ");
    }
  });

  test("a refused query tells everything that is wrong, and is recorded", async () => {
    const one = endpoint();
    const { status, body } = await one.post({ inputs: { "user.id": "x", "user.name": 5 }, outputs: ["user.name"] });
    expect(status).toBe(400);
    expect(body.errors as unknown).toEqual([
      { code: "PARSE_FAILED", category: "REQUEST", message: 'user.id: expected int, got str "x"', feature: "user.id" },
    ]);
    expect(one.records).toMatchObject([{ deploymentId: "dpl_1", error: expect.stringContaining("expected int") }]);
    expect(one.records[0]?.response).toBeUndefined();
    expect(one.leases).toBe(0);
  });

  test.each([
    ["application/json", 200],
    ["application/json; charset=utf-8", 200],
    ["Application/JSON", 200],
    ["application/vnd.example+json", 200],
    [undefined, 200],
    ["text/plain", 415],
    ["text/plain;charset=utf-8", 415],
    ["application/x-www-form-urlencoded", 415],
    ["application/jsonp", 415],
    ["text/json, application/json", 415],
    ["application/proto", 415],
  ])("a body that is said to be %s is answered with %d", async (type, status) => {
    const headers: Record<string, string> = type === undefined ? {} : { "content-type": type };
    const body = new TextEncoder().encode(JSON.stringify({ inputs: { "user.id": 1 }, outputs: ["user.name"] }));
    const response = await endpoint().send(new Request("http://localhost/v1/query/online", { method: "POST", body, headers }));
    expect(response.status).toBe(status);
    if (status === 415)
      expect(await response.json()).toMatchObject({
        errors: [{ code: "PARSE_FAILED", message: `send JSON with Content-Type: application/json, not ${type}` }],
      });
  });

  test("bytes that are not UTF-8, names given twice and an absurd staleness are refused in words", async () => {
    const one = endpoint();
    const refused = async (body: string | Uint8Array<ArrayBuffer>) => {
      const response = await one.send(new Request("http://localhost/v1/query/online", { method: "POST", body }));
      const { errors } = (await response.json()) as { errors: { message: string }[] };
      return [response.status, errors.map(({ message }) => message)];
    };
    const latin = new TextEncoder().encode('{"inputs":{"user.id":1},"query_name":"x"}');
    latin[latin.indexOf(0x78)] = 0xe4;
    const send = (body: string) => refused(new TextEncoder().encode(body));
    expect(await refused(latin)).toEqual([400, ["the body is not UTF-8: byte 38 begins no character"]]);
    expect(await send('{"inputs":{"user.id":1,"user.name":"x","user.id":2}}')).toEqual([400, ["inputs: 'user.id' is given twice"]]);
    expect(await send('{"outputs":[],"inputs":{"user.id":1},"outputs":["user.name"]}')).toEqual([400, ["'outputs' is given twice"]]);
    expect(await send('{"inputs":{"user.id":1},"staleness":{"user.score":"99999999999999999999d"}}')).toEqual([
      400,
      ["staleness['user.score']: expected a duration between 0 and 3652500d, or infinity for any age, got str \"99999999999999999999d\""],
    ]);
    expect((await one.post('{"inputs":{"user.id":1},"staleness":{"user.score":"3652499d"},"outputs":["user.score"]}')).status).toBe(200);
  });

  test("of thousands of faults a hundred are told, with guesses for twenty; the rest is counted, and long names are cut", async () => {
    const one = endpoint();
    const many = (name: string) => Array.from({ length: 5_000 }, (_, i) => `${name}${i}`);
    const inputs = { "user.id": 1, ...Object.fromEntries(many("user.nam").map((name) => [name, 1])) };
    const { status, body } = await one.post({
      inputs,
      outputs: many("usr.name"),
      planner_options: Object.fromEntries(many("x").map((x) => [x, 1])),
    });
    const messages = (body.errors ?? []).map(({ message }) => message);
    expect([status, messages.length, messages.at(-1)]).toEqual([400, 101, "and 14,900 more"]);
    expect(messages.filter((message) => message.includes("did you mean"))).toHaveLength(20);
    expect(messages[0]).toBe("inputs: unknown feature 'user.nam0'; did you mean 'user.name', 'user.nan' or 'user.at'?");
    expect(messages[20]).toBe("inputs: unknown feature 'user.nam20'; `svc features list` shows what there is");
    const long = await one.post({ inputs: { ["x".repeat(100_000)]: 1 } });
    expect(JSON.stringify(long.body).length).toBeLessThan(5_000);
    expect(long.body.errors?.[0]?.message).toContain("more characters)");
  });

  test("only POST is answered", async () => {
    const response = await endpoint().send(new Request("http://localhost/v1/query/online"));
    expect([response.status, response.headers.get("allow")]).toEqual([405, "POST"]);
  });

  test("what the scope throws is the router's to answer", async () => {
    const one = endpoint();
    const handle = createQueryHttp<null>({
      engine: one.world.engine,
      clock: one.world.clock,
      isTracing: () => true,
      recordSpans: () => undefined,
      keepStages: async () => true,
      resolveDeployment: () => {
        throw new Error("no such environment");
      },
      recordQuery: () => {},
    });
    const request = new Request("http://localhost/", { method: "POST", body: "{}", headers: { "content-type": "application/json" } });
    await expect(handle(request, null, () => request.bytes())).rejects.toThrow("no such environment");
  });

  test("any JSON is either answered or refused in words", async () => {
    const one = endpoint();
    const key = fc.oneof(
      fc.constantFrom("inputs", "outputs", "staleness", "context", "now", "query_context", "explain", "__proto__", "constructor"),
      fc.string(),
    );
    const body = fc.dictionary(key, fc.jsonValue(), { maxKeys: 4 });
    await fc.assert(
      fc.asyncProperty(body, async (given) => {
        const { status, body: answer } = await one.post(given);
        expect([200, 400]).toContain(status);
        if (status === 400) expect(answer.errors?.[0]?.message).toBeTruthy();
      }),
      seeded(300, 50_000),
    );
    expect(one.leases).toBe(0);
  });
});

test("records hold what was sent and answered, which is read back as messages", async () => {
  const one = endpoint();
  const asked = {
    inputs: { "user.id": 7, "user.point": { x: 1 } },
    outputs: ["user.name", "user.point", "user.at", "user.bad", "user.big"],
    staleness: { "user.score": "1m" },
  };
  const { body } = await one.post(asked);
  const [record] = one.records;
  expect(record).toMatchObject({ deploymentId: "dpl_1", startedAt: one.world.now, encoding: "json", errorCount: 1 });
  expect(record?.request).toBe(JSON.stringify(asked));
  expect(JSON.parse(String(record?.response))).toEqual(body);
  const { request, response } = runOf(record);
  expect(request.inputs.map((input) => input.feature)).toEqual(["user.id", "user.point"]);
  expect(request.staleness["user.score"]?.seconds).toBe(60n);
  expect(response?.data.map(({ value }) => value && fromProtoValue(value))).toEqual([
    "name 7",
    { x: 1, y: null },
    "2024-05-01T12:00:00.000000Z",
    null,
    "1152921504606846976",
  ]);
  expect(response?.data.map(({ meta }) => meta?.chosenResolverFqn)).toEqual(["m.name", "", "m.at", "", "m.odd"]);
  expect(response?.data.map(({ ts }) => Number(ts?.seconds ?? 0) * 1000)).toEqual([...new Array(3).fill(one.world.now), 0, one.world.now]);
  expect(response?.data[3]?.error).toMatchObject({ code: ErrorCode.RESOLVER_FAILED, message: "no luck", resolver: "m.bad" });
  expect(response?.errors).toHaveLength(1);
  expect(response?.meta?.queryId).toBe(record?.queryId);
  expect(one.leases).toBe(0);
});

test("a run says what the online store served", async () => {
  const one = endpoint();
  const ask = () => one.post({ inputs: { "user.id": 7 }, outputs: ["user.score", "user.name"] });
  await ask();
  await ask();
  expect(one.records.map((record) => runOf(record).response?.data.map(({ meta }) => [meta?.cacheHit, meta?.chosenResolverFqn]))).toEqual([
    [
      [false, "m.score"],
      [false, "m.name"],
    ],
    [
      [true, "m.score"],
      [false, "m.name"],
    ],
  ]);
});

function runOf(record: DeploymentQuery | undefined) {
  if (!record) throw new Error("nothing was recorded");
  return readQueryRun(record);
}
