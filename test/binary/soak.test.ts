/**
 * Half a minute of the soak that `test/bench/soak.ts` runs for hours: counts that may not grow with
 * the queries, and files that have a bound. Nothing is said of time.
 */

import { expect, test } from "bun:test";
import { driftOf, soak } from "../bench/soak.ts";
import { Sandbox } from "../harness/sandbox.ts";

const MIB = 1024 * 1024;

test("a server under load keeps its descriptors, threads and workers, and the bounds of its files", async () => {
  await using sandbox = new Sandbox();
  const marks = await soak(sandbox, { seconds: 30, rate: 200, ids: 500, everySeconds: 5 });
  const last = marks.at(-1);
  console.log(`soak: ${last?.queries} queries, drift in percent: ${JSON.stringify(driftOf(marks))}`);
  expect(last?.queries).toBeGreaterThan(100);
  expect(marks.map(({ faults }) => faults)).toEqual(marks.map(() => 0));
  const first = marks.find(({ second }) => second >= 5)?.figures ?? {};
  const figures = last?.figures ?? {};
  if (process.platform === "linux") {
    for (const name of ["descriptors", "sockets", "threads"])
      expect([name, (figures[name] ?? 0) <= (first[name] ?? 0) + 8]).toEqual([name, true]);
    expect(figures.processes).toBe(first.processes as number);
    expect(figures["server rss"]).toBeLessThan(600 * MIB);
  }
  const bounds = {
    "online.db-wal": 72,
    "offline.db-wal": 72,
    "telemetry.db-wal": 72,
    "meta.db-wal": 8,
    "server.log": 16,
    "server.err": 0.1,
  };
  for (const [name, mib] of Object.entries(bounds)) expect([name, (figures[name] ?? 0) <= mib * MIB]).toEqual([name, true]);
}, 300_000);
