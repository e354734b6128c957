/** The token exchange as OAuth libraries use it (RFC 6749), from third-party clients. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { lacksProgram } from "../../../harness/needs.ts";
import { TempFolder, TestServer } from "../../../harness/running-server.ts";

const folder = new TempFolder();
let server: TestServer;
let id: string;
let secret: string;

beforeAll(async () => {
  server = await TestServer.start(folder.path);
  ({ clientId: id, clientSecret: secret } = server.credentials);
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

const FORM = "application/x-www-form-urlencoded";

interface Sent {
  readonly type?: string;
  readonly body?: string;
  readonly authorization?: string;
}

async function send({ type = FORM, body = "grant_type=client_credentials", authorization }: Sent) {
  const response = await fetch(`${server.url}/v1/oauth/token`, {
    method: "POST",
    headers: { "content-type": type, ...(authorization === undefined ? {} : { authorization }) },
    body,
  });
  return { status: response.status, headers: response.headers, body: (await response.json()) as Record<string, unknown> };
}

const basic = (user: string, password: string) => `Basic ${btoa(`${user}:${password}`)}`;
const inForm = (fields: Record<string, string>) => new URLSearchParams({ grant_type: "client_credentials", ...fields }).toString();

/** Characters as `%XX`, which a form may use for all of them. */
const encoded = (text: string) => [...text].map((one) => `%${one.charCodeAt(0).toString(16)}`).join("");

describe("a token is given", () => {
  const requests: Record<string, () => Sent> = {
    "for a form": () => ({ body: inForm({ client_id: id, client_secret: secret }) }),
    "for a form with its charset": () => ({ type: `${FORM}; charset=UTF-8`, body: inForm({ client_id: id, client_secret: secret }) }),
    "for HTTP Basic": () => ({ authorization: basic(id, secret) }),
    "for HTTP Basic, form-encoded before it is joined": () => ({ authorization: basic(encoded(id), encoded(secret)) }),
    "for HTTP Basic in small letters, beside JSON": () => ({
      authorization: basic(id, secret).replace("Basic", "basic"),
      type: "application/json",
      body: '{"grant_type":"client_credentials"}',
    }),
    "for HTTP Basic and the same id in the form": () => ({ authorization: basic(id, secret), body: inForm({ client_id: id }) }),
    "with fields that are not known, and empty ones": () => ({
      authorization: basic(id, secret),
      body: inForm({ client_secret: "", audience: "x", resource: "y" }),
    }),
  };
  test.each(Object.entries(requests))("%s", async (_, request) => {
    const { status, headers, body } = await send(request());
    expect(status).toBe(200);
    expect([headers.get("cache-control"), headers.get("pragma")]).toEqual(["no-store", "no-cache"]);
    const me = await fetch(`${server.url}/v1/who-am-i`, { headers: { authorization: `Bearer ${body.access_token}` } });
    expect(((await me.json()) as { user: string }).user).toBe(id);
  });

  test("for a part of what the client may, when that is asked for", async () => {
    const { body } = await send({ authorization: basic(id, secret), body: inForm({ scope: "read  query.online" }) });
    expect(body.scope).toBe("read query.online");
    const me = await fetch(`${server.url}/v1/who-am-i`, { headers: { authorization: `Bearer ${body.access_token}` } });
    expect(((await me.json()) as { permissions: string[] }).permissions).toEqual(["read", "query.online"]);
  });
});

describe("nothing is given", () => {
  const BASIC = 'Basic realm="svc", charset="UTF-8"';
  const requests: Record<string, readonly [() => Sent, number, string, string?]> = {
    "for a wrong secret in HTTP Basic": [() => ({ authorization: basic(id, `${secret}x`) }), 401, "invalid_client", BASIC],
    "for a wrong secret in a form": [
      () => ({ body: inForm({ client_id: id, client_secret: "x" }) }),
      401,
      "invalid_client",
      'Bearer error="invalid_client"',
    ],
    "for HTTP Basic that is no base64": [() => ({ authorization: "Basic !!" }), 401, "invalid_client", BASIC],
    "for HTTP Basic without a colon": [() => ({ authorization: `Basic ${btoa(id)}` }), 401, "invalid_client", BASIC],
    "for HTTP Basic with a broken escape": [() => ({ authorization: basic(id, "%zz") }), 401, "invalid_client", BASIC],
    "for HTTP Basic without anything": [() => ({ authorization: "Basic" }), 401, "invalid_client", BASIC],
    "for two methods at once": [
      () => ({ authorization: basic(id, secret), body: inForm({ client_id: id, client_secret: secret }) }),
      400,
      "invalid_request",
    ],
    "for two clients": [() => ({ authorization: basic(id, secret), body: inForm({ client_id: "another" }) }), 400, "invalid_request"],
    "for no credentials": [() => ({}), 400, "invalid_request"],
    "for a field that comes twice": [
      () => ({ authorization: basic(id, secret), body: "grant_type=client_credentials&grant_type=client_credentials" }),
      400,
      "invalid_request",
    ],
    "for no grant type": [() => ({ authorization: basic(id, secret), body: "a=b" }), 400, "invalid_request"],
    "for another grant type": [() => ({ authorization: basic(id, secret), body: "grant_type=password" }), 400, "unsupported_grant_type"],
    "for more than the client may": [
      () => ({ authorization: basic(id, secret), body: inForm({ scope: "read everything" }) }),
      400,
      "invalid_scope",
    ],
    "for JSON with a number": [
      () => ({ type: "application/json", body: '{"grant_type":"client_credentials","client_id":1,"client_secret":"x"}' }),
      400,
      "invalid_request",
    ],
    "for a form that is too long": [() => ({ body: `grant_type=${"x".repeat(20_000)}` }), 413, "body_too_large"],
  };
  test.each(Object.entries(requests))("%s", async (_, [request, status, error, challenge]) => {
    const { headers, body, ...answer } = await send(request());
    expect([answer.status, body.error]).toEqual([status, error]);
    expect([headers.get("cache-control"), headers.get("www-authenticate")]).toEqual(["no-store", challenge ?? null]);
    expect(JSON.stringify(body)).not.toContain(secret);
  });
});

describe("clients of other makers", () => {
  const python = `
import json, sys, urllib.parse, http.client
_, url, id, secret = sys.argv
connection = http.client.HTTPConnection(urllib.parse.urlsplit(url).netloc)
form = urllib.parse.urlencode({"grant_type": "client_credentials", "client_id": id, "client_secret": secret})
connection.request("POST", "/v1/oauth/token", form, {"Content-Type": "${FORM}"})
print(connection.getresponse().read().decode())`;
  const getsToken = async (command: readonly string[]): Promise<void> => {
    const run = Bun.spawn([...command], { stdout: "pipe", stderr: "inherit" });
    expect(JSON.parse(await new Response(run.stdout).text())).toMatchObject({
      token_type: "Bearer",
      environments: { [server.credentials.environmentId]: "default" },
    });
  };

  test("Python's standard library gets a token by a form", () => getsToken(["python3", "-c", python, server.url, id, secret]));

  test.skipIf(lacksProgram("curl"))("curl gets a token by HTTP Basic", () =>
    getsToken([
      "curl",
      "-sS",
      "--noproxy",
      "*",
      "-u",
      `${id}:${secret}`,
      "-d",
      "grant_type=client_credentials",
      `${server.url}/v1/oauth/token`,
    ]),
  );
});
