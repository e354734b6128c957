/**
 * Traces, logs and metrics that applications send by OTLP over HTTP: `POST /v1/traces` and its
 * like, as protobuf or JSON. They belong to the environment that the headers name.
 */

import { create, type DescMessage, fromBinary, type MessageInitShape, type MessageShape, toBinary } from "@bufbuild/protobuf";
import {
  ExportLogsServiceRequestSchema,
  ExportLogsServiceResponseSchema,
} from "../../../../gen/opentelemetry/proto/collector/logs/v1/logs_service_pb.ts";
import {
  ExportMetricsServiceRequestSchema,
  ExportMetricsServiceResponseSchema,
} from "../../../../gen/opentelemetry/proto/collector/metrics/v1/metrics_service_pb.ts";
import {
  ExportTraceServiceRequestSchema,
  ExportTraceServiceResponseSchema,
} from "../../../../gen/opentelemetry/proto/collector/trace/v1/trace_service_pb.ts";
import { Permission } from "../../../../gen/svc/v1/options_pb.ts";
import { authorize } from "../../access/authorize.ts";
import { resolveScope } from "../../access/scope.ts";
import { OtlpRefused, otlpText, readOtlpText } from "../../otlp/json-form.ts";
import { type Received, type ReceivedPlace, receivedLogs, receivedSpans } from "../../otlp/received.ts";
import { receivedMetrics } from "../../otlp/received-metrics.ts";
import type { Connection } from "../connection.ts";
import type { Platform } from "../platform.ts";
import { readBody } from "./body.ts";
import type { BodyShare } from "./body-budget.ts";
import { JsonRefused, jsonText } from "./json-text.ts";
import { checkMessage, MessageRefused } from "./message-check.ts";
import { errorAnswer, methodNotAllowed, SAFE_HEADERS } from "./respond.ts";

/** Longest body in bytes, inflated: it is decoded in one go, and other requests wait for that. */
const MAX_BYTES = 8 * 1024 * 1024;
/** Most fields of a message, or values of JSON. */
const MAX_FIELDS = 300_000;
/** Seconds after which a sender tries again when there was no room. */
const RETRY_S = "2";

const PROTOBUF = "application/x-protobuf";
const JSON_TYPE = "application/json";
const SUSPENDED = "the recording of telemetry is suspended on this server";

/** A caller who may send telemetry, and where it belongs. */
async function placeOf({ callers, clock, environments }: Platform, { headers }: Request): Promise<ReceivedPlace> {
  const caller = await authorize(callers, headers, Permission.TELEMETRY_WRITE);
  if (!caller) throw new Error("telemetry needs credentials");
  const { environment } = await resolveScope(environments, caller, headers);
  return { environmentId: environment.id, now: clock.now() };
}

/** A signal: its messages, and what becomes of its records. */
interface Receiving<Q extends DescMessage, R> {
  readonly request: Q;
  readonly read: (message: MessageShape<Q>, place: ReceivedPlace) => Received<R>;
  /** Stores records; false = there is no room now. */
  readonly store: (platform: Platform, records: readonly R[]) => Promise<boolean>;
  /** The answer, encoded. */
  readonly answer: (isJson: boolean, rejected: number, reason: string) => string | Uint8Array<ArrayBuffer>;
}

/** Takes spans of applications. */
export const receiveTraces = receiver({
  request: ExportTraceServiceRequestSchema,
  read: receivedSpans,
  async store(platform, spans) {
    const telemetry = await platform.telemetry();
    if (!telemetry.hasRoom()) return false;
    telemetry.recordSpans(spans);
    return true;
  },
  answer: (isJson, rejected, errorMessage) =>
    encoded(ExportTraceServiceResponseSchema, isJson, {
      ...(errorMessage !== "" && { partialSuccess: { rejectedSpans: BigInt(rejected), errorMessage } }),
    }),
});

/** Takes log lines of applications. */
export const receiveLogs = receiver({
  request: ExportLogsServiceRequestSchema,
  read: receivedLogs,
  async store({ logRecorder }, lines) {
    for (const line of lines) logRecorder.record(line);
    return true;
  },
  answer: (isJson, rejected, errorMessage) =>
    encoded(ExportLogsServiceResponseSchema, isJson, {
      ...(errorMessage !== "" && { partialSuccess: { rejectedLogRecords: BigInt(rejected), errorMessage } }),
    }),
});

/** Takes metrics of applications. */
export const receiveMetrics = receiver({
  request: ExportMetricsServiceRequestSchema,
  read: receivedMetrics,
  async store({ metricStreams }, points) {
    (await metricStreams()).record(points);
    return true;
  },
  answer: (isJson, rejected, errorMessage) =>
    encoded(ExportMetricsServiceResponseSchema, isJson, {
      ...(errorMessage !== "" && { partialSuccess: { rejectedDataPoints: BigInt(rejected), errorMessage } }),
    }),
});

function receiver<Q extends DescMessage, R>({ request: type, read, store, answer }: Receiving<Q, R>) {
  return async (platform: Platform, request: Request, connection: Connection, share: BodyShare): Promise<Response> => {
    const place = await placeOf(platform, request);
    if (request.method !== "POST") return methodNotAllowed("POST");
    const contentType = (request.headers.get("content-type") ?? "").split(";")[0]?.trim().toLowerCase();
    if (contentType !== PROTOBUF && contentType !== JSON_TYPE)
      return errorAnswer(
        { status: 415, message: `The Content-Type of a body is ${PROTOBUF} or ${JSON_TYPE}.` },
        { "accept-post": `${PROTOBUF}, ${JSON_TYPE}` },
      );
    const isJson = contentType === JSON_TYPE;
    const bytes = await readBody(request, MAX_BYTES, { share, inflates: true });
    connection.unhurried?.();
    let message: MessageShape<Q>;
    try {
      message = decoded(type, bytes, isJson);
    } catch (error) {
      const isRefused = error instanceof OtlpRefused || error instanceof JsonRefused || error instanceof MessageRefused;
      if (isRefused) return errorAnswer({ status: 400, message: error.message });
      throw error;
    }
    const { records, rejected, reason } = read(message, place);
    const isSuspended = platform.components.isSuspended("telemetry");
    if (!isSuspended && records.length > 0 && !(await store(platform, records)))
      return errorAnswer({ status: 503, message: "The server has no room for more records now." }, { "retry-after": RETRY_S });
    const [refused, why] = isSuspended ? [rejected + records.length, SUSPENDED] : [rejected, reason];
    const body = answer(isJson, refused, why);
    return new Response(body, { headers: { ...SAFE_HEADERS, "content-type": isJson ? JSON_TYPE : PROTOBUF } });
  };
}

function decoded<Q extends DescMessage>(type: Q, bytes: Uint8Array, isJson: boolean): MessageShape<Q> {
  if (isJson) return readOtlpText(type, jsonText(bytes, MAX_FIELDS).text);
  checkMessage(type, bytes, MAX_FIELDS);
  return fromBinary(type, bytes);
}

function encoded<D extends DescMessage>(type: D, isJson: boolean, content: MessageInitShape<D>): string | Uint8Array<ArrayBuffer> {
  const message = create(type, content);
  return isJson ? otlpText(type, message) : toBinary(type, message);
}
