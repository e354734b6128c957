/**
 * The section `usage` of the server's configuration file: rates of machines, of queries and of
 * stored bytes, the machine of this server, and the credits that were bought.
 *
 *     usage:
 *       machine: m5.large
 *       rates:
 *         - {cloud: aws, machine: m5.large, vcpus: 2, memory_gb: 8, credits_per_hour: 0.5}
 *       credits_per_million_queries: 0.2
 *       credits_per_gib_month: 0.1
 *       bundles:
 *         - {id: b-1, purchase_date: 2026-01-01, credits: 1000, price: 100 EUR}
 */

import type { CreditBundle, MachineRate, UsageSettings } from "../usage/credits.ts";
import { invalidSetting, type Mapping, mappingOf, refuseOthers, type ServerFile, textOf } from "./server-file.ts";

const KEYS = ["machine", "rates", "credits_per_million_queries", "credits_per_gib_month", "bundles"];
const RATE_KEYS = ["cloud", "machine", "vcpus", "memory_gb", "credits_per_hour"];
const BUNDLE_KEYS = ["id", "purchase_date", "credits", "price", "expires_on"];

/**
 * Reads the section.
 * @throws StartError "setting_invalid" for anything that is not understood
 */
export function readUsageSettings({ path: file, usage }: ServerFile): UsageSettings {
  refuseOthers(usage, KEYS, file, "usage");
  const rates = items(usage.rates, file, "usage.rates").map((entry, at) => rateOf(entry, file, `usage.rates[${at}]`));
  const bundles = items(usage.bundles, file, "usage.bundles").map((entry, at) => bundleOf(entry, file, `usage.bundles[${at}]`));
  const machine = rates.find((rate) => rate.machine === usage.machine);
  if (usage.machine !== undefined && !machine)
    throw invalidSetting(`${file}: usage.machine is '${String(usage.machine)}', for which usage.rates has no rate.`);
  const rate = (key: string): number => (usage[key] === undefined ? 0 : numberOf(usage[key], file, `usage.${key}`));
  return {
    rates,
    machine,
    perMillionQueries: rate("credits_per_million_queries"),
    perGibMonth: rate("credits_per_gib_month"),
    bundles,
  };
}

function rateOf(entry: Mapping, file: string, what: string): MachineRate {
  refuseOthers(entry, RATE_KEYS, file, what);
  return {
    cloud: textOf(entry.cloud, file, `${what}.cloud`),
    machine: textOf(entry.machine, file, `${what}.machine`),
    vcpus: numberOf(entry.vcpus, file, `${what}.vcpus`, 1e-3),
    memoryGb: numberOf(entry.memory_gb, file, `${what}.memory_gb`),
    creditsPerHour: numberOf(entry.credits_per_hour, file, `${what}.credits_per_hour`),
  };
}

function bundleOf(entry: Mapping, file: string, what: string): CreditBundle {
  refuseOthers(entry, BUNDLE_KEYS, file, what);
  return {
    id: textOf(entry.id, file, `${what}.id`),
    purchaseDate: dayOf(entry.purchase_date, file, `${what}.purchase_date`),
    credits: numberOf(entry.credits, file, `${what}.credits`),
    price: entry.price === undefined ? "" : textOf(entry.price, file, `${what}.price`),
    expiresOn: entry.expires_on === undefined ? undefined : dayOf(entry.expires_on, file, `${what}.expires_on`),
  };
}

function items(value: unknown, file: string, what: string): Mapping[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw invalidSetting(`${file}: ${what} is not a list.`);
  return value.map((entry, at) => mappingOf(entry, file, `${what}[${at}]`));
}

function numberOf(value: unknown, file: string, what: string, least = 0): number {
  if (typeof value === "number" && Number.isFinite(value) && value >= least) return value;
  throw invalidSetting(`${file}: ${what} is not a number of at least ${least}.`);
}

function dayOf(value: unknown, file: string, what: string): string {
  const text = value instanceof Date ? value.toISOString().slice(0, 10) : String(value);
  if (/^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text))) return text;
  throw invalidSetting(`${file}: ${what} is not a day.`, "A day is written as 2026-01-31.");
}
