/** What is passed on from a query's caller to what its resolvers call. */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { QueryService } from "../../../../gen/svc/v1/query_pb.ts";
import { TempFolder, TestServer } from "../../../harness/running-server.ts";
import { deploy, expectLive } from "../../deployments/deploying.ts";

const PROJECT = {
  "features.py": "from svc.features import features\n\n\n@features\nclass User:\n    id: int\n    seen: str\n",
  "resolvers.py":
    "import json\n\nimport svc\nfrom features import User\nfrom svc import online\n\n\n@online\ndef seen(id: User.id) -> User.seen:\n    return json.dumps(svc.trace_headers())\n",
};
const TRACE = "0af7651916cd43dd8448eb211c80319c";

const folder = new TempFolder();
let server: TestServer;

beforeAll(async () => {
  server = await TestServer.start(folder.path);
  expectLive(await deploy(server, PROJECT));
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

async function seenWith(headers: Readonly<Record<string, string>>): Promise<Record<string, string>> {
  const { data } = await server.client(QueryService, { headers }).query({
    inputs: [{ feature: "user.id", value: { case: "text", value: "1" } }],
    outputs: ["user.seen"],
  });
  const [value] = data;
  return JSON.parse(value?.value?.kind.case === "stringValue" ? value.value.kind.value : "{}") as Record<string, string>;
}

const traceparent = (flags: string) => `00-${TRACE}-b7ad6b7169203331-${flags}`;

test.each(["00", "01"])("tracestate and baggage go with the caller's span (flags %s), and are not stored", async (flags) => {
  const baggage = "tenant=hidden-words,plan=gold;ttl=3";
  const seen = await seenWith({ traceparent: traceparent(flags), tracestate: "vendor=1,other=a:b", baggage });
  expect(seen).toEqual({ traceparent: expect.stringContaining(TRACE), tracestate: "vendor=1,other=a:b", baggage });
  if (flags === "00") return;
  const { spans } = await server.client(QueryService).getTrace({ trace: { case: "traceId", value: TRACE } });
  expect(spans.length).toBeGreaterThan(0);
  expect(JSON.stringify(spans.map(({ name, attributes, error }) => [name, attributes, error]))).not.toContain("hidden-words");
});

test("without the caller's span nothing goes on, and nothing that is too long", async () => {
  expect(await seenWith({ baggage: "a=1", tracestate: "b=2" })).toEqual({});
  const long = { baggage: `a=${"x".repeat(8_191)}`, tracestate: `b=${"x".repeat(511)}` };
  expect(await seenWith({ traceparent: traceparent("00"), ...long })).toEqual({ traceparent: traceparent("00") });
});
