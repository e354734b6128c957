/** The distribution of a feature's values, as the page draws it. */

import type { FeatureStatisticsJson } from "../../../../gen/svc/v1/graph_pb.ts";
import type { Bar } from "../../parts/bars.tsx";
import type { Bucket } from "../../parts/histogram.tsx";

/** What is drawn of it: of numbers a histogram and quantiles, of others the most frequent ones. */
export interface Distribution {
  readonly buckets: readonly Bucket[];
  readonly quantiles: readonly (readonly [name: string, value: number])[];
  readonly values: readonly Bar[];
}

/** The distribution that statistics have. */
export function distributionOf({ bins = [], quantiles = [], values = [] }: FeatureStatisticsJson): Distribution {
  return {
    buckets: bins.map(({ count = "0", lower = 0, upper = 0 }) => ({ from: Number(lower), to: Number(upper), count: Number(count) })),
    quantiles: quantiles.map(({ share = 0, value = 0 }) => [quantileName(Number(share)), Number(value)] as const),
    values: values.map(({ count = "0", value = "" }) => ({ name: value, value: Number(count) })),
  };
}

function quantileName(share: number): string {
  return share === 0 ? "least" : share === 1 ? "most" : `p${Math.round(share * 100)}`;
}

/** A part of a count in percent. */
export function shareText(part: string, all: string): string {
  const share = Number(all) === 0 ? 0 : (100 * Number(part)) / Number(all);
  return `${Number(share.toPrecision(3))} %`;
}
