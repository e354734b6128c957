/** UsageService: what the platform used, and what it costs. */

import type { Timestamp } from "@bufbuild/protobuf/wkt";
import type { ConnectRouter } from "@connectrpc/connect";
import { type ListUsageRequest, UsageGrouping, UsagePeriod, UsageService } from "../../../../gen/svc/v1/usage_pb.ts";
import { msToTimestamp, timestampToMs } from "../../../domain/proto-time.ts";
import { sizeText } from "../../../domain/size.ts";
import { Failure } from "../../failure.ts";
import { GIB, HOUR_MS } from "../../usage/credits.ts";
import type { AskedPeriod, Grouping } from "../../usage/usage.ts";
import { callerOf } from "../interceptors.ts";
import type { Platform } from "../platform.ts";

/** Adds the service to a router. */
export function register(router: ConnectRouter, { usage, usageSettings }: Platform): void {
  router.service(UsageService, {
    async listUsage(request, context) {
      const totals = await (await usage()).totals(callerOf(context).teamId, {
        ...askedPeriod(request),
        period: request.period === UsagePeriod.MONTHLY ? "month" : "day",
        grouping: groupingOf(request),
      });
      return {
        usage: totals.map(({ date, label, credits, cpuMs, wallMs, memoryByteMs, storageByteMs, ...counts }) => ({
          ...{ date, label, credits, cpuSeconds: cpuMs / 1000, wallSeconds: wallMs / 1000 },
          ...{ memoryGibHours: memoryByteMs / GIB / HOUR_MS, storageGibHours: storageByteMs / GIB / HOUR_MS },
          ...{ queries: BigInt(counts.queries), bulkQueries: BigInt(counts.bulkQueries) },
          ...{ rows: BigInt(counts.rows), errors: BigInt(counts.errors) },
        })),
      };
    },

    async listInstances(_request, context) {
      const instances = await (await usage()).instances(callerOf(context).teamId);
      return {
        instances: instances.map(({ host, processes, cpuMs, memoryBytes, since }) => ({
          ...{ host, processes, cpuSeconds: cpuMs / 1000, memoryBytes: BigInt(memoryBytes), since: msToTimestamp(since) },
        })),
      };
    },

    listRates: () => ({
      rates: usageSettings.rates.map((rate) => ({ ...rate })),
      creditsPerMillionQueries: usageSettings.perMillionQueries,
      creditsPerGibMonth: usageSettings.perGibMonth,
    }),

    async listBundles(_request, context) {
      const bundles = await (await usage()).bundles(callerOf(context).teamId);
      return {
        bundles: bundles.map(({ bundle: { id, expiresOn = "", ...bought }, remaining }) => ({
          bundleId: id,
          ...bought,
          expiresOn,
          remaining,
        })),
      };
    },

    async listPodLifetimes(request, context) {
      const { resourceGroup, serviceKind: kind } = request;
      const processes = await (await usage()).lifetimes(callerOf(context).teamId, { ...askedPeriod(request), kind, resourceGroup });
      return {
        pods: processes.map((one) => ({
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

function askedPeriod({ startTime, endTime }: { startTime?: Timestamp | undefined; endTime?: Timestamp | undefined }): AskedPeriod {
  return { from: startTime && timestampToMs(startTime), until: endTime && timestampToMs(endTime) };
}

/** Throws Failure invalid_argument for the key of a label with another grouping. */
function groupingOf({ grouping, labelKey }: ListUsageRequest): Grouping {
  if (grouping === UsageGrouping.LABEL) return { label: labelKey };
  if (labelKey !== "") throw new Failure("invalid_argument", "The key of a label goes with grouping by a label alone.");
  return grouping === UsageGrouping.INSTANCE ? "kind" : "cluster";
}
