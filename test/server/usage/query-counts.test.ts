import { expect, test } from "bun:test";
import { createLog } from "../../../src/server/log.ts";
import type { UsageRecord } from "../../../src/server/stores/metadata/usage.ts";
import { createQueryCounts, type EndedQuery } from "../../../src/server/usage/query-counts.ts";
import { eventually } from "../../harness/eventually.ts";
import { HeldClock } from "../nodes/held-clock.ts";

const MIDNIGHT = Date.UTC(2026, 0, 2);
const query = (patch: Partial<EndedQuery> = {}): EndedQuery => ({
  ...{ kind: "query", environmentId: "env_1", endedAt: MIDNIGHT, rows: 1, isOk: true },
  ...patch,
});

/** A store that refuses what it is told to, and counts whose pauses end when the test says so. */
function counting() {
  const clock = new HeldClock();
  const added: UsageRecord[][] = [];
  const refusals: Error[] = [];
  const store = {
    async add(used: readonly UsageRecord[]) {
      const refusal = refusals.shift();
      if (refusal) throw refusal;
      added.push([...used]);
    },
  };
  const counts = createQueryCounts({ store, clock, log: createLog({ clock, write: () => undefined }) });
  const figures = () =>
    added.flat().map(({ day, environmentId, kind, queries, rows, errors }) => [day, environmentId, kind, queries, rows, errors]);
  return { clock, added, refusals, counts, figures };
}

test("queries count by kind, environment and the day of their end, and once", async () => {
  const { added, counts, figures } = counting();
  counts.count(query());
  counts.count(query({ isOk: false, rows: 0 }));
  counts.count(query({ kind: "bulk_query", rows: 1_000 }));
  counts.count(query({ environmentId: "env_2" }));
  counts.count(query({ endedAt: MIDNIGHT - 0.5 }));
  await counts.flush();
  expect(figures()).toEqual([
    ["2026-01-02", "env_1", "query", 2, 1, 1],
    ["2026-01-02", "env_1", "bulk_query", 1, 1_000, 0],
    ["2026-01-02", "env_2", "query", 1, 1, 0],
    ["2026-01-01", "env_1", "query", 1, 1, 0],
  ]);
  await counts.flush();
  await counts.close();
  expect(added.length).toBe(1);
});

test("what the store refuses stays counted, with what comes meanwhile, until the end", async () => {
  const { counts, figures, refusals } = counting();
  refusals.push(new Error("full"), new Error("full"));
  counts.count(query());
  const flushing = counts.flush();
  counts.count(query());
  await flushing;
  counts.count(query({ isOk: false }));
  await counts.flush();
  expect(figures()).toEqual([]);
  await counts.close();
  expect(figures()).toEqual([["2026-01-02", "env_1", "query", 3, 3, 1]]);
});

test("what was counted is written again and again", async () => {
  const { clock, counts, figures } = counting();
  for (const round of [1, 2]) {
    counts.count(query());
    clock.release();
    await eventually(() => figures().length === round, "what was counted is written");
  }
  await counts.close();
  expect(figures().length).toBe(2);
});
