/**
 * A real proxy in front of the server: everybody comes from this machine then, and gets in by
 * credentials only.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Browser } from "playwright-core";
import { lacksBrowser, launchBrowser } from "../harness/browser.ts";
import { callAuth, decideLogin, exchange, openSession } from "../harness/browser-session.ts";
import { lacksNginx, Nginx, PROXY_ADDRESS, type ProxyPorts, proxyPorts } from "../harness/nginx.ts";
import { Sandbox } from "../harness/sandbox.ts";

describe.skipIf(lacksNginx())("behind nginx", () => {
  let sandbox: Sandbox;
  let nginx: Nginx;
  let ports: ProxyPorts;
  const at = (port: number) => `http://${PROXY_ADDRESS}:${port}`;

  beforeAll(async () => {
    sandbox = new Sandbox();
    ports = await proxyPorts();
    const hosts = [ports.named, ports.tls].flatMap((port) => ["--allowed-host", `${PROXY_ADDRESS}:${port}`]);
    await sandbox.startServer({}, hosts);
    nginx = await Nginx.start(sandbox.url, ports);
  }, 300_000);
  afterAll(async () => {
    await nginx?.[Symbol.asyncDispose]();
    await sandbox?.[Symbol.asyncDispose]();
  });

  const clients = async () => (await sandbox.json<{ clients: { id: string; name: string }[] }>(["logout", "--list"])).clients;

  test("a client without credentials gets nothing, whatever headers the proxy passes on", async () => {
    const before = await clients();
    for (const base of [at(ports.plain), at(ports.named)]) {
      const opened = await callAuth(base, "CreateLoginSession", { deviceName: "remote" });
      const { loginSessionId, sessionSecret, userCode } = (await opened.json()) as Record<string, string>;
      const address = `${base}/cli/${loginSessionId}`;
      for (const headers of [{}, { origin: sandbox.url }, { origin: base }] as Record<string, string>[]) {
        const page = await fetch(address, { headers });
        expect(await page.text()).not.toContain(userCode ?? "?");
        const body = new URLSearchParams({ csrf: "", decision: "all" });
        const decided = await fetch(address, { method: "POST", headers: { ...headers, "svc-page-key": "svcb_x" }, body });
        expect([401, 403]).toContain(decided.status);
        for (const method of ["WhoAmI", "CreateEntry", "ListClients", "DeleteClient"])
          expect([401, 403]).toContain((await callAuth(base, method, {}, headers)).status);
      }
      const state = await (await callAuth(base, "GetLoginSession", { loginSessionId, sessionSecret })).json();
      expect((state as { status: string }).status).toBe("LOGIN_SESSION_STATUS_PENDING");
    }
    expect(await clients()).toEqual(before);
  }, 300_000);

  test("another name of the same proxy is no name of the server", async () => {
    const response = await fetch(`${at(ports.named)}/health`, { headers: { host: "svc.example.com" } });
    expect(response.status).toBe(403);
  });

  test("who has credentials logs in through it, by its address", async () => {
    const config = await sandbox.json<Record<string, { value: string }>>(["config"]);
    const token = await exchange(at(ports.named), config.client_id?.value ?? "", config.client_secret?.value ?? "");
    const session = await openSession(at(ports.named), token);
    const opened = await callAuth(at(ports.named), "CreateLoginSession", { deviceName: "remote" });
    const { loginSessionId, sessionSecret, url } = (await opened.json()) as Record<string, string>;
    expect(url).toBe(`${at(ports.named)}/cli/${loginSessionId}`);
    const page = await (await fetch(url ?? "", { headers: session.headers })).text();
    expect(page).toContain("127.0.0.1");
    expect((await decideLogin(url ?? "", session, "read")).status).toBe(200);
    const got = await (await callAuth(at(ports.named), "GetLoginSession", { loginSessionId, sessionSecret })).json();
    expect(got).toMatchObject({ status: "LOGIN_SESSION_STATUS_CONFIRMED", clientSecret: expect.stringMatching(/^svcs_/) });
    const printed = await sandbox.json<{ url: string }>(["dashboard", "--api-host", at(ports.named)]);
    expect(printed.url).toStartWith(`${at(ports.named)}/enter#code=`);
  }, 300_000);

  test.skipIf(lacksBrowser())(
    "in a browser over TLS the session's cookie is secure",
    async () => {
      const config = await sandbox.json<Record<string, { value: string }>>(["config"]);
      const token = await exchange(sandbox.url, config.client_id?.value ?? "", config.client_secret?.value ?? "");
      const base = `https://${PROXY_ADDRESS}:${ports.tls}`;
      const response = await fetch(`${base}/svc.v1.AuthService/CreateEntry`, {
        method: "POST",
        headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
        body: "{}",
        tls: { rejectUnauthorized: false },
      });
      const { url } = (await response.json()) as { url: string };
      expect(url).toStartWith(`${base}/enter#code=`);
      const browser: Browser = await launchBrowser();
      try {
        const context = await browser.newContext({ ignoreHTTPSErrors: true });
        const page = await context.newPage();
        await page.goto(url);
        await page.getByRole("heading", { name: "Environment default" }).waitFor();
        expect((await context.cookies()).map(({ secure, httpOnly, sameSite }) => [secure, httpOnly, sameSite])).toEqual([
          [true, true, "Strict"],
        ]);
      } finally {
        await browser.close();
      }
    },
    300_000,
  );
});
