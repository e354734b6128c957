/** Pages when there is nothing yet, when something changes, and when something is in the way. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { QueryService } from "../../gen/svc/v1/query_pb.ts";
import { ServiceTokenService } from "../../gen/svc/v1/service_token_pb.ts";
import { lacksBrowser, launchBrowser } from "../harness/browser.ts";
import { TempFolder, TestServer } from "../harness/running-server.ts";
import { deploy, expectLive, GREETING } from "../server/deployments/deploying.ts";
import { violations } from "./accessibility.ts";
import { logIn, openTab, settled } from "./tab.ts";

describe.skipIf(lacksBrowser())("the dashboard", () => {
  const folder = new TempFolder();
  let server: TestServer;
  let browser: Browser;
  beforeAll(async () => {
    [server, browser] = await Promise.all([TestServer.start(folder.path), launchBrowser()]);
  }, 300_000);
  afterAll(async () => {
    await browser?.close();
    await server?.[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  test("of an empty environment names the commands that fill it, and follows what they do without being loaded again", async () => {
    await using tab = await openTab(browser, server.url);
    const { page } = tab;
    await logIn(tab, server, await server.token(), "/features");
    await settled(page);
    await page.getByText("Nothing is deployed here yet").waitFor();
    expect(await violations(page)).toEqual([]);
    await page.keyboard.press("g");
    await page.keyboard.press("o");
    await page.getByRole("heading", { name: "First steps" }).waitFor();
    expect(await page.getByText("svc init").count()).toBe(1);
    expect(await violations(page)).toEqual([]);
    await page.keyboard.press("g");
    await page.keyboard.press("d");
    await page.getByText("Nothing was deployed here yet").waitFor();
    await page.evaluate(() => Object.assign(window, { isSame: true }));

    const deployment = await deploy(server, GREETING);
    expectLive(deployment);
    await page.getByRole("link", { name: deployment.id }).waitFor();
    await page.getByText("live", { exact: true }).waitFor();
    expect(await page.evaluate(() => "isSame" in window)).toBe(true);
    expect(tab.complaints).toEqual([]);
  }, 300_000);

  test("of a deployment under way follows it to live, with what it does", async () => {
    const gate = join(folder.path, "gate");
    const slow = {
      ...GREETING,
      "resolvers.py":
        GREETING["resolvers.py"]?.replace('    return f"user {id}"', '    print("greets", id)\n    return f"user {id}"') ?? "",
      "slow.py": `import os, time\nwhile not os.path.exists(${JSON.stringify(gate)}):\n    time.sleep(0.02)\n`,
    };
    const deployed = deploy(server, slow);
    await using tab = await openTab(browser, server.url);
    const { page } = tab;
    await logIn(tab, server, await server.token(), "/deployments");
    await page
      .getByText(/^(queued|building|starting)$/)
      .first()
      .waitFor();
    await page.locator("tbody tr").first().getByRole("link").click();
    await page.getByRole("heading", { name: /^Deployment dpl_/ }).waitFor();
    await page.getByText("building", { exact: true }).waitFor();
    writeFileSync(gate, "");
    await page.getByRole("log").waitFor();
    await page.getByText("live", { exact: true }).waitFor();
    const { id } = await deployed;
    await page.getByRole("log").getByText("starting workers").waitFor();
    await server.client(QueryService).query({
      deploymentId: id,
      inputs: [{ feature: "user.id", value: { case: "text", value: "1" } }],
      outputs: ["user.greeting"],
      queryName: "welcome",
    });
    await page.getByRole("table", { name: "Latest queries" }).getByText("welcome").waitFor();
    await page.getByRole("log").getByText("greets 1").waitFor();
    await page.getByRole("tab", { name: "Its build" }).click();
    await page.getByRole("log").getByText("starting workers").waitFor();
    expect(await page.getByRole("log").getByText("greets 1").count()).toBe(0);
    expect(tab.complaints).toEqual([]);
  }, 300_000);

  test("of an environment counts what failed in the last hour", async () => {
    const failing = { ...GREETING, "resolvers.py": GREETING["resolvers.py"]?.replace('"hello "', "1 // 0") ?? "" };
    expectLive(await deploy(server, failing));
    const input = { feature: "user.id", value: { case: "text", value: "7" } } as const;
    await server.client(QueryService).query({ inputs: [input], outputs: ["user.greeting"] });
    await using tab = await openTab(browser, server.url);
    const { page } = tab;
    await logIn(tab, server, await server.token());
    await page.getByRole("link", { name: /greet$/ }).waitFor();
    expect(await page.locator("dt", { hasText: "Jobs that failed" }).locator("xpath=..").textContent()).toContain("none");
    expect(await page.getByText("Dropped", { exact: true }).count()).toBe(0);
    expect(await violations(page)).toEqual([]);
    await page.getByRole("link", { name: /greet$/ }).click();
    await page.getByRole("heading", { name: "Logs" }).waitFor();
    expect(tab.complaints).toEqual([]);
  }, 300_000);

  test("makes a deployment live once it was asked, and not for one who may only read", async () => {
    const first = await deploy(server, GREETING);
    expectLive(first);
    expectLive(await deploy(server, { ...GREETING, "more.py": "x = 1\n" }));
    {
      await using reader = await openTab(browser, server.url);
      await logIn(reader, server, await server.token(), `/deployments/${first.id}`, { readOnly: true });
      await settled(reader.page);
      await reader.page.getByText("read only").waitFor();
      expect(await reader.page.getByRole("button", { name: "Promote" }).count()).toBe(0);
    }
    await using tab = await openTab(browser, server.url);
    const { page } = tab;
    await logIn(tab, server, await server.token(), `/deployments/${first.id}`);
    await settled(page);
    await page.getByRole("button", { name: "Promote" }).click();
    const dialog = page.getByRole("dialog", { name: `Make ${first.id} live?` });
    await dialog.waitFor();
    expect(await violations(page)).toEqual([]);
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await page.getByText("ready", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Promote" }).click();
    await dialog.getByRole("button", { name: "Promote" }).click();
    await page.getByText("live", { exact: true }).waitFor();
    await page.getByText(`${first.id} is live.`).waitFor();
    expect(tab.complaints).toEqual([]);
  }, 300_000);

  test("of one who may not read says which permission is lacking", async () => {
    const made = await server.client(ServiceTokenService).createServiceToken({ name: "asker", permissions: ["query.online"] });
    const { access_token: token } = (await (await server.exchange(made.serviceToken?.clientId ?? "", made.clientSecret)).json()) as {
      access_token: string;
    };
    await using tab = await openTab(browser, server.url);
    await logIn(tab, server, token, "/features");
    await settled(tab.page);
    await tab.page.getByText("lack the permission 'read'").first().waitFor();
    expect(await violations(tab.page)).toEqual([]);
    expect(tab.complaints).toEqual([]);
  }, 300_000);

  test("keeps what it shows when the server goes away, says so, and goes on when it is back", async () => {
    const elsewhere = new TempFolder();
    try {
      let other = await TestServer.start(elsewhere.path);
      const { credentials, url } = other;
      expectLive(await deploy(other, GREETING));
      await using tab = await openTab(browser, url);
      const { page } = tab;
      await logIn(tab, other, await other.token(), "/deployments");
      await settled(page);
      await other[Symbol.asyncDispose]();
      await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
      await page.getByText("The server does not answer.").first().waitFor();
      expect(await page.locator("tbody tr").count()).toBe(1);
      expect(await violations(page)).toEqual([]);
      await page.getByRole("button", { name: "Try again" }).first().waitFor();
      other = await TestServer.start(elsewhere.path, { credentials, port: Number(new URL(url).port) });
      // By now it may be gone: with the hints the page comes back by itself.
      await page.evaluate(() => document.querySelector<HTMLElement>(".failed button")?.click());
      await page.getByText("The server does not answer.").waitFor({ state: "detached" });
      await other[Symbol.asyncDispose]();
    } finally {
      elsewhere[Symbol.dispose]();
    }
  }, 300_000);
});
