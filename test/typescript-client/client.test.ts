/** The TypeScript client where no svc server answers: retries, deadlines, tokens; and its values. */

import { afterAll, describe, expect, spyOn, test } from "bun:test";
import {
  AuthenticationError,
  QueryError,
  ServerUnreachable,
  SvcClient,
  type SvcClientOptions,
  UnexpectedAnswer,
  withoutErrors,
} from "../../src/typescript-client/index.ts";
import { fromJson, toJson } from "../../src/typescript-client/values.ts";

type Answer = (request: Request, path: string) => Response | Promise<Response>;

const TOKEN = { access_token: "token-1", token_type: "Bearer", expires_in: 3600, primary_environment: "env_1", engines: {} };
const ANSWER = {
  data: [{ field: "user.name", value: "Ann", pkey: 1, ts: "2024-01-01T00:00:00.000000Z" }],
  meta: { query_id: "q", types: { "user.name": "string" } },
};

const chance = spyOn(Math, "random").mockReturnValue(0.5);
afterAll(() => chance.mockRestore());

/** A server that answers token exchanges by itself, and what it was asked. */
function peer(answer: Answer) {
  const asked: { readonly path: string; readonly headers: Headers; readonly body: unknown }[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      const path = new URL(request.url).pathname;
      const text = await request.clone().text();
      asked.push({ path, headers: request.headers, body: text === "" ? undefined : JSON.parse(text) });
      return path.endsWith("/token") ? Response.json(TOKEN) : answer(request, path);
    },
  });
  const client = (options: SvcClientOptions = {}) =>
    new SvcClient({ apiServer: `http://127.0.0.1:${server.port}`, clientId: "id", clientSecret: "secret", ...options });
  return {
    asked,
    client,
    calls: () => asked.filter(({ path }) => !path.endsWith("/token")),
    [Symbol.dispose]: () => void server.stop(true),
  };
}

const QUERY = { inputs: { "user.id": 1 }, outputs: ["user.name"] };
const busy = (status: number, headers: Record<string, string> = {}) => Response.json({ message: "busy" }, { status, headers });

/** Answers in turn, and then the last one again. */
function inTurn(...answers: (() => Response)[]): Answer {
  let at = 0;
  return () => (answers[Math.min(at++, answers.length - 1)] as () => Response)();
}

describe("what is sent", () => {
  test("a query, with the scope of the client and the time that is left", async () => {
    using server = peer(() => Response.json(ANSWER));
    const client = server.client({ environment: "pröd 100%", branch: "b", deploymentId: "dpl_1", timeoutMs: 5_000 });
    const result = await client.query({ ...QUERY, now: new Date("2024-01-01T00:00:00Z"), tags: ["a"], staleness: { "user.name": "1h" } });
    expect(result.data).toEqual({ "user.name": "Ann" });
    expect(result.features[0]).toMatchObject({ feature: "user.name", key: 1, observedAt: "2024-01-01T00:00:00.000000Z" });
    const [, { headers, body }] = server.asked as [unknown, (typeof server.asked)[0]];
    expect([headers.get("authorization"), headers.get("svc-environment"), headers.get("svc-branch")]).toEqual([
      "Bearer token-1",
      "pr%C3%B6d%20100%25",
      "b",
    ]);
    const left = Number(headers.get("connect-timeout-ms"));
    expect(left > 0 && left <= 5_000).toBe(true);
    expect(body).toEqual({
      ...{ inputs: { "user.id": 1 }, outputs: ["user.name"], now: "2024-01-01T00:00:00.000Z", context: { tags: ["a"] } },
      ...{ staleness: { "user.name": "1h" }, deployment_id: "dpl_1" },
    });
  });

  test("one token exchange, for all calls", async () => {
    using server = peer(() => Response.json(ANSWER));
    const client = server.client();
    await Promise.all(Array.from({ length: 20 }, () => client.query(QUERY)));
    expect(server.asked.filter(({ path }) => path.endsWith("/token")).length).toBe(1);
  });

  test("a new token, once, when the server does not take the one it gave", async () => {
    using server = peer(
      inTurn(
        () => busy(401),
        () => Response.json(ANSWER),
        () => busy(401),
      ),
    );
    const client = server.client();
    await client.query(QUERY);
    expect(server.asked.map(({ path }) => path.split("/").at(-1))).toEqual(["token", "online", "token", "online"]);
    await expect(client.query(QUERY)).rejects.toBeInstanceOf(AuthenticationError);
  });

  test("a token of the caller's own", async () => {
    using server = peer((request) => (request.headers.get("authorization") === "Bearer second" ? Response.json(ANSWER) : busy(401)));
    const refused: (string | undefined)[] = [];
    const token = (old: string | undefined) => {
      refused.push(old);
      return old === undefined ? "first" : "second";
    };
    await server.client({ clientId: undefined, clientSecret: undefined, token }).query(QUERY);
    expect(refused).toEqual([undefined, "first"]);
  });
});

describe("what comes compressed", () => {
  test("was asked for, and is inflated", async () => {
    const packed = Bun.gzipSync(JSON.stringify(ANSWER));
    const headers = { "content-type": "application/json", "content-encoding": "gzip" };
    using server = peer(() => new Response(packed, { headers }));
    expect((await server.client().query(QUERY)).data).toEqual({ "user.name": "Ann" });
    expect(server.calls()[0]?.headers.get("accept-encoding")).toContain("gzip");
  });

  test("is given up when it comes to more than a client holds", async () => {
    const part = new Uint8Array(16 * 1024 * 1024);
    let [sent, isEnded] = [0, false];
    const endless = () =>
      new ReadableStream({
        pull: (controller) => {
          sent += 1;
          controller.enqueue(part);
        },
        cancel: () => {
          isEnded = true;
        },
      });
    const own = async (url: string) => (url.endsWith("/token") ? Response.json(TOKEN) : new Response(endless(), { status: 200 }));
    const client = new SvcClient({ apiServer: "http://peer", clientId: "id", clientSecret: "secret", fetch: own });
    const error = await client.query(QUERY).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(UnexpectedAnswer);
    expect((error as UnexpectedAnswer).message).toContain("more than 1024 MiB");
    expect([isEnded, sent < 70]).toEqual([true, true]);
  });
});

describe("what is sent again", () => {
  const count = async (answer: Answer, call: (client: SvcClient) => Promise<unknown>, options: SvcClientOptions = {}) => {
    using server = peer(answer);
    const outcome = await call(server.client(options)).catch((error: unknown) => error);
    return { outcome, count: server.calls().length };
  };
  const query = (client: SvcClient) => client.query(QUERY);

  test("a query that a busy server refuses, when the server says", async () => {
    const now = () => busy(503, { "retry-after": "0" });
    expect(
      (
        await count(
          inTurn(now, now, () => Response.json(ANSWER)),
          query,
        )
      ).count,
    ).toBe(3);
    expect(await count(now, query)).toEqual({ outcome: expect.any(UnexpectedAnswer), count: 4 });
    expect((await count(() => busy(429, { "retry-after": "60" }), query)).count).toBe(1);
    expect((await count(() => busy(429, { "retry-after": "5" }), query, { timeoutMs: 1_000 })).count).toBe(1);
    expect((await count(now, query, { maxRetries: 0 })).count).toBe(1);
  });

  test("once more, when the server does not say", async () => {
    expect((await count(() => busy(503), query)).count).toBe(2);
  });

  test("nothing that was answered", async () => {
    for (const status of [400, 403, 404, 409, 500, 504]) expect((await count(() => busy(status), query)).count).toBe(1);
  });

  test("what has an effect only when it had none", async () => {
    const upload = (client: SvcClient) => client.uploadFeatures({ columns: { "user.id": [1] } });
    const stored = { rows: 1, online_values: 1, offline_values: 1, deleted_values: 0 };
    expect((await count(() => busy(503), upload)).count).toBe(1);
    expect((await count(() => busy(502), upload)).count).toBe(1);
    expect(
      await count(
        inTurn(
          () => busy(503, { "retry-after": "0" }),
          () => Response.json(stored),
        ),
        upload,
      ),
    ).toEqual({
      outcome: { rows: 1, onlineValues: 1, offlineValues: 1, deletedValues: 0 },
      count: 2,
    });
    expect(
      (
        await count(
          () => busy(502),
          (client) => client.beginOfflineQuery({ inputs: { "user.id": [1] } }),
        )
      ).count,
    ).toBe(1);
  });

  test("never more than a share of all requests", async () => {
    using server = peer(() => busy(503, { "retry-after": "0" }));
    const client = server.client();
    for (let at = 0; at < 20; at++) await client.query(QUERY).catch(() => undefined);
    expect(server.calls().length).toBe(30);
  });
});

describe("time", () => {
  test("that is over ends a call", async () => {
    using server = peer(() => new Promise(() => undefined));
    const error = await server
      .client({ timeoutMs: 50 })
      .query(QUERY)
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ServerUnreachable);
    expect((error as ServerUnreachable).timedOut).toBe(true);
  });

  test("of a caller who gives up", async () => {
    using server = peer(() => new Promise(() => undefined));
    const controller = new AbortController();
    const asked = server.client().query({ ...QUERY, signal: controller.signal });
    controller.abort(new Error("given up"));
    await expect(asked).rejects.toThrow("given up");
  });

  test("is no excuse for a server that is not there", async () => {
    const client = new SvcClient({ apiServer: "http://127.0.0.1:9", clientId: "id", clientSecret: "secret", maxRetries: 1 });
    const error = (await client.query(QUERY).catch((thrown: unknown) => thrown)) as ServerUnreachable;
    expect([error.name, error.sent, error.timedOut]).toEqual(["ServerUnreachable", false, false]);
  });
});

test("settings that are missing or make no sense", async () => {
  const own = { apiServer: "http://127.0.0.1:1", clientId: "id", clientSecret: "secret" };
  await expect(new SvcClient(own).query({ ...QUERY, timeoutMs: Number.NaN })).rejects.toThrow("timeoutMs");
  for (const [options, says] of [
    [{ ...own, timeoutMs: 0 }, "timeoutMs"],
    [{ ...own, maxRetries: -1 }, "maxRetries"],
    [{ ...own, apiServer: "http://user:pass@host" }, "holds more than"],
    [{ apiServer: "http://127.0.0.1:1", clientId: "id" }, "no credentials"],
    [{ clientId: "id", clientSecret: "secret" }, "no apiServer"],
  ] as const)
    expect(() => new SvcClient(options)).toThrow(says);
});

test("errors of a result can be thrown", () => {
  const errors = [{ code: "RESOLVER_FAILED", category: "FIELD", message: "no luck", feature: "user.name", row: 2 }];
  expect(() => withoutErrors({ errors })).toThrow(QueryError);
  expect(() => withoutErrors({ errors })).toThrow("row 2, user.name: no luck");
  expect(withoutErrors({ errors: [] })).toEqual({ errors: [] });
});

describe("values", () => {
  test("keep their digits on the way out", () => {
    const given = {
      int: 2n ** 63n - 1n,
      list: [-1n, Number.NaN, -0, 0.5],
      bytes: new Uint8Array([0, 255]),
      set: new Set(["a"]),
      at: new Date(0),
    };
    expect(toJson(given)).toBe(
      '{"int":9223372036854775807,"list":[-1,{"$float":"NaN"},-0.0,0.5],"bytes":"AP8=","set":["a"],"at":"1970-01-01T00:00:00.000Z"}',
    );
    expect(JSON.parse(toJson({ text: '5" #1' }))).toEqual({ text: '5" #1' });
    expect(toJson({ bytes: new Uint8Array(100_000) }).length).toBeGreaterThan(133_000);
  });

  test("and on the way back", () => {
    const type = {
      type: "struct",
      fields: [
        { name: "n", type: "int64" },
        { name: "l", type: { type: "list", items: "float64" } },
      ],
    };
    expect(fromJson({ n: "9007199254740993", l: [1, { $float: "-Infinity" }, null] }, type, "auto")).toEqual({
      n: 9007199254740993n,
      l: [1, -Infinity, null],
    });
    expect(fromJson("7", "int64", "auto")).toBe(7);
    expect(fromJson(7, "int64", "bigint")).toBe(7n);
    expect(fromJson({ n: "1" }, "json", "auto")).toEqual({ n: "1" });
    expect(fromJson("9007199254740993", "string", "auto")).toBe("9007199254740993");
    expect(fromJson(undefined, "int64", "auto")).toBeNull();
  });
});
