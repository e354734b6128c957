/** Asking for features in a browser. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Browser } from "playwright-core";
import { lacksBrowser, launchBrowser } from "../harness/browser.ts";
import { eventually } from "../harness/eventually.ts";
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
  }, 300_000);
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
  }, 300_000);

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
  }, 300_000);

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

  test("an answer is compared with a branch's and with a run's, and what differs is marked", async () => {
    const { page } = tab;
    await deployShop(server, { branch: "try", change: (text) => text.replace('"Good day, "', '"Hello, "') });
    await page.goto(`${base()}/query?in=user.id%3D1&out=user.greeting&out=user.name&out=user.credit`);
    await settled(page);
    await page.getByLabel("Compare with").selectOption("branch");
    await page.getByLabel("Which").fill("try");
    await page.waitForURL(/against=branch%3Atry/);
    await page.getByRole("button", { name: "Run", exact: true }).click();
    const comparison = page.getByRole("region", { name: "Comparison" });
    await comparison.getByText("1 of 3 features differ").waitFor();
    const row = comparison.getByRole("row", { name: /user.greeting/ });
    expect((await row.getByRole("cell").allTextContents()).slice(0, 3)).toEqual([
      "Good day, Ada of account 11",
      "Hello, Ada of account 11",
      "differs",
    ]);
    expect(await comparison.getByRole("row", { name: /user.name/ }).textContent()).not.toContain("differs");
    expect(await violations(page)).toEqual([]);
    const run = await page.getByRole("region", { name: "Answer" }).getByRole("link").first().textContent();
    await page.getByLabel("Compare with").selectOption("run");
    await page.getByLabel("Which").fill(run ?? "");
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await comparison.getByText("All 3 features are the same").waitFor();
    await page.getByLabel("Which").fill("none");
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await page.getByRole("alert").first().waitFor();
    expect(await comparison.count()).toBe(0);
    expect(tab.complaints.splice(0)).toEqual([]);
  }, 300_000);

  test("a file's rows are asked for together; what is wrong with it is said", async () => {
    const { page } = tab;
    await page.setViewportSize({ width: 420, height: 800 });
    await page.emulateMedia({ colorScheme: "dark" });
    await page.goto(`${base()}/query?in=user.id%3D1&out=user.name&out=user.credit`);
    await settled(page);
    await page.getByText("Many rows, from a file").click();
    const file = page.getByLabel("CSV file");
    const give = (text: string) => file.setInputFiles({ name: "rows.csv", mimeType: "text/csv", buffer: Buffer.from(text) });
    await give("user.id\n1,2\n");
    await page.getByRole("alert").getByText("Row 1 has 2 cells").waitFor();
    await give("user.idd\n1\n");
    await page.getByText("Unknown: user.idd").waitFor();
    await give("user.id\n1\n2\n3\n");
    await page.getByRole("button", { name: "Run 3 rows" }).click();
    const answer = page.getByRole("region", { name: "Rows of the answer" });
    await answer.getByText("3 errors").waitFor();
    await answer.getByText("no credit for 2").first().waitFor();
    const rows = await answer.getByRole("table", { name: "Rows" }).getByRole("row").allTextContents();
    expect(rows.slice(1).map((row) => row.replace(/null$/, ""))).toEqual(["1Ada", "2user 2", "3user 3"]);
    const download = page.waitForEvent("download");
    await answer.getByRole("button", { name: "Save as CSV" }).click();
    expect(await Bun.file(await (await download).path()).text()).toBe(
      "user.id,user.name,user.credit\r\n1,Ada,\r\n2,user 2,\r\n3,user 3,\r\n",
    );
    expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
    expect(await violations(page)).toEqual([]);
    expect(tab.complaints.splice(0)).toEqual([]);
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.emulateMedia({ colorScheme: "light" });
  }, 300_000);

  test("a query is run again by itself once somebody ran it, and not when it is stopped", async () => {
    const { page } = tab;
    let asked = 0;
    page.on("request", (request) => {
      if (request.url().endsWith("QueryService/Query")) asked++;
    });
    await page.goto(`${base()}/query?in=user.id%3D1&out=user.name`);
    await settled(page);
    await page.getByLabel("Repeat").selectOption("1");
    expect(asked).toBe(0);
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await eventually(() => asked >= 3, "the query is asked again");
    await page.getByLabel("Repeat").selectOption("0");
    await page.getByRole("region", { name: "Answer" }).getByText("Ada").waitFor();
    expect(tab.complaints.splice(0)).toEqual([]);
  }, 300_000);

  test("who may only read is told so, and the server is not asked", async () => {
    await using other = await openTab(browser, server.url);
    await logIn(other, server, await server.token(), "/query?in=user.id%3D1", { readOnly: true });
    await settled(other.page);
    await other.page.getByText("Your credentials lack the permission query.online.").waitFor();
    expect(await other.page.getByRole("button", { name: "Run" }).isDisabled()).toBe(true);
  });
});
