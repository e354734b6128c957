import { describe, expect, test } from "bun:test";
import type { ResolverCall, ResolverResult } from "../../../src/server/python/pool.ts";
import { BufferedSink } from "../../../src/server/sinks/buffered-sink.ts";
import { eventually } from "../../harness/eventually.ts";

const TAKEN: ResolverResult = { columns: {}, errors: [], ranMs: 0 };

/** A sink whose calls are answered by a function, and what became of its rows. */
function sinkOf(answer: (call: ResolverCall) => Promise<ResolverResult>, bufferSize = 2) {
  const sizes: number[] = [];
  const dropped: string[] = [];
  const sink = new BufferedSink({
    ...{ fqn: "features.out", parameter: "rows", columns: ["user.id"], tags: [], bufferSize },
    ...{ debounceMs: 3_600_000, maxDelayMs: 3_600_000, timeoutMs: 1_000 },
    pool: {
      call(call) {
        sizes.push(call.rows);
        return answer(call);
      },
    },
    observer: { called: () => undefined, dropped: (rows, reason) => dropped.push(`${rows} ${reason}`) },
    callContext: () => ({ now: [], context: { queryId: "", traceId: "", tags: [], queryContext: {} } }),
  });
  return { sink, sizes, dropped };
}

describe("a sink's buffer", () => {
  test("holds a bounded number of rows while a call runs, and drops the rest", async () => {
    const over = Promise.withResolvers<ResolverResult>();
    const { sink, sizes, dropped } = sinkOf(() => over.promise);
    sink.add([0]);
    sink.add([0]);
    await eventually(() => sizes.length === 1, "a call runs");
    for (let row = 0; row < 10_003; row++) sink.add([row]);
    expect(dropped).toEqual(["1 full", "1 full", "1 full"]);
    over.resolve(TAKEN);
    await sink.drain();
    expect(sizes.reduce((sum, rows) => sum + rows, 0)).toBe(10_002);
  });

  test("holds a bounded number of bytes", () => {
    const { sink, dropped } = sinkOf(() => new Promise(() => undefined), 100);
    for (let row = 0; row < 5; row++) sink.add(["x".repeat(4 * 1024 * 1024)]);
    expect(dropped).toEqual(["1 full", "1 full"]);
  });

  test("hands over the rest when it ends, tries that once, and drops what comes later", async () => {
    const { sink, sizes, dropped } = sinkOf(() => Promise.reject(new Error("down")), 10);
    sink.add([1]);
    await sink.drain();
    expect(sizes).toEqual([1]);
    sink.add([2]);
    expect(dropped).toEqual(["1 failed", "1 stopped"]);
  });
});
