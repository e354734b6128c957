/** Logging in through a real browser, and the pages that the command line links to. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Browser, Page } from "playwright-core";
import { CHROMIUM, launchBrowser } from "../harness/browser.ts";
import { Sandbox } from "../harness/sandbox.ts";

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

describe.skipIf(!CHROMIUM)("in a browser", () => {
  let sandbox: Sandbox;
  let browser: Browser;
  let page: Page;
  beforeAll(async () => {
    sandbox = new Sandbox();
    await sandbox.startServer();
    browser = await launchBrowser();
    page = await browser.newPage({ javaScriptEnabled: true });
  }, 60_000);
  afterAll(async () => {
    await browser?.close();
    await sandbox?.[Symbol.asyncDispose]();
  });

  async function loginWith(decide: (url: string) => Promise<void>): Promise<{ exitCode: number; text: string }> {
    const child = Bun.spawn([sandbox.binary, "login", "--api-host", sandbox.url], {
      cwd: sandbox.work,
      env: { ...sandbox.env, HOME: `${sandbox.root}/second-home` },
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
    });
    let text = "";
    const { promise: address, resolve } = Promise.withResolvers<string>();
    const collect = async (stream: ReadableStream<Uint8Array>) => {
      const decoder = new TextDecoder();
      for await (const chunk of stream) {
        text += decoder.decode(chunk, { stream: true });
        const url = /https?:\/\/\S+\/cli\/[\w-]+/.exec(text)?.[0];
        if (url) resolve(url);
      }
    };
    const collected = Promise.all([collect(child.stdout), collect(child.stderr)]);
    await decide(await address);
    const exitCode = await child.exited;
    await collected;
    return { exitCode, text };
  }

  test("the user confirms and the command line is logged in", async () => {
    const { exitCode } = await loginWith(async (url) => {
      await page.goto(url);
      await page.getByRole("button", { name: /confirm/i }).click();
      await page.waitForLoadState();
      expect(await page.textContent("body")).toMatch(/return|close|logged in/i);
    });
    expect(exitCode).toBe(0);
    const user = await sandbox.svc(["user"], { env: { HOME: `${sandbox.root}/second-home` } });
    expect(user.stdout).toMatch(/^Environment: +env_/m);
  }, 60_000);

  test("the user denies and nothing is stored", async () => {
    const { exitCode, text } = await loginWith(async (url) => {
      await page.goto(url);
      await page.getByRole("button", { name: /deny/i }).click();
      await page.waitForLoadState();
    });
    expect(exitCode).toBe(4);
    expect(text).toMatch(/denied|refused/i);
  }, 60_000);

  test("the pages of a deployment and of a query run show them, and run nothing that stands in names or values", async () => {
    const dir = await sandbox.write(PROJECT);
    const applied = await sandbox.json<{ url: string }>(["apply", "--force", "--await"], { cwd: dir });
    await page.goto(applied.url);
    expect(await page.textContent("body")).toContain("features.get_name");
    const { stdout } = await sandbox.svc(["query", "--in", "user.id=7"], { cwd: dir });
    const link = /^http\S+\/query-runs\/\S+$/m.exec(stdout)?.[0] ?? "";
    const response = await page.goto(link);
    expect(response?.status()).toBe(200);
    expect(await page.textContent("body")).toContain("<img src=x onerror=");
    for (const address of [sandbox.url, applied.url, link]) {
      await page.goto(address);
      expect(await page.title()).not.toBe("owned");
      expect(await page.locator("main img, main script").count()).toBe(0);
    }
  }, 60_000);
});
