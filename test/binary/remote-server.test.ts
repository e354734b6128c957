/**
 * A server for other machines: over TLS with its own certificate, or without encryption where that
 * was said.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import { join } from "node:path";
import { Authority, type Leaf } from "../harness/authority.ts";
import { callAuth } from "../harness/browser-session.ts";
import { lacksProgram } from "../harness/needs.ts";
import { Sandbox } from "../harness/sandbox.ts";

interface Started {
  readonly url: string;
  readonly remote_url: string | null;
}

/** Starts a server in the background; the sandbox stops it. */
async function startServer(sandbox: Sandbox, flags: readonly string[]): Promise<Started & { readonly stderr: string }> {
  const { stdout, stderr } = await sandbox.svc(["server", "start", "--detach", "--json", "--port", "0", ...flags]);
  const started = JSON.parse(stdout) as Started;
  sandbox.url = started.url;
  return { ...started, stderr };
}

describe.skipIf(lacksProgram("openssl"))("with a certificate", () => {
  let sandbox: Sandbox;
  let authority: Authority;
  let server: Started & { readonly stderr: string };
  /** The files of a certificate as flags. */
  const files = (name: string, { cert, key }: Leaf): string[] => {
    for (const [end, text] of [
      ["crt", cert],
      ["key", key],
    ] as const)
      writeFileSync(join(sandbox.root, `${name}.${end}`), text);
    return ["--tls-cert", join(sandbox.root, `${name}.crt`), "--tls-key", join(sandbox.root, `${name}.key`)];
  };
  beforeAll(async () => {
    sandbox = new Sandbox();
    authority = new Authority();
    const flags = files("server", authority.sign("localhost"));
    server = await startServer(sandbox, ["--host", "0.0.0.0", "--allowed-host", "localhost", ...flags]);
  });
  afterAll(async () => {
    authority[Symbol.dispose]();
    await sandbox[Symbol.asyncDispose]();
  });

  test("other machines are served over TLS alone, this one at an address of its own, where the CLI is logged in", async () => {
    expect(server.remote_url).toMatch(/^https:\/\/localhost:\d+$/);
    expect(new URL(server.url)).toMatchObject({ protocol: "http:", hostname: "127.0.0.1" });
    expect(new URL(server.url).port).not.toBe(new URL(server.remote_url ?? "").port);
    expect(await sandbox.json<{ status: string }>(["server", "status"])).toMatchObject({ status: "running", url: server.url });
    expect((await sandbox.svc(["user"])).exitCode).toBe(0);
    const plainly = (server.remote_url ?? "").replace("https:", "http:");
    expect(
      await fetch(`${plainly}/health`).then(
        (response) => response.status,
        () => 0,
      ),
    ).not.toBe(200);
    expect(server.stderr).not.toContain("without encryption");
  });

  test("who trusts its authority uses it, and is given addresses with https", async () => {
    const env = { NODE_EXTRA_CA_CERTS: authority.certificate };
    const remote = ["--api-host", server.remote_url ?? ""];
    expect((await sandbox.svc(["healthcheck", ...remote], { env })).exitCode).toBe(0);
    const { url } = await sandbox.json<{ url: string }>(["dashboard", "/", ...remote], { env });
    expect(url).toStartWith(`${server.remote_url}/enter#code=`);
    const stranger = await sandbox.svc(["user", ...remote]);
    expect([stranger.exitCode, stranger.stderr]).toEqual([1, expect.stringContaining("certificate that is not accepted")]);
  });

  test("the cookie of a browser's session is sent over TLS alone, whatever the headers say of the connection", async () => {
    const { hash } = new URL((await sandbox.json<{ url: string }>(["dashboard", "/"])).url);
    const body = JSON.stringify({ code: new URLSearchParams(hash.slice(1)).get("code") });
    const headers = { "content-type": "application/json", "x-forwarded-proto": "http" };
    const ca = await Bun.file(authority.certificate).text();
    const address = `${server.remote_url}/svc.v1.AuthService/RedeemEntry`;
    const cookie = await new Promise<string>((resolve, reject) => {
      const sent = request(address, { method: "POST", headers, ca, agent: false }, (response) => {
        response.resume();
        resolve(String(response.headers["set-cookie"]));
      });
      sent.on("error", reject).end(body);
    });
    expect(cookie).toMatch(/^svc_session_\d+=.*; Secure/);
  });

  test.each([
    [
      "a key of another certificate",
      () => [...files("one", authority.sign("localhost")).slice(0, 2), ...files("two", authority.sign("localhost")).slice(2)],
    ],
    ["a certificate that has ended", () => files("old", authority.sign("localhost", -1))],
    [
      "a certificate in the place of its key",
      () => files("swapped", { cert: authority.sign("localhost").cert, key: "-----BEGIN CERTIFICATE-----" }),
    ],
    ["files that are not there", () => ["--tls-cert", "/no/cert.pem", "--tls-key", "/no/key.pem"]],
    ["a device without end", () => ["--tls-cert", "/dev/zero", "--tls-key", "/dev/zero"]],
  ])("%s stops the start before anything is made", async (_, flags) => {
    const dataDir = join(sandbox.root, "never");
    const { exitCode, stderr } = await sandbox.svc(["server", "start", "--port", "0", "--data-dir", dataDir, "--json", ...flags()]);
    expect([exitCode, JSON.parse(stderr).error.code]).toEqual([1, "certificate_unusable"]);
    expect(existsSync(dataDir) ? readdirSync(dataDir) : []).toEqual(existsSync(dataDir) ? ["server.log"] : []);
  });
});

test("without a certificate and without a word nothing but this machine is served; flags that do nothing are refused", async () => {
  await using sandbox = new Sandbox();
  const start = (...flags: string[]) => sandbox.svc(["server", "start", "--port", "0", ...flags]);
  const refused = await start("--host", "0.0.0.0");
  expect([refused.exitCode, refused.stderr]).toEqual([1, expect.stringContaining("--tls-cert")]);
  expect(refused.stderr).toContain("--insecure-http");
  const idle = await start("--insecure-http");
  expect([idle.exitCode, idle.stderr]).toEqual([1, expect.stringContaining("Leave `--insecure-http` out")]);
  for (const flags of [
    ["--tls-cert", "x"],
    ["--tls-key", "x"],
    ["--insecure-http", "--tls-cert", "x", "--tls-key", "x"],
  ])
    expect([flags, (await start("--host", "0.0.0.0", ...flags)).exitCode]).toEqual([flags, 2]);
});

test("without encryption it warns, answers by the names that are allowed and by no other, and wants credentials", async () => {
  await using sandbox = new Sandbox();
  const { remote_url, stderr, url } = await startServer(sandbox, ["--host", "0.0.0.0", "--insecure-http", "--allowed-host", "svc"]);
  const { port } = new URL(url);
  expect(stderr).toContain("Warning: other machines reach this server without encryption (--insecure-http)");
  expect(remote_url).toBe(`http://svc:${port}`);
  const status = async (host: string) => (await fetch(`${url}/health`, { headers: { host } })).status;
  expect([await status(`svc:${port}`), await status(`evil:${port}`)]).toEqual([200, 403]);
  expect((await callAuth(url, "WhoAmI", {}, { host: `svc:${port}` })).status).toBe(401);
  expect((await sandbox.svc(["user"])).exitCode).toBe(0);
});
