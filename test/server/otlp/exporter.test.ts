/** The export, as OpenTelemetry's own parsers read it, to collectors that take it or do not. */

import { afterEach, describe, expect, test } from "bun:test";
import { fromBinary } from "@bufbuild/protobuf";
import { ExportLogsServiceRequestSchema } from "../../../gen/opentelemetry/proto/collector/logs/v1/logs_service_pb.ts";
import { QueryService } from "../../../gen/svc/v1/query_pb.ts";
import { createLog } from "../../../src/server/log.ts";
import { createMetricRecorder } from "../../../src/server/metrics/recorder.ts";
import { createOtlpExporter } from "../../../src/server/otlp/exporter.ts";
import { readOtlpSettings } from "../../../src/server/otlp/settings.ts";
import { eventually } from "../../harness/eventually.ts";
import { TempFolder, TestClock, TestServer } from "../../harness/running-server.ts";
import { deploy, expectLive, GREETING } from "../deployments/deploying.ts";
import { type JsonAttribute, lacksOpenTelemetry, parsedRequests, valuesOf } from "./official.ts";

/** A request that a collector got. */
interface Got {
  readonly signal: string;
  readonly headers: Headers;
  /** Inflated. */
  readonly body: Uint8Array;
}

/** A collector that answers as it is told; by default it takes everything. */
class Collector implements Disposable {
  readonly got: Got[] = [];
  answer: (got: Got) => Response | Promise<Response> = () => new Response();
  readonly #server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: async (request) => {
      const bytes = await request.bytes();
      const body = request.headers.get("content-encoding") === "gzip" ? Bun.gunzipSync(bytes) : bytes;
      const got = { signal: new URL(request.url).pathname.replace("/base/v1/", ""), headers: request.headers, body };
      this.got.push(got);
      return this.answer(got);
    },
  });
  readonly url = `http://127.0.0.1:${this.#server.port}/base/`;

  of(signal: string): Got[] {
    return this.got.filter((one) => one.signal === signal);
  }

  [Symbol.dispose](): void {
    void this.#server.stop(true);
  }
}

const opened: Disposable[] = [];
afterEach(() => {
  for (const one of opened.splice(0)) one[Symbol.dispose]();
});

/** A collector, and a server that exports to it. */
async function exporting(more: Readonly<Record<string, string>> = {}): Promise<{ collector: Collector; server: TestServer }> {
  const folder = new TempFolder();
  const collector = new Collector();
  opened.push(collector, folder);
  const env = {
    ...{ PATH: process.env.PATH, HOME: process.env.HOME },
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_HEADERS: "x-key=a%20secret",
    OTEL_RESOURCE_ATTRIBUTES: "deployment.environment.name=test",
    ...more,
  };
  return { collector, server: await TestServer.start(folder.path, { env }) };
}

async function ask(server: TestServer): Promise<string> {
  expectLive(await deploy(server, GREETING));
  const { meta } = await server.client(QueryService).query({
    inputs: [{ feature: "user.id", value: { case: "text", value: "7" } }],
    outputs: ["user.greeting"],
    queryName: "greet",
    trace: true,
  });
  return meta?.traceId ?? "";
}

type Json = Readonly<Record<string, unknown>>;
/** The items of a list of lists: spans of resourceSpans, scopeSpans, spans. */
const items = <T = Json>(requests: readonly Json[], ...names: readonly string[]): T[] =>
  names.reduce<unknown[]>((found, name) => found.flatMap((one) => ((one as Json)[name] ?? []) as unknown[]), [...requests]) as T[];
interface Attributed extends Json {
  readonly attributes: readonly JsonAttribute[];
}
const hex = (base64: unknown) => Uint8Array.fromBase64(String(base64 ?? "")).toHex();

describe.skipIf(lacksOpenTelemetry())("as OpenTelemetry's parsers read it", () => {
  test("spans, lines and metrics come when the server ends", async () => {
    const { collector, server } = await exporting();
    const traceId = await ask(server);
    const kept = (await server.client(QueryService).getTrace({ trace: { case: "traceId", value: traceId } })).spans;
    await server[Symbol.asyncDispose]();
    expect(
      collector.got.map(({ headers }) => [headers.get("x-key"), headers.get("content-type"), headers.get("content-encoding")]),
    ).toEqual(collector.got.map(() => ["a secret", "application/x-protobuf", "gzip"]));

    const traces = await parsedRequests(collector.of("traces"));
    const resources = items<{ resource: Attributed }>(traces, "resourceSpans").map(({ resource }) => valuesOf(resource.attributes));
    expect(resources[0]).toMatchObject({ "service.name": "svc", "service.version": "1.2.3-test", "deployment.environment.name": "test" });
    const spans = items<Attributed>(traces, "resourceSpans", "scopeSpans", "spans");
    expect(spans.map(({ spanId }) => hex(spanId)).sort()).toEqual(kept.map(({ spanId }) => spanId).sort());
    const own = kept.find(({ parentSpanId }) => parentSpanId === "");
    const root = spans.find(({ parentSpanId }) => parentSpanId === undefined);
    expect(root).toMatchObject({ name: own?.name, kind: "SPAN_KIND_SERVER" });
    expect(hex(root?.traceId)).toBe(traceId);
    expect(valuesOf(root?.attributes)).toMatchObject({ "svc.query.name": "greet", "svc.span.kind": "gateway" });
    const startMs = Number(own?.startTime?.seconds) * 1_000 + (own?.startTime?.nanos ?? 0) / 1e6;
    expect(Number(root?.startTimeUnixNano) / 1e6).toBeCloseTo(startMs, 1);

    const lines = items<Attributed>(await parsedRequests(collector.of("logs")), "resourceLogs", "scopeLogs", "logRecords");
    const started = lines.find(({ body }) => (body as Json).stringValue === "server started");
    expect(started).toMatchObject({ severityNumber: "SEVERITY_NUMBER_INFO", severityText: "info" });
    expect(valuesOf(started?.attributes)).toMatchObject({ "svc.component": "server", url: server.url });
    expect(lines.some(({ attributes }) => valuesOf(attributes)["svc.component"] === "gateway")).toBe(false);

    const metrics = items<Json>(await parsedRequests(collector.of("metrics")), "resourceMetrics", "scopeMetrics", "metrics");
    const points = (name: string, kind: string) =>
      metrics.filter((one) => one.name === name).flatMap((one) => items<Attributed>([one[kind] as Json], "dataPoints"));
    const counted = points("svc.query.count", "sum");
    expect(counted).toMatchObject([{ asDouble: 1 }]);
    expect(valuesOf(counted[0]?.attributes)).toMatchObject({ query_name: "greet", environment: "default" });
    const [latency] = points("svc.query.latency", "exponentialHistogram");
    const { sum, scale, exemplars } = latency as Attributed;
    const positive = latency?.positive as { offset?: number; bucketCounts: string[] };
    expect([latency?.count, scale, positive.bucketCounts]).toEqual(["1", 3, ["1"]]);
    const upper = 2 ** (((positive.offset ?? 0) + 1) / 8);
    expect(Number(sum)).toBeWithin(upper / 2 ** (1 / 8), upper * 1.000001);
    expect((exemplars as Json[]).map((one) => hex(one.traceId))).toEqual([traceId]);
    expect(metrics.find(({ name }) => name === "svc.query.latency")).toMatchObject({ unit: "s" });
  });
});

describe("a collector", () => {
  test("gets OTLP's JSON when that is wanted: ids in hex, enums as numbers", async () => {
    const { collector, server } = await exporting({ OTEL_EXPORTER_OTLP_PROTOCOL: "http/json", OTEL_METRICS_EXPORTER: "none" });
    const traceId = await ask(server);
    await server[Symbol.asyncDispose]();
    const [request] = collector.of("traces").map(({ body }) => JSON.parse(new TextDecoder().decode(body)) as Json);
    const spans = items(request ? [request] : [], "resourceSpans", "scopeSpans", "spans");
    expect(spans.length).toBeGreaterThan(0);
    expect(new Set(spans.map((one) => one.traceId))).toEqual(new Set([traceId]));
    expect(spans.find(({ parentSpanId }) => parentSpanId === undefined)).toMatchObject({ kind: 2 });
    expect(collector.of("metrics")).toEqual([]);
  });

  test("that is busy is asked again, with the same batch", async () => {
    const { collector, server } = await exporting({
      OTEL_LOGS_EXPORTER: "none",
      OTEL_METRIC_EXPORT_INTERVAL: "20",
      OTEL_TRACES_EXPORTER: "none",
    });
    let refusals = 0;
    collector.answer = () => (refusals++ < 2 ? new Response("", { status: 503, headers: { "retry-after": "0" } }) : new Response());
    await eventually(() => collector.got.length > 2, "three requests");
    const [first, second, third] = collector.got;
    expect([second?.body, third?.body]).toEqual([first?.body, first?.body] as never);
    await server[Symbol.asyncDispose]();
  });

  test("that refuses a batch is not asked again; what is lost is counted, and said once", async () => {
    const { collector, server } = await exporting({
      OTEL_TRACES_EXPORTER: "none",
      OTEL_LOGS_EXPORTER: "none",
      OTEL_METRIC_EXPORT_INTERVAL: "20",
    });
    collector.answer = () => new Response("", { status: 400 });
    await eventually(() => collector.got.length > 2, "three requests");
    const warned = () => server.log.filter(({ message }) => message === "telemetry could not be exported");
    await eventually(() => warned().length > 0, "a warning");
    expect(warned()).toMatchObject([{ signal: "metrics", reason: "the collector answered 400" }]);
    const text = await (await fetch(`${server.url}/metrics`, { headers: { authorization: `Bearer ${await server.token()}` } })).text();
    expect(text).toMatch(/^svc_telemetry_dropped_total\{signal="otlp_metrics"\} [1-9]/m);
    expect(warned()).toHaveLength(1);
    await server[Symbol.asyncDispose]();
  });

  test("that redirects is not followed", async () => {
    const { collector, server } = await exporting({
      OTEL_TRACES_EXPORTER: "none",
      OTEL_LOGS_EXPORTER: "none",
      OTEL_METRIC_EXPORT_INTERVAL: "20",
    });
    using elsewhere = new Collector();
    collector.answer = () => new Response("", { status: 307, headers: { location: elsewhere.url } });
    await eventually(() => server.log.some(({ reason }) => reason === "the collector answered 307"), "a warning");
    expect(elsewhere.got).toEqual([]);
    await server[Symbol.asyncDispose]();
  });

  test("that is not there keeps no server from ending", async () => {
    const { collector, server } = await exporting();
    collector[Symbol.dispose]();
    await server[Symbol.asyncDispose]();
    expect(server.log.filter(({ message }) => message === "telemetry could not be exported").map(({ reason }) => reason)).toContainEqual(
      expect.stringMatching(/^the collector cannot be reached: (?:ECONNREFUSED|ConnectionRefused)$/),
    );
  });

  test("that never answers does neither", async () => {
    const { collector, server } = await exporting();
    const never = Promise.withResolvers<Response>();
    collector.answer = () => never.promise;
    await server[Symbol.asyncDispose]();
    never.resolve(new Response());
    expect(collector.got.length).toBeGreaterThan(0);
  });

  test("gets nothing that applications sent to the server", async () => {
    const { collector, server } = await exporting({ OTEL_EXPORTER_OTLP_PROTOCOL: "http/json", OTEL_METRICS_EXPORTER: "none" });
    const ids = { traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331" };
    const at = `${Date.now()}000000`;
    const bodies = {
      traces: { resourceSpans: [{ scopeSpans: [{ spans: [{ ...ids, name: "of the application", startTimeUnixNano: at }] }] }] },
      logs: {
        resourceLogs: [{ scopeLogs: [{ logRecords: [{ ...ids, timeUnixNano: at, body: { stringValue: "of the application" } }] }] }],
      },
    };
    const headers = { authorization: `Bearer ${await server.token()}`, "content-type": "application/json" };
    for (const [signal, body] of Object.entries(bodies)) {
      const response = await fetch(`${server.url}/v1/${signal}`, { method: "POST", headers, body: JSON.stringify(body) });
      expect([response.status, await response.json()]).toEqual([200, {}]);
    }
    await server[Symbol.asyncDispose]();
    const texts = collector.got.map(({ body }) => new TextDecoder().decode(body));
    expect([texts.some((text) => text.includes("server started")), texts.some((text) => text.includes("of the application"))]).toEqual([
      true,
      false,
    ]);
  });

  test("that is too slow gets what there is room for; the rest is dropped and counted", async () => {
    using collector = new Collector();
    const never = Promise.withResolvers<Response>();
    collector.answer = () => never.promise;
    const settings = readOtlpSettings({ OTEL_EXPORTER_OTLP_LOGS_ENDPOINT: `${collector.url}v1/logs` }, Date.now());
    if (!settings) throw new Error("nothing is exported");
    const clock = new TestClock();
    const log = createLog({ write: () => undefined, clock });
    const metrics = createMetricRecorder({ store: () => Promise.reject(new Error("none")), clock, log });
    const exporter = createOtlpExporter({
      ...{ settings, version: "1", node: () => "node_1", metrics, log, now: () => clock.now() },
      environmentNames: async () => new Map(),
      maxWaiting: 600,
    });
    const line = { at: 1, level: "info", component: "server", message: "a line" } as const;
    // The first batch of 512 leaves the queue, which then has room for 600.
    for (let count = 0; count < 512 + 600 + 7; count++) exporter.line(line);
    expect(metrics.sinceStart("telemetry.dropped").sum).toBe(7);
    await eventually(() => collector.got.length === 1, "the first batch");
    never.resolve(new Response());
    await exporter.close();
    metrics.end();
    const lines = collector
      .of("logs")
      .map(({ body }) => fromBinary(ExportLogsServiceRequestSchema, body).resourceLogs[0]?.scopeLogs[0]?.logRecords.length);
    expect(lines).toEqual([512, 512, 88]);
  });
});
