import { expect, test } from "bun:test";
import { QueryBulkRequestSchema } from "../../../gen/svc/v1/query_pb.ts";
import { checkCallBody } from "../../../src/server/services/call-body.ts";
import { enveloped } from "../../harness/wire-fuzz.ts";

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
