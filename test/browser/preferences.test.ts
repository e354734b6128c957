/** Pages for those who read them enlarged, in colours of their own, without motion, or with what opens opened. */

import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import type { Browser, Page } from "playwright-core";
import { lacksBrowser, launchBrowser } from "../harness/browser.ts";
import { TempFolder, TestServer } from "../harness/running-server.ts";
import { violations } from "./accessibility.ts";
import { type Deployed, deployHostile } from "./hostile-project.ts";
import { logIn, openTab, settled, type Tab } from "./tab.ts";

/** Paths without the environment; the gallery has all parts. */
const PATHS: Readonly<Record<string, (deployed: Deployed) => string>> = {
  overview: () => "/",
  features: () => "/features",
  deployments: () => "/deployments",
  deployment: ({ ready }) => `/deployments/${ready}`,
  logs: () => "/logs",
  gallery: () => "/gallery",
};

describe.skipIf(lacksBrowser())("pages", () => {
  const folder = new TempFolder();
  let server: TestServer;
  let browser: Browser;
  let tab: Tab;
  let deployed: Deployed;
  const open = async (path: (deployed: Deployed) => string) => {
    await tab.page.goto(server.url + path(deployed));
    await settled(tab.page);
  };

  beforeAll(async () => {
    [server, browser] = await Promise.all([TestServer.start(folder.path), launchBrowser()]);
    deployed = await deployHostile(server);
    tab = await openTab(browser, server.url);
    await logIn(tab, server, await server.token());
    await settled(tab.page);
  }, 300_000);
  afterEach(async () => {
    await tab.page.emulateMedia({ colorScheme: "light", forcedColors: "none", reducedMotion: "no-preference" });
    await tab.page.setViewportSize({ width: 1280, height: 800 });
  });
  afterAll(async () => {
    await tab?.[Symbol.asyncDispose]();
    await browser?.close();
    await server?.[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  test.each(Object.entries(PATHS))(
    "%s at twice the size has all that it has, in one direction of scrolling",
    async (_, path) => {
      const { page } = tab;
      await open(path);
      const shown = await markShown(page);
      expect(shown).toBeGreaterThan(10);
      // As a browser that zooms does: half as many pixels of CSS in each direction.
      await page.setViewportSize({ width: 640, height: 400 });
      expect(await lostOfMarked(page)).toEqual([]);
      expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
      expect(await cutTexts(page)).toEqual([]);
      expect(await violations(page)).toEqual([]);
    },
    300_000,
  );

  test.each(Object.entries(PATHS))(
    "%s in forced colours says by shape what it says by colour",
    async (_, path) => {
      const { page } = tab;
      for (const colorScheme of ["light", "dark"] as const) {
        await page.emulateMedia({ forcedColors: "active", colorScheme });
        await open(path);
        const unmarked = await page.evaluate(() =>
          [...document.querySelectorAll("[aria-current], [aria-selected=true], [aria-pressed=true], .meant")]
            .filter((one) => one.checkVisibility() && getComputedStyle(one).outlineStyle === "none")
            .map((one) => one.outerHTML.slice(0, 120)),
        );
        expect(unmarked).toEqual([]);
        const statuses = await page
          .locator("main .status:visible")
          .evaluateAll((all) =>
            all.map((one) => [one.textContent?.trim() !== "", (one.querySelector("svg")?.getBoundingClientRect().width ?? 0) > 0]),
          );
        expect(statuses.filter(([hasWord, hasShape]) => !hasWord || !hasShape)).toEqual([]);
        expect(await violations(page)).toEqual([]);
      }
    },
    300_000,
  );

  test.each(Object.entries(PATHS))(
    "%s moves nothing for those who asked for that",
    async (_, path) => {
      const { page } = tab;
      await page.emulateMedia({ reducedMotion: "reduce" });
      await open(path);
      const moving = await page.evaluate(() => [
        ...document.getAnimations().map(({ effect }) => (effect as KeyframeEffect | null)?.target?.outerHTML.slice(0, 120)),
        ...[...document.querySelectorAll("*")]
          .filter((one) => {
            const { animationName, scrollBehavior, transitionDuration } = getComputedStyle(one);
            return animationName !== "none" || scrollBehavior === "smooth" || /[1-9]/.test(transitionDuration);
          })
          .map((one) => one.outerHTML.slice(0, 120)),
      ]);
      expect(moving).toEqual([]);
    },
    300_000,
  );

  test.each([1280, 420])(
    "what opens is as usable as what is there, at %d px",
    async (width) => {
      const { page } = tab;
      await page.setViewportSize({ width, height: 800 });
      await open(() => "/gallery");
      await page.locator("summary", { hasText: "Account and theme" }).click();
      await page.getByRole("radio", { name: "dark" }).waitFor();
      expect(await violations(page)).toEqual([]);
      await page.locator("summary", { hasText: "Account and theme" }).click();
      const combo = page.locator("main input[role=combobox]").first();
      await combo.click();
      await combo.press("ArrowDown");
      await page.getByRole("listbox").getByRole("option", { selected: true }).waitFor();
      expect(await violations(page)).toEqual([]);
      await combo.press("Escape");
      expect(await page.getByRole("listbox").count()).toBe(0);
      await page.keyboard.press("Control+k");
      await page.getByRole("listbox", { name: "Found" }).waitFor();
      expect(await violations(page)).toEqual([]);
      await page.keyboard.press("Escape");
      expect(tab.complaints.splice(0)).toEqual([]);
    },
    300_000,
  );
});

/** Marks every element that shows a text of its own, and returns how many do. */
function markShown(page: Page): Promise<number> {
  return page.evaluate(() => {
    const own = (one: Element) => [...one.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.textContent?.trim());
    const shown = [...document.querySelectorAll("main *, .bar *, .nav *")].filter((one) => own(one) && one.checkVisibility());
    for (const one of shown) one.setAttribute("data-shown", "");
    return shown.length;
  });
}

/** What was marked and is no longer shown; a key beside a button's name is no loss. */
function lostOfMarked(page: Page): Promise<string[]> {
  return page.evaluate(() =>
    [...document.querySelectorAll("[data-shown]")]
      .filter((one) => !one.checkVisibility() && one.localName !== "kbd")
      .map((one) => one.outerHTML.slice(0, 120)),
  );
}

/** Headings, buttons and labels whose text is cut off at their edge. */
function cutTexts(page: Page): Promise<string[]> {
  return page.evaluate(() =>
    [...document.querySelectorAll("main :is(h1, h2, h3, button, legend, dt, dd), .bar :is(a, button, summary), .nav :is(a, h2)")]
      .filter(
        (one) => one.checkVisibility() && !one.matches(".unseen") && one.clientWidth > 0 && getComputedStyle(one).overflowX !== "visible",
      )
      .filter((one) => one.scrollWidth > one.clientWidth + 1 || one.scrollHeight > one.clientHeight + 1)
      .map((one) => one.outerHTML.slice(0, 120)),
  );
}
