/** What surrounds every call of a service: the permission check before it, and the translation of what it throws after it. */

import { create, getOption } from "@bufbuild/protobuf";
import { Code, ConnectError, type ContextKey, createContextKey, type HandlerContext, type Interceptor } from "@connectrpc/connect";
import { ErrorCategory, ErrorCode, type ErrorDetail, ErrorDetailSchema } from "../../gen/svc/v1/error_pb.ts";
import { permission } from "../../gen/svc/v1/options_pb.ts";
import { authorize } from "./access.ts";
import type { Caller, Tokens } from "./auth/tokens.ts";
import { Failure, type FailureKind } from "./failure.ts";
import { FAILURE_CODES } from "./failure-codes.ts";
import { newId } from "./identifier.ts";
import type { Platform } from "./platform.ts";
import { QueryRefused } from "./query/refusal.ts";

const callerKey: ContextKey<Caller | undefined> = createContextKey<Caller | undefined>(undefined, { description: "caller" });

/** Who calls, inside a method that needs credentials. */
export function callerOf(context: HandlerContext): Caller {
  const caller = context.values.get(callerKey);
  if (!caller) throw new Error("a method without credentials asked who calls");
  return caller;
}

const CODES: Readonly<Record<FailureKind, Code>> = {
  invalid_argument: Code.InvalidArgument,
  not_found: Code.NotFound,
  already_exists: Code.AlreadyExists,
  permission_denied: Code.PermissionDenied,
  resource_exhausted: Code.ResourceExhausted,
  failed_precondition: Code.FailedPrecondition,
  unimplemented: Code.Unimplemented,
  unavailable: Code.Unavailable,
  unauthenticated: Code.Unauthenticated,
};

/** Refuses calls whose token does not hold the permission that the method's option names. */
export function permissionInterceptor(tokens: Tokens): Interceptor {
  return (next) => async (request) => {
    const caller = await authorize(tokens, request.header, getOption(request.method, permission));
    request.contextValues.set(callerKey, caller);
    return next(request);
  };
}

/** Turns what a method throws into what the caller may see. */
export function errorInterceptor(platform: Pick<Platform, "log" | "clock">): Interceptor {
  return (next) => async (request) => {
    const method = `${request.service.typeName}/${request.method.name}`;
    try {
      const response = await next(request);
      if (!response.stream) return response;
      return { ...response, message: translated(response.message, (error) => toConnectError(platform, method, error)) };
    } catch (error) {
      throw toConnectError(platform, method, error);
    }
  };
}

async function* translated<T>(messages: AsyncIterable<T>, translate: (error: unknown) => ConnectError): AsyncIterable<T> {
  try {
    yield* messages;
  } catch (error) {
    throw translate(error);
  }
}

/**
 * The error that a caller sees: a Failure with its code and detail, a refused query as INVALID_ARGUMENT, a ConnectError as it is. Everything else is a fault of
 * the server: its log keeps the error under an id, and the caller gets the id.
 */
export function toConnectError(platform: Pick<Platform, "log" | "clock">, what: string, error: unknown): ConnectError {
  if (error instanceof Failure) {
    const [code, category] = FAILURE_CODES[error.kind];
    const detail = create(ErrorDetailSchema, {
      code,
      category,
      message: error.message,
      hint: error.detail.hint ?? "",
      diagnostics: [...(error.detail.diagnostics ?? [])],
    });
    return withDetails(error.message, CODES[error.kind], [detail]);
  }
  if (error instanceof QueryRefused) {
    return withDetails(
      error.message,
      Code.InvalidArgument,
      error.errors.map((detail) => create(ErrorDetailSchema, detail)),
    );
  }
  if (error instanceof ConnectError && error.code !== Code.Internal && error.code !== Code.Unknown) return error;
  const id = newId("req", platform.clock.now());
  platform.log.error("unexpected error", {
    id,
    method: what,
    error: error instanceof Error ? (error.stack ?? error.message) : String(error),
  });
  const message = `The server failed (${id}). Its log has the details: \`svc server logs\`.`;
  const detail = create(ErrorDetailSchema, { code: ErrorCode.INTERNAL_SERVER_ERROR, category: ErrorCategory.NETWORK, message });
  return withDetails(message, Code.Internal, [detail]);
}

function withDetails(message: string, code: Code, details: readonly ErrorDetail[]): ConnectError {
  return new ConnectError(
    message,
    code,
    undefined,
    details.map((value) => ({ desc: ErrorDetailSchema, value })),
  );
}
