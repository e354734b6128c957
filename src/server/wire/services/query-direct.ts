/**
 * Direct handlers of `QueryService/Query` and `QueryBulk` for unary calls with binary messages over
 * Connect. The general handler costs several times what a query does, and decodes all values of a
 * bulk query at once; it serves all other calls (JSON, gRPC-web). Answers and errors of both are
 * the same.
 */

import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { codeToHttpStatus, errorToJsonBytes } from "@connectrpc/connect/protocol-connect";
import { QueryBulkResponseSchema, QueryRequestSchema, QueryService } from "../../../../gen/svc/v1/query_pb.ts";
import type { Caller } from "../../access/tokens.ts";
import { tallyRefusal } from "../call-audit.ts";
import { encodedAnswer, encodedHeaders } from "../http/content-encoding.ts";
import { type Deadline, deadlineOf } from "../http/deadline.ts";
import { checkMessage } from "../http/message-check.ts";
import { toConnectError } from "../interceptors.ts";
import type { Platform } from "../platform.ts";
import { readBulkMessage } from "../query/bulk-message.ts";
import { invalidArgument } from "./call-body.ts";
import type { CallHandler } from "./mount.ts";
import { type AnswerCall, answerBulkCall, createQueryCalls } from "./query.ts";

/** Path of `Query`. */
export const QUERY_PATH = `/${QueryService.typeName}/${QueryService.method.query.name}`;
const BULK_PATH = `/${QueryService.typeName}/${QueryService.method.queryBulk.name}`;

/** The direct handlers by path. */
export const DIRECT_CALLS: Readonly<Record<string, (platform: Platform, general: CallHandler) => CallHandler>> = {
  [QUERY_PATH]: serveQueryDirectly,
  [BULK_PATH]: serveBulkDirectly,
};

/** Most fields of a single query: other requests wait while they are decoded. */
const MAX_QUERY_FIELDS = 500_000;

const PROTO = "application/proto";
const PROTO_HEADERS = encodedHeaders({ "content-type": PROTO });
const JSON_ERROR = { "content-type": "application/json" };

/** A call whose caller is known. */
interface DirectCall {
  readonly received: Uint8Array;
  readonly headers: Headers;
  readonly auth: Caller;
  readonly signal: AbortSignal;
}

/** A handler of `Query` that serves binary calls directly and leaves others to `general`. */
export function serveQueryDirectly(platform: Platform, general: CallHandler): CallHandler {
  let answer: AnswerCall<Caller> | undefined;
  return directly(platform, QUERY_PATH, general, async (call) => {
    answer ??= createQueryCalls(await platform.queries());
    return answer({ ...call, message: read(call.received) });
  });
}

/** The same for `QueryBulk`, whose values are decoded as their rows are run. */
function serveBulkDirectly(platform: Platform, general: CallHandler): CallHandler {
  return directly(platform, BULK_PATH, general, async ({ received, headers, auth, signal }) => {
    const answer = await answerBulkCall(await platform.queries(), await readBulkMessage(received), headers, auth, signal);
    return toBinary(QueryBulkResponseSchema, answer);
  });
}

function directly(
  platform: Platform,
  path: string,
  general: CallHandler,
  answer: (call: DirectCall) => Promise<Uint8Array<ArrayBuffer>>,
): CallHandler {
  return async (request, received, caller, address) => {
    if (!caller || !isPlainCall(request)) return general(request, received, caller, address);
    let deadline: Deadline | undefined;
    try {
      deadline = deadlineOf(request);
      const response = await answer({ received, headers: request.headers, auth: caller, signal: deadline.signal });
      return await encodedAnswer(request.headers, response, PROTO_HEADERS);
    } catch (error) {
      const shown = toConnectError(platform, path.slice(1), invalidArgument(error));
      if (shown.code === Code.PermissionDenied)
        await tallyRefusal(
          platform,
          { endpoint: path.slice(1), headers: request.headers, address: address?.() ?? "" },
          "permission_denied",
        );
      const body = errorToJsonBytes(shown, undefined) as Uint8Array<ArrayBuffer>;
      return new Response(body, { status: codeToHttpStatus(shown.code), headers: JSON_ERROR });
    } finally {
      deadline?.clear();
    }
  };
}

function isPlainCall({ method, headers }: Request): boolean {
  return method === "POST" && headers.get("content-type") === PROTO;
}

function read(body: Uint8Array) {
  checkMessage(QueryRequestSchema, body, MAX_QUERY_FIELDS);
  return fromBinary(QueryRequestSchema, body, { readUnknownFields: false });
}
