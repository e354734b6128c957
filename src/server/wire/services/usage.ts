/** UsageService: what processes used, and what it costs. */

import type { Timestamp } from "@bufbuild/protobuf/wkt";
import type { ConnectRouter } from "@connectrpc/connect";
import { UsageGrouping, UsagePeriod, UsageService } from "../../../../gen/svc/v1/usage_pb.ts";
import { msToTimestamp, timestampToMs } from "../../../domain/proto-time.ts";
import { sizeText } from "../../../domain/size.ts";
import type { Caller } from "../../access/tokens.ts";
import { Failure } from "../../failure.ts";
import { addUpUsage, creditsFor, remainingCredits } from "../../processes/usage.ts";
import type { ProcessRecord, UsageRecord } from "../../stores/metadata/processes.ts";
import { callerOf } from "../interceptors.ts";
import type { Platform } from "../platform.ts";

const DAY_MS = 86_400_000;
const USAGE_DAYS = 180;
const LIFETIME_DAYS = 7;
const MAX_LIFETIMES = 10_000;
const HOUR_MS = 3_600_000;
const GIB = 2 ** 30;
/** The end of the year 9999. */
const MAX_TIME_MS = 253_402_300_799_999;

/** Adds the service to a router. */
export function register(router: ConnectRouter, platform: Platform): void {
  const { clock, environments, metadata, usage } = platform;

  /** The period of a request. Throws Failure invalid_argument when it ends before it begins. */
  const period = ({ startTime, endTime }: { startTime?: Timestamp | undefined; endTime?: Timestamp | undefined }, days: number) => {
    const until = endTime ? Math.min(timestampToMs(endTime), MAX_TIME_MS) : clock.now();
    const from = Math.max(0, startTime ? timestampToMs(startTime) : until - days * DAY_MS);
    if (from >= until) throw new Failure("invalid_argument", "The start of the period is not before its end.");
    return { from, until };
  };
  const namesOf = async ({ teamId }: Caller): Promise<ReadonlyMap<string, string>> =>
    new Map([["", "server"], ...(await environments.list(teamId)).map(({ id, name }) => [id, name] as const)]);
  const measured = async (caller: Caller, from: number, until: number): Promise<UsageRecord[]> => {
    await (await platform.processes()).measure();
    const names = await namesOf(caller);
    return (await metadata.processes.usage(dayOf(from), dayOf(until))).filter(({ environmentId }) => names.has(environmentId));
  };

  router.service(UsageService, {
    async listUsage(request, context) {
      const caller = callerOf(context);
      const { from, until } = period(request, USAGE_DAYS);
      const names = await namesOf(caller);
      const rows = addUpUsage(await measured(caller, from, until), {
        period: request.period === UsagePeriod.MONTHLY ? "month" : "day",
        machine: usage.machine,
        label: ({ environmentId, kind, resourceGroup }) =>
          request.grouping === UsageGrouping.INSTANCE ? kind : `${names.get(environmentId) ?? environmentId}/${resourceGroup}`,
      });
      return {
        usage: rows.map(({ date, label, credits, cpuMs, wallMs, memoryByteMs }) => ({
          ...{ date, label, credits, cpuSeconds: cpuMs / 1000, wallSeconds: wallMs / 1000 },
          memoryGibHours: memoryByteMs / GIB / HOUR_MS,
        })),
      };
    },

    async listInstances(_request, context) {
      const names = await namesOf(callerOf(context));
      await (await platform.processes()).measure();
      const running = (await metadata.processes.running()).filter(({ environmentId }) => names.has(environmentId));
      return {
        instances: [...Map.groupBy(running, ({ host }) => host)].map(([host, processes]) => ({
          host,
          processes: processes.length,
          cpuSeconds: sum(processes, ({ cpuMs }) => cpuMs) / 1000,
          memoryBytes: BigInt(sum(processes, ({ memoryBytes }) => memoryBytes)),
          since: msToTimestamp(Math.min(...processes.map(({ startedAt }) => startedAt))),
        })),
      };
    },

    listRates: () => ({ rates: usage.rates.map((rate) => ({ ...rate })) }),

    async listBundles(_request, context) {
      const { bundles, machine } = usage;
      const first = bundles.map(({ purchaseDate }) => purchaseDate).sort()[0];
      if (first === undefined) return { bundles: [] };
      const days = new Map<string, number>();
      for (const { day, cpuMs } of await measured(callerOf(context), Date.parse(first), clock.now()))
        days.set(day, (days.get(day) ?? 0) + creditsFor(cpuMs, machine));
      const left = remainingCredits(bundles, days);
      return {
        bundles: bundles.map((bundle) => ({
          bundleId: bundle.id,
          purchaseDate: bundle.purchaseDate,
          credits: bundle.credits,
          price: bundle.price,
          remaining: left.get(bundle) ?? 0,
          expiresOn: bundle.expiresOn ?? "",
        })),
      };
    },

    async listPodLifetimes(request, context) {
      const { from, until } = period(request, LIFETIME_DAYS);
      const { resourceGroup, serviceKind } = request;
      const names = await namesOf(callerOf(context));
      const isWanted = (one: ProcessRecord): boolean =>
        names.has(one.environmentId) &&
        (serviceKind === "" || one.kind === serviceKind) &&
        (resourceGroup === "" || one.resourceGroup === resourceGroup);
      return {
        pods: (await metadata.processes.between(from, until, MAX_LIFETIMES)).filter(isWanted).map((one) => ({
          pod: one.name,
          startedAt: msToTimestamp(one.startedAt),
          ...(one.endedAt !== undefined && { endedAt: msToTimestamp(one.endedAt) }),
          memoryLimit: one.memoryLimitBytes === undefined ? "" : sizeText(one.memoryLimitBytes),
          workloadType: one.kind,
          node: one.host,
          outcome: one.outcome,
          cpuSeconds: one.cpuMs / 1000,
          peakMemoryBytes: BigInt(one.peakMemoryBytes),
        })),
      };
    },
  });
}

function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

function sum<T>(items: readonly T[], of: (item: T) => number): number {
  return items.reduce((total, item) => total + of(item), 0);
}
