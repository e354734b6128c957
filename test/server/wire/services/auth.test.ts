import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { Code, ConnectError } from "@connectrpc/connect";
import { SignJWT } from "jose";
import { AuthService } from "../../../../gen/svc/v1/auth_pb.ts";
import { DeploymentService } from "../../../../gen/svc/v1/deployment_pb.ts";
import { EnvironmentService } from "../../../../gen/svc/v1/environment_pb.ts";
import { ErrorCode, ErrorDetailSchema } from "../../../../gen/svc/v1/error_pb.ts";
import { loadServerKeys } from "../../../../src/server/access/keys.ts";
import { createTokens } from "../../../../src/server/access/tokens.ts";
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

async function failure(call: Promise<unknown>): Promise<ConnectError> {
  const error = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof ConnectError)) throw new Error(`expected a ConnectError, got ${String(error)}`);
  return error;
}

describe("token exchange", () => {
  test("gives a bearer token for an hour, the primary environment and the engines", async () => {
    const response = await server.exchange(server.credentials.clientId, server.credentials.clientSecret);
    expect(response.status).toBe(200);
    expect(response.headers.get("cache-control")).toBe("no-store");
    const body = (await response.json()) as Record<string, unknown>;
    expect(body).toEqual({
      access_token: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/),
      token_type: "Bearer",
      expires_in: 3600,
      expires_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.000000Z$/),
      scope: "read query.online deploy admin",
      api_server: server.url,
      grpc_server: server.server.grpcUrl,
      primary_environment: server.credentials.environmentId,
      environments: { [server.credentials.environmentId]: "default" },
      engines: { [server.credentials.environmentId]: server.url },
    });
  });

  test("a wrong secret and an unknown client get the same 401", async () => {
    const wrong = await server.exchange(server.credentials.clientId, `${server.credentials.clientSecret}x`);
    const unknown = await server.exchange("client_nobody", "svcs_x");
    expect([wrong.status, unknown.status]).toEqual([401, 401]);
    const [first, second] = [await wrong.json(), await unknown.json()];
    expect(first).toMatchObject({ error: "invalid_client", error_description: "The client id or secret is wrong." });
    expect(second).toEqual(first);
  });

  test.each([
    ["not JSON", "{", "application/json", 400, "invalid_request"],
    ["a list", "[]", "application/json", 400, "invalid_request"],
    ["no secret", '{"client_id":"a","grant_type":"client_credentials"}', "application/json", 400, "invalid_request"],
    ["another grant", '{"client_id":"a","client_secret":"b","grant_type":"password"}', "application/json", 400, "unsupported_grant_type"],
    ["another type", "client_id=a", "text/plain", 415, "invalid_request"],
    ["too long", `"${"x".repeat(20_000)}"`, "application/json", 413, "body_too_large"],
  ])("refuses %s", async (_name, body, type, status, code) => {
    const response = await fetch(`${server.url}/v1/oauth/token`, { method: "POST", headers: { "content-type": type }, body });
    expect(response.status).toBe(status);
    expect(((await response.json()) as { error: string }).error).toBe(code);
  });

  test("the secret is stored hashed, and appears in no file and no log line", async () => {
    const secret = server.credentials.clientSecret;
    await server.token();
    for (const path of new Bun.Glob("**/*").scanSync({ cwd: folder.path, absolute: true, dot: true })) {
      expect((await Bun.file(path).bytes()).toHex().includes(new TextEncoder().encode(secret).toHex())).toBe(false);
    }
    expect(JSON.stringify(server.log)).not.toContain(secret);
    expect(JSON.stringify(server.log)).not.toContain(await server.token());
  });
});

describe("tokens", () => {
  const keys = () => loadServerKeys(join(folder.path, "data", "server.key"));
  const caller = { clientId: "client_x", teamId: "team_x", permissions: ["read"] };

  test("no token, no bearer, tampered, foreign and unsigned tokens are unauthenticated", async () => {
    const good = await server.token();
    const [header = "", payload = "", signature = ""] = good.split(".");
    const claims = JSON.parse(new TextDecoder().decode(Uint8Array.fromBase64(payload, { alphabet: "base64url" }))) as Record<
      string,
      unknown
    >;
    const encode = (value: unknown) =>
      new TextEncoder().encode(JSON.stringify(value)).toBase64({ alphabet: "base64url", omitPadding: true });
    const foreign = await new SignJWT(claims).setProtectedHeader({ alg: "HS256" }).sign(new Uint8Array(32));
    const tampered = [
      null,
      "nonsense",
      `${header}.${encode({ ...claims, sub: "client_other" })}.${signature}`,
      `${encode({ alg: "none" })}.${payload}.`,
      `${header}.${payload}.${signature.slice(0, -4)}AAAA`,
      foreign,
    ];
    for (const token of tampered) {
      const error = await failure(server.client(AuthService, { token }).whoAmI({}));
      expect(error.code).toBe(Code.Unauthenticated);
      expect(error.findDetails(ErrorDetailSchema)[0]?.code).toBe(ErrorCode.UNAUTHENTICATED);
    }
    expect((await server.client(AuthService, { token: good }).whoAmI({})).userId).toBe(server.credentials.clientId);
  });

  test("a token ends after an hour, also one that was verified before", async () => {
    const clock = server.clock;
    const tokens = createTokens({ keys: keys().tokens, clock });
    const token = await tokens.issue(caller);
    expect(await tokens.verify(token)).toEqual(caller);
    clock.advance(3_599_000);
    expect(await tokens.verify(token)).toEqual(caller);
    clock.advance(2_000);
    await expect(tokens.verify(token)).rejects.toThrow("The access token has expired.");
    const error = await failure(server.client(AuthService, { token }).whoAmI({}));
    expect(error.rawMessage).toBe("The access token has expired.");
    clock.advance(-3_601_000);
  });

  test("a missing permission is refused by name, and nothing ran", async () => {
    const token = await createTokens({ keys: keys().tokens, clock: server.clock }).issue({
      ...caller,
      clientId: server.credentials.clientId,
      permissions: ["read"],
    });
    const client = server.client(DeploymentService, { token });
    const error = await failure(client.createUpload({ sha256: "0".repeat(64), sizeBytes: 1n }));
    expect(error.code).toBe(Code.PermissionDenied);
    expect(error.rawMessage).toBe("The credentials lack the permission 'deploy'.");
    expect(error.findDetails(ErrorDetailSchema)[0]?.code).toBe(ErrorCode.UNAUTHORIZED);
    expect((await failure(server.client(DeploymentService, { token: null }).createUpload({}))).code).toBe(Code.Unauthenticated);
  });
});

describe("scope", () => {
  test("environments go by name and by id; an unknown one names the closest", async () => {
    for (const environment of ["default", server.credentials.environmentId]) {
      const me = await server.client(AuthService, { headers: { "svc-environment": environment } }).whoAmI({});
      expect(me).toMatchObject({ environmentId: server.credentials.environmentId, environmentName: "default", dashboardUrl: server.url });
    }
    const error = await failure(server.client(AuthService, { headers: { "svc-environment": "defualt" } }).whoAmI({}));
    expect(error.code).toBe(Code.NotFound);
    expect(error.findDetails(ErrorDetailSchema)[0]?.hint).toBe("did you mean 'default'?");
  });

  test("who-am-i over HTTP says the same as the service", async () => {
    const me = await server.client(AuthService).whoAmI({});
    const response = await fetch(`${server.url}/v1/who-am-i`, { headers: { authorization: `Bearer ${await server.token()}` } });
    expect(await response.json()).toMatchObject({
      user: me.userId,
      user_id: me.userId,
      team_id: me.teamId,
      project_id: me.projectId,
      environment_id: me.environmentId,
    });
    const refused = await fetch(`${server.url}/v1/who-am-i`);
    expect(refused.status).toBe(401);
    expect(await refused.json()).toMatchObject({ error: "unauthenticated" });
  });

  test("the first start made one environment of one project", async () => {
    const { environments } = await server.client(EnvironmentService).listEnvironments({});
    expect(environments.map(({ name, projectName }) => [name, projectName])).toEqual([["default", "default"]]);
  });
});
