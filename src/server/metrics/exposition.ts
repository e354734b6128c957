/**
 * What was recorded on this node since its start, as families for Prometheus. Names are made by
 * rule: `query.latency` is `svc_query_latency_seconds`.
 */

import { isOfApplications, METRICS, type MetricDefinition, type MetricName, SERVER_SCOPE } from "../../domain/metrics/metric.ts";
import { bucketBound, type MetricFamily, type MetricSample } from "../../domain/openmetrics.ts";
import type { Exemplar } from "../stores/metrics/store.ts";
import { AGE_BOUNDS, classicBuckets, LATENCY_BOUNDS } from "./classic-buckets.ts";
import type { MetricRecording } from "./recorder.ts";
import type { RecordedSeries } from "./series.ts";

/** The name of a metric's family. */
export function familyName(metric: MetricName): string {
  const { unit }: MetricDefinition = METRICS[metric];
  return `svc_${metric.replaceAll(".", "_")}${unit === "one" ? "" : `_${unit}`}`;
}

/** The labels that tell the environment of a series; those of the server have none. */
export function environmentLabels(environmentId: string, nameOf: (environmentId: string) => string): Readonly<Record<string, string>> {
  return environmentId === SERVER_SCOPE ? {} : { environment: nameOf(environmentId), environment_id: environmentId };
}

/**
 * The families of metrics that were recorded, one after another.
 * @param nameOf the name of an environment; empty = it is gone
 */
export function* metricFamilies(
  recording: Pick<MetricRecording, "series">,
  nameOf: (environmentId: string) => string,
): Generator<MetricFamily> {
  const recorded = Map.groupBy(recording.series(), ({ metric }) => metric);
  for (const metric of Object.keys(METRICS) as MetricName[]) {
    const { kind, summary }: MetricDefinition = METRICS[metric];
    const series = recorded.get(metric);
    // An application's own endpoint tells them under their own names.
    if (!series || isOfApplications(metric)) continue;
    const labelsOf = ({ environmentId, labels }: RecordedSeries): MetricSample["labels"] => ({
      ...environmentLabels(environmentId, nameOf),
      ...labels,
    });
    yield {
      name: familyName(metric),
      type: kind,
      help: `${summary}.`,
      samples: series.flatMap((one) => samplesOf(one, labelsOf(one), metric.endsWith(".age") ? AGE_BOUNDS : LATENCY_BOUNDS)),
    };
  }
}

function samplesOf(series: RecordedSeries, labels: MetricSample["labels"], bounds: readonly number[]): MetricSample[] {
  if (series.kind === "gauge") return [{ suffix: "", labels, value: series.last }];
  const { count, sum, histogram } = series.sinceStart();
  if (series.kind === "counter") return [{ suffix: "_total", labels, value: sum }];
  let below = Number.NEGATIVE_INFINITY;
  const buckets = classicBuckets(histogram, bounds).map(({ bound, count: value }) => {
    const exemplar = lastBetween(series.exemplars, below, bound);
    below = bound;
    return { suffix: "_bucket", labels: { ...labels, le: bucketBound(bound) }, value, ...(exemplar && { exemplar }) };
  });
  return [...buckets, { suffix: "_count", labels, value: count }, { suffix: "_sum", labels, value: sum }];
}

/** The last exemplar above one bound and up to another. */
function lastBetween(exemplars: ReadonlyMap<number, Exemplar> | undefined, above: number, upTo: number): Exemplar | undefined {
  let last: Exemplar | undefined;
  for (const one of exemplars?.values() ?? []) if (one.value > above && one.value <= upTo && one.at >= (last?.at ?? 0)) last = one;
  return last;
}
