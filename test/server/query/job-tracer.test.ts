/** Traces of runs of resolvers and of offline queries: who asks, who is chosen, and what is in them. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { Component, InfraService } from "../../../gen/svc/v1/infra_pb.ts";
import { JobService } from "../../../gen/svc/v1/job_pb.ts";
import { OfflineQueryService, OfflineQueryStatus } from "../../../gen/svc/v1/offline_query_pb.ts";
import { type TraceSpan, TraceSpanKind } from "../../../gen/svc/v1/query_pb.ts";
import { ResolverRunService, ResolverRunState } from "../../../gen/svc/v1/resolver_run_pb.ts";
import { TraceService } from "../../../gen/svc/v1/trace_pb.ts";
import { createJobTracer } from "../../../src/server/query/job-tracer.ts";
import type { SpanRecord } from "../../../src/server/stores/telemetry/store.ts";
import { eventually } from "../../harness/eventually.ts";
import { TempFolder, TestServer } from "../../harness/running-server.ts";
import { deploy, expectLive } from "../deployments/deploying.ts";
import { ageOf, scheduledProject, USERS } from "../resolver-runs/worlds.ts";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const CALLER = "b7ad6b7169203331";

describe("an operation that nobody asked a trace of", () => {
  const operation = (id: string) => ({ id, environmentId: "env_1", deploymentId: "dep_1" });
  const tracer = (rate: number, isTracing = true) => {
    const kept: SpanRecord[] = [];
    const record = (spans: readonly SpanRecord[]) => void kept.push(...spans);
    const made = createJobTracer({ sampling: () => ({ rate, perSecond: 10 }), isTracing: () => isTracing, record }, { now: () => 0 });
    return { ...made, kept };
  };

  test("is traced by chance, as often as the rate says, and so are all of its jobs", () => {
    const { begin } = tracer(0.25);
    const chosen = Array.from({ length: 4_000 }, (_, at) => begin(operation(`job_${at}`), "run", undefined) !== undefined);
    expect(chosen.filter(Boolean).length / chosen.length).toBeWithin(0.2, 0.3);
    const again = chosen.map((_, at) => tracer(0.25).begin(operation(`job_${at}`), "run", undefined) !== undefined);
    expect(again).toEqual(chosen);
  });

  test("has one trace on all nodes, whose first spans have no parent", () => {
    const spans = ["prepare", "shard 0"].flatMap((name) => {
      const { begin, kept } = tracer(1);
      begin(operation("ofq_1"), name, undefined)?.end({}, "it failed");
      return kept;
    });
    expect(spans).toMatchObject([
      { name: "prepare", kind: "job", parentSpanId: "", queryId: "ofq_1", environmentId: "env_1", error: "it failed" },
      { name: "shard 0", traceId: spans[0]?.traceId },
    ]);
    expect(spans[0]?.traceId).toMatch(/^[\da-f]{32}$/);
  });

  test("is not traced at a rate of 0, for a caller whose trace is not sampled, and while telemetry is suspended", () => {
    expect(tracer(0).begin(operation("job_1"), "run", `00-${TRACE}-${CALLER}-00`)).toBeUndefined();
    expect(tracer(1, false).begin(operation("job_1"), "run", `00-${TRACE}-${CALLER}-01`)).toBeUndefined();
  });
});

describe("a caller's trace", () => {
  let folder: TempFolder;
  let server: TestServer;

  beforeAll(async () => {
    folder = new TempFolder();
    server = await TestServer.start(folder.path);
    expectLive(await deploy(server, scheduledProject(folder.path)));
    await server.client(InfraService).applyComponent({ component: Component.METRICS, spec: '{"trace_sample_rate": 0}' });
  }, 300_000);
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  const asking = (flags: string) => ({ headers: { traceparent: `00-${TRACE}-${CALLER}-${flags}` } });
  const spansOf = async (operationId: string): Promise<readonly TraceSpan[]> =>
    (await server.client(TraceService).getTrace({ trace: { case: "operationId", value: operationId } })).spans;

  const traceOfJob = async (id: string) => (await server.client(JobService).getJob({ id })).job?.traceId;

  async function run(resolver: string, flags: string): Promise<string> {
    const runs = server.client(ResolverRunService);
    const id = (await runs.triggerResolver({ resolver }, asking(flags))).run?.id ?? "";
    await eventually(async () => (await runs.getResolverRun({ id })).run?.state === ResolverRunState.SUCCEEDED, "the run ends");
    return id;
  }

  test("has the run that it asks for, with the calls of Python and the writes", async () => {
    await run("users", "00");
    const id = await run("get_half", "01");
    expect(await traceOfJob(id)).toBe(TRACE);
    const spans = await spansOf(id);
    const root = spans.find(({ kind }) => kind === TraceSpanKind.JOB);
    expect(root).toMatchObject({ name: "run features.get_half", traceId: TRACE, parentSpanId: CALLER });
    const worker = spans.find(({ kind }) => kind === TraceSpanKind.WORKER);
    expect(worker).toMatchObject({ name: "features.get_half", traceId: TRACE });
    expect(Number(worker?.attributes["svc.rows.in"])).toBe(new Set(Array.from({ length: USERS }, (_, at) => ageOf(at + 1))).size);
    const ids = new Set(spans.map(({ spanId }) => spanId));
    expect(spans.filter(({ parentSpanId }) => !ids.has(parentSpanId))).toEqual([root as TraceSpan]);
  });

  test("has the steps of the offline query that it asks for", async () => {
    const queries = server.client(OfflineQueryService);
    const inputs = [{ feature: "user.age", values: ["20", "30"].map((value) => ({ value: { case: "text" as const, value } })) }];
    const request = { inputs, outputs: ["user.half"], recompute: true };
    const id = (await queries.startOfflineQuery(request, asking("01"))).query?.id ?? "";
    await eventually(async () => (await queries.getOfflineQuery({ id })).query?.status === OfflineQueryStatus.COMPLETED, "the query ends");
    expect((await queries.getOfflineQuery({ id })).query?.traceId).toBe(TRACE);
    expect(await traceOfJob(`${id}.1`)).toBe(TRACE);
    const spans = await spansOf(id);
    const jobs = spans.filter(({ kind }) => kind === TraceSpanKind.JOB);
    expect(jobs.map(({ name }) => name)).toEqual(["offline query prepare", "offline query shard 0", "offline query complete"]);
    expect(jobs.every(({ parentSpanId, traceId }) => parentSpanId === CALLER && traceId === TRACE)).toBe(true);
    expect(spans.some(({ kind, name }) => kind === TraceSpanKind.WORKER && name === "features.get_half")).toBe(true);
  });

  test("that is not sampled has none of it", async () => {
    const id = await run("get_half", "00");
    await expect(spansOf(id)).rejects.toThrow("There is no trace");
    expect(await traceOfJob(id)).toBe("");
  });
});
