/** The record of a request in the log: never what it carried, nor its credentials. */

import { parseTraceparent } from "../../domain/traceparent.ts";
import type { NewRecord } from "../stores/logs/store.ts";

/** Who sent a request, for the log of requests. */
export interface SeenCaller {
  clientId?: string;
}

/** A request that was answered. */
export interface AnsweredRequest {
  readonly request: Request;
  readonly response: Response;
  /** Without the query string; empty = it could not be read. */
  readonly path: string;
  readonly ms: number;
  /** Epoch milliseconds. */
  readonly now: number;
  /** Whether the answer may state its length; to look costs more than the rest of the record. */
  readonly mayStateLength: boolean;
  /** Undefined = nobody known called. */
  readonly clientId: string | undefined;
}

/** The record of a request. */
export function accessRecord({ request, response, path, ms, now, mayStateLength, clientId }: AnsweredRequest): NewRecord {
  const { status } = response;
  const length = mayStateLength ? response.headers.get("content-length") : null;
  const trace = request.headers.get("traceparent");
  const attributes: Record<string, string | number> = {
    method: request.method,
    response_code: status,
    duration_ms: Math.round(ms * 1_000) / 1_000,
  };
  if (length !== null) attributes.bytes = Number(length);
  if (clientId !== undefined) attributes.client_id = clientId;
  return {
    at: (now - ms) * 1_000,
    level: status >= 500 ? "error" : status >= 400 ? "warning" : "info",
    component: "gateway",
    message: path,
    traceId: trace === null ? "" : (parseTraceparent(trace)?.traceId ?? ""),
    attributes,
  };
}
