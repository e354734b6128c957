/** Telemetry that applications send, by OpenTelemetry's own SDK and by hand. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { create, toBinary } from "@bufbuild/protobuf";
import { ExportTraceServiceRequestSchema } from "../../../../gen/opentelemetry/proto/collector/trace/v1/trace_service_pb.ts";
import { Component, InfraService } from "../../../../gen/svc/v1/infra_pb.ts";
import { LogService } from "../../../../gen/svc/v1/log_pb.ts";
import { MetricService } from "../../../../gen/svc/v1/metric_pb.ts";
import { QueryService, TraceSpanKind } from "../../../../gen/svc/v1/query_pb.ts";
import { TempFolder, TestServer } from "../../../harness/running-server.ts";
import { deploy, expectLive, GREETING } from "../../deployments/deploying.ts";
import { lacksOpenTelemetry, python } from "../../otlp/official.ts";

const folder = new TempFolder();
let server: TestServer;
let token: string;

beforeAll(async () => {
  server = await TestServer.start(folder.path);
  token = await server.token();
  expectLive(await deploy(server, GREETING));
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

const post = (path: string, body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}) =>
  fetch(`${server.url}${path}`, {
    method: "POST",
    body,
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json", ...headers },
  });
const spansOf = async (traceId: string) =>
  (await server.client(QueryService).getTrace({ trace: { case: "traceId", value: traceId } })).spans;

const APPLICATION = `
import json, os, time, urllib.request
from opentelemetry import trace
from opentelemetry._logs import LogRecord, SeverityNumber
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
url, token = os.environ["SVC_URL"], os.environ["SVC_TOKEN"]
to = {"headers": {"authorization": "Bearer " + token}, "compression": Compression[os.environ["COMPRESSION"]]}
resource = Resource.create({"service.name": "shop", "host.name": "not kept"})
tracers = TracerProvider(resource=resource)
tracers.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(url + "/v1/traces", **to)))
loggers = LoggerProvider(resource=resource)
loggers.add_log_record_processor(BatchLogRecordProcessor(OTLPLogExporter(url + "/v1/logs", **to)))
tracer = tracers.get_tracer("checkout")
with tracer.start_as_current_span("checkout", attributes={"cart.items": 3, "cart.tags": ["a", "b"]}, kind=trace.SpanKind.SERVER) as root:
    headers = {"authorization": "Bearer " + token, "content-type": "application/json"}
    TraceContextTextMapPropagator().inject(headers)
    body = json.dumps({"inputs": {"user.id": 7}, "outputs": ["user.greeting"]}).encode()
    urllib.request.urlopen(urllib.request.Request(url + "/v1/query/online", body, headers)).read()
    loggers.get_logger("shop.cart").emit(LogRecord(timestamp=time.time_ns(), severity_number=SeverityNumber.WARN, body="the cart is \\x1b[31mfull", attributes={"items": 3}))
    try:
        with tracer.start_as_current_span("pay"):
            raise ValueError("no funds")
    except ValueError:
        pass
    ids = [format(root.get_span_context().trace_id, "032x"), format(root.get_span_context().span_id, "016x")]
tracers.shutdown()
loggers.shutdown()
print(json.dumps(ids))
`;

describe.skipIf(lacksOpenTelemetry())("OpenTelemetry's SDK for Python", () => {
  test.each(["NoCompression", "Gzip"])("its spans stand in one trace with those of the query (%s)", async (compression) => {
    const said = await python(APPLICATION, { SVC_URL: server.url, SVC_TOKEN: token, COMPRESSION: compression });
    const [traceId = "", rootId = ""] = JSON.parse(said.trim().split("\n")[0] ?? "") as string[];
    const spans = await spansOf(traceId);
    const root = spans.find(({ spanId }) => spanId === rootId);
    expect(root).toMatchObject({ name: "checkout", kind: TraceSpanKind.APP, parentSpanId: "" });
    expect(root?.attributes).toMatchObject({
      ...{ "service.name": "shop", "otel.scope.name": "checkout", "span.kind": "server" },
      ...{ "cart.items": "3", "cart.tags": '["a","b"]' },
    });
    expect(root?.attributes["host.name"]).toBeUndefined();
    const gateway = spans.find(({ kind }) => kind === TraceSpanKind.GATEWAY);
    expect(gateway).toMatchObject({ name: "POST /v1/query/online", parentSpanId: rootId });
    expect(spans.find(({ name }) => name === "pay")).toMatchObject({ parentSpanId: rootId, error: "ValueError: no funds" });
    const { lines } = await server.client(LogService).searchLogs({ search: `trace_id:${traceId} component:app` });
    expect(lines).toMatchObject([
      {
        level: "warning",
        component: "app",
        app: "shop",
        logger: "shop.cart",
        traceId,
        spanId: rootId,
        message: "the cart is \x1b[31mfull",
      },
    ]);
  });
});

const MEASURING = `
import os
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.sdk.metrics import Counter, Histogram, MeterProvider
from opentelemetry.sdk.metrics.export import AggregationTemporality, PeriodicExportingMetricReader
from opentelemetry.sdk.metrics.view import ExponentialBucketHistogramAggregation, View
from opentelemetry.sdk.resources import Resource
temporality = AggregationTemporality[os.environ["TEMPORALITY"]]
to = {"endpoint": os.environ["SVC_URL"] + "/v1/metrics", "headers": {"authorization": "Bearer " + os.environ["SVC_TOKEN"]}}
exporter = OTLPMetricExporter(**to, preferred_temporality={Counter: temporality, Histogram: temporality})
reader = PeriodicExportingMetricReader(exporter, export_interval_millis=3600000)
views = [View(instrument_name="wait", aggregation=ExponentialBucketHistogramAggregation())]
resource = Resource.create({"service.name": os.environ["TEMPORALITY"].lower(), "service.instance.id": "a"})
meters = MeterProvider(resource=resource, metric_readers=[reader], views=views)
meter = meters.get_meter("shop")
orders, open_carts = meter.create_counter("orders", unit="{order}"), meter.create_up_down_counter("carts.open")
took, wait = meter.create_histogram("took", unit="s", explicit_bucket_boundaries_advisory=[0.1, 1, 10]), meter.create_histogram("wait", unit="s")
for round in range(3):
    orders.add(2, {"country": "de", "paid": True})
    orders.add(1, {"country": "fr"})
    open_carts.add(5 - round * 3)
    for value in (0.5, 0.6, 2.0): took.record(value); wait.record(value)
    meters.force_flush()
meters.shutdown()
`;

describe.skipIf(lacksOpenTelemetry())("metrics of OpenTelemetry's SDK for Python", () => {
  test.each(["DELTA", "CUMULATIVE"])("are series (%s)", async (temporality) => {
    await python(MEASURING, { SVC_URL: server.url, SVC_TOKEN: token, TEMPORALITY: temporality });
    const service = temporality.toLowerCase();
    const asked = async (expression: string) => {
      const { series } = await server.client(MetricService).queryMetric({ expression });
      return series.map(({ labels, points }) => [
        Object.values(labels).join(" "),
        points.reduce((last: number | undefined, { value }) => value ?? last, undefined),
      ]);
    };
    expect(await asked(`sum:app.counter{name:orders,service:${service}} by {attributes,unit}.rollup(1d)`)).toEqual([
      ["country=de,paid=true {order}", 6],
      ["country=fr {order}", 3],
    ]);
    expect(await asked(`max:app.gauge{name:carts.open,service:${service}} by {attributes}.rollup(1d)`)).toEqual([
      ["service.instance.id=a", 7],
    ]);
    for (const name of ["took", "wait"]) {
      const of = `app.histogram{name:${name},service:${service}}`;
      expect(await asked(`count:${of}.rollup(1d)`)).toEqual([["", 9]]);
      expect((await asked(`sum:${of}.rollup(1d)`))[0]?.[1]).toBeCloseTo(9.3, 9);
      expect((await asked(`max:${of}.rollup(1d)`))[0]?.[1]).toBe(2);
    }
    expect((await asked(`p50:app.histogram{name:wait,service:${service}}.rollup(1d)`))[0]?.[1]).toBeWithin(0.6 / 1.1, 0.6 * 1.1);
  });
});

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const startedNow = () => `${Date.now()}000000`;
const jsonSpan = (more: object = {}) => ({
  traceId: TRACE,
  spanId: "b7ad6b7169203331",
  name: "by hand",
  startTimeUnixNano: startedNow(),
  ...more,
});
const jsonTraces = (...spans: object[]) => JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] });

describe("OTLP by hand", () => {
  const gauge = (...values: readonly (number | string)[]) =>
    JSON.stringify({
      resourceMetrics: [
        {
          scopeMetrics: [
            { metrics: [{ name: "by.hand", gauge: { dataPoints: values.map((asDouble) => ({ timeUnixNano: startedNow(), asDouble })) } }] },
          ],
        },
      ],
    });

  test("metrics come as JSON too, compressed or not; what is not kept is told", async () => {
    expect(await (await post("/v1/metrics", gauge(1, "NaN"))).json()).toEqual({
      partialSuccess: { rejectedDataPoints: "1", errorMessage: "a point's value is no finite number" },
    });
    const zipped = Bun.gzipSync(new TextEncoder().encode(gauge(4)));
    expect(await (await post("/v1/metrics", zipped, { "content-encoding": "gzip" })).json()).toEqual({});
    const { series } = await server.client(MetricService).queryMetric({ expression: "max:app.gauge{name:by.hand}.rollup(1d)" });
    expect(series.flatMap(({ points }) => points.flatMap(({ value }) => value ?? []))).toEqual([4]);
    const bomb = Bun.gzipSync(new Uint8Array(9 * 1024 * 1024));
    expect((await post("/v1/metrics", bomb, { "content-encoding": "gzip" })).status).toBe(413);
  });

  test("metrics of applications are not told as the server's own", async () => {
    const text = await (await fetch(`${server.url}/metrics`, { headers: { authorization: `Bearer ${token}` } })).text();
    expect([text.includes("svc_http_count_total"), text.includes("svc_app")]).toEqual([true, false]);
  });

  test("JSON has ids in hex, in the answer's form too", async () => {
    const parent = "00F067AA0BA902B7";
    const response = await post("/v1/traces", jsonTraces(jsonSpan({ parentSpanId: parent, kind: 3, aFieldOfTomorrow: [1] })));
    expect([response.status, response.headers.get("content-type"), await response.json()]).toEqual([200, "application/json", {}]);
    expect(await spansOf(TRACE)).toMatchObject([{ name: "by hand", parentSpanId: parent.toLowerCase() }]);
  });

  test("what cannot be kept is told, and the rest is kept", async () => {
    const traceId = TRACE.replace("0af", "1af");
    const future = `${Date.now() + 7_200_000}000000`;
    const bad = [
      { traceId: "AAAAAAAAAAAAAAAAAAAAAA==" },
      { spanId: "0000000000000000" },
      { startTimeUnixNano: future },
      { startTimeUnixNano: "0" },
    ];
    const response = await post("/v1/traces", jsonTraces(jsonSpan({ traceId }), ...bad.map((one) => jsonSpan({ traceId, ...one }))));
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({
      partialSuccess: { rejectedSpans: "4", errorMessage: "a span needs a trace id of 16 bytes and an id of 8, not all zero" },
    });
    expect(await spansOf(traceId)).toHaveLength(1);
  });

  test("a request has a bounded number of records", async () => {
    const spans = Array.from({ length: 5_001 }, (_, at) => ({
      ...{ traceId: Uint8Array.fromHex(TRACE.replace("0af", "2af")), spanId: Uint8Array.fromHex((at + 1).toString(16).padStart(16, "0")) },
      startTimeUnixNano: BigInt(startedNow()),
    }));
    const body = toBinary(
      ExportTraceServiceRequestSchema,
      create(ExportTraceServiceRequestSchema, { resourceSpans: [{ scopeSpans: [{ spans }] }] }),
    );
    const response = await post("/v1/traces", body, { "content-type": "application/x-protobuf" });
    const text = new TextDecoder().decode(await response.bytes());
    expect([response.status, text]).toEqual([200, expect.stringContaining("a request has at most 5000 records")]);
  });

  test.each([
    ["another type of body", "/v1/traces", "{}", { "content-type": "text/plain" }, 415],
    ["JSON that is cut", "/v1/logs", "{", {}, 400],
    ["JSON of another message", "/v1/logs", '{"resourceLogs": 1}', {}, 400],
    ["bytes that are no message", "/v1/traces", "\x0a\xff", { "content-type": "application/x-protobuf" }, 400],
    ["a body that is too long", "/v1/logs", " ".repeat(8 * 1024 * 1024 + 1), {}, 413],
    ["metrics of another message", "/v1/metrics", '{"resourceMetrics": {}}', {}, 400],
    ["an unknown environment", "/v1/logs", "{}", { "svc-environment": "elsewhere" }, 404],
    ["no token", "/v1/traces", "\x0a\xff", { authorization: "" }, 401],
  ] as const)("%s is refused", async (_, path, body, headers, status) => {
    expect((await post(path, body, headers)).status).toBe(status);
  });

  test("while telemetry is suspended nothing is kept, and that is told", async () => {
    const infra = server.client(InfraService);
    await infra.suspendComponent({ component: Component.TELEMETRY });
    const response = await post("/v1/traces", jsonTraces(jsonSpan()));
    await infra.resumeComponent({ component: Component.TELEMETRY });
    expect(await response.json()).toMatchObject({ partialSuccess: { rejectedSpans: "1" } });
  });
});
