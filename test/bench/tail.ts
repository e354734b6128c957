/** The log followed in a tab while a thousand lines a second come: how long its frames are. */

import { logIn, openTab } from "../browser/tab.ts";
import { launchBrowser } from "../harness/browser.ts";
import { eventually } from "../harness/eventually.ts";
import type { Sandbox } from "../harness/sandbox.ts";
import { type Line, median, milliseconds } from "./figures.ts";

const LINES_PER_BATCH = 100;
const BATCHES_PER_SECOND = 10;
const SECONDS_PER_ROUND = 12;

/** Lines of an application, as OpenTelemetry sends them. */
function batch(first: number): string {
  const logRecords = Array.from({ length: LINES_PER_BATCH }, (_, at) => ({
    timeUnixNano: String(BigInt(Date.now()) * 1_000_000n + BigInt(at)),
    severityNumber: 9,
    body: { stringValue: `looked up user ${first + at} in ${at % 17} ms, found at shard ${at % 8}` },
    attributes: [{ key: "shard", value: { intValue: String(at % 8) } }],
  }));
  const resource = { attributes: [{ key: "service.name", value: { stringValue: "shop" } }] };
  return JSON.stringify({ resourceLogs: [{ resource, scopeLogs: [{ logRecords }] }] });
}

/** Follows the log for twelve seconds a round; an idle page's frames are the anchor. */
export async function measureTail(sandbox: Sandbox, rounds: number): Promise<readonly Line[]> {
  const url = await sandbox.startServer();
  const token = await sandbox.accessToken();
  await using browser = await launchBrowser();
  await using tab = await openTab(browser, url);
  await logIn(tab, { url }, token, "/logs?follow=yes&q=shard");
  const { page } = tab;
  await page.getByText("Following", { exact: true }).waitFor();
  const frames = (ms: number): Promise<number[]> =>
    page.evaluate(async (length) => {
      const gaps: number[] = [];
      const end = performance.now() + length;
      for (let last = await new Promise(requestAnimationFrame); last < end; ) {
        const next = await new Promise<number>(requestAnimationFrame);
        gaps.push(next - last);
        last = next;
      }
      return gaps;
    }, ms);
  const idle = await frames(2_000);
  const devtools = await tab.context.newCDPSession(page);
  await devtools.send("Performance.enable", { timeDomain: "threadTicks" });
  const spent = async (): Promise<Map<string, number>> =>
    new Map((await devtools.send("Performance.getMetrics")).metrics.map(({ name, value }) => [name, value]));
  const before = await spent();
  const seconds = rounds * SECONDS_PER_ROUND;
  let sent = 0;
  const send = async (): Promise<void> => {
    const began = performance.now();
    for (let at = 0; at < seconds * BATCHES_PER_SECOND; at++) {
      const headers = { "content-type": "application/json", authorization: `Bearer ${token}` };
      const { ok, status } = await fetch(`${url}/v1/logs`, { method: "POST", headers, body: batch(sent) });
      if (!ok) throw new Error(`lines were refused: ${status}`);
      sent += LINES_PER_BATCH;
      await Bun.sleep(Math.max(0, began + ((at + 1) * 1_000) / BATCHES_PER_SECOND - performance.now()));
    }
  };
  const began = performance.now();
  const [busy] = await Promise.all([frames(seconds * 1_000), send()]);
  const took = (performance.now() - began) / 1_000;
  const counted = page.locator(".figure", { hasText: "lines" });
  const shown = async (): Promise<number> => Number((await counted.textContent())?.match(/^([\d,]+) lines/)?.[1]?.replaceAll(",", "") ?? 0);
  const skipped = async (): Promise<number> =>
    Number((await counted.textContent())?.match(/([\d,]+) records were skipped/)?.[1]?.replaceAll(",", "") ?? 0);
  await eventually(async () => (await shown()) + (await skipped()) >= sent, "all lines are shown or counted as skipped");
  const after = await spent();
  const rise = (name: string): number => (after.get(name) ?? 0) - (before.get(name) ?? 0);
  return [
    { what: "frames before, median", value: milliseconds(median(idle)) },
    { what: "frames before, longest", value: milliseconds(Math.max(...idle)) },
    { what: `frames of ${seconds} s, median`, value: milliseconds(median(busy)) },
    { what: `frames of ${seconds} s, longest`, value: milliseconds(Math.max(...busy)) },
    { what: "processor time of a drawn frame, mean", value: milliseconds((rise("TaskDuration") * 1_000) / rise("LayoutCount")) },
    { what: "frames longer than 100 ms", value: `${busy.filter((ms) => ms > 100).length} of ${busy.length}` },
    { what: "lines a second, sent", value: (sent / took).toFixed(0) },
    { what: "lines shown, and skipped", value: `${await shown()}, ${await skipped()}` },
  ];
}
