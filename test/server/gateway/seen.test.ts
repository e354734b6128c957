/** What is seen of requests through the gateway: in the log, in metrics, and when they are refused. */

import { expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { AuditService } from "../../../gen/svc/v1/audit_pb.ts";
import { EnvironmentService } from "../../../gen/svc/v1/environment_pb.ts";
import { LogService } from "../../../gen/svc/v1/log_pb.ts";
import { MetricService } from "../../../gen/svc/v1/metric_pb.ts";
import { ScalingGroupService } from "../../../gen/svc/v1/scaling_group_pb.ts";
import { createGatewayMeter, seenRequest } from "../../../src/server/gateway/gateway-meter.ts";
import type { Route } from "../../../src/server/gateway/route.ts";
import { createMetricRecorder } from "../../../src/server/metrics/recorder.ts";
import type { NewRecord } from "../../../src/server/stores/logs/store.ts";
import { eventually } from "../../harness/eventually.ts";
import { lacksProgram } from "../../harness/needs.ts";
import { TempFolder, TestClock, TestServer } from "../../harness/running-server.ts";
import { tokenOf } from "../approvals/persons.ts";
import { RawServer, TestGateway } from "./gateway-harness.ts";

const TRACE = "0af7651916cd43dd8448eb211c80319c";

test("a request is seen with its route, replica, status and size, and with nothing that it carried", async () => {
  using server = new RawServer((text, socket) => {
    if (text.includes("/left")) return;
    socket.end("HTTP/1.1 201 Created\r\ncontent-length: 5\r\n\r\nhello");
  });
  await using gateway = new TestGateway();
  const lease = async () => ({ address: { host: "127.0.0.1", port: server.port }, replica: "web-1", release: () => undefined });
  gateway.route("web", server.port, { lease });
  gateway.route("guarded", server.port, { lease, isAuthenticated: true });
  const ask = (path: string, fields = "") =>
    gateway.raw(`POST ${path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 6\r\n${fields}\r\nsecret`, "hello");
  await ask("/web/a?key=secret", `traceparent: 00-${TRACE}-b7ad6b7169203331-01\r\ncookie: a=secret\r\n`);
  await eventually(() => gateway.seen.length === 1, "a request");
  expect(gateway.seen[0]).toMatchObject({
    method: "POST",
    path: "/web/a",
    status: 201,
    bytes: 5,
    replica: "web-1",
    route: { label: "web" },
  });
  expect(JSON.stringify(gateway.seen)).not.toContain("secret");
  // The trace goes on to who answers.
  expect(server.seen.join("")).toContain(`traceparent: 00-${TRACE}-b7ad6b7169203331-01`);

  await gateway.raw("GET /none/ HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
  await gateway.raw("GET /guarded/ HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
  await gateway.raw("GET /guarded/ HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer weak\r\nconnection: close\r\n\r\n");
  await gateway.raw("GET /guarded/ HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer good\r\nconnection: close\r\n\r\n");
  await gateway.raw("GET /web HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
  const seen = gateway.seen.slice(1).map(({ status, route, clientId }) => [status, route?.label, clientId]);
  expect(seen).toEqual([
    [404, undefined, undefined],
    [401, "guarded", undefined],
    [403, "guarded", undefined],
    [201, "guarded", "c"],
    [308, "web", undefined],
  ]);
  expect(gateway.refused).toEqual(["guarded unauthenticated", "guarded permission_denied"]);

  const leaving = gateway.raw("GET /web/left HTTP/1.1\r\nhost: localhost\r\n\r\n", "never");
  await eventually(() => server.seen.some((text) => text.includes("/left")), "the request");
  await gateway.drain();
  await leaving;
  await eventually(() => gateway.seen.length === 7, "its end");
  expect(gateway.seen[6]?.status).toBe(0);
});

test("whatever a replica says of a call of gRPC, its route has few series", () => {
  const clock = new TestClock();
  const log = { debug() {}, info() {}, warning() {}, error() {}, enabled: () => true };
  const metrics = createMetricRecorder({ store: () => Promise.reject(new Error("none")), clock, log });
  const records: NewRecord[] = [];
  const meter = createGatewayMeter({ metrics, logRecorder: { record: (one) => records.push(one) }, clock });
  const route = { label: "calls", environmentId: "env", kind: "group", name: "calls" } as Route;
  for (const grpcStatus of ["0", "5", "16", "17", "made up", "x".repeat(10_000), ""])
    meter.answered({ ...seenRequest("POST", "/calls/x", []), route, status: 200, grpcStatus });
  const series = metrics.series({ environmentId: "env", metric: "gateway.count" });
  metrics.end();
  expect(series.map(({ labels, current }) => [labels.status, current.sum])).toEqual([
    ["200", 2],
    ["grpc 5", 1],
    ["grpc 16", 1],
    ["grpc 2", 3],
  ]);
  expect(records.map(({ attributes }) => attributes?.grpc_status)).toEqual([undefined, "5", "16", "2", "2", "2", undefined]);
});

test.skipIf(process.platform !== "linux" || lacksProgram("busybox"))(
  "requests to a group are in the log of requests, in metrics of its environment, and refused ones in the audit log",
  async () => {
    using folder = new TempFolder();
    const site = join(folder.path, "site");
    mkdirSync(site);
    writeFileSync(join(site, "index.html"), "served");
    await using server = await TestServer.start(join(folder.path, "data"), {
      env: { PATH: process.env.PATH, HOME: folder.path, SVC_CONTAINER_ENGINE: "off", SVC_HOST_PROGRAMS: "on" },
    });
    const groups = server.client(ScalingGroupService);
    const entrypoint = ["/bin/sh", "-c", "exec busybox httpd -f -p $PORT"];
    const { group } = await groups.createScalingGroup({
      name: "site",
      spec: { image: `host:${site}`, entrypoint, port: 8080, authenticated: true },
      bounds: { minReplicas: 1, maxReplicas: 1, targetCpu: 0 },
    });
    const authorization = `Bearer ${await server.token()}`;
    const ask = async (path: string, given?: string) =>
      (await fetch(`${group?.url}${path}`, { headers: given === undefined ? {} : { authorization: given } })).status;
    expect(await ask("index.html?key=secret", authorization)).toBe(200);
    expect(await ask("none", authorization)).toBe(404);
    expect(await ask("")).toBe(401);
    const viewer = await tokenOf(server, undefined, "viewer", ["read"]);
    expect(await ask("", `Bearer ${viewer.token}`)).toBe(403);

    const label = new URL(group?.url ?? "").pathname.split("/")[1] ?? "";
    const logged = async (search: string) => (await server.client(LogService).searchRequests({ search })).requests;
    await eventually(async () => (await logged(`route:${label}`)).length === 4, "its requests");
    const [first] = await logged(`route:${label} code:200`);
    const replica = (await groups.getScalingGroup({ group: "site" })).group?.replicas[0]?.name ?? "";
    expect(first).toMatchObject({ method: "GET", path: `/${label}/index.html`, responseCode: 200, bytes: 6n, route: label, replica });
    expect(first?.clientId).toBe(server.credentials.clientId);
    expect((await logged(`replica:${replica}`)).length).toBe(2);

    const { series } = await server.client(MetricService).queryMetric({ expression: "sum:gateway.count by {name, status}" });
    const counted = series.map(({ labels, points }) => [
      labels.name,
      labels.status,
      points.reduce((sum, { value }) => sum + (value ?? 0), 0),
    ]);
    expect(counted.toSorted()).toEqual([
      ["site", "200", 1],
      ["site", "401", 1],
      ["site", "403", 1],
      ["site", "404", 1],
    ]);
    const latency = await server.client(MetricService).queryMetric({ expression: "p99:gateway.latency by {kind}" });
    expect(latency.series.map(({ labels }) => labels)).toEqual([{ kind: "group" }]);

    const [environment] = (await server.client(EnvironmentService).listEnvironments({})).environments;
    const audited = async (code: string) => (await server.client(AuditService).listAuditLogs({ endpoint: "gateway/", code })).logs;
    expect((await audited("permission_denied")).map((one) => [one.endpoint, one.clientName, one.environmentId])).toEqual([
      [`gateway/${label}`, "viewer", environment?.id ?? ""],
    ]);
    expect((await audited("unauthenticated")).map((one) => [one.endpoint, one.clientId, one.environmentId])).toEqual([
      [`gateway/${label}`, "", ""],
    ]);
    await groups.deleteScalingGroup({ group: "site" });
  },
  300_000,
);
