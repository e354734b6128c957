/** MonitorService: bounds that metrics should keep. */

import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ConnectRouter } from "@connectrpc/connect";
import { MetricUnit } from "../../../../gen/svc/v1/metric_pb.ts";
import { MonitorService, type MonitorStandingSchema, MonitorState } from "../../../../gen/svc/v1/monitor_pb.ts";
import { durationToMs, msToDuration, msToTimestamp, timestampToMs } from "../../../domain/proto-time.ts";
import { resolveScope } from "../../access/scope.ts";
import { Failure } from "../../failure.ts";
import type { MonitorView } from "../../monitors/monitors.ts";
import { callerOf } from "../interceptors.ts";
import { pageAddress } from "../page-address.ts";
import type { Platform } from "../platform.ts";

const STATES = {
  ok: MonitorState.OK,
  pending: MonitorState.PENDING,
  firing: MonitorState.FIRING,
  no_data: MonitorState.NO_DATA,
} as const;
const UNITS = { one: MetricUnit.ONE, seconds: MetricUnit.SECONDS, bytes: MetricUnit.BYTES, ratio: MetricUnit.RATIO } as const;
/** Most firings of an answer. */
const MAX_FIRINGS = 1_000;

/** Adds the service to a router. */
export function register(router: ConnectRouter, platform: Platform): void {
  const { clock, environments, monitors } = platform;
  const standingOf = (view: MonitorView, environmentId: string, headers: Headers): MessageInitShape<typeof MonitorStandingSchema> => ({
    ...standingMessage(view),
    url: pageAddress(platform, headers, environmentId, "monitor", { name: view.monitor.name }),
  });

  router.service(MonitorService, {
    async listMonitors(_request, context) {
      const { environment } = await resolveScope(environments, callerOf(context), context.requestHeader);
      const views = await (await monitors()).list(environment);
      return { monitors: views.map((view) => standingOf(view, environment.id, context.requestHeader)) };
    },

    async testMonitor({ name, since }, context) {
      const { environment } = await resolveScope(environments, callerOf(context), context.requestHeader);
      const sinceMs = since && durationToMs(since);
      const { replay, view } = await (await monitors()).test(environment, name, sinceMs, context.signal);
      const { broken, evaluations, firings, from, stepMs, until, withoutValue } = replay;
      return {
        ...{ monitor: view.monitor, step: msToDuration(stepMs) },
        ...{ from: msToTimestamp(from), until: msToTimestamp(until), evaluations, withoutValue, broken },
        firings: firings.slice(0, MAX_FIRINGS).map(({ firedAt, labels, resolvedAt, worst }) => ({
          ...{ firedAt: msToTimestamp(firedAt), worstValue: worst, labels: { ...labels }, unit: UNITS[view.watch.unit] },
          ...(resolvedAt !== undefined && { resolvedAt: msToTimestamp(resolvedAt) }),
        })),
        omitted: Math.max(0, firings.length - MAX_FIRINGS),
      };
    },

    async silenceMonitor({ name, end, reason }, context) {
      const caller = callerOf(context);
      const { environment } = await resolveScope(environments, caller, context.requestHeader);
      if (end.case === undefined)
        throw new Failure("invalid_argument", "The request does not say when the silence ends.", { hint: "Give --for or --until." });
      const until = end.case === "until" ? timestampToMs(end.value) : clock.now() + durationToMs(end.value);
      const wish = { until, clientId: caller.clientId, reason: reason.trim() };
      const view = await (await monitors()).silence(environment, name, wish);
      return { monitor: standingOf(view, environment.id, context.requestHeader) };
    },

    async endMonitorSilence({ name }, context) {
      const { environment } = await resolveScope(environments, callerOf(context), context.requestHeader);
      const view = await (await monitors()).endSilence(environment, name);
      return { monitor: standingOf(view, environment.id, context.requestHeader) };
    },
  });
}

function standingMessage({ monitor, silence, standing, watch }: MonitorView): MessageInitShape<typeof MonitorStandingSchema> {
  return {
    ...{ monitor, unit: UNITS[watch.unit], bound: watch.bound, period: msToDuration(watch.periodMs) },
    ...(standing && {
      ...{ state: STATES[standing.state], since: msToTimestamp(standing.since), labels: { ...standing.labels } },
      evaluatedAt: msToTimestamp(standing.evaluatedAt),
      ...(standing.value !== undefined && { value: standing.value }),
      ...(standing.firedAt !== undefined && { firedAt: msToTimestamp(standing.firedAt) }),
    }),
    ...(silence && {
      silence: {
        ...{ until: msToTimestamp(silence.until), createdAt: msToTimestamp(silence.createdAt) },
        ...{ clientId: silence.clientId, reason: silence.reason },
      },
    }),
  };
}
