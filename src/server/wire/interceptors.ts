/**
 * The frame of every service call: its admission before it runs, and the translation of its errors
 * afterwards.
 */

import { create } from "@bufbuild/protobuf";
import {
  Code,
  ConnectError,
  type ContextKey,
  type ContextValues,
  createContextKey,
  createContextValues,
  type HandlerContext,
  type Interceptor,
} from "@connectrpc/connect";
import { codeToString } from "@connectrpc/connect/protocol-connect";
import { ErrorCategory, ErrorCode, type ErrorDetail, ErrorDetailSchema } from "../../../gen/svc/v1/error_pb.ts";
import type { Caller } from "../access/tokens.ts";
import { aboutOf, auditedFields, endpointName } from "../audit/audited.ts";
import { Failure, type FailureKind, outOfSpace } from "../failure.ts";
import { newId } from "../identifier.ts";
import { QueryRefused } from "../query/refusal.ts";
import { type AuditParts, type CallNote, isRefusal, tallyRefusal } from "./call-audit.ts";
import { FAILURE_CODES } from "./failure-codes.ts";
import type { Platform } from "./platform.ts";

/** The decision about a call by its headers, made before its body was read. */
type Admission = { readonly caller: Caller | undefined } | { readonly refused: unknown };

const admissionKey: ContextKey<Admission> = createContextKey<Admission>(
  { refused: new ConnectError("Nobody was asked whether the call may be made.", Code.PermissionDenied) },
  { description: "admission" },
);

/** Address of the client; empty when unknown. */
export const addressKey: ContextKey<string> = createContextKey("", { description: "client address" });

/** Ends a stream, with the error that its caller gets. */
export const endingKey: ContextKey<AbortSignal | undefined> = createContextKey<AbortSignal | undefined>(undefined, {
  description: "end of the stream",
});

const noteKey: ContextKey<CallNote | undefined> = createContextKey<CallNote | undefined>(undefined, { description: "audit note" });

/** What the audit log will say of a call that has a row there; for methods to add to. */
export function noteOf(context: HandlerContext): CallNote {
  return context.values.get(noteKey) ?? {};
}

/**
 * The context values of an admitted call; `caller` is undefined for methods that need no
 * credentials.
 */
export function admit(caller: Caller | undefined, address: string, note?: CallNote): ContextValues {
  return createContextValues().set(admissionKey, { caller }).set(addressKey, address).set(noteKey, note);
}

/** The context values of a call that is answered with an error only. */
export function refuse(error: unknown): ContextValues {
  return createContextValues().set(admissionKey, { refused: error });
}

/** Ends a call that was refused or never admitted, before its body is looked at. */
export function requestGate(context: HandlerContext): void {
  const admission = context.values.get(admissionKey);
  if ("refused" in admission) throw admission.refused;
}

/** The caller of a method that needs credentials. */
export function callerOf(context: HandlerContext): Caller {
  const admission = context.values.get(admissionKey);
  const caller = "caller" in admission ? admission.caller : undefined;
  if (!caller) throw new Error("a method without credentials asked who calls");
  return caller;
}

const CODES: Readonly<Record<FailureKind, Code>> = {
  invalid_argument: Code.InvalidArgument,
  not_found: Code.NotFound,
  already_exists: Code.AlreadyExists,
  aborted: Code.Aborted,
  permission_denied: Code.PermissionDenied,
  resource_exhausted: Code.ResourceExhausted,
  out_of_space: Code.ResourceExhausted,
  failed_precondition: Code.FailedPrecondition,
  unimplemented: Code.Unimplemented,
  unavailable: Code.Unavailable,
  suspended: Code.Unavailable,
  deadline_exceeded: Code.DeadlineExceeded,
  unauthenticated: Code.Unauthenticated,
};

/**
 * An interceptor that notes for the audit log what an audited call is about and how it ended, and
 * tallies refusals of others. It stands around the one that translates errors.
 */
export function auditInterceptor(platform: AuditParts): Interceptor {
  return (next) => async (request) => {
    const { contextValues, method } = request;
    const note = contextValues.get(noteKey);
    if (note && !request.stream) note.about = aboutOf(method.input, request.message, auditedFields(method));
    const ended = async (error: unknown): Promise<unknown> => {
      const code = codeToString(ConnectError.from(error).code);
      if (note) note.code = code;
      else if (isRefusal(code)) {
        const address = contextValues.get(addressKey);
        await tallyRefusal(platform, { endpoint: endpointName(method), headers: request.header, address }, code);
      }
      return error;
    };
    try {
      const response = await next(request);
      if (note) note.code ??= "ok";
      return response.stream ? { ...response, message: translated(response.message, ended) } : response;
    } catch (error) {
      throw await ended(error);
    }
  };
}

/** An interceptor that turns the errors of methods into errors that callers may see. */
export function errorInterceptor(platform: ErrorContext): Interceptor {
  return (next) => async (request) => {
    const method = `${request.service.typeName}/${request.method.name}`;
    try {
      const response = await next(request);
      if (!response.stream) return response;
      const messages = untilEnded(response.message, request.contextValues.get(endingKey));
      return { ...response, message: translated(messages, (error) => toConnectError(platform, method, error)) };
    } catch (error) {
      throw toConnectError(platform, method, error);
    }
  };
}

/** The messages of a stream, and then the reason why it had to end, if it had. */
async function* untilEnded<T>(messages: AsyncIterable<T>, ending: AbortSignal | undefined): AsyncIterable<T> {
  yield* messages;
  ending?.throwIfAborted();
}

async function* translated<T>(messages: AsyncIterable<T>, translate: (error: unknown) => unknown): AsyncIterable<T> {
  try {
    yield* messages;
  } catch (error) {
    throw await translate(error);
  }
}

/** The parts of the platform that translating errors needs. */
type ErrorContext = Pick<Platform, "log" | "clock" | "dataDir">;

/**
 * The error that a caller sees: a Failure with its code and detail, a full disk as
 * RESOURCE_EXHAUSTED, a refused query as INVALID_ARGUMENT, a ConnectError as it is. Everything else
 * is a fault of the server: its log keeps the error under an id, and the caller gets the id.
 */
export function toConnectError(platform: ErrorContext, what: string, error: unknown): ConnectError {
  const failure = error instanceof Failure ? error : outOfSpace(error, platform.dataDir);
  if (failure) {
    const [code, category] = FAILURE_CODES[failure.kind];
    const detail = create(ErrorDetailSchema, {
      code: ErrorCode[code],
      category: ErrorCategory[category],
      message: failure.message,
      hint: failure.detail.hint ?? "",
      diagnostics: [...(failure.detail.diagnostics ?? [])],
    });
    return withDetails(failure.message, CODES[failure.kind], [detail]);
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
