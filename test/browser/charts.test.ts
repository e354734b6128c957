/** What charts draw, seen in their pixels: on the gallery, which needs no data. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Browser } from "playwright-core";
import { lacksBrowser, launchBrowser } from "../harness/browser.ts";
import { TempFolder, TestServer } from "../harness/running-server.ts";
import { logIn, openTab, settled, type Tab } from "./tab.ts";

describe.skipIf(lacksBrowser())("charts", () => {
  const folder = new TempFolder();
  let server: TestServer;
  let browser: Browser;
  let tab: Tab;

  beforeAll(async () => {
    [server, browser] = await Promise.all([TestServer.start(folder.path), launchBrowser()]);
    tab = await openTab(browser, server.url);
    await logIn(tab, server, await server.token());
    await tab.page.goto(`${server.url}/gallery`);
    await settled(tab.page);
  }, 300_000);
  afterAll(async () => {
    await tab?.[Symbol.asyncDispose]();
    await browser?.close();
    await server?.[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  /** The rows of a chart's picture with pixels of the first line's colour, from top to bottom. */
  const rowsOfLine = async (label: string): Promise<{ readonly rows: number[]; readonly height: number }> => {
    const canvas = tab.page.getByRole("img", { name: new RegExp(`^${label}: `) }).locator("canvas");
    await canvas.waitFor();
    return canvas.evaluate((element) => {
      const drawing = element as HTMLCanvasElement;
      const probe = drawing.parentElement?.appendChild(document.createElement("span"));
      if (!probe) throw new Error("the chart is gone");
      probe.style.color = "var(--c1)";
      const [red = 0, green = 0, blue = 0] = getComputedStyle(probe).color.match(/\d+/g)?.map(Number) ?? [];
      probe.remove();
      const { height, width } = drawing;
      const data = drawing.getContext("2d")?.getImageData(0, 0, width, height).data ?? new Uint8ClampedArray();
      const isOfLine = (at: number) =>
        Math.max(...[red, green, blue].map((part, channel) => Math.abs(part - (data[at + channel] ?? 0)))) < 12 &&
        (data[at + 3] ?? 0) > 200;
      const rows = Array.from({ length: height }, (_, row) => row).filter((row) =>
        Array.from({ length: width }, (_, column) => column).some((column) => isOfLine((row * width + column) * 4)),
      );
      return { rows, height };
    });
  };

  test("a value alone is a dot", async () => {
    const { rows } = await rowsOfLine("One");
    expect(rows.length).toBeGreaterThan(2);
    expect(rows.length).toBeLessThan(12);
  });

  test("zeros are at the foot of a scale to one", async () => {
    const { height, rows } = await rowsOfLine("Zeros");
    expect(rows.length).toBeGreaterThan(0);
    expect(Math.min(...rows)).toBeGreaterThan(height / 2);
    expect(tab.complaints.splice(0)).toEqual([]);
  });
});
