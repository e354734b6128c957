/** MetricService over the wire: who may see what, and how it refuses. */

import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { MetricService } from "../../../../gen/svc/v1/metric_pb.ts";
import { ServiceTokenService } from "../../../../gen/svc/v1/service_token_pb.ts";
import { functionsOf } from "../../../../src/domain/metrics/expression.ts";
import { isOfServer, METRICS, type MetricName } from "../../../../src/domain/metrics/metric.ts";
import { exchange } from "../../../harness/browser-session.ts";
import { TempFolder, TestServer } from "../../../harness/running-server.ts";

const folder = new TempFolder();
let server: TestServer;
let limited: string;

beforeAll(async () => {
  server = await TestServer.start(folder.path);
  await server.server.ready;
  const db = new Database(join(folder.path, "data/meta.db"));
  db.run("insert into environment (id, name, project_id, created_at) select 'env_2', 'staging', project_id, 1 from environment");
  db.close();
  const made = await server
    .client(ServiceTokenService)
    .createServiceToken({ name: "viewer", permissions: ["read"], environments: ["staging"] });
  limited = await exchange(server.url, made.serviceToken?.clientId ?? "", made.clientSecret);
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

/** The code of a call in an environment, or `ok`. */
async function call(method: string, body: object, environment: string, token = limited): Promise<string> {
  const headers = { "content-type": "application/json", authorization: `Bearer ${token}`, "svc-environment": environment };
  const response = await fetch(`${server.url}/svc.v1.MetricService/${method}`, { method: "POST", headers, body: JSON.stringify(body) });
  return ((await response.json()) as { code?: string }).code ?? "ok";
}

describe("credentials that are limited to an environment", () => {
  test.each(Object.keys(METRICS) as MetricName[])("see of %s what is the environment's", async (metric) => {
    const expression = `${functionsOf(METRICS[metric])[0]}:${metric}`;
    const expected = isOfServer(metric) ? "permission_denied" : "ok";
    expect(await call("QueryMetric", { expression }, "staging")).toBe(expected);
    expect(await call("QueryMetric", { expression: `1 + ${expression}` }, "staging")).toBe(expected);
    expect(await call("ListMetrics", { metric }, "staging")).toBe(expected);
    expect(await call("QueryMetric", { expression }, "default")).toBe("permission_denied");
  });

  test("evaluate charts of the environment, and none of the server", async () => {
    expect(await call("EvaluateChart", { chart: "queries.latency" }, "staging")).toBe("ok");
    expect(await call("EvaluateChart", { chart: "server.memory" }, "staging")).toBe("permission_denied");
    const metricConfig = { series: [{ metric: "METRIC_KIND_PROCESS_MEMORY", windowFunction: "WINDOW_FUNCTION_KIND_MAX" }] };
    expect(await call("EvaluateChart", { metricConfig }, "staging")).toBe("permission_denied");
  });
});

describe("charts that are kept", () => {
  const metrics = (environment = "default") => server.client(MetricService, { headers: { "svc-environment": environment } });
  const series = [{ expression: "sum:query.count" }];

  test("are the project's: seen in each of its environments, changed by nobody who is limited to some", async () => {
    const { chart } = await metrics().createChart({ name: "mine", series });
    expect(chart?.clientId).toBe(server.credentials.clientId);
    expect((await metrics("staging").listCharts({})).charts[0]?.name).toBe("mine");
    expect(await call("EvaluateChart", { chart: "mine" }, "staging")).toBe("ok");
    const made = await server
      .client(ServiceTokenService)
      .createServiceToken({ name: "settings", permissions: ["read", "settings.write"], environments: ["staging"] });
    const token = await exchange(server.url, made.serviceToken?.clientId ?? "", made.clientSecret);
    expect(await call("CreateChart", { name: "theirs", series }, "staging", token)).toBe("permission_denied");
    expect(await call("DeleteChart", { id: "mine" }, "staging", token)).toBe("permission_denied");
    await metrics("staging").deleteChart({ id: chart?.id ?? "" });
    expect((await metrics().listCharts({})).charts[0]?.board).not.toBe("project");
  });

  test("are bounded in number and size", async () => {
    const refused = (request: object) =>
      metrics()
        .createChart({ name: "n", ...request })
        .then(
          () => "ok",
          ({ rawMessage }) => rawMessage,
        );
    expect(await refused({ series: Array.from({ length: 21 }, () => series[0]) })).toContain("1 to 20 expressions; this one 21");
    expect(await refused({ series: [{ expression: "sum:query.count", name: "n".repeat(201) }] })).toContain("at most 200 characters");
    expect(await refused({ name: "n".repeat(201), series })).toContain("The name of a chart cannot be");
    expect(await refused({ series, range: { seconds: 5n } })).toContain("A chart cannot show 5s");
    expect(await refused({})).toContain("describes no chart, or two");
    for (let at = 0; at < 100; at++) await metrics().createChart({ name: `chart ${at}`, series });
    expect(await refused({ series })).toContain("100");
    for (let at = 0; at < 100; at++) await metrics().deleteChart({ id: `chart ${at}` });
  }, 300_000);
});

describe("what cannot be answered is refused", () => {
  const metrics = () => server.client(MetricService);
  const codeOf = (answer: Promise<unknown>) => answer.then(() => "ok").catch((error: { rawMessage: string }) => error.rawMessage);

  test("with the column, the place, or the names there are", async () => {
    expect(await codeOf(metrics().queryMetric({ expression: "" }))).toStartWith(
      "The metric expression cannot be read: column 1: the expression ends",
    );
    expect(await codeOf(metrics().queryMetric({ expression: "1".repeat(2_001) }))).toContain("longer than 2000 characters");
    expect(await codeOf(metrics().queryMetric({ expression: "sum:query.count", step: { seconds: 1n, nanos: 0 } }))).toContain(
      "10s to 366d",
    );
    expect(await codeOf(metrics().listMetrics({ metric: "query.counts" }))).toBe("There is no metric 'query.counts'.");
    expect(await codeOf(metrics().evaluateChart({}))).toContain("states no chart, or two");
    expect(await codeOf(metrics().evaluateChart({ chart: "queries.count", metricConfig: {} }))).toContain("states no chart, or two");
    expect(await codeOf(metrics().evaluateChart({ metricConfig: {} }))).toStartWith("metricConfig.series is empty");
  });

  test("a metric has the values of its labels, and the list has none", async () => {
    const [one] = (await metrics().listMetrics({ metric: "http.count" })).metrics;
    expect(one?.labels.map(({ name }) => name)).toEqual(["endpoint", "status"]);
    expect(one?.labels.find(({ name }) => name === "status")?.values).toContain("200");
    const { metrics: all } = await metrics().listMetrics({});
    expect(all.flatMap(({ labels }) => labels.flatMap(({ values }) => values))).toEqual([]);
  });
});
