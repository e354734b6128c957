/** Every page for one who may not read, and every page whose server goes away. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Browser } from "playwright-core";
import { ServiceTokenService } from "../../gen/svc/v1/service_token_pb.ts";
import { addressOf, PAGE_NAMES, type PageName } from "../../src/domain/addresses.ts";
import { SECTIONS } from "../../src/ui/pages/settings/sections.ts";
import { lacksBrowser, launchBrowser } from "../harness/browser.ts";
import { TempFolder, TestServer } from "../harness/running-server.ts";
import { deploy, expectLive, GREETING } from "../server/deployments/deploying.ts";
import { violations } from "./accessibility.ts";
import { ROUTED } from "./routed.ts";
import { logIn, openTab, settled, type Tab } from "./tab.ts";

/** Parameters of pages of one thing; what they name is not there. */
const PARAMETERS = { fqn: "user.name", name: "none", id: "1", stage: "0", section: "secrets" };

/** Pages that ask nothing of the server by themselves. */
const ASK_NOTHING: readonly string[] = ["gallery", "settings"];

/** Sections that show what is the caller's own, and the same to everybody. */
const OWN: readonly string[] = ["settings, clients", "settings, sessions", "settings, permissions"];

/** Paths of pages, those of settings by their sections, without the environment. */
const PATHS: readonly (readonly [name: string, path: string])[] = [
  ...PAGE_NAMES.filter((page) => ROUTED.includes(page) && page !== "setting" && !ASK_NOTHING.includes(page)).map(
    (page) => [page, addressOf(page as "feature", PARAMETERS)] as const,
  ),
  ...Object.keys(SECTIONS).map((section) => [`settings, ${section}`, addressOf("setting", { section })] as const),
];

describe.skipIf(lacksBrowser())("pages", () => {
  const folder = new TempFolder();
  let server: TestServer;
  let browser: Browser;
  const base = () => `${server.url}/environments/${server.credentials.environmentId}`;

  beforeAll(async () => {
    [server, browser] = await Promise.all([TestServer.start(folder.path), launchBrowser()]);
    expectLive(await deploy(server, GREETING));
  }, 300_000);
  afterAll(async () => {
    await browser?.close();
    await server?.[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  describe("of one who may not read", () => {
    let tab: Tab;
    beforeAll(async () => {
      const made = await server.client(ServiceTokenService).createServiceToken({ name: "sender", permissions: ["telemetry.write"] });
      const answer = await server.exchange(made.serviceToken?.clientId ?? "", made.clientSecret);
      tab = await openTab(browser, server.url);
      await logIn(tab, server, ((await answer.json()) as { access_token: string }).access_token);
    }, 300_000);
    afterAll(async () => tab?.[Symbol.asyncDispose]());

    test.each(PATHS.filter(([name]) => !OWN.includes(name)))(
      "%s says which permission is lacking",
      async (_, path) => {
        const { complaints, page } = tab;
        await page.goto(base() + path);
        await settled(page);
        await page
          .getByText(/lack the permission '/)
          .first()
          .waitFor();
        expect(await page.locator("h1").count()).toBe(1);
        expect(await violations(page)).toEqual([]);
        expect(complaints.splice(0)).toEqual([]);
      },
      300_000,
    );
  });

  describe("whose server is away", () => {
    let tab: Tab;
    beforeAll(async () => {
      tab = await openTab(browser, server.url);
      await logIn(tab, server, await server.token());
      await settled(tab.page);
      // The frame is there, and so are the pages' scripts; no call gets through.
      await tab.context.route(/\/svc\.v1\./, (route) => route.abort("connectionrefused"));
    }, 300_000);
    afterAll(async () => tab?.[Symbol.asyncDispose]());

    test.each(PATHS)(
      "%s says so, and offers to try again",
      async (_, path) => {
        const { complaints, page } = tab;
        await page.goto(base() + path);
        await settled(page);
        await page.getByText("The server does not answer.").first().waitFor();
        expect(await page.getByRole("button", { name: "Try again" }).count()).toBeGreaterThan(0);
        expect(await violations(page)).toEqual([]);
        expect(complaints.splice(0)).toEqual([]);
      },
      300_000,
    );
  });
});

test("every page with an address is among them, or asks nothing", () => {
  const named = PATHS.map(([name]) => name as PageName);
  expect(ROUTED.filter((page) => !named.includes(page) && page !== "setting" && !ASK_NOTHING.includes(page))).toEqual([]);
});
