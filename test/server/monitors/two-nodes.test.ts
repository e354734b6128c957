/** Monitors on two nodes: each minute is evaluated by one of them, and a firing is told once. */

import { expect, test } from "bun:test";
import { MonitorService, MonitorState } from "../../../gen/svc/v1/monitor_pb.ts";
import { WebhookService } from "../../../gen/svc/v1/webhook_pb.ts";
import { eventually } from "../../harness/eventually.ts";
import { deploy, expectLive, GREETING } from "../deployments/deploying.ts";
import { Cluster } from "../nodes/two-nodes.ts";

const IDLE = `from svc import Monitor

Monitor("idle", "sum:query.count.rollup(1m)", below=1)
`;

test("on two nodes a firing is told once, also after one of them is gone", async () => {
  await using cluster = new Cluster();
  // At half past a minute: in its first seconds the minute before the last one is evaluated.
  cluster.clock.advance(90_000 - (cluster.clock.now() % 60_000));
  const [a, b] = [await cluster.start("a"), await cluster.start("b")];
  // There is no such host: what is counted are deliveries, which wait.
  await a.client(WebhookService).createWebhook({
    ...{ name: "ops", url: "https://hooks.invalid/x", subscriptions: ["monitor.firing", "monitor.resolved"] },
  });
  expectLive(await deploy(a, { ...GREETING, "monitors.py": IDLE }));
  const rounds = () =>
    cluster.rows<{ n: number }>("select count(*) as n from job where kind = 'evaluate-monitors' and state = 'succeeded'")[0]?.n ?? 0;
  const round = async () => {
    const before = rounds();
    cluster.clock.advance(60_000);
    cluster.clock.release();
    await eventually(() => rounds() > before, "the minute is evaluated");
  };
  for (let minute = 0; minute < 3; minute++) await round();
  await a[Symbol.asyncDispose]();
  await round();
  const [idle] = (await b.client(MonitorService).listMonitors({})).monitors;
  expect([idle?.monitor?.name, idle?.state, idle?.value]).toEqual(["idle", MonitorState.FIRING, 0]);
  const { deliveries } = await b.client(WebhookService).listWebhookDeliveries({});
  expect(deliveries.map(({ subscription }) => subscription)).toEqual(["monitor.firing"]);
}, 300_000);
