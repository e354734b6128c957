/** `POST /v1/query/expression`: expressions of classes that are not deployed, and what bounds them. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { ServiceTokenService } from "../../../../gen/svc/v1/service_token_pb.ts";
import { Failure } from "../../../../src/server/failure.ts";
import { Expressions, MAX_EVALUATIONS } from "../../../../src/server/wire/query/expressions.ts";
import { MAX_EXPRESSION_BYTES } from "../../../../src/server/wire/query/query-http.ts";
import { TempFolder, TestServer } from "../../../harness/running-server.ts";

let folder: TempFolder;
let server: TestServer;
beforeAll(async () => {
  folder = new TempFolder();
  server = await TestServer.start(folder.path);
}, 300_000);
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

type Json = Readonly<Record<string, unknown>>;

const scalar = (name: string, primitive: string, more: Json = {}): Json => ({
  ...{ fqn: `pair.${name}`, name, namespace: "pair" },
  scalar: { dtype: { primitive: `PRIMITIVE_TYPE_${primitive}` }, ...more },
});
const read = (name: string): Json => ({ feature: { path: [name] } });
const call = (name: string, ...parts: Json[]): Json => ({ call: { function: name, arguments: parts } });
const graphOf = (expression: Json, more: Json = {}): string =>
  JSON.stringify({
    featureSets: [
      {
        ...{ namespace: "pair", className: "Pair", primaryKey: "pair.id" },
        features: [
          scalar("id", "INT64", { primary: true }),
          scalar("left", "STRING"),
          scalar("right", "STRING"),
          { ...scalar("distance", "INT64", { expression }), maxStaleness: "3600s" },
        ],
      },
    ],
    ...more,
  });
const DISTANCE = call("levenshtein", read("left"), read("right"));
const asking = (graph: string, left: string, right: string, more: Json = {}): Json => ({
  ...{ graph, inputs: { "pair.id": 1, "pair.left": left, "pair.right": right }, outputs: ["pair.distance"] },
  ...more,
});
const KITTEN = asking(graphOf(DISTANCE), "kitten", "sitting");

async function send(body: unknown, token?: string | null) {
  const bearer = token === undefined ? await server.token() : token;
  const response = await fetch(`${server.url}/v1/query/expression`, {
    method: "POST",
    headers: { "content-type": "application/json", ...(bearer !== null && { authorization: `Bearer ${bearer}` }) },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
  return { status: response.status, body: (await response.json()) as { data?: { value: unknown }[]; message?: string } };
}

test("computes an expression of classes that nobody deployed, and stores nothing", async () => {
  const { status, body } = await send(KITTEN);
  expect([status, body.data?.[0]?.value]).toEqual([200, 3]);
  const again = await send(asking(graphOf(DISTANCE), "kitten", "kitten"));
  expect(again.body.data?.[0]?.value).toBe(0);
  const other = await send(asking(graphOf(call("length", read("left"))), "kitten", ""));
  expect(other.body.data?.[0]?.value).toBe(6);
});

test("is for callers who may query, whose body is not read before", async () => {
  const tokens = server.client(ServiceTokenService);
  const { clientSecret, serviceToken } = await tokens.createServiceToken({ name: "reader", permissions: ["read"] });
  const exchanged = await server.exchange(serviceToken?.clientId ?? "", clientSecret);
  const { access_token: reader } = (await exchanged.json()) as { access_token: string };
  expect((await send("{", null)).status).toBe(401);
  expect((await send("{", reader)).status).toBe(403);
});

describe("refuses", () => {
  let deep: Json = read("left");
  for (let level = 0; level < 20_000; level++) deep = { a: deep };
  const resolver = { fqn: "steal", python: { module: "os", name: "system" } };
  const REFUSED: readonly (readonly [why: string, body: () => unknown, says: RegExp])[] = [
    ["no JSON", () => "{", /not JSON/],
    ["no graph", () => ({ outputs: ["pair.distance"] }), /graph: expected a string/],
    ["a graph that is none", () => asking('{"featureSets": 1}', "", ""), /graph: expected svc.v1.Graph in proto3 JSON/],
    ["a graph of other members", () => asking('{"features": []}', "", ""), /graph: .*features/],
    ["a graph that is nested too deep", () => asking(`${"[".repeat(300)}`, "", ""), /deep/],
    ["resolvers", () => asking(graphOf(DISTANCE, { resolvers: [resolver] }), "", ""), /the graph has resolvers/],
    ["sources", () => asking(graphOf(DISTANCE, { sources: [{ name: "pg" }] }), "", ""), /the graph has sources/],
    ["no outputs", () => ({ ...KITTEN, outputs: [] }), /outputs: name the features/],
    ["what means nothing here", () => ({ ...KITTEN, tags: ["a"] }), /unknown field 'tags'/],
    ["a function that there is not", () => asking(graphOf(call("levenstein", read("left"))), "", ""), /Error\[133\].*levenstein/],
    ["a type that does not fit", () => asking(graphOf(read("left")), "", ""), /Error\[131\]/],
    ["a value that does not fit", () => ({ ...KITTEN, inputs: { "pair.left": [1], "pair.right": "" } }), /pair.left: expected str/],
    ["what is not given", () => ({ ...KITTEN, inputs: { "pair.left": "" } }), /needs pair.right, which was not given/],
  ];
  test.each(REFUSED)("%s", async (_, body, says) => {
    const answer = await send(body());
    expect([answer.status, answer.body.message]).toEqual([400, expect.stringMatching(says)]);
    expect((await send(KITTEN)).status).toBe(200);
  });

  test("a body beyond its bound", async () => {
    expect((await send(asking(graphOf(DISTANCE), "x".repeat(MAX_EXPRESSION_BYTES), ""))).status).toBe(413);
  });
});

describe("the thread", () => {
  const bytes = (body: Json): Uint8Array => Buffer.from(JSON.stringify(body));
  // Each distance is within its bound, and takes a good part of a second.
  const many = call("greatest", ...Array.from({ length: 2_000 }, () => DISTANCE));
  const endless = bytes(asking(graphOf(many), "a".repeat(5_000), "b".repeat(5_000)));
  const distanceIn = async (answer: Promise<string>): Promise<unknown> => JSON.parse(await answer).data[0].value;
  const kindOf = (answer: Promise<unknown>): Promise<unknown> =>
    answer.then(
      () => "answered",
      (error: unknown) => (error instanceof Failure ? error.kind : error),
    );
  const started = (maxMs: number) => {
    const stopping = new AbortController();
    return { stopping, expressions: new Expressions(stopping.signal, { maxMs }) };
  };
  const never = new AbortController().signal;

  test("is ended when the time is up, and answers the next request", async () => {
    const { stopping, expressions } = started(1_500);
    const late = kindOf(expressions.evaluate(endless, 0, never));
    const next = distanceIn(expressions.evaluate(bytes(KITTEN), 0, never));
    expect([await late, await next]).toEqual(["deadline_exceeded", 3]);
    stopping.abort();
  }, 300_000);

  test("is ended with its caller, and with the server", async () => {
    const { stopping, expressions } = started(3_600_000);
    const caller = new AbortController();
    const gone = kindOf(expressions.evaluate(endless, 0, caller.signal));
    const next = distanceIn(expressions.evaluate(bytes(KITTEN), 0, never));
    caller.abort("gone");
    expect([await gone, await next]).toEqual(["gone", 3]);
    const running = kindOf(expressions.evaluate(endless, 0, never));
    await Bun.sleep(0);
    stopping.abort();
    expect(await running).toBeInstanceOf(Error);
  }, 300_000);

  test("has room for a number of requests", async () => {
    const { stopping, expressions } = started(3_600_000);
    const caller = new AbortController();
    const waiting = Array.from({ length: MAX_EVALUATIONS }, () => kindOf(expressions.evaluate(endless, 0, caller.signal)));
    expect(await kindOf(expressions.evaluate(bytes(KITTEN), 0, never))).toBe("resource_exhausted");
    caller.abort("gone");
    expect(new Set(await Promise.all(waiting))).toEqual(new Set(["gone"]));
    expect(await distanceIn(expressions.evaluate(bytes(KITTEN), 0, never))).toBe(3);
    stopping.abort();
  }, 300_000);
});
