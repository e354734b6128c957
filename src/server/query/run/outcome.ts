/** What becomes of the values that resolvers give. */

import { ErrorCode, type ExceptionInfo } from "../../../../gen/svc/v1/error_pb.ts";
import { formatDuration } from "../../../domain/duration.ts";
import { parseInstant } from "../../../domain/timestamp.ts";
import { type Coercer, TypeMismatch } from "../../../domain/value.ts";
import type { ResolverInfo } from "../graph/index-types.ts";
import type { PlanFrame, PlanSlot } from "../plan/plan.ts";
import { nameResolver } from "../plan/plan-reasons.ts";
import type { CellFailure } from "./cells.ts";
import { Overran } from "./deadline.ts";
import type { Outcome } from "./run-context.ts";

const NULL: Outcome = { kind: "value", value: null };
const ABSENT: Outcome = { kind: "absent" };

/** Checks a value against the feature's type. Null stands for "no value": it is legal, or the default's business, or a failure. */
export function accept(slot: PlanSlot, raw: unknown, coerce: Coercer, frame: PlanFrame, resolver: ResolverInfo): Outcome {
  const { feature, path } = slot;
  if (raw === null || raw === undefined) {
    if (feature.nullable) return NULL;
    if (frame.optional && feature.defaultValue === undefined) return ABSENT;
    const message = `${path}: expected ${feature.typeName}, got null from ${nameResolver(resolver)}, and the feature is not optional`;
    return { kind: "failed", failure: { code: ErrorCode.VALIDATION_FAILED, message, path, resolver: resolver.fqn } };
  }
  try {
    return { kind: "value", value: coerce(raw) };
  } catch (error) {
    if (!(error instanceof TypeMismatch)) throw error;
    const message = `${path}: ${error.message} from ${nameResolver(resolver)}`;
    return { kind: "failed", final: true, failure: { code: ErrorCode.VALIDATION_FAILED, message, path, resolver: resolver.fqn } };
  }
}

/**
 * A SQL resolver found no row.
 * @param lookedFor for example `user.id = 5`
 * @param mustExist whether the resolver promised one
 */
export function missingRow(slot: PlanSlot, frame: PlanFrame, resolver: ResolverInfo, lookedFor: string, mustExist: boolean): Outcome {
  if (frame.optional) return ABSENT;
  const { feature, path } = slot;
  const found = `${nameResolver(resolver)} found no row with ${lookedFor}`;
  if (mustExist) return failed({ code: ErrorCode.RESOLVER_FAILED, message: found, path, resolver: resolver.fqn });
  if (feature.nullable) return NULL;
  const message = `${path}: expected ${feature.typeName}, got nothing: ${found}, and the feature is not optional`;
  return failed({ code: ErrorCode.VALIDATION_FAILED, message, path, resolver: resolver.fqn });
}

/** A cell without a value because of its resolver. */
export function failed(failure: CellFailure): Outcome {
  return { kind: "failed", failure };
}

/** A call that answered with an error for all it was to give. */
export class CallFailed extends Error {
  constructor(
    readonly code: ErrorCode,
    message: string,
    readonly exception: ExceptionInfo | undefined,
  ) {
    super(message);
  }
}

/** The failure of a call that never answered. */
export function callFailure(error: unknown, path: string, resolver: ResolverInfo): CellFailure {
  const base = { path, resolver: resolver.fqn };
  if (error instanceof CallFailed) return { ...base, code: error.code, message: error.message, exception: error.exception };
  if (error instanceof Overran)
    return {
      ...base,
      code: ErrorCode.RESOLVER_TIMED_OUT,
      message: `${nameResolver(resolver)} did not finish within ${formatDuration(resolver.timeoutMs)}`,
    };
  const message = error instanceof Error ? error.message : String(error);
  return { ...base, code: ErrorCode.RESOLVER_FAILED, message: `${nameResolver(resolver)} could not be run: ${message}` };
}

/** Epoch milliseconds of a feature time as a resolver gave it; undefined when it is none. */
export function observedTime(raw: unknown): number | undefined {
  if (raw instanceof Date) return raw.getTime();
  if (typeof raw !== "string") return undefined;
  const instant = parseInstant(raw);
  return instant && Number(instant.micros) / 1000;
}
