/** Charts that are kept with a project, for all who look at its environments. */

import { formatDuration } from "../../domain/duration.ts";
import type { NamedExpression } from "../../domain/metrics/chart.ts";
import { isRollup, parseMetricExpression, printMetricExpression } from "../../domain/metrics/expression.ts";
import { type CollectionParts, createCollection, type Document } from "../documents/collection.ts";
import { Failure } from "../failure.ts";

/** What is kept of a chart. */
export interface ChartContent {
  /** Texts of expressions with their names in the legend. */
  readonly series: readonly { readonly name: string; readonly expression: string }[];
  /** Length of the time that it shows when nobody says another, milliseconds. */
  readonly rangeMs: number;
  /** Id of the client that keeps it. */
  readonly clientId: string;
}

/** A chart that is kept. */
export type KeptChart = Document<ChartContent>;

/** A chart as somebody asks for it to be kept. */
export interface ChartWish {
  readonly name: string;
  readonly expressions: readonly NamedExpression[];
  /** Milliseconds; undefined = an hour. */
  readonly rangeMs: number | undefined;
  readonly clientId: string;
}

/** The charts of all projects. */
export interface KeptCharts {
  /** The charts of a project, by name. */
  list(projectId: string): Promise<KeptChart[]>;
  /** The chart of an id or name; undefined when there is none. */
  find(projectId: string, idOrName: string): Promise<KeptChart | undefined>;
  /**
   * Keeps a chart. Rejects with Failure already_exists, invalid_argument, or resource_exhausted
   * when the project has as many as it may.
   */
  create(projectId: string, wish: ChartWish): Promise<KeptChart>;
  /** Deletes the chart of an id or name, and returns it. Rejects with Failure not_found. */
  delete(projectId: string, idOrName: string): Promise<KeptChart>;
}

const MAX_CHARTS = 100;
/** Most series of a chart. */
const MAX_SERIES = 20;
/** Most characters of a name in the legend. */
const MAX_NAME = 200;
const HOUR_MS = 3_600_000;

/** Makes the capability. */
export function createKeptCharts(parts: CollectionParts): KeptCharts {
  const charts = createCollection<ChartContent>(parts, {
    ...{ kind: "chart", noun: "chart", idPrefix: "cht", listedBy: "svc charts list", maxPerScope: MAX_CHARTS },
  });
  return {
    list: (projectId) => charts.list(projectId),
    find: (projectId, idOrName) => charts.find(projectId, idOrName),
    delete: (projectId, idOrName) => charts.delete(projectId, idOrName),
    async create(projectId, { clientId, expressions, name, rangeMs = HOUR_MS }) {
      if (expressions.length === 0 || expressions.length > MAX_SERIES)
        throw new Failure("invalid_argument", `A chart shows 1 to ${MAX_SERIES} expressions; this one ${expressions.length}.`);
      if (expressions.some((one) => one.name.length > MAX_NAME))
        throw new Failure("invalid_argument", `A name in the legend has at most ${MAX_NAME} characters.`);
      if (!isRollup(rangeMs))
        throw new Failure("invalid_argument", `A chart cannot show ${formatDuration(rangeMs)}.`, {
          hint: "It shows 10s to 366d, in multiples of 10s.",
        });
      const series = expressions.map((one) => ({ name: one.name, expression: printMetricExpression(one.expression) }));
      return charts.create(projectId, name, { series, rangeMs, clientId });
    },
  };
}

/**
 * The expressions of a chart. Throws MetricExpressionError for one that another version of the
 * program kept, whose table of metrics was another.
 */
export function keptExpressions({ content }: KeptChart): NamedExpression[] {
  return content.series.map(({ expression, name }) => ({ name, expression: parseMetricExpression(expression) }));
}
