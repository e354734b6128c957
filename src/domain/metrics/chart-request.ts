/** Requests for the values of a chart, as JSON. */

import { didYouMean } from "../closest.ts";
import { parseInstant } from "../timestamp.ts";
import type { ChartConfig } from "./chart.ts";

/** A request; the contract says what its members mean. */
export interface ChartRequest {
  readonly chart: string;
  readonly metricConfig: ChartConfig | undefined;
  /** Microseconds since 1970; undefined = not given. */
  readonly startTime: bigint | undefined;
  readonly endTime: bigint | undefined;
  readonly useStartAsOrigin: boolean;
  readonly excludeIncompleteLastBucket: boolean;
}

/** The error of JSON that is no request; the message begins with the place in it. */
export class ChartRequestError extends Error {
  override readonly name = "ChartRequestError";
  constructor(
    message: string,
    /** The next step; empty = none. */
    readonly hint = "",
  ) {
    super(message);
  }
}

/**
 * The request that a JSON value is; keys are in camelCase or snake_case. Throws ChartRequestError.
 */
export function readChartRequest(value: unknown): ChartRequest {
  const request = membersOf(value, "", [
    ...["chart", "metricConfig", "startTime", "endTime", "useStartAsOrigin", "excludeIncompleteLastBucket"],
  ]);
  const chart = textOf(request.chart, "chart");
  const metricConfig = request.metricConfig === undefined ? undefined : readChartConfig(request.metricConfig);
  if ((chart === "") === (metricConfig === undefined))
    throw new ChartRequestError(
      chart === "" ? "the request has no metricConfig" : "the request has both a chart and a metricConfig",
      "It describes a chart in metricConfig, or names one of `svc charts list` as chart.",
    );
  return {
    chart,
    metricConfig,
    startTime: timeOf(request.startTime, "startTime"),
    endTime: timeOf(request.endTime, "endTime"),
    useStartAsOrigin: flagOf(request.useStartAsOrigin, "useStartAsOrigin"),
    excludeIncompleteLastBucket: flagOf(request.excludeIncompleteLastBucket, "excludeIncompleteLastBucket"),
  };
}

/** The description of a chart that a JSON value is. Throws ChartRequestError. */
export function readChartConfig(given: unknown): ChartConfig {
  const config = membersOf(given, "metricConfig", ["name", "windowPeriod", "series", "formulas"]);
  return {
    name: textOf(config.name, "metricConfig.name"),
    windowPeriod: textOf(config.windowPeriod, "metricConfig.windowPeriod"),
    series: listOf(config.series, "metricConfig.series", (one, place) => {
      const { filters, groupBy, metric, name, windowFunction } = membersOf(one, place, [
        ...["metric", "filters", "name", "windowFunction", "groupBy"],
      ]);
      return {
        metric: textOf(metric, `${place}.metric`),
        name: textOf(name, `${place}.name`),
        windowFunction: textOf(windowFunction, `${place}.windowFunction`),
        groupBy: listOf(groupBy, `${place}.groupBy`, textOf),
        filters: listOf(filters, `${place}.filters`, (filter, at) => {
          const { comparator, kind, value } = membersOf(filter, at, ["kind", "comparator", "value"]);
          const values = listOf(typeof value === "string" ? [value] : value, `${at}.value`, textOf);
          return { kind: textOf(kind, `${at}.kind`), comparator: textOf(comparator, `${at}.comparator`), value: values };
        }),
      };
    }),
    formulas: listOf(config.formulas, "metricConfig.formulas", (one, place) => {
      const { kind, name, operands } = membersOf(one, place, ["name", "kind", "operands"]);
      return {
        name: textOf(name, `${place}.name`),
        kind: textOf(kind, `${place}.kind`),
        operands: listOf(operands, `${place}.operands`, textOf),
      };
    }),
  };
}

/** The members of an object by their names in camelCase. */
function membersOf(value: unknown, place: string, names: readonly string[]): Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw wrong(place, "an object", value);
  const members: Record<string, unknown> = {};
  for (const [key, member] of Object.entries(value)) {
    const name = key.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
    if (!names.includes(name))
      throw new ChartRequestError(
        `${place || "the request"} has no member '${key}'`,
        didYouMean(key, names) || `It has ${names.join(", ")}.`,
      );
    members[name] = member ?? undefined;
  }
  return members;
}

function listOf<T>(value: unknown, place: string, read: (item: unknown, place: string) => T): T[] {
  if (value === undefined) return [];
  if (!Array.isArray(value)) throw wrong(place, "a list", value);
  return value.map((item, at) => read(item, `${place}[${at}]`));
}

function textOf(value: unknown, place: string): string {
  if (value === undefined) return "";
  if (typeof value !== "string") throw wrong(place, "a text", value);
  return value;
}

function flagOf(value: unknown, place: string): boolean {
  if (value === undefined) return false;
  if (typeof value !== "boolean") throw wrong(place, "true or false", value);
  return value;
}

function timeOf(value: unknown, place: string): bigint | undefined {
  if (value === undefined) return undefined;
  const instant = typeof value === "string" ? parseInstant(value) : undefined;
  if (instant === undefined) throw wrong(place, "a time such as 2024-05-01T12:00:00Z", value);
  return instant.micros;
}

function wrong(place: string, wanted: string, given: unknown): ChartRequestError {
  if (given === undefined) return new ChartRequestError(`${place || "the request"} is empty`);
  const text = JSON.stringify(given) ?? String(given);
  return new ChartRequestError(`${place || "the request"} is not ${wanted}: ${text.length > 60 ? `${text.slice(0, 57)}...` : text}`);
}
