/**
 * Usage: what processes, queries and stored bytes took, for people who pay for it. It is kept by
 * day; what ran, is held or was counted on this node is brought up to date before it is shown.
 */

import type { Clock } from "../../context/clock.ts";
import { DAY_MS, dayOf } from "../../domain/day.ts";
import { Failure } from "../failure.ts";
import type { Processes } from "../processes/processes.ts";
import type { ProcessRecord } from "../stores/metadata/processes.ts";
import type { MetadataStore } from "../stores/metadata/store.ts";
import type { UsageRecord } from "../stores/metadata/usage.ts";
import { type CreditBundle, creditsFor, remainingCredits, type UsageSettings } from "./credits.ts";
import type { QueryCounts } from "./query-counts.ts";
import type { StorageMeter } from "./storage-meter.ts";
import { addUpUsage, type Totalling, type UsageTotal } from "./totals.ts";

/** A period in epoch milliseconds, as it was asked for. */
export interface AskedPeriod {
  /** Undefined = some days before the end. */
  readonly from: number | undefined;
  /** Undefined = now. */
  readonly until: number | undefined;
}

/**
 * What labels of use stand for: environments and resource groups, kinds, or the value that the
 * configurations of environments have for a label.
 */
export type Grouping = "cluster" | "kind" | { readonly label: string };

/** What one label used in one period, with its price. */
export interface PricedUsage extends UsageTotal {
  readonly credits: number;
}

/** A machine with what runs on it. */
export interface InstanceUse {
  readonly host: string;
  readonly processes: number;
  readonly cpuMs: number;
  readonly memoryBytes: number;
  /** When the oldest process began. */
  readonly since: number;
}

/** Usage, as a team may see it. */
export interface Usage {
  /** Use by period and label. Rejects with Failure invalid_argument. */
  totals(
    teamId: string,
    asked: AskedPeriod & { readonly period: Totalling["period"]; readonly grouping: Grouping },
  ): Promise<PricedUsage[]>;
  /** What runs now, by machine. */
  instances(teamId: string): Promise<InstanceUse[]>;
  /** The bundles of the configuration, each with what is left of its credits. */
  bundles(teamId: string): Promise<{ readonly bundle: CreditBundle; readonly remaining: number }[]>;
  /**
   * Processes that ran in a period, newest first; empty names do not limit. Rejects with Failure
   * invalid_argument.
   */
  lifetimes(teamId: string, asked: AskedPeriod & { readonly kind: string; readonly resourceGroup: string }): Promise<ProcessRecord[]>;
}

/** What the capability needs. */
export interface UsageParts {
  readonly metadata: Pick<MetadataStore, "environments" | "processes" | "usage">;
  readonly clock: Clock;
  readonly settings: UsageSettings;
  readonly processes: () => Promise<Pick<Processes, "measure">>;
  readonly queryCounts: Pick<QueryCounts, "flush">;
  readonly storage: Pick<StorageMeter, "settle">;
  /** Labels of every environment that has some, by its id. */
  readonly labels: () => Promise<ReadonlyMap<string, Readonly<Record<string, string>>>>;
}

const USAGE_DAYS = 180;
const LIFETIME_DAYS = 7;
const MAX_LIFETIMES = 10_000;
const MAX_TOTALS = 20_000;
/** The end of the year 9999. */
const MAX_TIME_MS = 253_402_300_799_999;
const MAX_LABEL = 100;
/**
 * What rows are called that belong to no environment, to one that was removed, or have no label.
 */
const SERVER = "server";
const REMOVED = "(removed)";
const NONE = "(none)";

/** Makes the capability. */
export function createUsage(parts: UsageParts): Usage {
  const { clock, metadata, queryCounts, settings, storage } = parts;

  const periodOf = ({ from, until = clock.now() }: AskedPeriod, days: number) => {
    const end = Math.min(until, MAX_TIME_MS);
    const start = Math.max(0, from ?? end - days * DAY_MS);
    if (start >= end) throw new Failure("invalid_argument", "The start of the period is not before its end.");
    return { from: start, until: end };
  };
  /**
   * What a team sees: the server and its environments, with their names. Environments that are
   * removed are the only team's; of several teams nobody knows whose they were.
   */
  const viewOf = async (teamId: string) => {
    const environments = await metadata.environments();
    const own = environments.filter((one) => one.teamId === teamId);
    const names = new Map([["", SERVER], ...own.map(({ id, name }) => [id, name] as const)]);
    const isOnlyTeam = own.length === environments.length;
    return {
      isOwn: ({ environmentId }: { readonly environmentId: string }) => isOnlyTeam || names.has(environmentId),
      nameOf: (environmentId: string) => names.get(environmentId) ?? REMOVED,
    };
  };
  type View = Awaited<ReturnType<typeof viewOf>>;
  const used = async ({ isOwn }: View, from: number, until: number): Promise<UsageRecord[]> => {
    await Promise.all([(await parts.processes()).measure(), queryCounts.flush(), storage.settle()]);
    return (await metadata.usage.between(dayOf(from), dayOf(until))).filter(isOwn);
  };
  const labelling = async (grouping: Grouping, { nameOf }: View): Promise<Totalling["label"]> => {
    if (grouping === "kind") return ({ kind }) => kind;
    if (grouping === "cluster") return ({ environmentId, resourceGroup }) => `${nameOf(environmentId)}/${resourceGroup}`;
    const { label } = grouping;
    if (label === "" || label.length > MAX_LABEL)
      throw new Failure("invalid_argument", `The key of a label has 1 to ${MAX_LABEL} characters.`);
    const labels = await parts.labels();
    return ({ environmentId }) => labelOf(labels.get(environmentId), label) ?? NONE;
  };

  return {
    async totals(teamId, { grouping, period, ...asked }) {
      const { from, until } = periodOf(asked, USAGE_DAYS);
      const view = await viewOf(teamId);
      const label = await labelling(grouping, view);
      const totals = addUpUsage(await used(view, from, until), { period, label });
      if (totals.length > MAX_TOTALS)
        throw new Failure("invalid_argument", `The answer would have ${totals.length} rows, and has at most ${MAX_TOTALS}.`, {
          hint: "Ask for a shorter period, or by month.",
        });
      return totals.map((total) => ({ ...total, credits: creditsFor(total, settings) }));
    },

    async instances(teamId) {
      const { isOwn } = await viewOf(teamId);
      await (await parts.processes()).measure();
      const running = (await metadata.processes.running()).filter(isOwn);
      return [...Map.groupBy(running, ({ host }) => host)].map(([host, processes]) => ({
        host,
        processes: processes.length,
        cpuMs: sum(processes, ({ cpuMs }) => cpuMs),
        memoryBytes: sum(processes, ({ memoryBytes }) => memoryBytes),
        since: Math.min(...processes.map(({ startedAt }) => startedAt)),
      }));
    },

    async bundles(teamId) {
      const { bundles } = settings;
      const first = bundles.map(({ purchaseDate }) => purchaseDate).sort()[0];
      if (first === undefined) return [];
      const days = addUpUsage(await used(await viewOf(teamId), Date.parse(first), clock.now()), { period: "day", label: () => "" });
      const left = remainingCredits(bundles, new Map(days.map((day) => [day.date, creditsFor(day, settings)])));
      return bundles.map((bundle) => ({ bundle, remaining: left.get(bundle) ?? 0 }));
    },

    async lifetimes(teamId, { kind, resourceGroup, ...asked }) {
      const { from, until } = periodOf(asked, LIFETIME_DAYS);
      const { isOwn } = await viewOf(teamId);
      return (await metadata.processes.between(from, until, MAX_LIFETIMES)).filter(
        (one) => isOwn(one) && (kind === "" || one.kind === kind) && (resourceGroup === "" || one.resourceGroup === resourceGroup),
      );
    },
  };
}

function labelOf(labels: Readonly<Record<string, string>> | undefined, key: string): string | undefined {
  return labels && Object.hasOwn(labels, key) ? labels[key] : undefined;
}

function sum<T>(items: readonly T[], of: (item: T) => number): number {
  return items.reduce((total, item) => total + of(item), 0);
}
