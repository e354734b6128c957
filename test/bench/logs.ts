/** Searches of the log by the number of its lines, and what handing a line over costs. */

import { join } from "node:path";
import { LINE_FIELDS } from "../../src/domain/logs.ts";
import { parseSearch } from "../../src/domain/search/tree.ts";
import { createSqliteLogStore } from "../../src/server/stores/logs/sqlite.ts";
import type { LogStore, NewRecord } from "../../src/server/stores/logs/store.ts";
import type { Sandbox } from "../harness/sandbox.ts";
import { type Line, median, milliseconds } from "./figures.ts";

const SIZES = [100_000, 1_000_000, 3_000_000];
const PART = 10_000;
const SEARCHES = {
  "newest 100": "",
  "newest 100 of a level": "level:error",
  "newest 100 with a word": "timeout",
  "one operation": "operation_id:op_777",
  "a word that is nowhere": "nowhere",
} as const;

/** One line in fifty is an error, and one in a hundred has the word. */
function line(n: number): NewRecord {
  return {
    at: (1_800_000_000_000 + n) * 1_000,
    level: n % 50 === 0 ? "error" : "info",
    component: "engine",
    environmentId: "env_01a20765494474b8b4f60304b16976cd",
    deploymentId: "dpl_01a207656324779694ca2eca4bbd4796",
    resolver: `shop.resolver_${n % 40}`,
    podName: `worker-${n % 4}`,
    logger: "stdout",
    operationId: `op_${n % 100_000}`,
    message: `looked up user ${n} in ${n % 17} ms, ${n % 100 === 0 ? "timeout" : "found"} at shard ${n % 8}`,
  };
}

/** Milliseconds to the first page with records, or to the end, and the number of calls. */
async function search(store: LogStore, text: string): Promise<{ readonly ms: number; readonly calls: number }> {
  const filter = {
    kind: "line",
    environmentIds: ["env_01a20765494474b8b4f60304b16976cd"],
    search: parseSearch(text, LINE_FIELDS),
  } as const;
  const began = performance.now();
  let calls = 0;
  for (let next: number | undefined = Number.MAX_SAFE_INTEGER; next !== undefined; ) {
    const page = await store.search(filter, 100, next);
    calls++;
    if (page.records.length > 0) break;
    next = page.next;
  }
  return { ms: performance.now() - began, calls };
}

/** Figures by size; the anchor of a search is the same at the smallest size. */
export async function measureLogs(sandbox: Sandbox, rounds: number): Promise<readonly Line[]> {
  const clock = { now: () => 1_800_000_000_000, sleep: (ms: number) => Bun.sleep(ms) };
  const lines: Line[] = [];
  const smallest = new Map<string, number>();
  for (const size of SIZES) {
    const path = join(sandbox.root, `logs-${size}.db`);
    const store = createSqliteLogStore({ path, programVersion: "bench", clock, maxBytes: 2 ** 40, maxPending: 2 * PART });
    let handingOverMs = 0;
    const began = performance.now();
    for (let from = 0; from < size; from += PART) {
      const part = Array.from({ length: PART }, (_, n) => line(from + n));
      const started = performance.now();
      for (const one of part) store.record(one);
      handingOverMs += performance.now() - started;
      await store.flush();
    }
    const wholeMs = performance.now() - began;
    const { bytes } = await store.figures();
    const count = size.toLocaleString("en");
    lines.push({ what: `${count} lines: handing one over`, value: `${((handingOverMs / size) * 1_000).toFixed(2)} us` });
    lines.push({
      what: `${count} lines: writing one`,
      value: `${((wholeMs / size) * 1_000).toFixed(2)} us, ${Math.round(bytes / size)} bytes`,
    });
    for (const [what, text] of Object.entries(SEARCHES)) {
      const found = [];
      for (let round = 0; round < rounds; round++) found.push(await search(store, text));
      const ms = median(found.map((one) => one.ms));
      const anchor = smallest.get(what);
      if (anchor === undefined) smallest.set(what, ms);
      lines.push({
        what: `${count} lines: ${what}`,
        value: `${milliseconds(ms)} in ${median(found.map((one) => one.calls))} calls`,
        ...(anchor === undefined ? {} : { ratio: ms / anchor, anchor: `at ${SIZES[0]?.toLocaleString("en")}` }),
      });
    }
    await store.close();
  }
  return lines;
}
