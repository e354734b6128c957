/**
 * `QueryService/Query` without the general handler, which costs several times what a query does: unary calls with binary messages over Connect. Its checks,
 * answers and errors are the general handler's, which serves every other kind of call: another encoding, compression, gRPC-web. Only bytes that are no message
 * are refused as the caller's fault here, and there as the server's.
 */

import { fromBinary, getOption } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { createDeadlineSignal } from "@connectrpc/connect/protocol";
import { codeToHttpStatus, errorToJsonBytes } from "@connectrpc/connect/protocol-connect";
import { permission } from "../../../gen/svc/v1/options_pb.ts";
import { QueryRequestSchema, QueryService } from "../../../gen/svc/v1/query_pb.ts";
import { authorize } from "../access.ts";
import { toConnectError } from "../interceptors.ts";
import type { Platform } from "../platform.ts";
import type { CallHandler } from "./mount.ts";
import { queryCallsOf } from "./query.ts";

/** Path of the method. */
export const QUERY_PATH = `/${QueryService.typeName}/${QueryService.method.query.name}`;

const TIMEOUT = "connect-timeout-ms";
const PROTO = { "content-type": "application/proto" };
const JSON_ERROR = { "content-type": "application/json" };

/** Puts the direct way before the general handler. */
export function serveQueryDirectly(platform: Platform, otherwise: CallHandler): CallHandler {
  const needed = getOption(QueryService.method.query, permission);
  return async (request, received) => {
    if (!isPlainCall(request)) return otherwise(request, received);
    const deadline = deadlineOf(request);
    try {
      const caller = await authorize(platform.tokens, request.headers, needed);
      if (!caller) throw new Error("queries need credentials");
      const answer = await queryCallsOf(platform);
      const message = read(received);
      const response = await answer({ message, received, headers: request.headers, auth: caller, signal: deadline.signal });
      return new Response(response, { headers: PROTO });
    } catch (error) {
      const shown = toConnectError(platform, QUERY_PATH.slice(1), error);
      const body = errorToJsonBytes(shown, undefined) as Uint8Array<ArrayBuffer>;
      return new Response(body, { status: codeToHttpStatus(shown.code), headers: JSON_ERROR });
    } finally {
      deadline.cleanup();
    }
  };
}

function isPlainCall({ method, headers }: Request): boolean {
  return (
    method === "POST" &&
    headers.get("content-type") === PROTO["content-type"] &&
    /^\d{1,10}$/.test(headers.get(TIMEOUT) ?? "0") &&
    (headers.get("content-encoding") ?? "identity") === "identity"
  );
}

/** Ends with the caller's connection, or when the caller's time is up. */
function deadlineOf({ headers, signal }: Request): ReturnType<typeof createDeadlineSignal> {
  const given = headers.get(TIMEOUT);
  if (given === null) return { signal, cleanup: () => undefined };
  const deadline = createDeadlineSignal(Number(given));
  return { ...deadline, signal: AbortSignal.any([signal, deadline.signal]) };
}

function read(body: Uint8Array) {
  try {
    return fromBinary(QueryRequestSchema, body);
  } catch (error) {
    throw ConnectError.from(error, Code.InvalidArgument);
  }
}
