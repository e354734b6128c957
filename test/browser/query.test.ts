/** Asking for features in a browser. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Browser } from "playwright-core";
import { lacksBrowser, launchBrowser } from "../harness/browser.ts";
import { TempFolder, TestServer } from "../harness/running-server.ts";
import { violations } from "./accessibility.ts";
import { deployShop } from "./shop-project.ts";
import { logIn, openTab, settled, type Tab } from "./tab.ts";

describe.skipIf(lacksBrowser())("the page Query", () => {
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
  }, 120_000);
  afterAll(async () => {
    await tab?.[Symbol.asyncDispose]();
    await browser?.close();
    await server?.[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  test("from empty to an answer by keys alone", async () => {
    const { page } = tab;
    await page.goto(base());
    await settled(page);
    await page.keyboard.press("g");
    await page.keyboard.press("q");
    await page.getByRole("heading", { name: "Query" }).waitFor();
    // The key of the first class is there, and the focus where its value goes.
    await page.waitForFunction(() => document.activeElement?.getAttribute("aria-label") === "Value of input 1");
    expect(await page.getByRole("combobox", { name: "Input 1" }).inputValue()).toBe("account.id");
    await page.keyboard.press("Shift+Tab");
    await page.keyboard.press("Control+a");
    await page.keyboard.type("user.i");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Tab");
    await page.keyboard.type("1");
    for (let presses = 0; presses < 3; presses++) await page.keyboard.press("Tab");
    await page.keyboard.type("user.account.t");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.keyboard.type("name,user.orders");
    await page.keyboard.press("Control+Enter");
    const answer = page.getByRole("region", { name: "Answer" });
    await answer.waitFor();
    expect(await answer.getByRole("row", { name: /^user.account.title / }).textContent()).toContain("account 11");
    expect(await answer.getByRole("row", { name: /^user.name / }).textContent()).toContain("Ada");
    expect(await answer.getByRole("row", { name: /^user.orders / }).textContent()).toContain("3 rows");
    expect(await answer.getByRole("table", { name: "user.orders" }).getByRole("row").count()).toBe(4);
    await page.waitForURL(/\?in=user.id%3D1&out=user.account.title&out=name&out=user.orders$/);
    await page.getByText("svc query --in user.id=1 --out user.account.title --out name --out user.orders --environment=default").waitFor();
    expect(await violations(page)).toEqual([]);
    expect(tab.complaints.splice(0)).toEqual([]);
  }, 60_000);

  test("a link holds the query, and opening it runs nothing", async () => {
    const { page } = tab;
    const asked: string[] = [];
    page.on("request", (request) => asked.push(request.url()));
    await page.goto(
      `${base()}/query?in=user.id%3D1&out=user.credit&staleness=user.name%3D1h&option=max_batch_rows%3D5&tag=a&with=explain,trace`,
    );
    await settled(page);
    expect(asked.filter((url) => url.endsWith("QueryService/Query"))).toEqual([]);
    expect(await page.getByRole("combobox", { name: "Staleness 1" }).inputValue()).toBe("user.name");
    expect(await page.getByRole("textbox", { name: "Value of option 1" }).inputValue()).toBe("5");
    expect(await page.getByRole("checkbox", { name: /^Trace/ }).isChecked()).toBe(true);
    await page.getByRole("checkbox", { name: /^Trace/ }).uncheck();
    await page.waitForURL(/&with=explain$/);
    await page.goBack();
    await page.goForward();
    await settled(page);
    expect(await page.getByRole("checkbox", { name: /^Trace/ }).isChecked()).toBe(false);
  });

  test("an error has its resolver, place and stack; the plan is a tree, the trace a waterfall", async () => {
    const { page } = tab;
    await page.goto(`${base()}/query?in=user.id%3D1&out=user.credit&out=user.greeting&with=explain,trace,stages`);
    await settled(page);
    await page.getByRole("button", { name: "Run" }).click();
    const error = page.getByRole("listitem").filter({ hasText: "resolver failed" });
    await error.waitFor();
    expect(await error.textContent()).toContain("no credit for 1");
    expect(await error.textContent()).toMatch(/features\.get_credit.*features\.py:\d+/);
    await error.getByText("Stack").click();
    expect(await error.locator("pre").textContent()).toContain("raise ValueError");
    await page.getByRole("region", { name: "Plan" }).getByText('user.name = "Ada"').waitFor();
    const trace = page.getByRole("table", { name: "Trace" });
    await trace
      .getByRole("button", { name: /^python features.get_user/ })
      .first()
      .click();
    await page.getByRole("dialog").getByText("Took").waitFor();
    expect(await violations(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await page.getByText(/stages were kept/).waitFor();
    expect(await violations(page)).toEqual([]);
    expect(tab.complaints.splice(0)).toEqual([]);
  }, 60_000);

  test("what is wrong is said before and after it is asked", async () => {
    const { page } = tab;
    await page.goto(`${base()}/query?in=user.id%3D1&out=user.nme&staleness=user.name%3Dsoon`);
    await settled(page);
    await page.getByText("user.nme unknown").waitFor();
    await page.getByRole("button", { name: "Run" }).click();
    await page.getByRole("alert").getByText("'user.name': expected a duration").waitFor();
    await page.getByRole("textbox", { name: "Value of staleness 1" }).fill("1h");
    await page.getByRole("button", { name: "Run" }).click();
    await page.getByRole("alert").getByText("did you mean 'user.name'?").waitFor();
    await page.goto(`${base()}/query?in=user.id%3D1&in=account.id%3D2&out=user.name`);
    await settled(page);
    await page.getByRole("button", { name: "Run" }).click();
    await page.getByRole("alert").first().waitFor();
    expect(await page.getByRole("alert").first().textContent()).toContain("user.account.id");
    expect(tab.complaints.splice(0)).toEqual([]);
  });

  test("who may only read is told so, and the server is not asked", async () => {
    await using other = await openTab(browser, server.url);
    await logIn(other, server, await server.token(), "/query?in=user.id%3D1", { readOnly: true });
    await settled(other.page);
    await other.page.getByText("Your credentials lack the permission query.online.").waitFor();
    expect(await other.page.getByRole("button", { name: "Run" }).isDisabled()).toBe(true);
  });
});
