/**
 * Credits: what use costs, by rates that the server's configuration states, and what is left of
 * credits that were bought.
 */

import type { UsageFigures } from "../stores/metadata/usage.ts";

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

/** What the configuration says of usage. A rate that it does not state is 0. */
export interface UsageSettings {
  readonly rates: readonly MachineRate[];
  /** The machine of this server, one of `rates`; undefined when no rate applies. */
  readonly machine: MachineRate | undefined;
  /** Credits for a million queries. */
  readonly perMillionQueries: number;
  /** Credits for a GiB that is stored for a month of 30 days. */
  readonly perGibMonth: number;
  readonly bundles: readonly CreditBundle[];
}

/** Bytes of a GiB. */
export const GIB = 2 ** 30;
/** Milliseconds of an hour. */
export const HOUR_MS = 3_600_000;
const MONTH_MS = 30 * 24 * HOUR_MS;

/** Credits for use: of processor time, queries and stored bytes together. */
export function creditsFor(
  { cpuMs, queries, storageByteMs }: Pick<UsageFigures, "cpuMs" | "queries" | "storageByteMs">,
  { machine, perGibMonth, perMillionQueries }: Omit<UsageSettings, "rates" | "bundles">,
): number {
  const processors = machine ? (cpuMs / HOUR_MS) * (machine.creditsPerHour / machine.vcpus) : 0;
  return processors + (queries / 1e6) * perMillionQueries + (storageByteMs / GIB / MONTH_MS) * perGibMonth;
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
