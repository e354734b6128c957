/** Kept aggregates, and backfills of them, in words. */

import type { AggregateBackfillJson, AggregateBackfillPlanJson, AggregateSeriesJson } from "../../../../gen/svc/v1/aggregate_pb.ts";
import { formatDuration } from "../../../domain/duration.ts";
import { readableName } from "../../../domain/name.ts";
import { sizeText } from "../../../domain/size.ts";
import { durationMs } from "../define/feature-text.ts";
import { isInstant } from "../run/query-form.ts";

/** The window `all`, in milliseconds. */
const ALL_MS = 36_500 * 86_400_000;

/** What a series holds: `sum of payment.amount by payment.user_id`. */
export function seriesText({ aggregated = "", aggregation = "", group = [] }: AggregateSeriesJson): string {
  return `${aggregation} of ${aggregated || "rows"}${group.length === 0 ? "" : ` by ${group.join(", ")}`}`;
}

/** Its buckets, and how long they are kept: `1h, kept for 30d`. */
export function bucketText({ bucket, retention }: AggregateSeriesJson): string {
  const kept = durationMs(retention);
  return `${formatDuration(durationMs(bucket))}, kept ${kept >= ALL_MS ? "forever" : `for ${formatDuration(kept)}`}`;
}

/** The feature that a backfill of the series is of: without its window, as all share tiles. */
export function featureOf({ dependentFeatures: [fqn = ""] = [] }: AggregateSeriesJson): string {
  return readableName(fqn).replace(/\[[^\]]*\]$/, "");
}

/** What can be chosen of a backfill; times are ISO 8601, empty = as the server chooses. */
export interface BackfillForm {
  readonly feature: string;
  readonly lowerBound: string;
  readonly upperBound: string;
  readonly resolver: string;
  readonly isStored: boolean;
  /** Of the plan: whether rows are counted in their source. */
  readonly isExact: boolean;
}

/** The backfill of a form, or the text of it that is no time with its zone. */
export function backfillOf(form: BackfillForm): AggregateBackfillJson | { readonly noTime: string } {
  const [lowerBound, upperBound] = [form.lowerBound.trim(), form.upperBound.trim()];
  const noTime = [lowerBound, upperBound].find((text) => text !== "" && !isInstant(text));
  if (noTime !== undefined) return { noTime };
  return {
    ...{ feature: form.feature, resolver: form.resolver.trim(), computeOnly: !form.isStored },
    ...(lowerBound !== "" && { lowerBound: new Date(lowerBound).toISOString() }),
    ...(upperBound !== "" && { upperBound: new Date(upperBound).toISOString() }),
  };
}

/** The words of the command that does the same, or with `isPlan` says what it would do. */
export function backfillWords(form: BackfillForm, isPlan = false): readonly string[] {
  const given = (flag: string, text: string) => (text.trim() === "" ? [] : [flag, text.trim()]);
  return [
    ...["aggregate", "backfill", "--feature", form.feature],
    ...given("--lower-bound", form.lowerBound),
    ...given("--upper-bound", form.upperBound),
    ...given("--resolver", form.resolver),
    ...(form.isStored ? [] : ["--store-online=false"]),
    ...(isPlan ? ["--dry-run", ...(form.isExact ? ["--exact"] : [])] : []),
  ];
}

/** What a backfill of a series would read and store. */
export function planText({ buckets, bytes, rows, tiles }: AggregateBackfillPlanJson): string {
  const size = bytes === undefined ? "" : `, about ${sizeText(Number(bytes))}`;
  return [
    rows === undefined ? "rows not counted" : `${rows} rows`,
    ...(buckets === undefined ? [] : [`${buckets} buckets of each group`]),
    tiles === undefined ? "tiles not known" : `at most ${tiles} tiles${size}`,
  ].join(", ");
}
