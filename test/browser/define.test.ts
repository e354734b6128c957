/** Features, resolvers, named queries and lineage in a browser. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Browser } from "playwright-core";
import { QueryService } from "../../gen/svc/v1/query_pb.ts";
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
    await page.getByText("without Python", { exact: true }).waitFor();
    await page.getByRole("link", { name: "Run with inputs" }).click();
    await page.getByRole("textbox", { name: "Value of input 1" }).fill("Eve");
    await page.getByRole("textbox", { name: "Value of input 2" }).fill("none");
    await page.keyboard.press("Control+Enter");
    await page.getByRole("region", { name: "Answer" }).getByText("Good day, Eve of none", { exact: true }).waitFor();
    expect(tab.complaints.splice(0)).toEqual([]);
  }, 300_000);

  test("a resolver has how long its calls took, the traces of the slowest, and what its versions changed", async () => {
    const { page } = tab;
    const asked = await server.client(QueryService).query({
      inputs: [{ feature: "user.id", value: { case: "typed", value: { kind: { case: "int64Value", value: 1n } } } }],
      outputs: ["user.greeting"],
      trace: true,
    });
    const traceId = asked.meta?.traceId ?? "";
    await deployShop(server, { change: (text) => text.replace("Good day, ", "Good night, ") });
    for (const [theme, width] of [["light", 1280] as const, ["dark", 420] as const]) {
      await page.emulateMedia({ colorScheme: theme });
      await page.setViewportSize({ width, height: 800 });
      await page.goto(`${base()}/resolvers/features.greet`);
      await settled(page);
      await page.getByRole("region", { name: "Slowest calls" }).getByRole("link", { name: traceId }).waitFor();
      await page.getByRole("button", { name: "Version 2" }).waitFor();
      await page.locator(".diff .removed").getByText("Good day, ").waitFor();
      await page.locator(".diff .added").getByText("Good night, ").waitFor();
      await page.getByText(/^svc metrics query .*resolver\.latency.* --buckets/).waitFor();
      expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
      expect(await violations(page)).toEqual([]);
    }
    await page.emulateMedia({ colorScheme: "light" });
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.getByRole("button", { name: "Version 1" }).click();
    await page.getByText("It is the first version.").waitFor();
    expect(page.url()).toContain("since=dpl_");
    const histogram = page.getByRole("img", { name: /^How long calls took/ });
    await histogram.focus();
    // The only traced call is in one of the buckets: Enter on it opens its trace.
    for (let at = 0; at < 40 && !page.url().includes("/traces/"); at++) {
      await page.keyboard.press("ArrowRight");
      await page.keyboard.press("Enter");
    }
    await page.waitForURL(`**/traces/${traceId}*`);
    expect(tab.complaints.splice(0)).toEqual([]);
  }, 300_000);

  test("the lineage is saved as a drawing that needs no page, in the colours of the theme", async () => {
    const { page } = tab;
    const files: string[] = [];
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      await page.goto(`${base()}/graph`);
      await settled(page);
      const saved = page.waitForEvent("download");
      await page.getByRole("button", { name: "Save as SVG" }).click();
      const download = await saved;
      expect(download.suggestedFilename()).toBe("lineage.svg");
      files.push(await Bun.file(await download.path()).text());
    }
    await page.emulateMedia({ colorScheme: "light" });
    await using reader = await tab.context.newPage();
    for (const file of files) {
      expect(file).toStartWith('<svg xmlns="http://www.w3.org/2000/svg"');
      expect(file).toContain(">user.greeting<");
      expect(file).not.toMatch(/ (class|style|role|tabindex|on\w+)=/);
      // A program that knows nothing of the page reads it, and finds a colour for every shape.
      const shapes = await reader.evaluate((text) => {
        const read = new DOMParser().parseFromString(text, "image/svg+xml");
        return [...read.querySelectorAll("rect, path, text")].map((one) => [one.getAttribute("fill"), one.getAttribute("stroke")]);
      }, file);
      expect(shapes.length).toBeGreaterThan(20);
      for (const colours of shapes) expect(colours.some((colour) => colour !== null && colour !== "none")).toBe(true);
    }
    expect(files[0]).not.toBe(files[1]);
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
