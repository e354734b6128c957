import { expect, test } from "bun:test";
import { QueryBulkRequestSchema } from "../../../../gen/svc/v1/query_pb.ts";
import { checkCallBody } from "../../../../src/server/wire/services/call-body.ts";
import { enveloped } from "../../../harness/wire-fuzz.ts";

const refusal = (type: string, body: Uint8Array) => {
  try {
    checkCallBody(QueryBulkRequestSchema, type, body);
    return undefined;
  } catch (error) {
    return String(error);
  }
};

const message = new Uint8Array([0x0a, 0x7f]);
const text = new TextEncoder().encode("[".repeat(300));

test.each([
  ["application/proto", message],
  ["Application/Proto", message],
  ["application/connect+proto", enveloped(message)],
  ["application/grpc-web", enveloped(message)],
  ["application/GRPC-web", enveloped(message)],
  ["application/grpc-web+proto", enveloped(message)],
  ["application/json", text],
  ["application/json; charset=utf-8", text],
  ["application/connect+json", enveloped(text)],
  ["application/grpc-web+json", enveloped(text)],
  ["application/grpc-web+json;charset=utf8", enveloped(text)],
])("a body of type %s is looked through, every message of it", (type, body) => {
  expect(refusal(type, body)).toMatch(/invalid_argument/);
  if (!/web|connect/i.test(type)) return;
  const good = /json/.test(type) ? enveloped(new TextEncoder().encode("{}")) : enveloped(new Uint8Array(0));
  expect(refusal(type, good)).toBeUndefined();
  expect(refusal(type, new Uint8Array([...good, ...body]))).toMatch(/invalid_argument/);
});

test.each(["", "text/plain", "application/grpc-web; x=1", "application/prototype", "application/protobuf"])(
  "a body of type '%s' is no form of a call's, and is left to the handler, which refuses it",
  (type) => expect(refusal(type, message)).toBeUndefined(),
);

const json = (body: unknown) => refusal("application/json", new TextEncoder().encode(JSON.stringify(body)));

test.each([
  [{ querry: {} }, undefined],
  [{ later: null, query: { also: [], query_name: "x", queryNameVersion: "", now: "2024-05-01T12:00:00Z" } }, undefined],
  [{ query: { staleness: { "user.id": "3s" }, queryContext: { a: { stringValue: "x", more: "" } } } }, undefined],
  [{ querry: { explain: true } }, "unknown field 'querry'; did you mean 'query'?"],
  [{ query: { explain: true, later: 0 } }, "unknown field 'query.later'; the fields are inputs, outputs, staleness, "],
  [
    { query: { queryContext: { a: { strnigValue: "x" } } } },
    "unknown field 'query.queryContext['a'].strnigValue'; did you mean 'stringValue' or 'structValue'?",
  ],
  [
    { inputs: [{ feature: "user.id", values: [{ text: "1" }, { texts: "1" }] }] },
    "unknown field 'inputs[0].values[1].texts'; did you mean 'text'",
  ],
  [{ inputs: [5, { values: { text: 1 } }], query: [] }, undefined],
])("of the fields of %j those are refused that are not known and say something", (body, message) => {
  const said = json(body);
  if (message === undefined) expect(said).toBeUndefined();
  else expect(said).toContain(message);
});

test("a long name that is not known is not told whole", () => {
  expect(json({ ["x".repeat(1_000_000)]: 1 })?.length).toBeLessThan(5_000);
});
