import { expect, test } from "bun:test";
import { NO_USE, type UsageKind, type UsageRecord } from "../../../src/server/stores/metadata/usage.ts";
import { type CreditBundle, creditsFor, GIB, HOUR_MS, remainingCredits } from "../../../src/server/usage/credits.ts";
import { addUpUsage } from "../../../src/server/usage/totals.ts";

const bundle = (id: string, purchaseDate: string, credits: number, expiresOn?: string): CreditBundle => ({
  ...{ id, purchaseDate, credits, price: "", expiresOn },
});

test("credits are taken day by day from the valid bundle that expires first, and never from a later one", () => {
  const first = bundle("first", "2026-01-01", 10, "2026-01-31");
  const second = bundle("second", "2026-01-02", 10);
  const left = remainingCredits(
    [second, first],
    new Map([
      ["2026-02-01", 4],
      ["2025-12-31", 100],
      ["2026-01-01", 3],
      ["2026-01-02", 9],
    ]),
  );
  expect([left.get(first), left.get(second)]).toEqual([0, 4]);
  const lost = remainingCredits([first], new Map([["2026-01-01", 99]]));
  expect(lost.get(first)).toBe(0);
});

test("credits are the sum of vCPU hours at the machine's rate, queries and stored bytes; without rates there are none", () => {
  const machine = { cloud: "c", machine: "m", vcpus: 4, memoryGb: 1, creditsPerHour: 2 };
  const use = { ...NO_USE, cpuMs: 2 * HOUR_MS, queries: 500_000, storageByteMs: 3 * GIB * 720 * HOUR_MS };
  const rates = { machine: undefined, perMillionQueries: 0, perGibMonth: 0 };
  expect([
    creditsFor(use, rates),
    creditsFor(use, { ...rates, machine }),
    creditsFor(use, { ...rates, perMillionQueries: 8 }),
    creditsFor(use, { ...rates, perGibMonth: 0.5 }),
    creditsFor(use, { machine, perMillionQueries: 8, perGibMonth: 0.5 }),
  ]).toEqual([0, 1, 4, 1.5, 6.5]);
});

test("use adds up by month and label", () => {
  const record = (day: string, kind: UsageKind, patch: Partial<UsageRecord>): UsageRecord => ({
    ...{ ...NO_USE, day, environmentId: "b", resourceGroup: "default", kind },
    ...patch,
  });
  const records = [
    record("2026-01-31", "worker", { cpuMs: 3, wallMs: 6, memoryByteMs: 1 }),
    record("2026-01-01", "worker", { cpuMs: 4, wallMs: 8, memoryByteMs: 1 }),
    record("2026-01-02", "query", { queries: 5, rows: 4, errors: 1 }),
    record("2026-01-02", "bulk_query", { queries: 2, rows: 100 }),
    record("2026-02-01", "online_store", { environmentId: "a", storageByteMs: 9 }),
  ];
  expect(addUpUsage(records, { period: "month", label: ({ environmentId }) => environmentId })).toEqual([
    {
      ...{ date: "2026-01", label: "b", cpuMs: 7, wallMs: 14, memoryByteMs: 2 },
      ...{ queries: 7, bulkQueries: 2, rows: 104, errors: 1, storageByteMs: 0 },
    },
    { date: "2026-02", label: "a", bulkQueries: 0, ...NO_USE, storageByteMs: 9 },
  ]);
});
