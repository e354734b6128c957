/** Errors of every endpoint, read by a client that knows the form of one. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createConnectTransport, createGrpcWebTransport } from "@connectrpc/connect-web";
import { DeploymentService } from "../../../../gen/svc/v1/deployment_pb.ts";
import { QueryService } from "../../../../gen/svc/v1/query_pb.ts";
import { TempFolder, TestServer } from "../../../harness/running-server.ts";

const folder = new TempFolder();
let server: TestServer;

beforeAll(async () => {
  server = await TestServer.start(folder.path);
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

interface Refused {
  readonly status: number;
  readonly path: string;
  readonly code: string;
  readonly error?: string;
  readonly detail: string;
  readonly method?: string;
  readonly body?: string;
  readonly headers?: Record<string, string>;
  readonly hint?: string;
  /** What the endpoint adds. */
  readonly more?: Record<string, unknown>;
  /** Whether to send no token. */
  readonly anonymous?: boolean;
}

const QUERY = { method: "POST", more: { data: [] } };
const REFUSALS: readonly Refused[] = [
  { path: "/v1/nothing", status: 404, code: "not_found", detail: "INVALID_QUERY" },
  { path: "/v1/nothing", method: "POST", status: 404, code: "not_found", detail: "INVALID_QUERY" },
  { path: "/v1/who-am-i", status: 401, code: "unauthenticated", detail: "UNAUTHENTICATED", hint: "Run `svc login`.", anonymous: true },
  { path: "/v1/who-am-i", method: "POST", status: 405, code: "unimplemented", error: "method_not_allowed", detail: "INVALID_QUERY" },
  {
    path: "/v1/who-am-i",
    headers: { "svc-environment": "defualt" },
    status: 404,
    code: "not_found",
    detail: "INVALID_QUERY",
    hint: "did you mean 'default'?",
  },
  { path: "/v1/objects/abc", status: 403, code: "permission_denied", error: "address_refused", detail: "UNAUTHORIZED" },
  { ...QUERY, path: "/v1/query/online", body: "{", status: 400, code: "invalid_argument", detail: "PARSE_FAILED" },
  { ...QUERY, more: { data: {} }, path: "/v1/query/bulk", body: "[]", status: 400, code: "invalid_argument", detail: "PARSE_FAILED" },
  { ...QUERY, more: { outcomes: [] }, path: "/v1/query/multi", body: "{}", status: 400, code: "invalid_argument", detail: "PARSE_FAILED" },
  { ...QUERY, path: "/v1/query/online", method: "PUT", status: 405, code: "unimplemented", detail: "INVALID_QUERY" },
  {
    ...QUERY,
    path: "/v1/query/online",
    headers: { "content-type": "text/csv" },
    status: 415,
    code: "invalid_argument",
    detail: "PARSE_FAILED",
  },
  {
    ...QUERY,
    path: "/v1/query/online",
    body: "{}",
    headers: { "svc-deployment": "dpl_x" },
    status: 404,
    code: "not_found",
    detail: "INVALID_QUERY",
    hint: "`svc deployment list` shows what there is.",
  },
  {
    path: "/v1/oauth/token",
    method: "POST",
    body: "{}",
    status: 400,
    code: "invalid_argument",
    error: "invalid_request",
    detail: "PARSE_FAILED",
    more: { error_description: expect.stringContaining("grant_type") },
  },
  { path: "/v1/oauth/token", status: 405, code: "unimplemented", error: "method_not_allowed", detail: "INVALID_QUERY" },
  { path: "/health", method: "DELETE", status: 405, code: "unimplemented", error: "method_not_allowed", detail: "INVALID_QUERY" },
  { path: "/nothing", headers: { accept: "application/json" }, status: 404, code: "not_found", detail: "INVALID_QUERY" },
  { path: "/nothing", method: "POST", status: 404, code: "not_found", detail: "INVALID_QUERY" },
  { path: "/cli/login_0", method: "POST", status: 401, code: "unauthenticated", detail: "UNAUTHENTICATED" },
  {
    path: "/environments/default",
    method: "POST",
    status: 405,
    code: "unimplemented",
    error: "method_not_allowed",
    detail: "INVALID_QUERY",
  },
  { path: "/svc.v1.QueryService/Nothing", method: "POST", status: 501, code: "unimplemented", detail: "INVALID_QUERY" },
  { path: "/svc.v1.NoService/Query", method: "POST", status: 501, code: "unimplemented", detail: "INVALID_QUERY" },
  { path: "/grpc.nothing.v1.Nothing/Check", method: "POST", status: 501, code: "unimplemented", detail: "INVALID_QUERY" },
];

describe("one shape", () => {
  test.each(REFUSALS)("$path by $method: $status", async (refusal) => {
    const { path, method = "GET", body = null, status, code, error = code, detail, hint, more = {} } = refusal;
    const authorization: Record<string, string> = refusal.anonymous ? {} : { authorization: `Bearer ${await server.token()}` };
    const headers = { "content-type": "application/json", ...authorization, ...refusal.headers };
    const response = await fetch(`${server.url}${path}`, { method, headers, body });
    expect(response.headers.get("content-type")).toMatch(/^application\/json/);
    const said = { message: expect.any(String), ...(hint === undefined ? {} : { hint }) };
    const found = (await response.json()) as Record<string, unknown>;
    expect([response.status, found]).toEqual([
      status,
      { ...more, code, error, ...said, errors: [{ code: detail, category: expect.stringMatching(/^(REQUEST|NETWORK)$/), ...said }] },
    ]);
    if (status === 401) expect(response.headers.get("www-authenticate")).toMatch(/^Bearer/);
  });

  test("Connect's own errors have code and message in the same places", async () => {
    const headers = { "content-type": "application/json" };
    const response = await fetch(`${server.url}/svc.v1.AuthService/WhoAmI`, { method: "POST", headers, body: "{}" });
    expect(await response.json()).toMatchObject({ code: "unauthenticated", message: expect.any(String) });
  });
});

test("a browser gets pages for what is not there", async () => {
  const accept = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
  for (const init of [{ headers: { accept } }, { headers: (await server.session()).headers }]) {
    const response = await fetch(`${server.url}/nothing`, init);
    expect([response.status, response.headers.get("content-type")]).toEqual([404, "text/html; charset=utf-8"]);
  }
});

describe("a method that there is not is unimplemented", () => {
  const TRANSPORTS = { Connect: createConnectTransport, "gRPC-web": createGrpcWebTransport };
  test.each(Object.entries(TRANSPORTS))("over %s, unary and streaming", async (_, createTransport) => {
    for (const useBinaryFormat of [true, false]) {
      const transport = createTransport({
        baseUrl: server.url,
        useBinaryFormat,
        fetch: Object.assign((...[input, init]: Parameters<typeof fetch>) => fetch(String(input).replace(/\w+$/, "Nothing"), init), {
          preconnect: fetch.preconnect,
        }),
      });
      const unary = createClient(QueryService, transport).query({});
      const stream = (async () => {
        for await (const _ of createClient(DeploymentService, transport).watchDeployment({})) break;
      })();
      const calls: readonly Promise<unknown>[] = [unary, stream];
      for (const error of await Promise.all(calls.map((call) => call.catch((reason: unknown) => reason)))) {
        expect(error).toBeInstanceOf(ConnectError);
        expect((error as ConnectError).code).toBe(Code.Unimplemented);
      }
    }
  });
});
