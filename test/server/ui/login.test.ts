/**
 * A real browser, logged in and not: the entrance, the confirmation of a login, and the pages that
 * the command line links to.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { lacksBrowser, launchBrowser } from "../../harness/browser.ts";
import { loginWith } from "../../harness/browser-login.ts";
import { Sandbox } from "../../harness/sandbox.ts";

const PROJECT = {
  "svc.yaml": "project: people\nenvironments:\n  default: {}\n",
  "features.py": `from svc import online
from svc.features import features


@features
class User:
    id: int
    # <script>document.title = "owned"</script>
    name: str


@online
def get_name(id: User.id) -> User.name:
    return "<img src=x onerror=document.title='owned'>"
`,
};

describe.skipIf(lacksBrowser())("in a browser", () => {
  let sandbox: Sandbox;
  let browser: Browser;
  beforeAll(async () => {
    sandbox = new Sandbox();
    await sandbox.startServer();
    browser = await launchBrowser();
  }, 300_000);
  afterAll(async () => {
    await browser?.close();
    await sandbox?.[Symbol.asyncDispose]();
  });

  /**
   * Runs `work` with a separate browser; its pages must not violate their content security policy.
   */
  async function inBrowser(work: (page: Page, context: BrowserContext) => Promise<void>): Promise<void> {
    const context = await browser.newContext();
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

  const entry = async (...args: string[]) => (await sandbox.json<{ url: string }>(["dashboard", ...args])).url;
  const locked = (page: Page) => page.getByRole("heading", { name: "This browser is not logged in" });
  const overview = (page: Page) => page.getByRole("heading", { name: "Environment default" });

  test("the entrance works once, leaves no code behind, and gives both halves of a session", async () => {
    await inBrowser(async (page, context) => {
      const url = await entry();
      await page.goto(url);
      await overview(page).waitFor();
      expect(new URL(page.url()).pathname).toStartWith("/environments/env_");
      expect(page.url()).not.toContain("#");
      expect(await page.textContent("summary")).toMatch(/^Account and theme: .+/);
      const [cookie, ...others] = await context.cookies();
      expect(others).toEqual([]);
      const port = new URL(sandbox.url).port;
      expect(cookie).toMatchObject({ name: `svc_session_${port}`, path: "/", httpOnly: true, sameSite: "Strict", secure: false });
      expect(await page.evaluate(() => document.cookie)).toBe("");
      expect(await page.evaluate(() => localStorage.getItem("svc-page-key"))).toStartWith("svcb_");
      const addresses = await page.evaluate(() => performance.getEntriesByType("navigation").map(({ name }) => name));
      expect(addresses.join()).not.toContain("code=");
      await page.goBack();
      expect(page.url()).toBe("about:blank");

      await inBrowser(async (another) => {
        await another.goto(url);
        await another.getByText("The link was used already, or is too old.").waitFor();
        expect(another.url()).toBe(`${sandbox.url}/enter`);
        expect(await another.evaluate(() => localStorage.length)).toBe(0);
      });
    });
  }, 300_000);

  test("the entrance leads to pages of this server only", async () => {
    for (const to of [
      "//evil.example/x",
      "https://evil.example/",
      "/\\\\evil.example",
      "/.//evil.example/x",
      "javascript:document.title='owned'",
    ]) {
      await inBrowser(async (page) => {
        await page.goto((await entry()).replace(/to=.*/, `to=${encodeURIComponent(to)}`));
        await overview(page).waitFor();
        expect([to, new URL(page.url()).origin]).toEqual([to, sandbox.url]);
      });
    }
  }, 300_000);

  test("a page says how to log in, and goes on by itself when another tab does; one tab's logout ends all", async () => {
    await inBrowser(async (page, context) => {
      const me = await sandbox.json<{ environment: string }>(["user"]);
      const path = `/environments/${me.environment}?a=1&b='`;
      await page.goto(sandbox.url + path);
      await locked(page).waitFor();
      expect(await page.textContent("main code")).toBe(`svc dashboard '${path.replace("'", "%27")}'`);
      expect(await page.textContent("body")).not.toContain("default");
      const other = await context.newPage();
      await other.goto(await entry("/"));
      await Promise.all([overview(other).waitFor(), overview(page).waitFor()]);

      await page.reload();
      await overview(page).waitFor();

      const kept = await context.cookies();
      await other.locator("summary").click();
      await other.getByRole("button", { name: "Log out" }).click();
      await Promise.all([locked(other).waitFor(), locked(page).waitFor()]);
      expect(await page.textContent("body")).not.toContain("default");
      expect(await context.cookies()).toEqual([]);
      // The storage of one tab is that of the others a moment later
      await page.waitForFunction(() => localStorage.length === 0);
      await context.addCookies(kept);
      await page.reload();
      await locked(page).waitFor();
    });
  }, 300_000);

  test("the cookie without the key, and the key without the cookie, show nothing", async () => {
    await inBrowser(async (page, context) => {
      await page.goto(await entry("/"));
      await overview(page).waitFor();
      const key = await page.evaluate(() => localStorage.getItem("svc-page-key"));
      await page.evaluate(() => localStorage.clear());
      await page.reload();
      await locked(page).waitFor();
      await page.evaluate((value) => localStorage.setItem("svc-page-key", value ?? ""), key);
      await page.reload();
      await overview(page).waitFor();
      await context.clearCookies();
      await page.reload();
      await locked(page).waitFor();
    });
  }, 300_000);

  test("a page of another port of this machine gets the cookie sent, and gets nothing for it", async () => {
    const seen: string[] = [];
    using other = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch(request) {
        seen.push(request.headers.get("cookie") ?? "");
        return new Response("<!doctype html><title>other</title>", { headers: { "content-type": "text/html" } });
      },
    });
    await inBrowser(async (page) => {
      await page.goto(await entry("/"));
      await overview(page).waitFor();
      await page.goto(`http://127.0.0.1:${other.port}/`);
      expect(seen[0]).toContain("svc_session_");
      expect(await page.evaluate(() => localStorage.length)).toBe(0);
      const outcomes = await page.evaluate(async (url) => {
        const attempt = (path: string, init: RequestInit) =>
          fetch(url + path, { credentials: "include", ...init }).then(
            ({ status, type }) => `${type} ${status}`,
            () => "refused",
          );
        return [
          await attempt("/", {}),
          await attempt("/svc.v1.AuthService/EndSession", { method: "POST", headers: { "content-type": "application/json" }, body: "{}" }),
          await attempt("/svc.v1.AuthService/EndSession", { method: "POST", mode: "no-cors", body: "{}" }),
        ];
      }, sandbox.url);
      expect(outcomes).toEqual(["refused", "refused", "refused"]);
      await page.goto(sandbox.url);
      await overview(page).waitFor();
    });
  }, 300_000);

  test("the user confirms and the command line is logged in, and sees its own code", async () => {
    await inBrowser(async (page) => {
      const { exitCode, text } = await loginWith(sandbox, "second-home", async (url, code) => {
        await page.goto(url);
        await locked(page).waitFor();
        const command = (await page.textContent("#command")) ?? "";
        expect(command).toBe(`svc dashboard ${new URL(url).pathname}`);
        await page.goto(await entry(command.replace("svc dashboard ", "")));
        await page.getByText(code).waitFor();
        await page.getByRole("button", { name: "Confirm", exact: true }).click();
        await page.getByRole("heading", { name: "Logged in" }).waitFor();
      });
      expect([exitCode, text]).toEqual([0, expect.stringContaining("let its owner run `svc dashboard /cli/login_")]);
      const user = await sandbox.svc(["user"], { env: { HOME: `${sandbox.root}/second-home` } });
      expect(user.stdout).toMatch(/^Environment: +env_/m);
    });
  }, 300_000);

  test("the user denies and nothing is stored; one who may only read cannot confirm", async () => {
    await inBrowser(async (page) => {
      await page.goto(await entry("/", "--read-only"));
      await overview(page).waitFor();
      const { exitCode, text } = await loginWith(sandbox, "third-home", async (url) => {
        await page.goto(url);
        await page.getByText("it cannot confirm the login").waitFor();
        expect(await page.getByRole("main").getByRole("button").count()).toBe(0);
        await page.goto(await entry(url));
        await page.getByRole("button", { name: /deny/i }).click();
        await page.getByRole("heading", { name: "Denied" }).waitFor();
      });
      expect(exitCode).toBe(4);
      expect(text).toMatch(/denied|refused/i);
    });
  }, 300_000);

  test("the pages of a deployment and of a query run show them, and run nothing that stands in names or values", async () => {
    const dir = await sandbox.write(PROJECT);
    const applied = await sandbox.json<{ url: string }>(["apply", "--force", "--await"], { cwd: dir });
    const { stdout } = await sandbox.svc(["query", "--in", "user.id=7"], { cwd: dir });
    const link = /^http\S+\/query-runs\/\S+$/m.exec(stdout)?.[0] ?? "";
    await inBrowser(async (page) => {
      await page.goto(link);
      await page.getByText("svc dashboard").first().waitFor();
      await page.goto(await entry(applied.url));
      await page.getByText("live", { exact: true }).waitFor();
      await page.goto(`${link}#stages`);
      await page.getByText("<img src=x onerror=").first().waitFor();
      for (const address of [sandbox.url, applied.url, link]) {
        await page.goto(address);
        await page.getByText("Log out", { exact: true }).waitFor({ state: "attached" });
        await page.locator("main h1").waitFor();
        expect(await page.title()).not.toBe("owned");
        expect(await page.locator("main img, main script").count()).toBe(0);
      }
    });
  }, 300_000);
});
