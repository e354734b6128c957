/** Bulk queries and uploads whose values are tables of Arrow. */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { create } from "@bufbuild/protobuf";
import { type DataType, DataTypeSchema, PrimitiveType } from "../../../../gen/svc/v1/value_pb.ts";
import { ARROW_STREAM } from "../../../../src/domain/arrow/format.ts";
import type { FeatureValue } from "../../../../src/domain/value.ts";
import { readArrowStream } from "../../../../src/server/arrow/read-stream.ts";
import { arrowStream } from "../../../../src/server/arrow/write-stream.ts";
import { TempFolder, TestServer } from "../../../harness/running-server.ts";
import { deploy, expectLive, GREETING } from "../../deployments/deploying.ts";

const folder = new TempFolder();
let server: TestServer;
beforeAll(async () => {
  server = await TestServer.start(folder.path);
  expectLive(await deploy(server, GREETING));
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

const primitive = (value: PrimitiveType): DataType => create(DataTypeSchema, { kind: { case: "primitive", value } });
const INT = primitive(PrimitiveType.INT64);
const TEXT = primitive(PrimitiveType.STRING);

function table(
  columns: Readonly<Record<string, readonly [DataType, readonly FeatureValue[]]>>,
  texts: Record<string, string> = {},
): Uint8Array<ArrayBuffer> {
  const given = Object.entries(columns).map(([name, [type, values]]) => ({ name, type, values }));
  return arrowStream(given, given[0]?.values.length ?? 0, texts);
}

async function post(path: string, body: Uint8Array<ArrayBuffer> | string, headers: Record<string, string> = {}): Promise<Response> {
  const authorization = `Bearer ${await server.token()}`;
  return fetch(server.url + path, { method: "POST", body, headers: { authorization, "content-type": ARROW_STREAM, ...headers } });
}

async function read(response: Response) {
  expect([response.status, response.headers.get("content-type")]).toEqual([200, ARROW_STREAM]);
  const { columns, metadata, names, rows } = readArrowStream(await response.bytes(), 1_000_000);
  return { rows, columns: Object.fromEntries(names.map((name, at) => [name, columns[at]])), metadata };
}

const QUERY = { "svc.query": JSON.stringify({ outputs: ["user.id", "user.greeting"] }) };

test("a table comes back as a table, with what JSON tells beside it", async () => {
  const answer = await read(await post("/v1/query/bulk", table({ "user.id": [INT, [5, 6, 7]] }, QUERY)));
  expect(answer.columns).toEqual({ "user.id": [5, 6, 7], "user.greeting": ["hello user 5", "hello user 6", "hello user 7"] });
  expect(JSON.parse(answer.metadata["svc.meta"] ?? "")).toMatchObject({
    rows: 3,
    types: { "user.id": "int64", "user.greeting": "string" },
  });
  expect(answer.metadata["svc.errors"]).toBeUndefined();
});

test("each side has the form that it names", async () => {
  const asJson = await post("/v1/query/bulk", table({ "user.id": [INT, [5]] }, QUERY), { accept: "application/json" });
  expect(((await asJson.json()) as { data: unknown }).data).toEqual({ "user.id": [5], "user.greeting": ["hello user 5"] });
  const body = JSON.stringify({ inputs: { "user.id": [8] }, outputs: ["user.greeting"] });
  const asTable = await post("/v1/query/bulk", body, { "content-type": "application/json", accept: ARROW_STREAM });
  expect((await read(asTable)).columns).toEqual({ "user.greeting": ["hello user 8"] });
  const compressed = table({ "user.id": [INT, Array.from({ length: 500 }, (_, id) => id)] }, QUERY);
  expect((await read(await post("/v1/query/bulk", Bun.gzipSync(compressed), { "content-encoding": "gzip" }))).rows).toBe(500);
});

test("errors of rows are told beside the values, and what is wrong as a whole as ever", async () => {
  const bad = await read(await post("/v1/query/bulk", table({ "user.id": [TEXT, ["1", "x"]] }, QUERY)));
  expect(bad.columns["user.greeting"]).toEqual(["hello user 1", null]);
  expect(JSON.parse(bad.metadata["svc.errors"] ?? "")).toMatchObject([{ row: 1 }]);
  const wrong = {
    "no whole stream": new Uint8Array(20),
    "'user.id' is given twice": arrowStream(
      [0, 1].map(() => ({ name: "user.id", type: INT, values: [1] })),
      1,
      QUERY,
    ),
    "the inputs are the columns": table({ "user.id": [INT, [1]] }, { "svc.query": '{"inputs":{"user.id":[1]}}' }),
    outputz: table({ "user.id": [INT, [1]] }, { "svc.query": '{"outputz":["x"]}' }),
  };
  for (const [message, body] of Object.entries(wrong)) {
    const response = await post("/v1/query/bulk", body);
    expect([response.status, ((await response.json()) as { message: string }).message]).toEqual([400, expect.stringContaining(message)]);
  }
  expect((await post("/v1/query/online", table({}))).status).toBe(415);
  expect(
    (await fetch(`${server.url}/v1/query/bulk`, { method: "POST", headers: { "content-type": ARROW_STREAM }, body: table({}) })).status,
  ).toBe(401);
});

test("values are uploaded as a table", async () => {
  const values = table(
    { "user.id": [INT, [71, 72]], "user.name": [TEXT, ["Ada", "Bob"]] },
    { "svc.upload": JSON.stringify({ target: "online" }) },
  );
  const stored = await post("/v1/features/upload", values);
  expect([stored.status, await stored.json()]).toEqual([200, expect.objectContaining({ rows: 2, errors: [] })]);
  const wrong = await post("/v1/features/upload", table({ "user.id": [INT, [1]], "user.nothing": [TEXT, ["x"]] }));
  expect([wrong.status, JSON.stringify(await wrong.json())]).toEqual([400, expect.stringContaining("user.nothing")]);
});
