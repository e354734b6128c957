/**
 * The compiled binary and a real identity provider, in a real browser: the dashboard, `svc login`,
 * and a proxy that ends TLS.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { lacksBrowser, launchBrowser } from "../harness/browser.ts";
import { loginWith } from "../harness/browser-login.ts";
import { IdentityProvider } from "../harness/identity-provider.ts";
import { lacksNginx, Nginx, PROXY_ADDRESS, type ProxyPorts, proxyPorts } from "../harness/nginx.ts";
import { Sandbox } from "../harness/sandbox.ts";

describe.skipIf(lacksBrowser())("persons of an identity provider", () => {
  let sandbox: Sandbox;
  let provider: IdentityProvider;
  let browser: Browser;
  let ports: ProxyPorts;
  const tls = () => `https://${PROXY_ADDRESS}:${ports.tls}`;
  const know = (groups: readonly string[]) =>
    provider.know({
      clients: [{ clientId: "svc", redirectUris: [sandbox.url, tls()].map((own) => `${own}/login/oidc/callback`) }],
      persons: { dora: { email: "dora@example.com", email_verified: true, groups } },
    });

  beforeAll(async () => {
    sandbox = new Sandbox();
    ports = await proxyPorts();
    provider = await IdentityProvider.start();
    const data = join(sandbox.home, ".svc/data");
    mkdirSync(data, { recursive: true });
    const settings = { issuer: provider.issuer, client_id: "svc", roles: { "data-science": "developer" } };
    await Bun.write(join(data, "server.yaml"), JSON.stringify({ login: { oidc: settings } }));
    await sandbox.startServer({}, ["--allowed-host", `${PROXY_ADDRESS}:${ports.tls}`]);
    await know(["data-science"]);
    browser = await launchBrowser();
  }, 300_000);
  afterAll(async () => {
    await browser?.close();
    provider?.[Symbol.dispose]();
    await sandbox?.[Symbol.asyncDispose]();
  });

  /** Runs `work` with a separate browser, whose pages must keep their content security policy. */
  async function inBrowser(work: (page: Page, context: BrowserContext) => Promise<void>): Promise<void> {
    const context = await browser.newContext({ ignoreHTTPSErrors: true });
    const complaints: string[] = [];
    context.on("weberror", (error) => complaints.push(error.error().message));
    context.on("console", (message) => {
      if (/content security policy|trusted/i.test(message.text())) complaints.push(message.text());
    });
    try {
      await work(await context.newPage(), context);
      expect(complaints).toEqual([]);
    } finally {
      await context.close();
    }
  }

  /** Presses the link on a page of the server, and signs in at the provider. */
  async function signIn(page: Page): Promise<void> {
    await page.getByRole("link", { name: `Log in with ${new URL(provider.issuer).host}` }).click();
    await page.getByLabel("Name").fill("dora");
    await page.getByRole("button", { name: "Sign in" }).click();
  }

  test("a browser that is not logged in is, and goes on to its page", async () => {
    await inBrowser(async (page, context) => {
      const { environment } = await sandbox.json<{ environment: string }>(["user"]);
      await page.goto(`${sandbox.url}/environments/${environment}?a=1`);
      await page.getByRole("heading", { name: "This browser is not logged in" }).waitFor();
      await signIn(page);
      await page.getByRole("heading", { name: "Environment default" }).waitFor();
      expect(page.url()).toBe(`${sandbox.url}/environments/${environment}?a=1`);
      await page.getByText("dora@example.com").first().waitFor();
      const names = (await context.cookies(sandbox.url)).map(({ name }) => name).filter((name) => name.includes("svc"));
      expect(names).toEqual([`svc_session_${new URL(sandbox.url).port}`]);
    });
  }, 300_000);

  test("`svc login` is confirmed by the person, whose command line it is", async () => {
    await inBrowser(async (page) => {
      const { exitCode, text } = await loginWith(sandbox, "dora", async (url, code) => {
        await page.goto(url);
        await signIn(page);
        await page.getByText(code).waitFor();
        await page.getByRole("button", { name: "Confirm", exact: true }).click();
        await page.getByRole("heading", { name: "Logged in" }).waitFor();
      });
      expect([exitCode, text]).toEqual([0, expect.stringContaining("Logged in to")]);
    });
    const own = { env: { HOME: `${sandbox.root}/dora` } };
    const user = await sandbox.svc(["user"], own);
    expect(user.stdout).toMatch(/^Name: +dora@example\.com$/m);
    expect(user.stdout).toMatch(/^Expires: +\d{4}-/m);
    const dir = await sandbox.write({ "svc.yaml": "project: people\nenvironments:\n  default: {}\n", "features.py": "" });
    expect((await sandbox.svc(["branch", "list"], { ...own, cwd: dir })).exitCode).toBe(0);
    const refused = await sandbox.svc(["service-token", "list"], own);
    expect([refused.exitCode, refused.stderr]).toEqual([expect.any(Number), expect.stringContaining("tokens.write")]);

    const listed = await sandbox.json<{ clients: { id: string; name: string; is_person: boolean }[] }>(["logout", "--list"]);
    const person = listed.clients.find(({ is_person }) => is_person);
    expect(person?.name).toBe("dora@example.com");
    expect(listed.clients.filter(({ name }) => name.startsWith("dora@example.com on "))).toHaveLength(1);
    const audit = await sandbox.svc(["audit", "list", "--client", person?.id ?? ""]);
    expect(audit.stdout).toContain("GET /login/oidc/callback");

    expect((await sandbox.svc(["logout", "--client", person?.id ?? ""])).exitCode).toBe(0);
    const gone = await sandbox.svc(["user"], own);
    expect([gone.exitCode, gone.stderr]).toEqual([4, expect.stringContaining("svc login")]);
  }, 300_000);

  test("a person without a role is told which groups were seen", async () => {
    await know(["sales", "everybody"]);
    await inBrowser(async (page) => {
      await page.goto(sandbox.url);
      await signIn(page);
      await page.getByRole("heading", { name: "No role here" }).waitFor();
      expect(await page.textContent("main")).toContain("sales, everybody");
    });
    await know(["data-science"]);
  }, 300_000);

  test.skipIf(lacksNginx())(
    "behind a proxy that ends TLS, no other host can set the cookie of a login",
    async () => {
      const nginx = await Nginx.start(sandbox.url, ports);
      try {
        await inBrowser(async (page, context) => {
          await page.goto(tls());
          await page.getByRole("link", { name: "Log in with" }).click();
          await page.getByLabel("Name").waitFor();
          const [cookie] = (await context.cookies(tls())).filter(({ name }) => name.includes("svc_login_"));
          expect(cookie).toMatchObject({
            name: expect.stringMatching(/^__Host-svc_login_/),
            secure: true,
            httpOnly: true,
            sameSite: "Lax",
          });
          await page.getByLabel("Name").fill("dora");
          await page.getByRole("button", { name: "Sign in" }).click();
          await page.getByRole("heading", { name: "Environment default" }).waitFor();
          expect(page.url()).toStartWith(`${tls()}/environments/`);
        });
      } finally {
        await nginx[Symbol.asyncDispose]();
      }
    },
    300_000,
  );
});

test("a provider that is down stops no server, and the page says what happened", async () => {
  await using sandbox = new Sandbox();
  const data = join(sandbox.home, ".svc/data");
  mkdirSync(data, { recursive: true });
  const settings = { issuer: "http://127.0.0.1:1", client_id: "svc", everyone: "viewer" };
  await Bun.write(join(data, "server.yaml"), JSON.stringify({ login: { oidc: settings } }));
  await sandbox.startServer();
  const response = await fetch(`${sandbox.url}/login/oidc`);
  expect([response.status, await response.text()]).toEqual([503, expect.stringContaining("127.0.0.1:1 cannot be reached")]);
  expect((await sandbox.svc(["user"])).exitCode).toBe(0);
}, 300_000);
