/** TraceService: traces and their spans. */

import { create } from "@bufbuild/protobuf";
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import type { ConnectRouter, HandlerContext } from "@connectrpc/connect";
import {
  GetSpanResponseSchema,
  ListSpansResponseSchema,
  ListTracesResponseSchema,
  TraceService,
  TraceServiceGetTraceResponseSchema,
} from "../../../../gen/svc/v1/trace_pb.ts";
import { msToDuration, msToTimestamp, timestampToMs } from "../../../domain/proto-time.ts";
import { fits } from "../../../domain/search/pattern.ts";
import { resolveScope } from "../../access/scope.ts";
import { Failure } from "../../failure.ts";
import type { RecordedBounds, SpanSearch, TraceSummary } from "../../stores/telemetry/store.ts";
import { checkBounds } from "../../written-search.ts";
import { callerOf } from "../interceptors.ts";
import { pageAddress } from "../page-address.ts";
import type { Platform } from "../platform.ts";
import { pageToken, placeToken, readPageToken, readPlace, recordsOf } from "./page-token.ts";
import { noTrace, spanMessage, spansOfTrace } from "./recorded-query.ts";

const HOUR_MS = 3_600_000;
/** Longest name of a service or a span that is searched for. */
const MAX_NAME = 500;

/** Adds the service to a router. */
export function register(router: ConnectRouter, platform: Platform): void {
  const { clock, environments, keys, telemetry } = platform;
  const environmentOf = async (context: HandlerContext): Promise<string> =>
    (await resolveScope(environments, callerOf(context), context.requestHeader)).environment.id;
  const shown = (trace: TraceSummary, environmentId: string, { requestHeader }: HandlerContext) => ({
    ...traceMessage(trace),
    url: pageAddress(platform, requestHeader, environmentId, "trace", { id: trace.traceId }),
  });

  router.service(TraceService, {
    async listTraces(request, context) {
      const filter = { ...(await searchOf(request, context)), ...lastHour(request, clock.now()) };
      const list = JSON.stringify(["traces", filter.environmentId, filter.service, filter.name]);
      const [startedAt = "", traceId = ""] =
        request.pageToken === "" ? [] : readPageToken(keys.objects, list, request.pageToken).split("/");
      const after = request.pageToken === "" ? undefined : { startedAt: Number(startedAt), traceId };
      const { traces, next } = await (await telemetry()).traces(filter, recordsOf(request.pageSize), after);
      return create(ListTracesResponseSchema, {
        traces: traces.map((trace) => shown(trace, filter.environmentId, context)),
        nextPageToken: next === undefined ? "" : pageToken(keys.objects, list, `${next.startedAt}/${next.traceId}`),
      });
    },

    async getTrace({ trace: wanted }, context) {
      const environmentId = await environmentOf(context);
      const store = await telemetry();
      const spans = await spansOfTrace(store, environmentId, wanted);
      const trace = await store.trace(environmentId, spans[0].traceId);
      if (!trace) throw noTrace(wanted);
      return create(TraceServiceGetTraceResponseSchema, { trace: shown(trace, environmentId, context), spans: spans.map(spanMessage) });
    },

    async listSpans(request, context) {
      const filter = await searchOf(request, context);
      const store = await telemetry();
      const size = recordsOf(request.pageSize);
      const list = JSON.stringify(["spans", filter.environmentId, request.traceId, filter.service, filter.name]);
      const cursor = readPlace(keys.objects, list, request.pageToken);
      const token = (next: number | undefined): string => placeToken(keys.objects, list, next);
      if (request.traceId === "") {
        const { records, next } = await store.searchSpans({ ...filter, ...lastHour(request, clock.now()) }, size, cursor);
        return create(ListSpansResponseSchema, { spans: records.map(spanMessage), nextPageToken: token(next) });
      }
      const { from = Number.NEGATIVE_INFINITY, before = Number.POSITIVE_INFINITY } = boundsOf(request);
      const isMeant = meansName(filter.name);
      const spans = (await store.spans({ traceId: request.traceId.toLowerCase() }))
        .filter(({ environmentId }) => environmentId === filter.environmentId)
        .map((record) => ({ record, message: spanMessage(record) }))
        .filter(({ record: { startedAt, name }, message }) => {
          const isThen = startedAt >= from && startedAt < before;
          return isThen && isMeant(name) && (filter.service === "" || message.serviceName === filter.service);
        });
      const begin = cursor ?? 0;
      return create(ListSpansResponseSchema, {
        spans: spans.slice(begin, begin + size).map(({ message }) => message),
        nextPageToken: token(begin + size < spans.length ? begin + size : undefined),
      });
    },

    async getSpan({ spanId, traceId }, context) {
      const environmentId = await environmentOf(context);
      const [span] = (await (await telemetry()).spansById(environmentId, spanId.toLowerCase())).filter(
        (one) => traceId === "" || one.traceId === traceId.toLowerCase(),
      );
      if (!span)
        throw new Failure("not_found", `There is no span '${spanId}'.`, { hint: "`svc trace spans list` has those that are kept." });
      return create(GetSpanResponseSchema, { span: spanMessage(span) });
    },
  });

  async function searchOf(
    { serviceName, spanName }: { readonly serviceName: string; readonly spanName: string },
    context: HandlerContext,
  ): Promise<SpanSearch> {
    if (serviceName.length > MAX_NAME || spanName.length > MAX_NAME)
      throw new Failure("invalid_argument", `Names of services and spans have at most ${MAX_NAME} characters.`);
    return { environmentId: await environmentOf(context), service: serviceName, name: spanName };
  }
}

interface Times {
  readonly startTime?: Timestamp | undefined;
  readonly endTime?: Timestamp | undefined;
}

function boundsOf({ startTime, endTime }: Times): RecordedBounds {
  return checkBounds({ ...(startTime && { from: timestampToMs(startTime) }), ...(endTime && { before: timestampToMs(endTime) }) });
}

/** The bounds that are given; without a start, the hour before the end. */
function lastHour(times: Times, now: number): RecordedBounds {
  const bounds = boundsOf(times);
  return { from: bounds.from ?? (bounds.before ?? now) - HOUR_MS, ...(bounds.before !== undefined && { before: bounds.before }) };
}

/** Whether a name is meant by a text in which `*` stands for anything; empty = any is. */
function meansName(written: string): (name: string) => boolean {
  if (written === "") return () => true;
  const parts = written.split("*");
  return (name) => fits(name, parts, false);
}

function traceMessage(trace: TraceSummary) {
  return {
    traceId: trace.traceId,
    rootSpan: trace.rootSpan,
    serviceName: trace.service,
    startTime: msToTimestamp(trace.startedAt),
    duration: msToDuration(trace.endedAt - trace.startedAt),
    spanCount: trace.spanCount,
    errorCount: trace.errorCount,
    operationId: trace.queryId,
    queryName: trace.queryName,
  };
}
