import { Database } from "bun:sqlite";
import { afterEach, beforeEach, expect, test } from "bun:test";
import { join } from "node:path";
import { Code } from "@connectrpc/connect";
import { Component, InfraService } from "../../../../gen/svc/v1/infra_pb.ts";
import { QueryService } from "../../../../gen/svc/v1/query_pb.ts";
import { QueryRunService } from "../../../../gen/svc/v1/query_run_pb.ts";
import type { Deployments } from "../../../../src/server/deployments/deployments.ts";
import type { Components } from "../../../../src/server/infrastructure/components.ts";
import type { MetricRecording } from "../../../../src/server/metrics/recorder.ts";
import { createSqliteTelemetryStore } from "../../../../src/server/stores/telemetry/sqlite.ts";
import type { Webhooks } from "../../../../src/server/webhooks/webhooks.ts";
import type { Platform } from "../../../../src/server/wire/platform.ts";
import { createQueries } from "../../../../src/server/wire/query/queries.ts";
import { TempFolder, TestClock, TestServer } from "../../../harness/running-server.ts";
import { deploy, expectLive, GREETING } from "../../deployments/deploying.ts";
import { query } from "../../stores/telemetry/records.ts";

let folder: TempFolder;
beforeEach(() => {
  folder = new TempFolder();
});
afterEach(() => folder[Symbol.dispose]());

const ask = { inputs: [{ feature: "user.id", value: { case: "text" as const, value: "5" } }], outputs: ["user.greeting"] };

test("a link to a run is given only when the log has room for it", async () => {
  const clock = new TestClock();
  const telemetry = createSqliteTelemetryStore({ path: join(folder.path, "telemetry.db"), programVersion: "1", clock, maxPending: 2 });
  const parts: Partial<Platform> = {
    clock,
    components: { watch: () => undefined } as unknown as Components,
    headless: false,
    metrics: { isOn: true } as MetricRecording,
    addressFor: () => "http://localhost",
    telemetry: async () => telemetry,
    deployments: async () => ({}) as Deployments,
    webhooks: async () => ({ events: {} }) as Webhooks,
  };
  const { pageOf } = await createQueries(parts as Platform);
  const link = "http://localhost/environments/env_1/query-runs/q";
  expect(pageOf("q", "env_1", new Headers())).toBe(link);
  for (let n = 0; n < 2; n++) telemetry.recordQuery(query(`qry_${n}`, 0));
  expect(pageOf("q", "env_1", new Headers())).toBe("");
  await telemetry.flush();
  expect(pageOf("q", "env_1", new Headers())).toBe(link);
  await telemetry.close();
});

test("a server without a dashboard gives no links, and answers", async () => {
  await using server = await TestServer.start(folder.path, { headless: true });
  expectLive(await deploy(server, GREETING));
  const { data, meta } = await server.client(QueryService).query(ask);
  expect([data.length, meta?.url]).toEqual([1, ""]);
});

test("runs that could not be kept are counted in the figures of the server and in the log", async () => {
  await using server = await TestServer.start(folder.path);
  expectLive(await deploy(server, GREETING));
  const dropped = async () => {
    const { spec } = await server.client(InfraService).describeComponent({ component: Component.METRICS });
    return (JSON.parse(spec) as { status: { dropped_records: number } }).status.dropped_records;
  };
  const first = await server.client(QueryService).query(ask);
  const run = (response: typeof first) => server.client(QueryRunService).getQueryRun({ id: response.meta?.queryId ?? "" });
  expect((await run(first)).url).toBe(first.meta?.url ?? "?");
  const other = new Database(join(folder.path, "data", "telemetry.db"));
  other.run("create trigger refused before insert on query_log begin select raise(abort, 'refused by the test'); end");
  const lost = await server.client(QueryService).query(ask);
  expect(lost.data).toHaveLength(1);
  const warned = (message: string) => server.log.find((entry) => entry.message === message);
  while (!warned("telemetry was dropped")) await Bun.sleep(10);
  other.run("drop trigger refused");
  other.close();
  expect(await dropped()).toBe(1);
  expect(warned("telemetry was dropped")).toMatchObject({ level: "warning", dropped_since_start: 1 });
  expect(warned("telemetry could not be written")).toMatchObject({
    level: "warning",
    error: expect.stringContaining("refused by the test"),
  });
  await expect(run(lost)).rejects.toMatchObject({ code: Code.NotFound });
  const again = await server.client(QueryService).query(ask);
  expect((await run(again)).url).toBe(again.meta?.url ?? "?");
});
