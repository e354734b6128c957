/**
 * A server that answers at once, or a gateway in front of one. Prints its port. Arguments: the port
 * that is passed to, and `unseen` for a gateway that records nothing.
 */

import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createGatewayMeter } from "../../src/server/gateway/gateway-meter.ts";
import { createLogRecorder } from "../../src/server/logs/recorder.ts";
import { createMetricRecorder } from "../../src/server/metrics/recorder.ts";
import { createSqliteLogStore } from "../../src/server/stores/logs/sqlite.ts";
import { TestGateway } from "../server/gateway/gateway-harness.ts";

const [behind, unseen] = process.argv.slice(2);
if (behind === undefined) {
  const { port } = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response("ok") });
  console.log(port);
} else {
  const clock = { now: Date.now, sleep: (ms: number) => Bun.sleep(ms) };
  const log = { error: () => undefined, warning: () => undefined };
  const path = join(mkdtempSync(join(tmpdir(), "svc-bench-")), "logs.db");
  const recording = {
    clock,
    logRecorder: createLogRecorder(async () => createSqliteLogStore({ path, programVersion: "1", clock, ttlMs: 3_600_000 })),
    metrics: createMetricRecorder({ store: () => Promise.reject(new Error("no store")), clock, log: log as never }),
  };
  const gateway = new TestGateway({ meter: unseen === undefined ? createGatewayMeter(recording) : { answered: () => undefined } });
  gateway.route("bare", Number(behind));
  console.log(gateway.port);
}
