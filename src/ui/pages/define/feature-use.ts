/** How queries used features in the last day, from what was recorded. */

import type { MetricSeriesJson } from "../../../../gen/svc/v1/metric_pb.ts";
import { total } from "./last-hour.ts";

/** How queries used a feature. */
export interface FeatureUse {
  /** Values that were asked for. */
  readonly requests: number;
  /** Share of them that was null, 0 to 1; undefined = none was asked for. */
  readonly nullShare: number | undefined;
  /** Median age in seconds of values that the online store served, of the newest hour with one. */
  readonly ageSeconds: number | undefined;
}

/** The use of features by their FQNs. */
export interface FeatureUses {
  /** Undefined = it is not known, because too many features are asked for to be told apart. */
  readonly of: (fqn: string) => FeatureUse | undefined;
}

const UNUSED: FeatureUse = { requests: 0, nullShare: undefined, ageSeconds: undefined };
/** The label of what is counted beyond the bound of series. */
const OTHERS = "other";

/** The use of features, from series by feature of values asked for, nulls among them, and ages. */
export function featureUses(
  requests: readonly MetricSeriesJson[],
  nulls: readonly MetricSeriesJson[],
  ages: readonly MetricSeriesJson[],
): FeatureUses {
  const byFeature = (series: readonly MetricSeriesJson[]) => new Map(series.map((one) => [one.labels?.feature ?? "", one]));
  const [asked, none, old] = [byFeature(requests), byFeature(nulls), byFeature(ages)];
  const unknown = asked.has(OTHERS) ? undefined : UNUSED;
  return {
    of: (fqn) => {
      const own = asked.get(fqn);
      const count = own ? total([own]) : 0;
      if (!own || count === 0) return unknown;
      const [nullsOf, agesOf] = [none.get(fqn), old.get(fqn)];
      return {
        requests: count,
        nullShare: (nullsOf ? total([nullsOf]) : 0) / count,
        ageSeconds: agesOf?.points?.flatMap(({ value }) => (typeof value === "number" ? [value] : [])).at(-1),
      };
    },
  };
}

/** A share as a percentage: `0 %`, `<0.1 %`, `12.5 %`. */
export function shareText(share: number): string {
  const percent = share * 100;
  return percent > 0 && percent < 0.1 ? "<0.1 %" : `${Number(percent.toFixed(percent < 10 ? 1 : 0))} %`;
}
