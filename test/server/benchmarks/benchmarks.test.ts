/**
 * Benchmarks on a real server, by a real load generator. What was asked is known from a receiver of
 * the queries, whose own clock and stalls are the oracle of latencies.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { type Client, Code, ConnectError } from "@connectrpc/connect";
import {
  type Benchmark,
  BenchmarkService,
  BenchmarkState,
  BenchmarkVerdict,
  type RunBenchmarkRequestSchema,
} from "../../../gen/svc/v1/benchmark_pb.ts";
import { DatasetService } from "../../../gen/svc/v1/dataset_pb.ts";
import { JobService } from "../../../gen/svc/v1/job_pb.ts";
import { QueryRunService } from "../../../gen/svc/v1/query_run_pb.ts";
import { eventually } from "../../harness/eventually.ts";
import { TempFolder, TestServer } from "../../harness/running-server.ts";
import { tokenOf } from "../approvals/persons.ts";
import { uploadDataset } from "../datasets/uploading.ts";
import { deploy, expectLive } from "../deployments/deploying.ts";

const PROJECT = {
  "features.py": `from svc.features import _, feature, features

@features
class User:
    id: int
    email: str = feature(tags=["pii"])
    name: str
    double: int = _.id * 2
`,
};

interface Received {
  readonly at: number;
  readonly body: { readonly inputs: Record<string, unknown>; readonly correlation_id: string; readonly trace?: boolean };
  readonly authorization: string;
}

const folder = new TempFolder();
let server: TestServer;
let service: Client<typeof BenchmarkService>;
let receiver: Bun.Server<undefined>;
const received: Received[] = [];
/** What the receiver does with a query, by its number from 0. */
let answer: (number: number) => Promise<Response> | Response = () => Response.json({ data: [] });

beforeAll(async () => {
  receiver = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      const body = (await request.json()) as Received["body"];
      received.push({ at: performance.now(), body, authorization: request.headers.get("authorization") ?? "" });
      return answer(received.length - 1);
    },
  });
  const env = { PATH: process.env.PATH, HOME: process.env.HOME, SVC_WEBHOOK_ALLOW: "127.0.0.1" };
  server = await TestServer.start(folder.path, { env });
  service = server.client(BenchmarkService);
  expectLive(await deploy(server, PROJECT));
}, 300_000);
afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  await receiver?.stop(true);
  folder[Symbol.dispose]();
});

type Wish = MessageInitShape<typeof RunBenchmarkRequestSchema>;
const wish = (plan: Wish["plan"] = {}, more: Partial<Wish> = {}): Wish =>
  ({
    inputs: { "user.id": "7" },
    plan: { outputs: ["user.double"], qps: 100, duration: { seconds: 1n }, ...plan },
    ...more,
  }) as Wish;
const toReceiver = (plan: Wish["plan"] = {}, more: Partial<Wish> = {}): Wish =>
  wish({ queryHost: `http://127.0.0.1:${receiver.port}`, ...plan } as Wish["plan"], more);
const ended = async (asked: Wish): Promise<Benchmark> => {
  received.length = 0;
  const { benchmark } = await service.runBenchmark(asked);
  const id = benchmark?.id ?? "";
  let last: Benchmark | undefined;
  await eventually(async () => {
    last = (await service.getBenchmark({ id })).benchmark;
    return last?.endedAt !== undefined;
  }, `the end of ${id}`);
  return last as Benchmark;
};
const refusal = async (asked: Wish, client = service): Promise<string> =>
  client.runBenchmark(asked).then(
    () => "ok",
    (error: unknown) => (error instanceof ConnectError ? `${Code[error.code]}: ${error.rawMessage}` : String(error)),
  );
const resultJson = async (benchmark: Benchmark): Promise<Record<string, unknown>> => {
  for await (const { link } of server.client(DatasetService).streamDatasetLinks({ revisionId: benchmark.resultRevisionId }))
    if (link?.file?.name === `${benchmark.id}.json`)
      return (await fetch(new URL(link.url, server.url))).json() as Promise<Record<string, unknown>>;
  throw new Error("the benchmark has no file of results");
};

describe("a benchmark of the server's own endpoint", () => {
  test("asks what was asked for, which the log of queries has under its id", async () => {
    const benchmark = await ended(wish({ warmupQps: 20, warmupDuration: { nanos: 500_000_000 }, percentiles: [99, 50, 50] }));
    expect(benchmark).toMatchObject({ state: BenchmarkState.SUCCEEDED, error: "", progress: "", inputs: ["user.id"], warnings: [] });
    const { result } = benchmark;
    expect([result?.due, result?.answered, result?.unsent, result?.failed]).toEqual([100n, 100n, 0n, 0n]);
    expect(result?.percentiles.map(({ percent }) => percent)).toEqual([50, 99]);
    expect(result?.histogram.reduce((sum, { count }) => sum + count, 0n)).toBe(100n);
    expect(result?.generatorMemoryBytes).toBeGreaterThan(10_000_000n);
    // A first query, the warm-up, and those that were measured.
    await eventually(async () => {
      const { queries } = await server.client(QueryRunService).listQueryRuns({ search: `correlation_id:${benchmark.id}`, pageSize: 500 });
      return queries.length === 1 + 10 + 100;
    }, "all of its queries in the log");
  }, 300_000);

  test("has rows of an uploaded file as inputs, one after the other, without what is personal in its results", async () => {
    const rows = Array.from({ length: 7 }, (_, at) =>
      JSON.stringify({ "user.id": at, "user.email": `secret${at}@example.com`, "user.name": null }),
    );
    await uploadDataset(server, "benchmark-input:users.jsonl", { "users.jsonl": rows.join("\n") });
    const asked = wish({ inputFile: "users.jsonl", dataSampleRate: 1, qps: 50 }, { inputs: {} });
    const benchmark = await ended(asked);
    expect(benchmark).toMatchObject({ state: BenchmarkState.SUCCEEDED, error: "" });
    expect(benchmark.inputRevisionId).toMatch(/^rev_/);
    const file = await resultJson(benchmark);
    expect(JSON.stringify(file)).not.toContain("secret");
    expect(file.samples).toHaveLength(50);
    // In the order of their answers, which is not that of the queries.
    const shown = file.samples as { inputs: Record<string, number>; answer: { fields: Record<string, unknown> } }[];
    const ids = shown.map(({ inputs }) => inputs["user.id"] as number).sort();
    expect(ids).toEqual(Array.from({ length: 50 }, (_, at) => at % 7).sort());
    for (const { inputs, answer } of shown) expect(answer.fields["user.double"]).toBe(2 * (inputs["user.id"] as number));
    expect(shown[0]?.inputs["user.email"] as unknown).toBe("(not kept)");
    expect(benchmark.resultFiles).toEqual([`${benchmark.id}.json`, `${benchmark.id}.html`]);
  }, 300_000);

  test("that cannot be answered fails with the words of its first query", async () => {
    await uploadDataset(server, "benchmark-input:wrong.jsonl", { "wrong.jsonl": JSON.stringify({ "user.id": "seven" }) });
    const benchmark = await ended(wish({ inputFile: "wrong.jsonl" }, { inputs: {} }));
    expect(benchmark.state).toBe(BenchmarkState.FAILED);
    expect(benchmark.error).toContain("user.id: expected int");
    expect(benchmark.resultFiles).toEqual([]);
  }, 300_000);
});

describe("what is measured", () => {
  test("a stall is charged to every query that was due meanwhile, whoever was sent", async () => {
    let stalledUntil = 0;
    answer = async (number) => {
      // The first query is no part of the load; number 20 of it stalls the receiver for a second.
      if (number === 21) stalledUntil = performance.now() + 1_000;
      const rest = stalledUntil - performance.now();
      if (rest > 0) await Bun.sleep(rest);
      return Response.json({ data: [] });
    };
    const { result } = await ended(toReceiver({ qps: 100, duration: { seconds: 2n }, percentiles: [50, 75] }));
    expect(result?.due).toBe(200n);
    // Of the hundred that were due in the stall, those in its first 600 ms waited 400 ms and more.
    const waited = result?.histogram.filter(({ fromMs }) => fromMs >= 300).reduce((sum, { count }) => sum + Number(count), 0);
    expect(waited).toBeGreaterThanOrEqual(50);
    expect(result?.maxMs).toBeGreaterThanOrEqual(980);
  }, 300_000);

  test("failures are counted by code, answers that are none by their status", async () => {
    answer = (number) =>
      number === 0 || number % 2 === 1
        ? Response.json({ data: [] })
        : number % 4 === 0
          ? new Response("<html>", { status: 502 })
          : Response.json({ data: [], errors: [{ code: "RESOLVER_FAILED", message: "no" }] });
    const { result } = await ended(toReceiver({ qps: 40 }));
    expect([result?.answered, result?.failed]).toEqual([40n, 20n]);
    expect(new Map(result?.errors.map(({ code, count }) => [code, count]))).toEqual(
      new Map([
        ["RESOLVER_FAILED", 10n],
        ["HTTP 502", 10n],
      ]),
    );
  }, 300_000);

  test("another address is sent a token that allows queries alone, and only what was asked for", async () => {
    answer = () => Response.json({ data: [] });
    const benchmark = await ended(toReceiver({ qps: 30, traceSampleRate: 0.5, warmupQps: 10, warmupDuration: { seconds: 1n } }));
    expect(benchmark.state).toBe(BenchmarkState.SUCCEEDED);
    expect(received).toHaveLength(1 + 10 + 30);
    expect(new Set(received.map(({ body }) => JSON.stringify([body.inputs, body.correlation_id])))).toEqual(
      new Set([JSON.stringify([{ "user.id": 7 }, benchmark.id])]),
    );
    const traced = received.filter(({ body }) => body.trace === true).length;
    expect(traced).toBeGreaterThan(2);
    expect(traced).toBeLessThan(38);
    const claims = JSON.parse(atob(received[0]?.authorization.split(".")[1] ?? "")) as { permissions: string[]; exp: number; iat: number };
    expect(claims.permissions).toEqual(["query.online"]);
    expect(claims.exp - claims.iat).toBeLessThan(1_000);
  }, 300_000);

  test("two runs that differ by far are told apart, with what else differs", async () => {
    const fast = await ended(toReceiver({ qps: 20, duration: { seconds: 12n }, percentiles: [50] }));
    answer = async () => {
      await Bun.sleep(400);
      return Response.json({ data: [] });
    };
    const slow = await ended(toReceiver({ qps: 20, duration: { seconds: 11n }, percentiles: [50, 99] }));
    answer = () => Response.json({ data: [] });
    const compared = await service.compareBenchmarks({ baseId: fast.id, otherId: slow.id });
    expect(compared.differences).toHaveLength(1);
    expect(compared.differences[0]).toMatchObject({ percent: 50, verdict: BenchmarkVerdict.SLOWER });
    expect(compared.differences[0]?.changeLow).toBeGreaterThan(0);
    const back = await service.compareBenchmarks({ baseId: slow.id, otherId: fast.id });
    expect(back.differences[0]?.verdict).toBe(BenchmarkVerdict.FASTER);
    const other = await ended(toReceiver({ qps: 10, percentiles: [50] }));
    const short = await service.compareBenchmarks({ baseId: fast.id, otherId: other.id });
    expect([short.differences[0]?.verdict, short.caveats]).toEqual([
      BenchmarkVerdict.TOO_SHORT,
      ["They have other rates: 20 a second and 10 a second."],
    ]);
  }, 300_000);
});

describe("what is refused", () => {
  test.each<[string, () => Wish, string]>([
    ["no inputs", () => wish({}, { inputs: {} }), "InvalidArgument: A benchmark needs inputs"],
    ["both kinds of inputs", () => wish({ inputFile: "users.jsonl" }), "InvalidArgument: A benchmark needs inputs"],
    ["an input that is no feature", () => wish({}, { inputs: { "user.idd": "1" } }), "InvalidArgument: 'user.idd' is no feature"],
    ["an output that is none", () => wish({ outputs: ["user.triple"] }), "InvalidArgument: The query cannot be planned"],
    ["a file that is not there", () => wish({ inputFile: "none.jsonl" }, { inputs: {} }), "NotFound: There is no input file"],
    ["an address that is not allowed", () => wish({ queryHost: "http://10.1.2.3" }), "FailedPrecondition: The query host is not called"],
    ["no plan", () => ({ inputs: { "user.id": "1" } }), "InvalidArgument: A benchmark needs outputs"],
  ])("%s", async (_name, asked, says) => {
    expect(await refusal(asked())).toStartWith(says);
  });

  test("a file with a column that is no feature", async () => {
    await uploadDataset(server, "benchmark-input:column.jsonl", { "column.jsonl": JSON.stringify({ "user.id": 1, "user.emial": "x" }) });
    expect(await refusal(wish({ inputFile: "column.jsonl" }, { inputs: {} }))).toContain(
      "Column 'user.emial' of 'column.jsonl' is no feature",
    );
  }, 300_000);

  test("a caller who may deploy and not query", async () => {
    const deployer = await tokenOf(server, undefined, "deployer", ["read", "deploy"]);
    expect(await refusal(wish(), deployer.client(BenchmarkService))).toContain("lack the permission 'query.online'");
  });

  test("benchmarks of another environment, and those without results", async () => {
    expect(await service.getBenchmark({ id: "bench_none" }).catch((error: ConnectError) => error.code)).toBe(Code.NotFound);
    const { benchmarks } = await service.listBenchmarks({ pageSize: 500 });
    const failed = benchmarks.find(({ state }) => state === BenchmarkState.FAILED)?.id ?? "";
    const done = benchmarks.find(({ state }) => state === BenchmarkState.SUCCEEDED)?.id ?? "";
    const refused = await service.compareBenchmarks({ baseId: done, otherId: failed }).catch((error: ConnectError) => error);
    expect(refused).toMatchObject({ code: Code.FailedPrecondition, rawMessage: expect.stringContaining("has no results: it is failed") });
  });
});

describe("the life of a benchmark", () => {
  test("one runs, the others wait, and each can be ended", async () => {
    answer = () => Response.json({ data: [] });
    received.length = 0;
    const long = toReceiver({ duration: { seconds: 600n }, qps: 5 });
    const ids: string[] = [];
    for (let at = 0; at < 3; at++) ids.push((await service.runBenchmark(long)).benchmark?.id ?? "");
    const [first = "", second = "", third = ""] = ids;
    await eventually(
      async () => /^measuring: \d+/.test((await service.getBenchmark({ id: first })).benchmark?.progress ?? ""),
      "its progress",
    );
    expect((await service.getBenchmark({ id: second })).benchmark?.state).toBe(BenchmarkState.WAITING);
    expect((await service.cancelBenchmark({ id: third })).benchmark?.state).toBe(BenchmarkState.CANCELLED);
    await service.cancelBenchmark({ id: second });
    await service.cancelBenchmark({ id: first });
    const jobs = server.client(JobService);
    await eventually(
      async () => (await jobs.getJob({ id: first.replace("bench_", "job_") })).job?.endedAt !== undefined,
      "the end of its job",
    );
    expect((await service.getBenchmark({ id: first })).benchmark?.state).toBe(BenchmarkState.CANCELLED);
    const again = await service.cancelBenchmark({ id: first }).catch((error: ConnectError) => error);
    expect(again).toMatchObject({ code: Code.FailedPrecondition });
    const { benchmarks, nextPageToken } = await service.listBenchmarks({ pageSize: 2 });
    expect(benchmarks.map(({ id }) => id)).toEqual([third, second]);
    expect((await service.listBenchmarks({ pageSize: 2, pageToken: nextPageToken })).benchmarks[0]?.id).toBe(first);
  }, 300_000);

  test("a server that stopped in its middle fails it in words, and has no load left over", async () => {
    const { benchmark } = await service.runBenchmark(toReceiver({ duration: { seconds: 600n }, qps: 20 }));
    const id = benchmark?.id ?? "";
    await eventually(
      async () => (await service.getBenchmark({ id })).benchmark?.state === BenchmarkState.RUNNING && received.length > 5,
      "its load",
    );
    const { credentials } = server;
    await server[Symbol.asyncDispose]();
    received.length = 0;
    server = await TestServer.start(folder.path, { credentials });
    service = server.client(BenchmarkService);
    await eventually(async () => (await service.getBenchmark({ id })).benchmark?.state === BenchmarkState.FAILED, "its failure");
    const { error, resultFiles } = (await service.getBenchmark({ id })).benchmark as Benchmark;
    expect([error, resultFiles]).toEqual([expect.stringContaining("stopped in its middle"), []]);
    expect(received).toEqual([]);
  }, 300_000);
});
