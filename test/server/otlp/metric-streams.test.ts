/** What applications count, as the series that this node makes of it. */

import { describe, expect, test } from "bun:test";
import { fromJson, type JsonObject } from "@bufbuild/protobuf";
import fc from "fast-check";
import { ExportMetricsServiceRequestSchema } from "../../../gen/opentelemetry/proto/collector/metrics/v1/metrics_service_pb.ts";
import { createLog } from "../../../src/server/log.ts";
import { createMetricRecorder } from "../../../src/server/metrics/recorder.ts";
import { MetricStreams, sumOf } from "../../../src/server/otlp/metric-streams.ts";
import { receivedMetrics } from "../../../src/server/otlp/received-metrics.ts";
import { seeded } from "../../harness/seed.ts";
import { StandingClock } from "../../harness/standing-clock.ts";

const START = 1_700_000_000_000;
const nanos = (ms: number) => `${START + ms}000000`;
const [DELTA, CUMULATIVE] = [1, 2];

/** A node that records what an application sends. */
function node() {
  const clock = new StandingClock();
  clock.moveTo(START);
  const log = createLog({ write: () => undefined, clock });
  const metrics = createMetricRecorder({ store: () => Promise.reject(new Error("none")), clock, log });
  const streams = new MetricStreams(metrics, START, () => clock.now());
  const resource = { attributes: [{ key: "service.name", value: { stringValue: "shop" } }] };
  return {
    /** Sends metrics of a second after the start; what was rejected, and why. */
    send(second: number, ...sent: JsonObject[]): string {
      const message = { resourceMetrics: [{ resource, scopeMetrics: [{ metrics: sent }] }] };
      const request = fromJson(ExportMetricsServiceRequestSchema, message as JsonObject);
      const { records, reason } = receivedMetrics(request, { environmentId: "env_1", now: START + second * 1_000 });
      streams.record(records);
      return reason;
    },
    /** The series: kind, name and attributes, with what was recorded. */
    series() {
      const own = metrics.series().filter(({ environmentId }) => environmentId === "env_1");
      return Object.fromEntries(
        own.map((one) => {
          const { count, sum, min, max } = one.sinceStart();
          const name = `${one.metric.replace("app.", "")} ${one.labels.name}{${one.labels.attributes}}`;
          return [name, one.kind === "gauge" ? one.last : one.kind === "counter" ? sum : { count, sum, min, max }];
        }),
      );
    },
    end: () => metrics.end(),
  };
}
const point = (second: number, value: number, more: JsonObject = {}): JsonObject => ({
  ...{ startTimeUnixNano: nanos(1), timeUnixNano: nanos(second * 1_000), asDouble: value },
  ...more,
});
const sum = (aggregationTemporality: number, isMonotonic: boolean, ...dataPoints: JsonObject[]): JsonObject => ({
  name: "orders",
  unit: "1",
  sum: { aggregationTemporality, isMonotonic, dataPoints },
});

describe("sums", () => {
  test("of both temporalities count the same", () => {
    for (const [temporality, values] of [
      [DELTA, [3, 2, 0, 4]],
      [CUMULATIVE, [3, 5, 5, 9]],
    ] as const) {
      const app = node();
      for (const [at, value] of values.entries()) expect(app.send(at + 1, sum(temporality, true, point(at + 1, value)))).toBe("");
      expect(app.series()).toEqual({ "counter orders{}": 9 });
      app.end();
    }
  });

  test("a point that comes again, or late, counts once", () => {
    const app = node();
    for (const [second, value] of [
      [1, 3],
      [3, 8],
      [3, 8],
      [2, 5],
      [4, 9],
    ] as const)
      app.send(4, sum(CUMULATIVE, true, point(second, value)));
    expect(app.series()).toEqual({ "counter orders{}": 9 });
    app.end();
  });

  test("a sender that began before this node counts from its first point on; one that begins anew from zero", () => {
    const app = node();
    const old = { startTimeUnixNano: nanos(-60_000) };
    app.send(1, sum(CUMULATIVE, true, point(1, 1_000, old)));
    expect(app.series()).toEqual({});
    app.send(2, sum(CUMULATIVE, true, point(2, 1_007, old)));
    app.send(3, sum(CUMULATIVE, true, point(3, 5, { startTimeUnixNano: nanos(2_500) })));
    app.send(4, sum(CUMULATIVE, true, point(4, 2, old)));
    expect(app.series()).toEqual({ "counter orders{}": 7 + 5 + 2 });
    app.end();
  });

  test("that go up and down are values of now", () => {
    for (const [temporality, values] of [
      [DELTA, [3, -2, 4]],
      [CUMULATIVE, [3, 1, 5]],
    ] as const) {
      const app = node();
      for (const [at, value] of values.entries()) app.send(at + 1, sum(temporality, false, point(at + 1, value)));
      expect(app.series()).toEqual({ "gauge orders{}": 5 });
      app.end();
    }
  });

  test("attributes make series, in whatever order they come", () => {
    const app = node();
    const attribute = (key: string, stringValue: string) => ({ key, value: { stringValue } });
    const [a, b] = [attribute("a", "1"), attribute("b", "x,y")];
    app.send(
      1,
      sum(DELTA, true, point(1, 1, { attributes: [a, b] }), point(1, 2, { attributes: [b, a] }), point(1, 4, { attributes: [a] })),
    );
    expect(app.series()).toEqual({ 'counter orders{a=1,b="x,y"}': 3, "counter orders{a=1}": 4 });
    app.end();
  });
});

test("what cannot be kept is told, and the rest is kept", () => {
  const app = node();
  const explicit = (more: JsonObject) => ({
    name: "took",
    histogram: { aggregationTemporality: DELTA, dataPoints: [{ timeUnixNano: nanos(1), ...more }] },
  });
  for (const [metric, why] of [
    [{ name: "orders", summary: { dataPoints: [{ timeUnixNano: nanos(1) }] } }, "no summary"],
    [{ name: "", gauge: { dataPoints: [point(1, 1)] } }, "needs a name"],
    [{ name: "n", gauge: { dataPoints: [point(1, 1, { asDouble: "NaN" })] } }, "no finite number"],
    [{ name: "n", gauge: { dataPoints: [point(7_200, 1)] } }, "of the future"],
    [{ name: "n", gauge: { dataPoints: [point(-7_200, 1)] } }, "older than an hour"],
    [{ name: "n", sum: { isMonotonic: true, dataPoints: [point(1, 1)] } }, "since when it counts"],
    [sum(DELTA, true, point(1, -1)), "only grows"],
    [explicit({ count: 2, bucketCounts: [1, 0], explicitBounds: [1] }), "as many values as it counted"],
    [explicit({ count: 1, bucketCounts: [1], explicitBounds: [1] }), "one bucket more"],
    [explicit({ count: 2, bucketCounts: [1, 0, 1], explicitBounds: [2, 1] }), "do not grow"],
    [explicit({ count: 501, bucketCounts: Array.from({ length: 501 }, () => 1), explicitBounds: [...Array(500).keys()] }), "at most 500"],
  ] as const)
    expect(app.send(1, metric as JsonObject, { name: "kept", gauge: { dataPoints: [point(1, 1)] } })).toContain(why);
  expect(app.series()).toEqual({ "gauge kept{}": 1 });
  app.end();
});

test("a point without a value says nothing, and nothing is rejected", () => {
  const app = node();
  expect(app.send(1, sum(DELTA, true, point(1, 0, { flags: 1 })))).toBe("");
  expect(app.series()).toEqual({});
  app.end();
});

/** Counts of values between bounds, as an application makes them. */
function counted(values: readonly number[], bounds: readonly number[]): number[] {
  const counts = new Array<number>(bounds.length + 1).fill(0);
  for (const value of values) {
    const found = bounds.findIndex((bound) => value <= bound);
    const at = found < 0 ? bounds.length : found;
    counts[at] = (counts[at] as number) + 1;
  }
  return counts;
}
const BOUNDS = [0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10];
const values = fc.array(fc.double({ min: 0.001, max: 12, noNaN: true }), { minLength: 1, maxLength: 60 });

describe("histograms", () => {
  const explicit = (temporality: number, second: number, own: readonly number[], told: JsonObject = {}) => ({
    name: "took",
    histogram: {
      aggregationTemporality: temporality,
      dataPoints: [
        {
          ...{ startTimeUnixNano: nanos(1), timeUnixNano: nanos(second * 1_000), count: own.length, sum: own.reduce((a, b) => a + b, 0) },
          ...{ bucketCounts: counted(own, BOUNDS), explicitBounds: BOUNDS },
          ...told,
        },
      ],
    },
  });
  /** Exponential buckets of a scale by the definition: (base^i, base^(i+1)], base = 2^(2^-scale). */
  const exponential = (temporality: number, second: number, own: readonly number[], scale: number) => {
    const indexes = own.map((value) => Math.ceil(Math.log2(value) * 2 ** scale) - 1);
    const offset = Math.min(...indexes);
    const bucketCounts = new Array<number>(Math.max(...indexes) - offset + 1).fill(0);
    for (const index of indexes) bucketCounts[index - offset] = (bucketCounts[index - offset] as number) + 1;
    return {
      name: "took",
      exponentialHistogram: {
        aggregationTemporality: temporality,
        dataPoints: [
          {
            ...{ startTimeUnixNano: nanos(1), timeUnixNano: nanos(second * 1_000), count: own.length, sum: own.reduce((a, b) => a + b, 0) },
            ...{ scale, positive: { offset, bucketCounts } },
          },
        ],
      },
    };
  };
  const took = (app: ReturnType<typeof node>) =>
    app.series()["histogram took{}"] as { count: number; sum: number; min: number; max: number };

  test("of all forms and temporalities count all values", () => {
    fc.assert(
      fc.property(values, values, fc.integer({ min: -2, max: 4 }), fc.integer({ min: -2, max: 4 }), (first, second, scale, other) => {
        const both = [...first, ...second];
        const total = both.reduce((a, b) => a + b, 0);
        for (const forms of [
          [explicit(DELTA, 1, first), explicit(DELTA, 2, second)],
          [explicit(CUMULATIVE, 1, first), explicit(CUMULATIVE, 2, both)],
          [exponential(DELTA, 1, first, scale), exponential(DELTA, 2, second, other)],
          [exponential(CUMULATIVE, 1, first, scale), exponential(CUMULATIVE, 2, both, Math.min(scale, other))],
        ]) {
          const app = node();
          for (const one of forms) expect(app.send(2, one as JsonObject)).toBe("");
          const { count, sum: added } = took(app);
          expect(count).toBe(both.length);
          expect(added).toBeCloseTo(total, 6);
          app.end();
        }
      }),
      seeded(30),
    );
  });

  test("have the percentiles of their values, as far as their buckets tell", () => {
    fc.assert(
      fc.property(values, fc.constantFrom(0.05, 0.5, 0.95), (own, quantile) => {
        const exact = own.toSorted((a, b) => a - b)[Math.ceil(quantile * own.length) - 1] as number;
        const read = (metric: object) => {
          const message = { resourceMetrics: [{ scopeMetrics: [{ metrics: [metric] }] }] };
          const { records } = receivedMetrics(fromJson(ExportMetricsServiceRequestSchema, message as JsonObject), {
            environmentId: "e",
            now: START + 1_000,
          });
          const value = records[0]?.value;
          if (value?.kind !== "histogram") throw new Error("it is no histogram");
          return sumOf(value.histogram).histogram?.quantile(quantile) ?? Number.NaN;
        };
        // A bucket of this platform is 9.06 % wide.
        const fine = read(exponential(DELTA, 1, own, 5));
        expect(fine).toBeWithin(exact / 1.0906, exact * 1.0906);
        const bound = BOUNDS.findIndex((one) => exact <= one);
        const told = { min: Math.min(...own), max: Math.max(...own) };
        const coarse = read(explicit(DELTA, 1, own, told));
        const [from, to] = [Math.max(BOUNDS[bound - 1] ?? 0, bound < 0 ? 10 : 0), bound < 0 ? told.max : (BOUNDS[bound] as number)];
        expect(coarse).toBeWithin(from / 1.0906, to * 1.0906 + Number.EPSILON);
      }),
      seeded(200),
    );
  });

  test("keep the traces of their values", () => {
    const app = node();
    const traceId = Uint8Array.fromHex("0af7651916cd43dd8448eb211c80319c").toBase64();
    const exemplars = [{ traceId, asDouble: 0.2, timeUnixNano: nanos(1) }];
    expect(app.send(1, explicit(DELTA, 1, [0.2], { exemplars }))).toBe("");
    expect(took(app)).toMatchObject({ count: 1, sum: 0.2 });
    app.end();
  });
});
