/** Series as messages of OTLP, as OpenTelemetry's parser reads them. */

import { describe, expect, test } from "bun:test";
import { create, toBinary } from "@bufbuild/protobuf";
import { ExportMetricsServiceRequestSchema } from "../../../gen/opentelemetry/proto/collector/metrics/v1/metrics_service_pb.ts";
import type { MetricKind, MetricName } from "../../../src/domain/metrics/metric.ts";
import { RecordedSeries } from "../../../src/server/metrics/series.ts";
import { metricPoint, sentMetrics } from "../../../src/server/otlp/sent-metrics.ts";
import { lacksOpenTelemetry, parsedRequests } from "./official.ts";

function recorded(kind: MetricKind, metric: MetricName, values: readonly number[]): RecordedSeries {
  const series = new RecordedSeries(kind, "", metric, { store: "online" });
  for (const value of values) {
    series.current.record(value);
    series.last = value;
  }
  return series;
}

async function parsed(series: readonly RecordedSeries[]): Promise<Record<string, unknown>[]> {
  const metrics = sentMetrics(series.flatMap((one) => metricPoint(one, one.labels, 1_000, 61_000.5) ?? []));
  const message = create(ExportMetricsServiceRequestSchema, { resourceMetrics: [{ scopeMetrics: [{ metrics }] }] });
  const [request] = await parsedRequests([{ signal: "metrics", body: toBinary(ExportMetricsServiceRequestSchema, message) }]);
  const { resourceMetrics } = request as { resourceMetrics: { scopeMetrics: { metrics: Record<string, unknown>[] }[] }[] };
  return resourceMetrics[0]?.scopeMetrics[0]?.metrics ?? [];
}

describe.skipIf(lacksOpenTelemetry())("series", () => {
  const times = { startTimeUnixNano: "1000000000", timeUnixNano: "61000500000" };
  const attributes = [{ key: "store", value: { stringValue: "online" } }];
  const temporality = "AGGREGATION_TEMPORALITY_CUMULATIVE";

  test("a gauge has its last sample, a counter the sum since its beginning; what was not recorded is left out", async () => {
    const series = [
      recorded("gauge", "store.bytes", [3, 7]),
      recorded("counter", "telemetry.dropped", [2, 0.5]),
      recorded("counter", "query.count", []),
    ];
    expect(await parsed(series)).toMatchObject([
      { name: "svc.store.bytes", unit: "By", gauge: { dataPoints: [{ ...times, attributes, asDouble: 7 }] } },
      {
        ...{ name: "svc.telemetry.dropped", unit: "1" },
        sum: { isMonotonic: true, aggregationTemporality: temporality, dataPoints: [{ ...times, asDouble: 2.5 }] },
      },
    ]);
  });

  test("each value of a histogram is counted between the bounds that OpenTelemetry gives its bucket", async () => {
    const values = [0, 2 ** -40, 0.001, 0.25, 0.3, 1, 1.0001, 4_000_000];
    const [metric] = await parsed([recorded("histogram", "store.latency", values)]);
    const { aggregationTemporality, dataPoints } = (metric as Record<string, unknown>).exponentialHistogram as Record<string, unknown>;
    const [point] = dataPoints as [
      Record<string, unknown> & { scale: number; zeroThreshold: number; positive: { offset: number; bucketCounts: string[] } },
    ];
    expect([aggregationTemporality, point.count, point.zeroCount, point.min, point.max]).toEqual([temporality, "8", "2", 0, 4_000_000]);
    const base = 2 ** (2 ** -point.scale);
    const counted = point.positive.bucketCounts.flatMap((count, at) => {
      const index = point.positive.offset + at;
      const inside = values.filter(
        (value) => value > point.zeroThreshold && value > base ** index * (1 + 1e-12) && value <= base ** (index + 1) * (1 + 1e-12),
      );
      expect([index, inside.length]).toEqual([index, Number(count)]);
      return inside;
    });
    expect(counted).toEqual(values.slice(2));
  });
});
