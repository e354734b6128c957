/** Descriptions of charts as people give them to commands, as the contract's messages. */

import { ChartError, chartExpressions } from "../../domain/metrics/chart.ts";
import { type ChartRequest, ChartRequestError, readChartConfig, readChartRequest } from "../../domain/metrics/chart-request.ts";
import { MetricExpressionError, parseMetricExpression } from "../../domain/metrics/expression.ts";
import { UsageError } from "../../errors/cli-error.ts";
import { caretText } from "../../output/caret.ts";

type Config = NonNullable<ChartRequest["metricConfig"]>;

/** The request of a value. Throws a UsageError with the place of what is wrong. */
export function readRequest(value: unknown): ChartRequest {
  return refusing(() => {
    const request = readChartRequest(value);
    if (request.metricConfig) chartExpressions(request.metricConfig);
    return request;
  });
}

/**
 * The description of a chart that a value is: the request with it, or the description alone. Throws
 * a UsageError with the place of what is wrong.
 */
export function readDescription(value: unknown): Config {
  return refusing(() => {
    const isRequest = typeof value === "object" && value !== null && ("metricConfig" in value || "metric_config" in value);
    const config = isRequest ? readChartRequest(value).metricConfig : readChartConfig(value);
    if (config === undefined) throw new ChartRequestError("the request has no metricConfig");
    chartExpressions(config);
    return config;
  });
}

/**
 * What the texts of `--expression` say: expressions, with a name before `=` where one is given.
 * Throws a UsageError that marks the place in one that cannot be read.
 */
export function readExpressions(texts: readonly string[]): { readonly name: string; readonly expression: string }[] {
  return texts.map((text) => {
    const [, name = "", expression = text] = NAMED.exec(text) ?? [];
    try {
      parseMetricExpression(expression);
    } catch (error) {
      if (!(error instanceof MetricExpressionError)) throw error;
      throw new UsageError(`the metric expression cannot be read: ${error.message}\n${caretText(expression, error.from, error.to)}`, {
        ...(error.hint !== "" && { hint: error.hint }),
      });
    }
    return { name, expression };
  });
}

/** A name before an expression: no expression has `=` ahead of its first colon. */
const NAMED = /^([^=:(]+)=(.+)$/s;

/** The message of a description. */
export function configMessage({ formulas, series, ...config }: Config) {
  return {
    ...config,
    series: series.map(({ filters, groupBy, ...one }) => ({
      ...one,
      groupBy: [...groupBy],
      filters: filters.map(({ value, ...filter }) => ({ ...filter, value: [...value] })),
    })),
    formulas: formulas.map(({ operands, ...one }) => ({ ...one, operands: [...operands] })),
  };
}

function refusing<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof ChartRequestError || error instanceof ChartError)) throw error;
    throw new UsageError(error.message, error.hint === "" ? {} : { hint: error.hint });
  }
}
