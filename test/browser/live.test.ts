/**
 * Pages that follow what changes, by hints alone: in these tabs nothing happens at intervals.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, BrowserContext, Page, Request } from "playwright-core";
import { ResolverRunService } from "../../gen/svc/v1/resolver_run_pb.ts";
import { lacksBrowser, launchBrowser } from "../harness/browser.ts";
import { eventually } from "../harness/eventually.ts";
import { TempFolder, TestServer } from "../harness/running-server.ts";
import { deploy, expectLive, GREETING } from "../server/deployments/deploying.ts";
import { logIn, openTab, settled } from "./tab.ts";

const TABS = 8;

/** Streams of pages by their method, as they are opened and end. */
class Streams {
  readonly open = new Map<Request, string>();
  opened = 0;

  constructor(of: Page | BrowserContext) {
    of.on("request", (request) => {
      const method = /\/svc\.v1\.\w+\/(Watch|TailLogs|WatchDeployment)$/.exec(request.url())?.[1];
      if (method === undefined) return;
      this.open.set(request, method);
      this.opened++;
    });
    for (const end of ["requestfailed", "requestfinished"] as const) of.on(end as "requestfailed", (request) => this.open.delete(request));
  }

  /** Resolves when exactly these streams are open. */
  async are(...methods: string[]): Promise<void> {
    await eventually(() => [...this.open.values()].toSorted().join() === methods.toSorted().join(), `open streams: ${methods.join()}`);
  }
}

/** Has the tab be hidden, or in sight again. */
async function hide(page: Page, isHidden: boolean): Promise<void> {
  await page.evaluate((hidden) => {
    Object.defineProperty(document, "hidden", { configurable: true, get: () => hidden });
    document.dispatchEvent(new Event("visibilitychange"));
  }, isHidden);
}

describe.skipIf(lacksBrowser())("live pages", () => {
  const folder = new TempFolder();
  let server: TestServer;
  let browser: Browser;
  const open = async (path: string, at = server) => {
    const tab = await openTab(browser, at.url);
    await tab.context.addInitScript(() => Object.assign(window, { setInterval: () => 0 }));
    const streams = new Streams(tab.page);
    await logIn(tab, at, await at.token(), path);
    await settled(tab.page);
    return { tab, page: tab.page, streams, [Symbol.asyncDispose]: () => tab[Symbol.asyncDispose]() };
  };
  const gate = join(folder.path, "gate");
  const slow = {
    ...GREETING,
    "runs.py": `import os, time
from svc import DataFrame, offline
from features import User

@offline
def wait() -> DataFrame[User.id, User.name]:
    while not os.path.exists(${JSON.stringify(gate)}):
        time.sleep(0.02)
    return DataFrame({User.id: [1], User.name: ["one"]})
`,
  };

  beforeAll(async () => {
    [server, browser] = await Promise.all([TestServer.start(folder.path), launchBrowser()]);
    expectLive(await deploy(server, slow));
  }, 300_000);
  afterAll(async () => {
    await browser?.close();
    await server?.[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  test("the state of a run and the list of runs change as the run does", async () => {
    await using list = await open("/runs");
    const { run } = await server.client(ResolverRunService).triggerResolver({ resolver: "wait" });
    await list.page.getByRole("link", { name: run?.id ?? "" }).waitFor();
    await using one = await open(`/runs/${run?.id}`);
    await one.page.getByText("running", { exact: true }).first().waitFor();
    await one.streams.are("Watch");
    writeFileSync(gate, "");
    await one.page.locator("dd", { hasText: "completed" }).first().waitFor();
    await list.page.locator("tbody").getByText("succeeded").waitFor();
    expect([...one.tab.complaints, ...list.tab.complaints]).toEqual([]);
  }, 300_000);

  test("a tab has one stream, also on its way through pages, and none while it is hidden", async () => {
    await using tab = await open("/deployments");
    const { page, streams } = tab;
    await streams.are("Watch");
    await page.keyboard.press("g");
    await page.keyboard.press("l");
    await page.getByRole("button", { name: "Follow" }).click();
    await page.getByText("Following", { exact: true }).waitFor();
    await streams.are("TailLogs");
    await page.keyboard.press("g");
    await page.keyboard.press("j");
    await page.getByRole("heading", { name: "Runs" }).waitFor();
    await streams.are("Watch");
    const before = streams.opened;
    await hide(page, true);
    await streams.are();
    const { run } = await server.client(ResolverRunService).triggerResolver({ resolver: "wait", idempotencyKey: "hidden" });
    await hide(page, false);
    await streams.are("Watch");
    await page.getByRole("link", { name: run?.id ?? "" }).waitFor();
    expect(streams.opened).toBe(before + 1);
    expect(tab.tab.complaints).toEqual([]);
  }, 300_000);

  test("eight tabs at once all load, and go on to other pages", async () => {
    await using first = await open("/deployments");
    const pages = await Promise.all(Array.from({ length: TABS - 1 }, () => first.tab.context.newPage()));
    const { url } = first.page;
    await Promise.all(pages.map((page) => page.goto(url.call(first.page))));
    for (const page of [first.page, ...pages]) await page.locator("tbody tr").first().waitFor();
    for (const page of [first.page, ...pages]) {
      await page.keyboard.press("g");
      await page.keyboard.press("j");
      await page.getByRole("heading", { name: "Runs" }).waitFor();
      await page.locator("tbody tr").first().waitFor();
    }
    expect(first.tab.complaints).toEqual([]);
  }, 300_000);

  test("a tab says that it is cut off when the server goes away, and goes on by itself when it is back", async () => {
    using elsewhere = new TempFolder();
    let other = await TestServer.start(elsewhere.path);
    const { credentials, url } = other;
    try {
      await using tab = await open("/deployments", other);
      const { page } = tab;
      await tab.streams.are("Watch");
      await other[Symbol.asyncDispose]();
      await page.getByText("Not live").waitFor();
      other = await TestServer.start(elsewhere.path, { credentials, port: Number(new URL(url).port) });
      const deployment = await deploy(other, GREETING);
      expectLive(deployment);
      await page.getByRole("link", { name: deployment.id }).waitFor();
      await page.getByText("Not live").waitFor({ state: "detached" });
      await page.getByText("live", { exact: true }).waitFor();
      expect(tab.tab.complaints).toEqual([]);
    } finally {
      await other[Symbol.asyncDispose]();
    }
  }, 300_000);
});
