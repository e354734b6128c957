/** LogService: lines, their counts, lines as they come, and requests. */

import { create } from "@bufbuild/protobuf";
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import type { ConnectRouter, HandlerContext } from "@connectrpc/connect";
import {
  AggregateLogsResponseSchema,
  LogService,
  SearchLogsResponseSchema,
  SearchRequestsResponseSchema,
  TailLogsResponseSchema,
} from "../../../../gen/svc/v1/log_pb.ts";
import {
  durationToMs,
  microsToTimestamp,
  msToDuration,
  msToTimestamp,
  timestampToMicros,
  timestampToMs,
} from "../../../domain/proto-time.ts";
import { resolveScope } from "../../access/scope.ts";
import { Failure } from "../../failure.ts";
import { type LogTimes, lineFilter, requestFilter, tailOf, windowsOf } from "../../logs/searching.ts";
import type { LogFilter, StoredRecord } from "../../stores/logs/store.ts";
import { callerOf } from "../interceptors.ts";
import type { Platform } from "../platform.ts";
import { pageToken, readPageToken } from "./page-token.ts";

const DEFAULT_PAGE = 100;
const MAX_PAGE = 1_000;
/** Pages of a search that a tail looks through for recent lines. */
const RECENT_PAGES = 5;

interface PageRequest {
  readonly search: string;
  readonly pageSize: number;
  readonly pageToken: string;
  readonly startTime?: Timestamp | undefined;
  readonly endTime?: Timestamp | undefined;
}

/** Adds the service to a router. */
export function register(router: ConnectRouter, platform: Platform): void {
  const { clock, environments, keys } = platform;

  const filterOf = async (search: string, context: HandlerContext, times: LogTimes = {}) => {
    const caller = callerOf(context);
    const { environment } = await resolveScope(environments, caller, context.requestHeader);
    const isWholeTeam = caller.environments === undefined;
    return {
      filter: lineFilter(search, environment.id, isWholeTeam, times),
      listed: JSON.stringify(["logs", environment.id, isWholeTeam, search]),
    };
  };

  const pageOf = async (filter: LogFilter, listed: string, { pageSize, pageToken: token }: PageRequest) => {
    const before = token === "" ? undefined : Number(readPageToken(keys.objects, listed, token));
    const store = await platform.logs();
    const { records, next } = await store.search(filter, sizeOf(pageSize), before);
    return {
      records,
      dropped: BigInt(store.dropped()),
      nextPageToken: next === undefined ? "" : pageToken(keys.objects, listed, String(next)),
    };
  };

  router.service(LogService, {
    async searchLogs(request, context) {
      const { filter, listed } = await filterOf(request.search, context, timesOf(request));
      const { records, ...page } = await pageOf(filter, listed, request);
      return create(SearchLogsResponseSchema, { lines: records.map(lineMessage), ...page });
    },

    async aggregateLogs({ search, startTime, endTime, window }, context) {
      const wanted = {
        start: startTime && timestampToMs(startTime),
        end: endTime && timestampToMs(endTime),
        windowMs: window && durationToMs(window),
      };
      const { start, end, windowMs } = windowsOf(wanted, clock.now());
      const { filter } = await filterOf(search, context, { from: start * 1_000, before: end * 1_000 });
      const counts = await (await platform.logs()).aggregate(filter, windowMs, context.signal);
      return create(AggregateLogsResponseSchema, {
        counts: counts.map(({ start: at, level, count }) => ({ startTime: microsToTimestamp(BigInt(at)), level, count: BigInt(count) })),
        window: msToDuration(windowMs),
        startTime: msToTimestamp(start),
        endTime: msToTimestamp(end),
      });
    },

    async *tailLogs({ search, cursor, recent, startTime }, context) {
      const { filter, listed } = await filterOf(search, context);
      const store = await platform.logs();
      const newest = await store.newest("line");
      const given = cursor === "" ? undefined : Number(readPageToken(keys.objects, listed, cursor));
      // A file that was begun anew has fewer lines than the cursor counted.
      const after = given === undefined || given > newest ? newest : given;
      const message = (records: readonly StoredRecord[], last: number, skipped: number) =>
        create(TailLogsResponseSchema, {
          lines: records.map(lineMessage),
          cursor: pageToken(keys.objects, listed, String(last)),
          skipped: BigInt(skipped),
        });
      if (given === undefined && recent > 0) {
        const before = { ...filter, ...timesOf({ startTime }) };
        yield message(await recentLines(platform, before, after, recent), after, 0);
      }
      const signal = AbortSignal.any([context.signal, platform.stopping]);
      for await (const { records, last, skipped } of tailOf(store, filter, after, signal)) yield message(records, last, skipped);
      if (platform.stopping.aborted) throw new Failure("unavailable", "The server stops.", { hint: "Try again." });
    },

    async searchRequests(request) {
      const filter = requestFilter(request.search, timesOf(request));
      const { records, nextPageToken } = await pageOf(filter, JSON.stringify(["requests", request.search]), request);
      return create(SearchRequestsResponseSchema, { requests: records.map(requestMessage), nextPageToken });
    },
  });
}

/** The newest lines up to a place, oldest first. */
async function recentLines(platform: Platform, filter: LogFilter, upTo: number, wanted: number): Promise<StoredRecord[]> {
  const store = await platform.logs();
  const limit = sizeOf(wanted);
  const found: StoredRecord[] = [];
  let next: number | undefined = upTo + 1;
  for (let page = 0; page < RECENT_PAGES && found.length < limit && next !== undefined; page++) {
    const answer = await store.search(filter, limit - found.length, next);
    found.push(...answer.records);
    next = answer.next;
  }
  return found.toReversed();
}

function sizeOf(wanted: number): number {
  return Math.min(wanted > 0 ? wanted : DEFAULT_PAGE, MAX_PAGE);
}

function timesOf({ startTime, endTime }: Pick<PageRequest, "startTime" | "endTime">): LogTimes {
  return {
    ...(startTime && { from: Number(timestampToMicros(startTime)) }),
    ...(endTime && { before: Number(timestampToMicros(endTime)) }),
  };
}

function lineMessage({ at, attributes, seq: _, ...line }: StoredRecord) {
  return {
    ...line,
    time: microsToTimestamp(BigInt(at)),
    attributes: Object.fromEntries(Object.entries(attributes).map(([name, value]) => [name, String(value)])),
  };
}

function requestMessage({ at, message, traceId, attributes }: StoredRecord) {
  const { method, response_code: code, duration_ms: ms, bytes, client_id: clientId, route, replica } = attributes;
  return {
    time: microsToTimestamp(BigInt(at)),
    method: String(method ?? ""),
    path: message,
    responseCode: Number(code ?? 0),
    duration: msToDuration(Number(ms ?? 0)),
    bytes: BigInt(Number(bytes ?? 0)),
    clientId: String(clientId ?? ""),
    route: String(route ?? ""),
    replica: String(replica ?? ""),
    traceId,
  };
}
