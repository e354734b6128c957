import { expect, test } from "bun:test";
import { addUpUsage, type CreditBundle, remainingCredits } from "../../../src/server/processes/usage.ts";

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

test("use adds up by month and label, with credits for vCPU hours at the machine's rate", () => {
  const record = (day: string, environmentId: string, cpuMs: number) => ({
    ...{ day, environmentId, resourceGroup: "default", kind: "worker" as const, cpuMs, wallMs: 2 * cpuMs, memoryByteMs: 1 },
  });
  const machine = { cloud: "c", machine: "m", vcpus: 4, memoryGb: 1, creditsPerHour: 2 };
  const records = [record("2026-01-31", "b", 3_600_000), record("2026-01-01", "b", 3_600_000), record("2026-02-01", "a", 1)];
  expect(addUpUsage(records, { period: "month", label: ({ environmentId }) => environmentId, machine })).toEqual([
    { date: "2026-01", label: "b", credits: 1, cpuMs: 7_200_000, wallMs: 14_400_000, memoryByteMs: 2 },
    { date: "2026-02", label: "a", credits: 0.5 / 3_600_000, cpuMs: 1, wallMs: 2, memoryByteMs: 1 },
  ]);
});
