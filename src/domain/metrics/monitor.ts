/** What a monitor watches: the expression, the time that a value is of, and the bound. */

import type { Monitor } from "../../../gen/svc/v1/graph_pb.ts";
import { formatDuration, parseDuration } from "../duration.ts";
import { durationToMs } from "../proto-time.ts";
import { parseSize } from "../size.ts";
import { type MetricExpression, parseMetricExpression, termsOf, unitOf } from "./expression.ts";
import { isOfServer, type MetricUnit } from "./metric.ts";

/** A monitor as it is evaluated. */
export interface Watch {
  readonly expression: MetricExpression;
  /** The time that a value is of, milliseconds: whole minutes. */
  readonly periodMs: number;
  /** Unit of the values, and of the bound. */
  readonly unit: MetricUnit;
  readonly bound: number;
  /** Whether values below the bound break it, and not those above. */
  readonly isBelow: boolean;
  /** How long it has to be broken before the monitor fires, milliseconds. */
  readonly pendingMs: number;
}

/** The time that a value is of when the expression states none, milliseconds. */
const USUAL_PERIOD_MS = 5 * 60_000;
/** The longest one: records are kept by the minute for as long. */
const MAX_PERIOD_MS = 2 * 86_400_000;

/**
 * Milliseconds for which a replay goes by the minute. Records are kept so for two days, and the
 * replay takes a while.
 */
export const REPLAYED_BY_MINUTE_MS = MAX_PERIOD_MS - 5 * 60_000;
/** Length of the periods by which records are kept from then on, milliseconds. */
export const REPLAYED_LATER_BY_MS = 10 * 60_000;

/** Milliseconds for which a replay of periods of a length may look back. */
export function longestReplay(periodMs: number): number {
  return periodMs % REPLAYED_LATER_BY_MS === 0 ? 30 * 86_400_000 : REPLAYED_BY_MINUTE_MS;
}

/** The error of a period that a monitor cannot have. */
export class MonitorPeriodError extends Error {
  override readonly name = "MonitorPeriodError";
}

/** The error of an expression about the server, which is not one environment's to watch. */
export class MonitorScopeError extends Error {
  override readonly name = "MonitorScopeError";
}

/** The error of a bound that does not go with the unit of its expression's values. */
export class MonitorBoundError extends Error {
  override readonly name = "MonitorBoundError";
  constructor(readonly unit: MetricUnit) {
    super(`not ${unitWords(unit)}`);
  }
}

/**
 * Throws MetricExpressionError, MonitorScopeError, MonitorPeriodError or MonitorBoundError.
 */
export function watchOf(monitor: Monitor): Watch {
  const expression = parseMetricExpression(monitor.expression);
  const ofServer = termsOf(expression).find(({ metric }) => isOfServer(metric));
  if (ofServer) throw new MonitorScopeError(ofServer.metric);
  const periodMs = periodOf(expression);
  const unit = unitOf(expression) ?? "one";
  const isBelow = monitor.above === "";
  const bound = boundOf(isBelow ? monitor.below : monitor.above, unit);
  if (bound === undefined) throw new MonitorBoundError(unit);
  return { expression, periodMs, unit, bound, isBelow, pendingMs: monitor.pendingFor ? durationToMs(monitor.pendingFor) : 0 };
}

function periodOf(expression: MetricExpression): number {
  const stated = new Set(termsOf(expression).flatMap(({ rollupMs }) => rollupMs ?? []));
  const [one = USUAL_PERIOD_MS, another] = stated;
  if (another !== undefined) throw new MonitorPeriodError(`${formatDuration(one)} and ${formatDuration(another)} do not go together`);
  if (one % 60_000 !== 0 || one > MAX_PERIOD_MS)
    throw new MonitorPeriodError(`${formatDuration(one)} is none of 1m to 2d in whole minutes`);
  return one;
}

/** The number of a bound; undefined when it does not go with the unit. */
function boundOf(text: string, unit: MetricUnit): number | undefined {
  if (/^-?\d+(?:\.\d+)?(?:e[+-]?\d+)?$/i.test(text)) return Number.isFinite(Number(text)) ? Number(text) : undefined;
  if (unit === "bytes") return parseSize(text);
  if (unit === "ratio") return /^\d+(?:\.\d+)?\s*%$/.test(text) ? Number.parseFloat(text) / 100 : undefined;
  const ms = unit === "seconds" ? parseDuration(text) : undefined;
  return ms !== undefined && Number.isFinite(ms) ? ms / 1_000 : undefined;
}

/** A unit in words, for sentences. */
export function unitWords(unit: MetricUnit): string {
  return unit === "one" ? "numbers" : unit === "ratio" ? "shares of 1" : unit;
}

/** Whether a value breaks the bound. */
export function breaks({ bound, isBelow }: Pick<Watch, "bound" | "isBelow">, value: number): boolean {
  return isBelow ? value < bound : value > bound;
}
