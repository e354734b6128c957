/**
 * Through OpenTelemetry's own collector: what one server exports, another takes as an
 * application's.
 */

import { afterEach, describe, expect, test } from "bun:test";
import { LogService } from "../../../gen/svc/v1/log_pb.ts";
import { MetricService } from "../../../gen/svc/v1/metric_pb.ts";
import { QueryService, TraceSpanKind } from "../../../gen/svc/v1/query_pb.ts";
import { type CollectorTarget, lacksCollector, startCollector, type TestCollector } from "../../harness/collector.ts";
import { eventually } from "../../harness/eventually.ts";
import { TempFolder, TestServer } from "../../harness/running-server.ts";
import { deploy, expectLive, GREETING } from "../deployments/deploying.ts";

const QUERIES = 3;
const opened: (() => Promise<unknown> | unknown)[] = [];
afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close();
});

async function serve(env: Readonly<Record<string, string>> = {}): Promise<TestServer> {
  const folder = new TempFolder();
  opened.push(() => folder[Symbol.dispose]());
  return TestServer.start(folder.path, { env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env } });
}

async function collect(target: CollectorTarget): Promise<TestCollector> {
  const collector = await startCollector(target);
  opened.push(() => collector.stop());
  return collector;
}

describe.skipIf(lacksCollector())("the collector", () => {
  test.each([
    ["http/protobuf", "json"],
    ["http/json", "proto"],
  ] as const)("reads what a server sends by %s, and is read by one, all three signals, in %s", async (protocol, encoding) => {
    const receiving = await serve();
    opened.push(() => receiving[Symbol.asyncDispose]());
    const headers = { authorization: `Bearer ${await receiving.token()}` };
    const collector = await collect({ url: receiving.url, headers, encoding });
    const sending = await serve({
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_EXPORTER_OTLP_PROTOCOL: protocol,
      OTEL_SERVICE_NAME: "sender",
    });
    expectLive(await deploy(sending, GREETING));
    let traceId = "";
    for (let query = 0; query < QUERIES; query++) {
      const inputs = [{ feature: "user.id", value: { case: "text", value: "7" } }] as const;
      const request = { inputs: [...inputs], outputs: ["user.greeting"], queryName: "greet", trace: true };
      traceId = (await sending.client(QueryService).query(request)).meta?.traceId ?? "";
    }
    const byTrace = { trace: { case: "traceId", value: traceId } } as const;
    const own = (await sending.client(QueryService).getTrace(byTrace)).spans;
    await sending[Symbol.asyncDispose]();

    const told = async () =>
      (
        await receiving
          .client(QueryService)
          .getTrace(byTrace)
          .catch(() => undefined)
      )?.spans ?? [];
    await eventually(async () => (await told()).length === own.length, "the spans arrive");
    const spans = await told();
    const facts = (all: typeof own) => all.map(({ name, parentSpanId, spanId }) => `${spanId} ${parentSpanId} ${name}`).sort();
    expect(facts(spans)).toEqual(facts(own));
    expect(spans[0]).toMatchObject({ kind: TraceSpanKind.APP, attributes: { "service.name": "sender" } });

    const lines = async () =>
      (await receiving.client(LogService).searchLogs({ search: 'component:app app:sender message:"server started"' })).lines;
    await eventually(async () => (await lines()).length === 1, "the lines arrive");

    const lastOf = async (expression: string) => {
      const { series } = await receiving.client(MetricService).queryMetric({ expression: `${expression}.rollup(1d)` });
      return series.flatMap(({ points }) => points.flatMap(({ value }) => value ?? [])).at(-1);
    };
    const queries = "attributes:*query_name=greet*";
    await eventually(async () => (await lastOf(`count:app.histogram{name:svc.query.latency,${queries}}`)) === QUERIES, "latencies arrive");
    await eventually(async () => (await lastOf(`sum:app.counter{name:svc.query.count,${queries}}`)) === QUERIES, "counts arrive");
    expect(collector.said()).not.toMatch(/\b(?:error|warn)\b.*(?:rejected|Exporting failed|partial success)/i);
  });
});
