/** Features, resolvers, named queries and lineage in a browser. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Browser } from "playwright-core";
import { lacksBrowser, launchBrowser } from "../harness/browser.ts";
import { TempFolder, TestServer } from "../harness/running-server.ts";
import { violations } from "./accessibility.ts";
import { deployShop } from "./shop-project.ts";
import { logIn, openTab, settled, type Tab } from "./tab.ts";

describe.skipIf(lacksBrowser())("definitions", () => {
  const folder = new TempFolder();
  let server: TestServer;
  let browser: Browser;
  let tab: Tab;
  const base = () => `${server.url}/environments/${server.credentials.environmentId}`;

  beforeAll(async () => {
    [server, browser] = await Promise.all([TestServer.start(folder.path), launchBrowser()]);
    await deployShop(server);
    tab = await openTab(browser, server.url);
    await logIn(tab, server, await server.token());
    await settled(tab.page);
  }, 300_000);
  afterAll(async () => {
    await tab?.[Symbol.asyncDispose]();
    await browser?.close();
    await server?.[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  test("a feature leads to its resolver, what needs it, its definition, and a query", async () => {
    const { page } = tab;
    await page.goto(`${base()}/features`);
    await settled(page);
    await page.getByRole("link", { name: "user.spent[30d]" }).click();
    await page.getByRole("heading", { name: "user.spent[30d]" }).waitFor();
    await page.getByRole("region", { name: "Needs", exact: true }).getByRole("link", { name: "order.net" }).waitFor();
    await page.getByText('spent: Windowed[float] = windowed("1d", "30d"').waitFor();
    expect(await violations(page)).toEqual([]);
    await page.goto(`${base()}/features/user.greeting`);
    await settled(page);
    await page.getByRole("region", { name: "Needed by" }).getByRole("link", { name: "greeting 1.0.0" }).click();
    await page.getByText("What the shop says", { exact: true }).waitFor();
    await page.getByText("user.name up to 10m").waitFor();
    await page.getByText('description="What the shop says"').waitFor();
    await page.getByRole("link", { name: "Run", exact: true }).click();
    await page.getByRole("textbox", { name: "Value of input 1" }).fill("1");
    await page.keyboard.press("Control+Enter");
    await page.getByRole("region", { name: "Answer" }).getByText("Good day, Ada of account 11").waitFor();
    await page.goto(`${base()}/features/user.none`);
    await page.getByText("no feature of this name").waitFor();
    expect(tab.complaints.splice(0)).toEqual([]);
  }, 300_000);

  test("a resolver has its source, and runs with its inputs", async () => {
    const { page } = tab;
    await page.goto(`${base()}/resolvers?q=greeters`);
    await page.getByText("1 of 5").waitFor();
    await page.getByRole("link", { name: "features.greet" }).click();
    await page.getByText('return "Good day, "').waitFor();
    await page.getByText("computed without Python").waitFor();
    await page.getByRole("link", { name: "Run with inputs" }).click();
    await page.getByRole("textbox", { name: "Value of input 1" }).fill("Eve");
    await page.getByRole("textbox", { name: "Value of input 2" }).fill("none");
    await page.keyboard.press("Control+Enter");
    await page.getByRole("region", { name: "Answer" }).getByText("Good day, Eve of none", { exact: true }).waitFor();
    expect(tab.complaints.splice(0)).toEqual([]);
  }, 300_000);

  test("arrows walk the lineage, Enter opens a page, and the list beside it has the neighbours", async () => {
    const { page } = tab;
    await page.goto(`${base()}/graph?node=feature:user.name`);
    await settled(page);
    const chosen = page.getByRole("region", { name: "Chosen" });
    expect(await chosen.getByRole("link", { name: "features.get_user" }).count()).toBe(1);
    await page.getByRole("button", { name: "feature user.name" }).focus();
    await page.keyboard.press("ArrowLeft");
    await page.getByRole("button", { name: "resolver features.get_user", pressed: true }).waitFor();
    await page.keyboard.press("ArrowLeft");
    await page.getByRole("button", { name: "feature user.id", pressed: true }).waitFor();
    await page.waitForURL(/node=feature%3Auser.id/);
    await page.keyboard.press("ArrowRight");
    expect(await page.evaluate(() => document.activeElement?.getAttribute("data-node"))).toMatch(
      /^(resolver:features|feature:user.orders)/,
    );
    expect(await violations(page)).toEqual([]);
    await page.getByRole("checkbox", { name: "Classes in place of features" }).check();
    await page.getByRole("button", { name: "class order" }).click();
    await page.waitForURL(/fold=yes/);
    await page.getByRole("checkbox", { name: "Classes in place of features" }).uncheck();
    await page.getByRole("searchbox", { name: "Search the lineage" }).fill("greet");
    await page.getByRole("button", { name: "features.greet", exact: true }).click();
    await page.getByLabel("Distance").selectOption("1");
    await page.waitForURL(/depth=1/);
    await page.getByText("5 nodes, 4 edges").waitFor();
    await page.getByLabel("Colour by").selectOption("latency");
    await page.getByText("p99 below 100ms").waitFor();
    await page.locator("g.node.resolver.good .mark").first().waitFor();
    expect(await violations(page)).toEqual([]);
    await page.getByText(/^svc graph --lineage features.greet --depth 1 /).waitFor();
    await page.getByRole("button", { name: "resolver features.greet" }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "features.greet" }).waitFor();
    expect(tab.complaints.splice(0)).toEqual([]);
  }, 300_000);
});
