/** OTLP with the compiled binary: its thread exports, and what is wrong is said at the start. */

import { afterAll, expect, test } from "bun:test";
import { eventually } from "../harness/eventually.ts";
import { isAlive } from "../harness/is-alive.ts";
import { Sandbox } from "../harness/sandbox.ts";

const sandbox = new Sandbox();
afterAll(() => sandbox[Symbol.asyncDispose]());

test("a server exports to a collector until its end", async () => {
  const got = new Map<string, string>();
  await using collector = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      const { pathname } = new URL(request.url);
      got.set(pathname, (got.get(pathname) ?? "") + new TextDecoder().decode(Bun.gunzipSync(await request.bytes())));
      return new Response();
    },
  });
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${collector.port}`, OTEL_EXPORTER_OTLP_PROTOCOL: "http/json" };
  await sandbox.startServer(env);
  const stopped = await sandbox.svc(["server", "stop"]);
  const pid = Number(/\(process (\d+)\)/.exec(stopped.stdout)?.[1]);
  await eventually(() => !isAlive(pid), "the process has ended");
  expect([...got.keys()].sort()).toEqual(["/v1/logs", "/v1/metrics"]);
  expect(got.get("/v1/logs")).toContain("server started");
  expect(got.get("/v1/metrics")).toContain("svc.http.count");
}, 300_000);

test("gRPC is refused before anything is changed", async () => {
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:4317", OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" };
  const { exitCode, stderr } = await sandbox.svc(["server", "start", "--port", "0"], { env });
  expect([exitCode, stderr]).toEqual([
    1,
    expect.stringContaining("Set it to http/protobuf, and the endpoint to the collector's port for HTTP"),
  ]);
});
