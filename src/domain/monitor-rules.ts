/**
 * Rules about monitors that need the table of metrics:
 * - 173 error: the time that a value is of is none, the query is about the server, or there are too
 *   many monitors.
 * - 174 error: the query is no metric expression.
 * - 175 error: the bound does not go with the unit of the query's values.
 */

import { create } from "@bufbuild/protobuf";
import { type Diagnostic, type Span, SpanSchema } from "../../gen/svc/v1/error_pb.ts";
import type { Graph, Monitor } from "../../gen/svc/v1/graph_pb.ts";
import { finding } from "./finding.ts";
import { MetricExpressionError } from "./metrics/expression.ts";
import type { MetricUnit } from "./metrics/metric.ts";
import { MonitorBoundError, MonitorPeriodError, MonitorScopeError, unitWords, watchOf } from "./metrics/monitor.ts";
import { BAD_BOUND, BAD_METRIC_EXPRESSION, BAD_MONITOR } from "./rules/graph.ts";

const BOUND_HINTS: Readonly<Record<MetricUnit, string>> = {
  one: "Write a number, such as above=100.",
  ratio: "Write a percentage, such as above='5%', or a number.",
  bytes: "Write a size, such as above='1GiB', or a number of bytes.",
  seconds: "Write a duration, such as above='80ms', or a number of seconds.",
};

/** Most monitors of a project: all of an environment's are evaluated each minute. */
const MAX_MONITORS = 200;

/** Findings about the monitors of a graph, in their order. */
export function monitorFindings({ monitors }: Graph): Diagnostic[] {
  const [beyond] = monitors.slice(MAX_MONITORS);
  const tooMany = beyond ? [finding(BAD_MONITOR.tooMany({ count: monitors.length, most: MAX_MONITORS }), beyond.span)] : [];
  const wrong = monitors.flatMap((monitor) => {
    try {
      watchOf(monitor);
      return [];
    } catch (error) {
      return [findingOf(monitor, error)];
    }
  });
  return [...wrong, ...tooMany];
}

function findingOf(monitor: Monitor, error: unknown): Diagnostic {
  const { above, below, boundSpan, expression, expressionSpan, name, span } = monitor;
  if (error instanceof MetricExpressionError) {
    const { from, hint, message: problem, to } = error;
    return finding(BAD_METRIC_EXPRESSION.unreadable({ monitor: name, problem }), within(expressionSpan ?? span, expression, from, to), {
      hint,
    });
  }
  if (error instanceof MonitorScopeError)
    return finding(BAD_MONITOR.ofServer({ monitor: name, metric: error.message }), expressionSpan ?? span, {
      hint: "Whoever runs the server watches it by `GET /metrics`.",
    });
  if (error instanceof MonitorPeriodError)
    return finding(BAD_MONITOR.period({ monitor: name, problem: error.message }), expressionSpan ?? span, {
      hint: "Write one of 1m to 2d in whole minutes, such as .rollup(5m).",
    });
  if (error instanceof MonitorBoundError) {
    const problem = BAD_BOUND.unit({ monitor: name, bound: above || below, unit: unitWords(error.unit) });
    return finding(problem, boundSpan ?? span, { hint: BOUND_HINTS[error.unit] });
  }
  throw error;
}

/**
 * The span of a part of a text, where the text stands in the source as it is; else that of all of
 * it.
 */
function within(span: Span | undefined, text: string, from: number, to: number): Span | undefined {
  if (!span || span.line !== span.endLine || /[\\'"\n]/.test(text)) return span;
  const quote = (span.endColumn - span.column - text.length) / 2;
  if (quote !== 1 && quote !== 3) return span;
  const column = span.column + quote + from;
  return create(SpanSchema, { ...span, column, endColumn: Math.max(column + 1, span.column + quote + to) });
}
