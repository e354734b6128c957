/** What a browser has to load, and how soon it shows it. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { lacksBrowser, launchBrowser } from "../harness/browser.ts";
import { TempFolder, TestServer } from "../harness/running-server.ts";
import { deploy, expectLive } from "../server/deployments/deploying.ts";
import { logIn, openTab } from "./tab.ts";

const KB = 1024;

test("the first script has at most 25 KB, all scripts 250 KB, styles 12 KB, compressed", async () => {
  const { outputs } = await Bun.build({
    entrypoints: [join(import.meta.dir, "../../src/ui/index.html")],
    target: "browser",
    splitting: true,
    minify: true,
    publicPath: "/",
    jsx: { runtime: "automatic", importSource: "preact", development: false },
  });
  const files = await Promise.all(
    outputs.map(async (output) => {
      const text = await output.text();
      return { path: output.path, text, size: Bun.gzipSync(text).length };
    }),
  );
  const sum = (end: string) => files.filter(({ path }) => path.endsWith(end)).reduce((total, { size }) => total + size, 0);
  const document = files.find(({ path }) => path.endsWith(".html"))?.text ?? "";
  const isFirst = ({ path }: { path: string }) => document.includes(path.replace(/^\.?\/?/, "/"));
  const first = files.filter((file) => file.path.endsWith(".js") && isFirst(file));
  // What the first script imports statically is loaded with it.
  const statics = first.flatMap(({ text }) => [...text.matchAll(/from ?"(\/[^"]+)"/g)].map(([, path]) => path));
  const loaded = files.filter((file) => first.includes(file) || statics.includes(file.path.replace(/^\.?\/?/, "/")));
  const figures = { first: loaded.reduce((total, { size }) => total + size, 0), scripts: sum(".js"), styles: sum(".css") };
  console.log(`compressed: ${JSON.stringify(figures)}`);
  expect(first).toHaveLength(1);
  expect(figures.first).toBeLessThanOrEqual(25 * KB);
  expect(figures.scripts).toBeLessThanOrEqual(250 * KB);
  expect(figures.styles).toBeLessThanOrEqual(12 * KB);
  expect(files.some(({ text }) => text.includes("fileDesc("))).toBe(false);
});

const CLASSES = 100;
const FEATURES = 100;
/** A project of 10,000 features. */
const LARGE = {
  "features.py": [
    "from svc.features import features\n",
    ...Array.from({ length: CLASSES }, (_, one) =>
      [
        "@features",
        `class Class${one}:`,
        "    id: int",
        ...Array.from({ length: FEATURES - 1 }, (_, at) => `    value_${at}: float`),
        "",
      ].join("\n"),
    ),
  ].join("\n"),
};

describe.skipIf(lacksBrowser())("in a browser", () => {
  const folder = new TempFolder();
  let server: TestServer;
  let browser: Browser;
  beforeAll(async () => {
    [server, browser] = await Promise.all([TestServer.start(folder.path), launchBrowser()]);
    expectLive(await deploy(server, LARGE));
  }, 300_000);
  afterAll(async () => {
    await browser?.close();
    await server?.[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  test("10,000 features are a table of some rows, which scrolls to the last, and is searched as one types", async () => {
    await using tab = await openTab(browser, server.url);
    const { page } = tab;
    await logIn(tab, server, await server.token(), "/features");
    await page.getByText("10000 of 10000").waitFor();
    const rows = () => page.locator("tbody tr:not(.gap)").count();
    expect(await rows()).toBeLessThanOrEqual(60);
    expect(await page.locator("table").getAttribute("aria-rowcount")).toBe("10001");
    await page.locator("section.table").evaluate((table) => table.scrollTo(0, table.scrollHeight));
    await page.getByText("class99.value_98", { exact: true }).waitFor();
    expect(await rows()).toBeLessThanOrEqual(60);
    await page.keyboard.press("/");
    await page.keyboard.type("class7.value_77");
    await page.getByText("1 of 10000").waitFor();
    console.log(`key to frame, median: ${(await keyToFrame(page)).toFixed(1)} ms`);
    expect(tab.complaints).toEqual([]);
  }, 300_000);
});

/** Median milliseconds from a key in the search to the frame that shows what it found. */
async function keyToFrame(page: Page): Promise<number> {
  const times = await page.evaluate(async () => {
    const input = document.querySelector<HTMLInputElement>("main input[type=search]");
    const found = document.querySelector("main .search [role=status]");
    if (!input || !found) throw new Error("no search");
    const measured: number[] = [];
    for (const text of ["c", "cl", "class1", "class12", "class12.v", "9", "95", "class95", ""]) {
      const started = performance.now();
      const changed = new Promise((resolve) =>
        new MutationObserver(resolve).observe(found, { childList: true, characterData: true, subtree: true }),
      );
      input.value = text;
      input.dispatchEvent(new Event("input", { bubbles: true }));
      await Promise.race([changed, new Promise((resolve) => setTimeout(resolve, 300))]);
      await new Promise(requestAnimationFrame);
      measured.push(performance.now() - started);
    }
    return measured;
  });
  return times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0;
}
