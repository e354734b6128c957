/** The interactive view of lines, and of requests. */

import type { LoggedRequest, LogLine, SearchLogsRequest } from "../../gen/svc/v1/log_pb.ts";
import type { Context } from "../context/context.ts";
import { formatDuration } from "../domain/duration.ts";
import { attributesText } from "../domain/log-attributes.ts";
import { LINE_FIELDS, REQUEST_FIELDS } from "../domain/logs.ts";
import { durationToMs, timestampToMicros } from "../domain/proto-time.ts";
import { formatMicros } from "../domain/timestamp.ts";
import { followLines } from "./follow-lines.ts";
import { readItems } from "./pages.ts";
import { runViewer, type ViewedLog } from "./run-viewer.ts";
import type { ViewedRecord } from "./viewer.ts";

type Times = Partial<Pick<SearchLogsRequest, "startTime" | "endTime">>;

const PAGE = 500;
/** Lines that a following begins with at most: what came after the page was read. */
const MOST_RECENT = 1_000;

/** Shows lines until the view is left. */
export async function viewLines(context: Context, search: string, times: Times): Promise<void> {
  const service = await context.api.logs();
  await view(context, search, {
    fields: LINE_FIELDS,
    async read(wanted, pageToken, signal) {
      const { items, nextPageToken } = await readItems(
        async (pageSize, token) => {
          const { lines, nextPageToken: next } = await service.searchLogs(
            { search: wanted, ...times, pageSize, pageToken: token },
            { signal },
          );
          return { items: lines, nextPageToken: next };
        },
        { limit: PAGE, pageToken },
        signal,
      );
      return { records: items.map(viewedLine).toReversed(), older: nextPageToken };
    },
    async *follow(wanted, startTime, signal, note) {
      const progress = { ...context.progress, note, warn: note };
      const followed = { search: wanted, recent: MOST_RECENT, startTime };
      for await (const line of followLines({ clock: context.clock, progress, signal }, service, followed)) yield viewedLine(line);
    },
  });
}

/** Shows requests until the view is left. */
export async function viewRequests(context: Context, search: string, times: Times): Promise<void> {
  const service = await context.api.logs();
  await view(context, search, {
    fields: REQUEST_FIELDS,
    async read(wanted, pageToken, signal) {
      const { items, nextPageToken } = await readItems(
        async (pageSize, token) => {
          const answer = await service.searchRequests({ search: wanted, ...times, pageSize, pageToken: token }, { signal });
          return { items: answer.requests, nextPageToken: answer.nextPageToken };
        },
        { limit: PAGE, pageToken },
        signal,
      );
      return { records: items.map(viewedRequest).toReversed(), older: nextPageToken };
    },
  });
}

async function view(context: Context, search: string, log: ViewedLog): Promise<void> {
  const { NO_COLOR } = context.surroundings.env;
  const colour = context.flags.color !== "never" && !NO_COLOR;
  await context.screen((screen, signal) => runViewer(screen, log, { search, colour }, signal));
}

function viewedLine({ attributes, component, level, message, time, ...line }: LogLine): ViewedRecord {
  const at = time ? formatMicros(timestampToMicros(time)) : "";
  const ids: readonly (readonly [string, string])[] = [
    ["time", at],
    ["level", level],
    ["component", component],
    ["resolver", line.resolver],
    ["query_name", line.queryName],
    ["operation_id", line.operationId],
    ["correlation_id", line.correlationId],
    ["trace_id", line.traceId],
    ["span_id", line.spanId],
    ["deployment", line.deploymentId],
    ["branch", line.branch],
    ["environment", line.environmentId],
    ["pod_name", line.podName],
    ["resource_group", line.resourceGroup],
    ["app", line.app],
    ["logger", line.logger],
  ];
  const named = Object.entries(attributes).map(([name, value]) => [`attributes.${name}`, value] as const);
  return {
    time: at,
    level,
    source: component,
    text: message,
    more: attributesText(attributes),
    fields: [...ids.filter(([, value]) => value !== ""), ...named],
  };
}

function viewedRequest({ bytes, clientId, duration, method, path, responseCode, time, traceId }: LoggedRequest): ViewedRecord {
  const at = time ? formatMicros(timestampToMicros(time)) : "";
  const took = duration ? formatDuration(Math.round(durationToMs(duration) * 100) / 100) : "";
  const facts: readonly (readonly [string, string])[] = [
    ["time", at],
    ["method", method],
    ["path", path],
    ["response_code", String(responseCode)],
    ["duration", took],
    ["bytes", bytes === 0n ? "" : String(bytes)],
    ["client_id", clientId],
    ["trace_id", traceId],
  ];
  return {
    time: at,
    level: responseCode >= 500 ? "error" : responseCode >= 400 ? "warning" : "info",
    source: `${responseCode} ${took}`,
    text: `${method} ${path}`,
    fields: facts.filter(([, value]) => value !== ""),
  };
}
