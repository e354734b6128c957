/** `/metrics`, read by Prometheus' own parser and compared with what was done. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { InfraService } from "../../../../gen/svc/v1/infra_pb.ts";
import { QueryService } from "../../../../gen/svc/v1/query_pb.ts";
import { ServiceTokenService } from "../../../../gen/svc/v1/service_token_pb.ts";
import { lacks } from "../../../harness/needs.ts";
import { TempFolder, TestServer } from "../../../harness/running-server.ts";
import { deploy, expectLive, GREETING } from "../../deployments/deploying.ts";

const OPEN_METRICS = "application/openmetrics-text; version=1.0.0";
const hasParser = Bun.spawnSync(["python3", "-c", "import prometheus_client"], { stderr: "ignore" }).success;

/** A sample as the parser reads it. */
interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
  readonly trace: string | null;
}

/** The samples of a text, by Prometheus' parser for its format. */
function parsed(text: string, module: "openmetrics.parser" | "parser"): Sample[] {
  const script = `
import json, sys
from prometheus_client.${module} import text_string_to_metric_families as read
print(json.dumps([[s.name, s.labels, s.value, s.exemplar.labels.get("trace_id") if s.exemplar else None] for f in read(sys.stdin.read()) for s in f.samples]))`;
  const { stdout, stderr, success } = Bun.spawnSync(["python3", "-c", script], { stdin: Buffer.from(text) });
  if (!success) throw new Error(stderr.toString());
  const rows = JSON.parse(stdout.toString()) as [string, Record<string, string>, number, string | null][];
  return rows.map(([name, labels, value, trace]) => ({ name, labels, value, trace }));
}

const folder = new TempFolder();
let server: TestServer;
let traceId: string;

const ask = (id: string, more: object = {}) =>
  server.client(QueryService).query({
    inputs: [{ feature: "user.id", value: { case: "text" as const, value: id } }],
    outputs: ["user.greeting"],
    queryName: 'a "name"\\n',
    ...more,
  });
const get = async (accept = "", headers?: Record<string, string>) =>
  fetch(`${server.url}/metrics`, { headers: { accept, ...(headers ?? { authorization: `Bearer ${await server.token()}` }) } });

beforeAll(async () => {
  server = await TestServer.start(folder.path);
  expectLive(await deploy(server, GREETING));
  for (const id of ["1", "2", "3"]) await ask(id);
  traceId = (await ask("4", { trace: true })).meta?.traceId ?? "";
  await ask("5", { outputs: ["user.nothing"] }).catch(() => undefined);
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

describe.skipIf(lacks("prometheus_client", hasParser))("what was done is in it", () => {
  test.each([
    ["OpenMetrics", OPEN_METRICS, "openmetrics.parser"],
    ["Prometheus text", "", "parser"],
  ] as const)("in %s", async (_, accept, parser) => {
    const response = await get(accept);
    expect(response.headers.get("content-type")).toStartWith(accept === "" ? "text/plain; version=0.0.4" : OPEN_METRICS);
    const samples = parsed(await response.text(), parser);
    const sum = (name: string, labels: Record<string, string> = {}) =>
      samples
        .filter((one) => one.name === name && Object.entries(labels).every(([label, value]) => one.labels[label] === value))
        .reduce((total, { value }) => total + value, 0);
    const named = { query_name: 'a "name"\\n', environment: "default", branch: "" };
    expect(sum("svc_query_count_total", named)).toBe(5);
    expect(sum("svc_query_errors_total", named)).toBe(1);
    expect(sum("svc_query_latency_seconds_count", named)).toBe(5);
    expect(sum("svc_query_latency_seconds_bucket", { ...named, le: "+Inf" })).toBe(5);
    const greet = { resolver: "resolvers.greet", operation: "online" };
    expect([sum("svc_resolver_count_total", greet), sum("svc_resolver_rows_total", greet)]).toEqual([4, 4]);
    expect(sum("svc_resolver_latency_seconds_count", greet)).toBe(4);
    expect(sum("svc_feature_request_count_total", { feature: "user.greeting" })).toBe(4);
    expect(sum("svc_http_count_total", { endpoint: "/svc.v1.QueryService/Query", status: "200" })).toBe(4);
    const buckets = samples.filter(
      ({ name, labels }) => name === "svc_query_latency_seconds_bucket" && labels.query_name === named.query_name,
    );
    expect(buckets.map(({ value }) => value)).toEqual(buckets.map(({ value }) => value).sort((one, other) => one - other));
    const traces = buckets.flatMap(({ trace }) => trace ?? []);
    expect(traces).toEqual(accept === "" ? [] : [traceId]);
  });
});

test("the call has the same families, without traces", async () => {
  const { families } = await server.client(InfraService).exportMetrics({});
  const queries = families.find(({ name }) => name === "svc_query_count");
  expect(queries?.samples.map(({ suffix, value }) => [suffix, value])).toEqual([["_total", 5]]);
});

test("counters of infra are of the same records", async () => {
  const { families } = await server.client(InfraService).getStats({ component: 1 });
  const queries = families.find(({ name }) => name === "svc_queries");
  expect(queries?.samples.map(({ labels, value }) => [labels.result, value])).toEqual([
    ["ok", 4],
    ["failed", 1],
  ]);
});

describe("who gets it", () => {
  const limited = async (): Promise<Record<string, string>> => {
    const { clientSecret, serviceToken } = await server
      .client(ServiceTokenService)
      .createServiceToken({ name: `limited ${crypto.randomUUID()}`, permissions: ["read"], environments: ["default"] });
    const answer = await server.exchange(serviceToken?.clientId ?? "", clientSecret);
    const { access_token: token } = (await answer.json()) as { access_token: string };
    return { authorization: `Bearer ${token}` };
  };

  test("nobody without a token, and none whose token is for some environments", async () => {
    expect((await get("", {})).status).toBe(401);
    expect((await get("", await limited())).status).toBe(403);
    expect(
      (await fetch(`${server.url}/metrics`, { method: "POST", headers: { authorization: `Bearer ${await server.token()}` } })).status,
    ).toBe(405);
  });

  test("with --metrics-open programs of this machine, but no proxy and no wrong token", async () => {
    using other = new TempFolder();
    await using open = await TestServer.start(other.path, { metricsOpen: true, allowedHosts: ["svc.example.com"] });
    const status = async (headers: Record<string, string>) => (await fetch(`${open.url}/metrics`, { headers })).status;
    expect(await status({})).toBe(200);
    expect(await status({ authorization: "Bearer x" })).toBe(401);
    expect(await status({ "x-forwarded-for": "192.0.2.1" })).toBe(401);
    expect(await status({ host: "svc.example.com" })).toBe(401);
  });
});
