/**
 * Usage: what processes used, added up for people who pay for it. Credits are hours of vCPUs times
 * a rate that the server's configuration states.
 */

import type { UsageRecord } from "../stores/metadata/processes.ts";

/** The rate of a type of machine. */
export interface MachineRate {
  readonly cloud: string;
  readonly machine: string;
  readonly vcpus: number;
  readonly memoryGb: number;
  /** Credits for an hour of the machine. */
  readonly creditsPerHour: number;
}

/** Credits that were bought. Days are `YYYY-MM-DD`. */
export interface CreditBundle {
  readonly id: string;
  readonly purchaseDate: string;
  readonly credits: number;
  /** With its currency. */
  readonly price: string;
  /** Last day; undefined = it does not expire. */
  readonly expiresOn: string | undefined;
}

/** What the configuration says of usage. */
export interface UsageSettings {
  readonly rates: readonly MachineRate[];
  /** The machine of this server, one of `rates`; undefined when no rate applies. */
  readonly machine: MachineRate | undefined;
  readonly bundles: readonly CreditBundle[];
}

/** What one label used in one period. */
export interface UsageRow {
  /** `YYYY-MM-DD` or `YYYY-MM`. */
  readonly date: string;
  readonly label: string;
  readonly credits: number;
  readonly cpuMs: number;
  readonly wallMs: number;
  readonly memoryByteMs: number;
}

const HOUR_MS = 3_600_000;

/** Credits for processor time on the machine of this server; 0 without a rate. */
export function creditsFor(cpuMs: number, machine: MachineRate | undefined): number {
  return machine ? (cpuMs / HOUR_MS) * (machine.creditsPerHour / machine.vcpus) : 0;
}

/** Adds use up by period and label, sorted by both. */
export function addUpUsage(
  records: readonly UsageRecord[],
  options: {
    readonly period: "day" | "month";
    readonly label: (record: UsageRecord) => string;
    readonly machine: MachineRate | undefined;
  },
): UsageRow[] {
  const { period, label, machine } = options;
  const rows = new Map<string, UsageRow>();
  for (const record of records) {
    const date = period === "day" ? record.day : record.day.slice(0, 7);
    const key = `${date} ${label(record)}`;
    const before = rows.get(key) ?? { date, label: label(record), credits: 0, cpuMs: 0, wallMs: 0, memoryByteMs: 0 };
    const cpuMs = before.cpuMs + record.cpuMs;
    rows.set(key, {
      ...before,
      cpuMs,
      credits: creditsFor(cpuMs, machine),
      wallMs: before.wallMs + record.wallMs,
      memoryByteMs: before.memoryByteMs + record.memoryByteMs,
    });
  }
  return [...rows].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row);
}

/**
 * What is left of each bundle. The credits of a day are taken from the bundles that are valid then,
 * first from the one that expires first; what no bundle covers is not taken from later ones.
 */
export function remainingCredits(
  bundles: readonly CreditBundle[],
  credits: ReadonlyMap<string, number>,
): ReadonlyMap<CreditBundle, number> {
  const left = new Map(bundles.map((bundle) => [bundle, bundle.credits]));
  const order = bundles.toSorted((a, b) => ((a.expiresOn ?? "9999") < (b.expiresOn ?? "9999") ? -1 : 1));
  for (const [day, used] of [...credits].sort(([a], [b]) => (a < b ? -1 : 1))) {
    let open = used;
    for (const bundle of order) {
      if (bundle.purchaseDate > day || (bundle.expiresOn ?? "9999") < day) continue;
      const taken = Math.min(open, left.get(bundle) ?? 0);
      left.set(bundle, (left.get(bundle) ?? 0) - taken);
      open -= taken;
    }
  }
  return left;
}
