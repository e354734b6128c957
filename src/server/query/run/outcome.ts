/** Outcomes of cells: checked values of resolvers, and failures of resolvers without a value. */

import { ErrorCode, type ExceptionInfo } from "../../../../gen/svc/v1/error_pb.ts";
import { formatDuration } from "../../../domain/duration.ts";
import { errorText } from "../../../domain/error-text.ts";
import { parseInstant } from "../../../domain/timestamp.ts";
import { type Coercer, describeBare, type FeatureValue, TypeMismatch } from "../../../domain/value.ts";
import type { ResolverInfo } from "../graph/index-types.ts";
import type { PlanFrame, PlanSlot } from "../plan/plan.ts";
import { nameResolver } from "../plan/plan-reasons.ts";
import type { CellFailure } from "./cells.ts";
import { Overran } from "./deadline.ts";
import type { Outcome } from "./run.ts";

const NULL: Outcome = { kind: "value", value: null };
const ABSENT: Outcome = { kind: "absent" };

/**
 * Checks a value against the feature's type. Null means no value: it is accepted, replaced by the
 * default, or a failure.
 */
export function accept(slot: PlanSlot, raw: unknown, coerce: Coercer, frame: PlanFrame, resolver: ResolverInfo): Outcome {
  const { feature, path } = slot;
  if (raw === null || raw === undefined) {
    if (feature.nullable) return NULL;
    if (frame.optional && feature.defaultValue === undefined) return ABSENT;
    const message = `${path}: expected ${feature.typeName}, got null from ${nameResolver(resolver)}, and the feature is not optional`;
    return { kind: "failed", isNull: true, failure: { code: ErrorCode.VALIDATION_FAILED, message, path, resolver: resolver.fqn } };
  }
  try {
    return { kind: "value", value: coerce(raw) };
  } catch (error) {
    if (!(error instanceof TypeMismatch)) throw error;
    const message = `${path}: ${error.message} from ${nameResolver(resolver)}`;
    return { kind: "failed", final: true, failure: { code: ErrorCode.VALIDATION_FAILED, message, path, resolver: resolver.fqn } };
  }
}

/** The key by which a row was looked up, as text: `user.id = 5`. */
export function lookedFor(keys: readonly { readonly fqn: string }[], values: readonly FeatureValue[]): string {
  const parts = keys.map(({ fqn }, position) => `${fqn} = ${describeBare(values[position])}`);
  return parts.join(" and ");
}

/**
 * The message for a lookup that found only a row whose feature time lies after the query's time, so
 * that it is not visible.
 * @param by for example `user.id = 5`
 * @param time the feature time as the source returned it
 */
export function hiddenBy(by: string, time: unknown, nowText: string): string {
  const begins = time instanceof Date ? time.toISOString() : String(time);
  return `${by} at or before the query's time, ${nowText}, only one whose feature time is ${begins}`;
}

/**
 * The message for a missing row of a required relation.
 * @param sources the sources that were asked
 * @param by for example `user.id = 5`
 */
export function noSuchRow(path: string, sources: string, by: string): string {
  return `${path} has no row: ${sources} found none with ${by}, and the relation is not optional`;
}

/**
 * The failure of a lookup that finds no row among some that have no key.
 * @param by for example `user.id = 5`
 * @param broken why the first of those rows has none
 */
export function keylessRow(path: string, resolver: ResolverInfo, by: string, broken: string): CellFailure {
  const message = `${nameResolver(resolver)} found no row with ${by}, and ${broken}`;
  return { code: ErrorCode.VALIDATION_FAILED, message, path, resolver: resolver.fqn };
}

/** A lookup of a row by a resolver. */
interface Lookup {
  readonly resolver: ResolverInfo;
  /** For example `user.id = 5`. */
  readonly by: string;
  /** Whether the resolver promised a row. */
  readonly mustExist: boolean;
  /** Whether a row that it does not find does not exist. */
  readonly isRowSource: boolean;
}

/** The outcome of a resolver that found no row. */
export function missingRow(slot: PlanSlot, frame: PlanFrame, { resolver, by, mustExist, isRowSource }: Lookup): Outcome {
  if (frame.relation && isRowSource ? frame.relation.optional : frame.optional) return ABSENT;
  const { feature, path } = slot;
  const found = `${nameResolver(resolver)} found no row with ${by}`;
  if (mustExist) return failed({ code: ErrorCode.RESOLVER_FAILED, message: found, path, resolver: resolver.fqn });
  if (frame.relation && isRowSource) {
    return failed({
      code: ErrorCode.UPSTREAM_FAILED,
      message: noSuchRow(frame.path, nameResolver(resolver), by),
      path,
      resolver: resolver.fqn,
    });
  }
  if (feature.nullable) return NULL;
  const message = `${path}: expected ${feature.typeName}, got nothing: ${found}, and the feature is not optional`;
  return failed({ code: ErrorCode.VALIDATION_FAILED, message, path, resolver: resolver.fqn });
}

/** A cell without a value because of its resolver. */
export function failed(failure: CellFailure): Outcome {
  return { kind: "failed", failure };
}

/** The error of a call that failed for all of its rows. */
export class CallFailed extends Error {
  constructor(
    readonly code: ErrorCode,
    message: string,
    readonly exception: ExceptionInfo | undefined,
  ) {
    super(message);
  }
}

/** The failure of a call without a result. */
export function callFailure(error: unknown, path: string, resolver: ResolverInfo): CellFailure {
  const base = { path, resolver: resolver.fqn };
  if (error instanceof CallFailed) return { ...base, code: error.code, message: error.message, exception: error.exception };
  if (error instanceof Overran)
    return {
      ...base,
      code: ErrorCode.RESOLVER_TIMED_OUT,
      message: `${nameResolver(resolver)} did not finish within ${formatDuration(resolver.timeoutMs)}`,
    };
  const message = errorText(error);
  return { ...base, code: ErrorCode.RESOLVER_FAILED, message: `${nameResolver(resolver)} could not be run: ${message}` };
}

/**
 * Epoch milliseconds of a feature time as a resolver returned it; undefined when it is not a time.
 */
export function observedTime(raw: unknown): number | undefined {
  if (raw instanceof Date) return raw.getTime();
  if (typeof raw !== "string") return undefined;
  const instant = parseInstant(raw);
  return instant && Number(instant.micros) / 1000;
}
