/** Compressed requests and answers at every endpoint, also from third-party clients. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import type { DescFile } from "@bufbuild/protobuf";
import { create, fromBinary, fromJson, toBinary, toJsonString } from "@bufbuild/protobuf";
import { DeploymentService, WatchDeploymentRequestSchema } from "../../../../gen/svc/v1/deployment_pb.ts";
import { GraphService } from "../../../../gen/svc/v1/graph_pb.ts";
import { QueryBulkRequestSchema, QueryBulkResponseSchema } from "../../../../gen/svc/v1/query_pb.ts";
import { generatedCodeOf, SERVICES } from "../../../../src/contract/services.ts";
import { ENCODINGS, type Encoding } from "../../../../src/server/wire/http/content-encoding.ts";
import { hasSecret } from "../../../../src/server/wire/services/call-encoding.ts";
import { lacksProgram } from "../../../harness/needs.ts";
import { TempFolder, TestServer } from "../../../harness/running-server.ts";
import { deploy, expectLive, GREETING } from "../../deployments/deploying.ts";

const folder = new TempFolder();
let server: TestServer;
let token: string;
let deploymentId: string;

beforeAll(async () => {
  server = await TestServer.start(folder.path);
  const deployment = await deploy(server, GREETING);
  expectLive(deployment);
  deploymentId = deployment.id;
  token = await server.token();
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

const MIB = 1024 * 1024;

const packed = (bytes: Uint8Array | string, encoding: Encoding): Uint8Array<ArrayBuffer> =>
  new Uint8Array(encoding === "gzip" ? gzipSync(bytes) : Bun.zstdCompressSync(bytes));
const unpacked = (bytes: Uint8Array<ArrayBuffer>, encoding: string | null): Uint8Array =>
  encoding === "gzip" ? Bun.gunzipSync(bytes) : encoding === "zstd" ? Bun.zstdDecompressSync(bytes) : bytes;

/** Posts bytes and returns the answer without decoding it. */
async function post(path: string, body: Uint8Array<ArrayBuffer>, headers: Record<string, string>) {
  const init = { method: "POST", body, decompress: false, headers: { authorization: `Bearer ${token}`, ...headers } };
  const response = await fetch(`${server.url}${path}`, init);
  return { status: response.status, headers: response.headers, bytes: await response.bytes() };
}

function envelope(message: Uint8Array, flags: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(5 + message.length);
  bytes[0] = flags;
  new DataView(bytes.buffer).setUint32(1, message.length);
  bytes.set(message, 5);
  return bytes;
}

/** The first message of an answer in envelopes. */
function firstMessage(bytes: Uint8Array): { readonly flags: number; readonly message: Uint8Array<ArrayBuffer> } {
  const length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(1);
  return { flags: bytes[0] ?? 0, message: bytes.slice(5, 5 + length) };
}

/** The status in gRPC-web's trailers, which end the body. */
const UNIMPLEMENTED = "grpc-status: 12\r\n";

const ROWS = 200;
const ids = Array.from({ length: ROWS }, (_, id) => id);
const greetings = ids.map((id) => `hello user ${id}`);
const JSON_BODY = JSON.stringify({ inputs: { "user.id": ids }, outputs: ["user.greeting"] });
const BULK = create(QueryBulkRequestSchema, {
  query: { outputs: ["user.greeting"] },
  inputs: [{ feature: "user.id", values: ids.map((id) => ({ value: { case: "text" as const, value: String(id) } })) }],
});
const BULK_PATH = "/svc.v1.QueryService/QueryBulk";

/** The endpoints whose bodies are compressed as a whole, and how their answers are read. */
const ENDPOINTS = {
  "JSON API": {
    path: "/v1/query/bulk",
    type: "application/json",
    body: new TextEncoder().encode(JSON_BODY),
    read: (text: Uint8Array) => (JSON.parse(new TextDecoder().decode(text)) as { data: Record<string, string[]> }).data["user.greeting"],
  },
  "Connect, binary": {
    path: BULK_PATH,
    type: "application/proto",
    body: toBinary(QueryBulkRequestSchema, BULK),
    read: (bytes: Uint8Array) => valuesOf(fromBinary(QueryBulkResponseSchema, bytes)),
  },
  "Connect, JSON": {
    path: BULK_PATH,
    type: "application/json",
    body: new TextEncoder().encode(toJsonString(QueryBulkRequestSchema, BULK)),
    read: (text: Uint8Array) => valuesOf(fromJson(QueryBulkResponseSchema, JSON.parse(new TextDecoder().decode(text)))),
  },
};

function valuesOf({ columns }: ReturnType<typeof fromBinary<typeof QueryBulkResponseSchema>>): unknown[] | undefined {
  return columns[0]?.values.map(({ kind }) => kind.value);
}

describe.each(Object.entries(ENDPOINTS))("%s", (_, { path, type, body, read }) => {
  test.each(ENCODINGS)("takes %s and gives it", async (encoding) => {
    const headers = { "content-type": type, "content-encoding": encoding, "accept-encoding": encoding };
    const answer = await post(path, packed(body, encoding), headers);
    expect([answer.status, answer.headers.get("content-encoding"), answer.headers.get("vary")]).toEqual([200, encoding, "accept-encoding"]);
    expect(read(unpacked(answer.bytes, encoding))).toEqual(greetings);
  });

  test("answers as it is whoever takes no encoding, and whoever is answered shortly", async () => {
    const long = await post(path, body as Uint8Array<ArrayBuffer>, { "content-type": type, "accept-encoding": "identity" });
    expect([long.status, long.headers.get("content-encoding"), long.headers.get("vary")]).toEqual([200, null, "accept-encoding"]);
    expect(read(long.bytes)).toEqual(greetings);
    const failed = await post(path, packed("?", "gzip"), { "content-type": type, "content-encoding": "gzip", "accept-encoding": "gzip" });
    expect([failed.status, failed.headers.get("content-encoding")]).toEqual([400, null]);
  });

  test.each(ENCODINGS)("a body that %s makes out of next to nothing is refused", async (encoding) => {
    const bomb = packed(new Uint8Array(64 * MIB).fill(0x20), encoding);
    const { status, bytes } = await post(path, bomb, { "content-type": type, "content-encoding": encoding });
    expect([status, JSON.parse(new TextDecoder().decode(bytes))]).toMatchObject([
      413,
      { code: "resource_exhausted", error: "body_too_large" },
    ]);
  });

  test("another encoding is unimplemented", async () => {
    const { status, headers, bytes } = await post(path, packed(body, "gzip"), { "content-type": type, "content-encoding": "br" });
    expect([status, headers.get("accept-encoding")]).toEqual([415, "zstd, gzip"]);
    expect(JSON.parse(new TextDecoder().decode(bytes))).toMatchObject({ code: "unimplemented", error: "unknown_encoding" });
  });

  test("nothing is inflated for strangers", async () => {
    const headers = { "content-type": type, "content-encoding": "gzip", authorization: "Bearer none" };
    const { status } = await post(path, gzipSync("not what it takes"), headers);
    expect(status).toBe(401);
  });
});

describe.each(ENCODINGS)("messages in envelopes, by %s", (encoding) => {
  test("gRPC-web takes them and gives them", async () => {
    const headers = { "content-type": "application/grpc-web+proto", "grpc-encoding": encoding, "grpc-accept-encoding": encoding };
    const answer = await post(BULK_PATH, envelope(packed(toBinary(QueryBulkRequestSchema, BULK), encoding), 1), headers);
    const { flags, message } = firstMessage(answer.bytes);
    expect([answer.headers.get("grpc-encoding"), flags]).toEqual([encoding, 1]);
    expect(valuesOf(fromBinary(QueryBulkResponseSchema, unpacked(message, encoding)))).toEqual(greetings);
    const plain = await post(BULK_PATH, envelope(toBinary(QueryBulkRequestSchema, BULK), 0), { ...headers, "grpc-accept-encoding": "" });
    expect(firstMessage(plain.bytes).flags).toBe(0);
  });

  test("streams of Connect take them", async () => {
    const watch = toBinary(WatchDeploymentRequestSchema, create(WatchDeploymentRequestSchema, { deploymentId }));
    const headers = { "content-type": "application/connect+proto", "connect-content-encoding": encoding };
    const path = `/${DeploymentService.typeName}/${DeploymentService.method.watchDeployment.name}`;
    const { status, bytes } = await post(path, envelope(packed(watch, encoding), 1), headers);
    expect([status, new TextDecoder().decode(bytes)]).toEqual([200, expect.stringContaining(deploymentId)]);
  });

  test("a message that holds too much, or comes after another, is refused", async () => {
    const headers = { "content-type": "application/grpc-web+proto", "grpc-encoding": encoding };
    const bomb = packed(new Uint8Array(64 * MIB), encoding);
    expect((await post(BULK_PATH, envelope(bomb, 1), headers)).status).toBe(413);
    const first = envelope(packed(toBinary(QueryBulkRequestSchema, BULK), encoding), 1);
    const two = new Uint8Array([...first, ...envelope(bomb.slice(0, 5_000), 1)]);
    expect(new TextDecoder().decode((await post(BULK_PATH, two, headers)).bytes)).toContain(UNIMPLEMENTED);
    expect((await post(BULK_PATH, first.slice(0, -3), headers)).status).toBe(400);
  });
});

test("strangers' calls are not inflated, and nothing inflates a body that is not there", async () => {
  const path = "/svc.v1.HealthService/CheckHealth";
  const unary = { "content-type": "application/json", "content-encoding": "gzip" };
  expect((await post(path, packed("{}", "gzip"), unary)).status).toBe(415);
  const web = { "content-type": "application/grpc-web+proto", "grpc-encoding": "gzip" };
  const { bytes } = await post(path, envelope(packed("", "gzip"), 1), web);
  expect(new TextDecoder().decode(bytes)).toContain(UNIMPLEMENTED);
  const empty = { "content-type": "application/proto", "content-encoding": "gzip" };
  expect((await post("/svc.v1.AuthService/WhoAmI", new Uint8Array(0), empty)).status).toBe(200);
});

test("a message of an unknown encoding is unimplemented", async () => {
  const headers = { "content-type": "application/grpc-web+proto", "grpc-encoding": "snappy" };
  expect(new TextDecoder().decode((await post(BULK_PATH, envelope(new Uint8Array(9), 1), headers)).bytes)).toContain(UNIMPLEMENTED);
});

const GEN = join(import.meta.dir, "../../../../gen");

test("a graph is compressed, and what has a secret in it never is", async () => {
  const path = `/${GraphService.typeName}/${GraphService.method.getGraph.name}`;
  const headers = { "content-type": "application/json", "accept-encoding": "gzip" };
  expect((await post(path, new TextEncoder().encode("{}"), headers)).headers.get("content-encoding")).toBe("gzip");
  const secret: string[] = [];
  for (const service of Object.values(SERVICES)) {
    const module = (await import(join(GEN, generatedCodeOf(service)))) as Record<string, DescFile>;
    const methods = Object.values(module)
      .flatMap((value) => (value.kind === "file" ? value.services : []))
      .flatMap((one) => one.methods);
    secret.push(...methods.filter(({ output }) => hasSecret(output)).map(({ name }) => name));
  }
  expect(secret.sort()).toEqual(
    [
      ...["CreateEntry", "CreateLoginSession", "CreateServiceToken", "GetLoginSession", "RedeemEntry"],
      "AnnounceValueFile",
      ...["ApplyIntegration", "DeleteIntegrations", "ListIntegrations", "RevealIntegrations"],
      ...["Approve", "GetApproval", "ListApprovals", "Reject", "Withdraw"],
      ...["CreateOfflineQueryUpload", "ExportOfflineQuery", "ListOfflineQueryFiles"],
      ...["DeleteSecrets", "ListSecrets", "RevealSecrets", "SetSecrets"],
      ...["GetDatasetUploadUris", "StreamDatasetLinks", "OpenShell", "OpenExec", "ListHtmlOutputs"],
      ...["GetContainer", "ListContainers", "RunContainer", "StopContainer"],
      ...["CreateScalingGroup", "DeleteScalingGroup", "GetScalingGroup", "ListScalingGroups"],
      ...["RestartScalingGroup", "ScaleScalingGroup"],
      ...["CreateSandbox", "GetSandbox", "ListSandboxes", "TerminateSandbox"],
    ].sort(),
  );
});

describe("clients of other makers", () => {
  const python = `
import gzip, http.client, json, sys
_, host, token, body = sys.argv
connection = http.client.HTTPConnection(host)
headers = {"Authorization": "Bearer " + token, "Content-Type": "application/json", "Content-Encoding": "gzip", "Accept-Encoding": "gzip"}
connection.request("POST", "/v1/query/bulk", gzip.compress(body.encode()), headers)
response = connection.getresponse()
assert response.getheader("Content-Encoding") == "gzip"
print(gzip.decompress(response.read()).decode())`;
  const node = `
const [, host, token, body] = process.argv;
const packed = require("node:zlib").gzipSync(body);
const headers = { authorization: "Bearer " + token, "content-type": "application/json", "content-encoding": "gzip" };
fetch("http://" + host + "/v1/query/bulk", { method: "POST", body: packed, headers }).then(async (response) => {
  if (response.headers.get("content-encoding") !== "gzip") throw new Error("not compressed");
  console.log(await response.text());
});`;
  const curl = `printf %s "$3" | gzip -c | curl -sS --noproxy '*' --compressed -H "authorization: Bearer $2" -H 'content-type: application/json' \
    -H 'content-encoding: gzip' --data-binary @- "http://$1/v1/query/bulk"`;
  const packed = async (...command: string[]): Promise<void> => {
    const env = { PATH: process.env.PATH ?? "", HOME: folder.path };
    const run = Bun.spawn([...command, new URL(server.url).host, token, JSON_BODY], { env, stdout: "pipe", stderr: "inherit" });
    const answer = JSON.parse(await new Response(run.stdout).text()) as { data: Record<string, unknown> };
    expect(answer.data["user.greeting"]).toEqual(greetings);
  };

  test("Python's http.client", () => packed("python3", "-c", python));
  test.skipIf(lacksProgram("node"))("node's fetch", () => packed("node", "-e", node));
  test.skipIf(lacksProgram("curl", "gzip"))("curl", () => packed("sh", "-c", curl, "sh"));
});
