/** The documentation in a browser: it can be read, and searched, in both themes and at two widths. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Browser } from "playwright-core";
import { lacksBrowser, launchBrowser } from "../harness/browser.ts";
import { TempFolder, TestServer } from "../harness/running-server.ts";
import { violations } from "./accessibility.ts";
import { openTab } from "./tab.ts";

const PAGES = ["", "streams.html", "commands/query.html", "python/svc-features.html", "functions.html", "api/stream.html"];

describe.skipIf(lacksBrowser())("the documentation", () => {
  let browser: Browser;
  let folder: TempFolder;
  let server: TestServer;
  beforeAll(async () => {
    folder = new TempFolder();
    [browser, server] = await Promise.all([launchBrowser(), TestServer.start(folder.path)]);
  }, 300_000);
  afterAll(async () => {
    await browser?.close();
    await server?.[Symbol.asyncDispose]();
    folder?.[Symbol.dispose]();
  });

  for (const [theme, width] of [
    ["light", 1280],
    ["dark", 480],
  ] as const)
    test(`has no fault in the theme ${theme} at ${width} pixels`, async () => {
      await using tab = await openTab(browser, server.url, { theme, width });
      for (const path of PAGES) {
        await tab.page.goto(`${server.url}/docs/${path}`);
        expect(await violations(tab.page), path).toEqual([]);
        expect(await tab.page.evaluate(() => document.documentElement.scrollWidth - innerWidth), path).toBeLessThanOrEqual(0);
      }
      expect(tab.complaints).toEqual([]);
    }, 300_000);

  test("is searched by words, with the keyboard alone", async () => {
    await using tab = await openTab(browser, server.url);
    const { page } = tab;
    await page.goto(`${server.url}/docs/commands/apply.html`);
    await page.keyboard.press("/");
    await page.keyboard.type("dead letters");
    await page.locator(".found a").first().waitFor();
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/docs\/(streams|commands\/streams|api\/stream)\.html/);
    await page.keyboard.press("/");
    await page.keyboard.type("zzzz qqqq");
    await page.getByText("Nothing is found.").waitFor();
    await page.keyboard.press("Escape");
    expect(await page.locator(".found").count()).toBe(0);
    expect(tab.complaints).toEqual([]);
  }, 300_000);
});
