/** First paint of the dashboard, and pages with their data, in a browser. */

import type { Page } from "playwright-core";
import { logIn, openTab, settled } from "../browser/tab.ts";
import { launchBrowser } from "../harness/browser.ts";
import type { Sandbox } from "../harness/sandbox.ts";
import { GREETING } from "../server/deployments/deploying.ts";
import { interleave, type Line, median, milliseconds } from "./figures.ts";

const LOADS_PER_ROUND = 3;
const PARAGRAPH = "<!doctype html><html lang=en><meta charset=utf-8><title>x</title><p>One paragraph.</p></html>";

/**
 * First contentful paint of pages that the browser has the files of, against that of a page of one
 * paragraph; and the time until a page has its data.
 */
export async function measurePaint(sandbox: Sandbox, rounds: number): Promise<readonly Line[]> {
  const project = await sandbox.write({ "svc.yaml": "project: shop\n", ...GREETING });
  const url = await sandbox.startServer();
  const applied = await sandbox.svc(["apply", "--force", "--await"], { cwd: project });
  if (applied.exitCode !== 0) throw new Error(`not applied: ${applied.stderr}`);
  using plain = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: () => new Response(PARAGRAPH, { headers: { "content-type": "text/html" } }),
  });
  await using browser = await launchBrowser();
  await using tab = await openTab(browser, url);
  await logIn(tab, { url }, await sandbox.accessToken());
  const painted = (address: string) => async () => {
    const taken = await firstPaint(tab.page, address);
    // The next page would wait for the server, which still answers this one.
    if (address.startsWith(url)) await settled(tab.page);
    return taken;
  };
  const filled = (address: string) => () => untilFilled(tab.page, address);
  const subjects = {
    "a page of one paragraph": painted(plain.url.href),
    "overview, first paint": painted(`${url}/`),
    "features, first paint": painted(`${url}/features`),
    "overview, with its data": filled(`${url}/`),
    "features, with its data": filled(`${url}/features`),
  };
  await interleave(1, subjects);
  const times = await interleave(rounds * LOADS_PER_ROUND, subjects);
  const [[name, anchors], ...others] = Object.entries(times) as [[string, number[]], ...[string, number[]][]];
  const anchor = median(anchors);
  return [
    { what: name, value: milliseconds(anchor) },
    ...others.map(([what, taken]) => ({
      what,
      value: milliseconds(median(taken)),
      ratio: median(taken) / anchor,
      anchor: "of one paragraph",
    })),
  ];
}

/** Milliseconds from the start of a navigation to the first contentful paint. */
async function firstPaint(page: Page, address: string): Promise<number> {
  await page.goto(address);
  return page.evaluate(
    () =>
      new Promise<number>((resolve) => {
        new PerformanceObserver((list, observer) => {
          const [first] = list.getEntriesByName("first-contentful-paint");
          if (!first) return;
          observer.disconnect();
          resolve(first.startTime);
        }).observe({ type: "paint", buffered: true });
      }),
  );
}

/** Milliseconds from the start of a navigation until a page has all that it shows. */
async function untilFilled(page: Page, address: string): Promise<number> {
  await page.goto(address);
  return page.evaluate(
    () =>
      new Promise<number>((resolve) => {
        const look = () => {
          const isThere = document.querySelector("main h1") && !document.querySelector("main .skeleton");
          if (isThere) resolve(performance.now());
          else requestAnimationFrame(look);
        };
        look();
      }),
  );
}
