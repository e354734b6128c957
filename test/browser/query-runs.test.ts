/** Queries that ran, and their errors, in a browser. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Browser } from "playwright-core";
import { QueryService } from "../../gen/svc/v1/query_pb.ts";
import { lacksBrowser, launchBrowser } from "../harness/browser.ts";
import { TempFolder, TestServer } from "../harness/running-server.ts";
import { deployShop } from "./shop-project.ts";
import { logIn, openTab, settled, type Tab } from "./tab.ts";

/** More than a page of the list. */
const QUERIES = 120;

describe.skipIf(lacksBrowser())("query runs", () => {
  const folder = new TempFolder();
  let server: TestServer;
  let browser: Browser;
  let tab: Tab;
  let failed: string;
  const base = () => `${server.url}/environments/${server.credentials.environmentId}`;
  const ask = (id: number, outputs: string[]) =>
    server.client(QueryService).query({
      inputs: [{ feature: "user.id", value: { case: "text", value: String(id) } }],
      outputs,
      ...{ explain: true, trace: true, storePlanStages: true, includeMeta: true },
    });

  beforeAll(async () => {
    [server, browser] = await Promise.all([TestServer.start(folder.path), launchBrowser()]);
    await deployShop(server);
    for (let id = 1; id < QUERIES; id++) await ask(id, ["user.name"]);
    failed = (await ask(1, ["user.credit", "user.orders"])).meta?.queryId ?? "";
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

  test("are listed by pages, and those with errors are found", async () => {
    const { page } = tab;
    await page.goto(`${base()}/query-runs`);
    await page.getByText("The newest 100 query runs").waitFor();
    await page.getByRole("button", { name: "More" }).click();
    await page.getByText(`All ${QUERIES} query runs`).waitFor();
    await page.getByRole("checkbox", { name: "With errors only" }).check();
    await page.getByText("That is all").waitFor();
    await page.getByText("svc queries list --since 1h --errors-only --environment=default").waitFor();
    await page.waitForURL(/q=errors%3E0/);
    await page.getByRole("link", { name: failed }).click();
    await page.getByRole("heading", { name: `Query run ${failed}` }).waitFor();
    expect(tab.complaints.splice(0)).toEqual([]);
  }, 300_000);

  test("have stages with rows, a log, and are run again", async () => {
    const { page } = tab;
    await page.goto(`${base()}/query-runs/${failed}`);
    await settled(page);
    const stage = page.getByRole("table", { name: "Stages" }).getByRole("row").filter({ hasText: "features.get_orders" });
    await stage.getByRole("link").first().click();
    await page.getByText("All 3 rows").waitFor();
    await page.goBack();
    await page.getByRole("link", { name: "Edit and run" }).click();
    await page.getByRole("textbox", { name: "Value of input 1" }).fill("2");
    await page.keyboard.press("Control+Enter");
    await page.getByRole("region", { name: "Answer" }).getByText("no credit for 2").first().waitFor();
    expect(tab.complaints.splice(0)).toEqual([]);
  }, 300_000);

  test("have their errors in groups, which lead to the last run", async () => {
    const { page } = tab;
    await page.goto(`${base()}/errors?q=credit`);
    const group = page.getByRole("listitem").filter({ hasText: "no credit for <n>" });
    await group.getByText("The last one").click();
    expect(await group.locator("pre").textContent()).toContain("raise ValueError");
    await group.getByRole("link", { name: /^[0-9a-f]{8}-/ }).click();
    await page.getByRole("heading", { name: /^Query run / }).waitFor();
    await page.goto(`${base()}/errors?q=nonsense`);
    await page.getByText("No error fits the search").waitFor();
    expect(tab.complaints.splice(0)).toEqual([]);
  }, 300_000);
});
