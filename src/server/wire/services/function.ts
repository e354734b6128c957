/** FunctionService: functions of projects that callers run with arguments of their own. */

import { create } from "@bufbuild/protobuf";
import type { ConnectRouter, HandlerContext } from "@connectrpc/connect";
import { ExceptionInfoSchema } from "../../../../gen/svc/v1/error_pb.ts";
import {
  CallFunctionResponseSchema,
  CancelFunctionCallResponseSchema,
  type ComputeCall,
  ComputeCallSchema,
  ComputeCallState,
  CountFunctionCallsResponseSchema,
  type FunctionError,
  FunctionErrorSchema,
  FunctionService,
  type FunctionTable,
  FunctionTableSchema,
  type FunctionVersion,
  FunctionVersionSchema,
  GetFunctionCallResponseSchema,
  GetFunctionResponseSchema,
  ListFunctionCallsResponseSchema,
  ListFunctionsResponseSchema,
  SubmitFunctionCallResponseSchema,
} from "../../../../gen/svc/v1/function_pb.ts";
import type { DataType } from "../../../../gen/svc/v1/value_pb.ts";
import { signatureText } from "../../../domain/compute-function.ts";
import { msToTimestamp } from "../../../domain/proto-time.ts";
import { type DeploymentTarget, resolveScope } from "../../access/scope.ts";
import { Failure } from "../../failure.ts";
import { arrowForm, NO_ARGUMENTS, type SentTable } from "../../functions/arguments.ts";
import type { CallWish, FoundFunction } from "../../functions/functions.ts";
import { askedTrace } from "../../query/job-tracer.ts";
import type { CallError, CallForm, FunctionCallRecord, StoredCallState } from "../../stores/metadata/function-calls.ts";
import { callerOf } from "../interceptors.ts";
import { pageAddress } from "../page-address.ts";
import type { Platform } from "../platform.ts";
import { readPage } from "./page-token.ts";

const STATES = {
  queued: ComputeCallState.QUEUED,
  running: ComputeCallState.RUNNING,
  succeeded: ComputeCallState.SUCCEEDED,
  failed: ComputeCallState.FAILED,
  cancelled: ComputeCallState.CANCELLED,
} as const satisfies Record<StoredCallState, ComputeCallState>;

/** Adds the service to a router. */
export function register(router: ConnectRouter, platform: Platform): void {
  const scopeOf = async (context: HandlerContext): Promise<DeploymentTarget> =>
    resolveScope(platform.environments, callerOf(context), context.requestHeader);
  const shown = (found: FoundFunction, { requestHeader }: HandlerContext): FunctionVersion => {
    const { createdAt, deploymentId, environmentId, function: of, id, isLive, name, version } = found;
    const url = pageAddress(platform, requestHeader, environmentId, "function", { name });
    return create(FunctionVersionSchema, {
      ...{ id, name, version, function: of, deploymentId, live: isLive, createdAt: msToTimestamp(createdAt), url },
      signature: signatureText(of),
    });
  };
  const wishOf = (
    { name, version, arguments: given }: { name: string; version: number; arguments?: FunctionTable | undefined },
    { requestHeader }: HandlerContext,
  ): CallWish => {
    if (name === "") throw new Failure("invalid_argument", "The call names no function.", { hint: "`svc compute list` shows them." });
    return { name, version, arguments: sentTable(given), traceparent: askedTrace(requestHeader) ?? "" };
  };

  router.service(FunctionService, {
    async listFunctions({ name, ...page }, context) {
      const target = await scopeOf(context);
      const functions = await platform.functions();
      const filter = JSON.stringify(["functions", target.environment.id, target.branch, name]);
      const { items, nextPageToken } = await readPage(platform.keys.objects, filter, page, (limit, before) =>
        functions.list(target, name, limit, before),
      );
      return create(ListFunctionsResponseSchema, { functions: items.map((one) => shown(one, context)), nextPageToken });
    },

    async getFunction({ id, name, version }, context) {
      if ((id === "") === (name === "") || (id !== "" && version !== 0) || version < 0)
        throw new Failure("invalid_argument", "A version is named by its id, or by the function's name and perhaps a number from 1.");
      const found = await (await platform.functions()).find(await scopeOf(context), { id, name, version });
      return create(GetFunctionResponseSchema, { function: shown(found, context) });
    },

    async callFunction(request, context) {
      const wish = wishOf(request, context);
      const answer = await (await platform.functions()).call(await scopeOf(context), wish, context.signal);
      const { deploymentId, resultType, run, traceId, version } = answer;
      return create(CallFunctionResponseSchema, {
        ...{ version, deploymentId, traceId, ranMs: run.ranMs },
        ...("output" in run ? { result: tableOf(wish.arguments.form, run.output, resultType) } : { error: errorMessage(run.error) }),
      });
    },

    async submitFunctionCall(request, context) {
      const { clientId } = callerOf(context);
      const call = await (await platform.functions()).submit(await scopeOf(context), wishOf(request, context), clientId);
      return create(SubmitFunctionCallResponseSchema, { call: callMessage(call) });
    },

    async getFunctionCall({ id }, context) {
      const { environment } = await scopeOf(context);
      const functions = await platform.functions();
      const call = await functions.kept(id, environment.id);
      const output = await functions.output(call);
      const resultType = output && call.form === "json" ? await functions.resultType(call) : undefined;
      return create(GetFunctionCallResponseSchema, {
        call: callMessage(call),
        ...(output && { result: tableOf(call.form, output, resultType) }),
      });
    },

    async cancelFunctionCall({ id }, context) {
      const { environment } = await scopeOf(context);
      return create(CancelFunctionCallResponseSchema, { call: callMessage(await (await platform.functions()).cancel(id, environment.id)) });
    },

    async listFunctionCalls({ name, limit }, context) {
      const { environment } = await scopeOf(context);
      const calls = await (await platform.functions()).recent(environment.id, name, limit);
      return create(ListFunctionCallsResponseSchema, { calls: calls.map(callMessage) });
    },

    async countFunctionCalls({ name }, context) {
      const { environment } = await scopeOf(context);
      return create(CountFunctionCallsResponseSchema, {
        count: BigInt(await (await platform.functions()).countOfHour(environment.id, name)),
      });
    },
  });
}

function sentTable(given: FunctionTable | undefined): SentTable {
  const form = given?.form;
  if (form?.case === "arrow") return { form: arrowForm(form.value), bytes: form.value };
  if (form?.case === "columnsJson") return { form: "json", bytes: new TextEncoder().encode(form.value) };
  return NO_ARGUMENTS;
}

function tableOf(form: CallForm, bytes: Uint8Array, resultType: DataType | undefined): FunctionTable {
  if (form !== "json") return create(FunctionTableSchema, { form: { case: "arrow", value: bytes } });
  const value = new TextDecoder().decode(bytes);
  return create(FunctionTableSchema, { form: { case: "columnsJson", value }, ...(resultType && { resultType }) });
}

function errorMessage({ code, exception, message }: CallError): FunctionError {
  return create(FunctionErrorSchema, { code, message, ...(exception && { exception: create(ExceptionInfoSchema, exception) }) });
}

function callMessage(call: FunctionCallRecord): ComputeCall {
  const { attempts, branch, createdBy, deploymentId, endedAt, enqueuedAt, error, id, name, rows, startedAt, state, traceId, version } =
    call;
  return create(ComputeCallSchema, {
    ...{ id, name, version, state: STATES[state], traceId, deploymentId, branch, attempts, rows, createdBy },
    enqueuedAt: msToTimestamp(enqueuedAt),
    ...(startedAt !== undefined && { startedAt: msToTimestamp(startedAt) }),
    ...(endedAt !== undefined && { endedAt: msToTimestamp(endedAt) }),
    ...(error && { error: errorMessage(error) }),
  });
}
