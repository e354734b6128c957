/**
 * A node that enqueues and schedules jobs and runs them all, until it is killed or, with `drain`,
 * until none is left: `bun jobs-process.ts <meta.db> <effects file> <node> <seed> [drain]`. It
 * prints the id of each acknowledged job. Handlers write a line to the effects file when they begin
 * and when they end.
 */

import { appendFileSync } from "node:fs";
import { systemClock } from "../../../src/context/system-clock.ts";
import { createMemoryBus } from "../../../src/server/jobs/bus.ts";
import { JobFailed, startJobRunner } from "../../../src/server/jobs/runner.ts";
import { startScheduler } from "../../../src/server/jobs/scheduler.ts";
import { createLog } from "../../../src/server/log.ts";
import type { JobRecord } from "../../../src/server/stores/metadata/jobs.ts";
import { createSqliteMetadataStore } from "../../../src/server/stores/metadata/sqlite.ts";

const [path = "", effects = "", node = "", seed = "", mode = ""] = process.argv.slice(2);
let state = Number(seed) | 0;
const random = (below: number): number => {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
  return Math.floor(((state >>> 0) / 2 ** 32) * below);
};

const KINDS = ["plain", "grouped", "scheduled"];
const SCHEDULES = ["100ms", "130ms", "170ms", "1s"];

const store = createSqliteMetadataStore({ path, programVersion: "1" });
const bus = createMemoryBus();
const clock = systemClock;
const log = createLog({ write: () => undefined, clock });
const tell = (what: string, { id, attempts }: JobRecord) => appendFileSync(effects, `${what} ${id} ${attempts}\n`);
const work = async (job: JobRecord): Promise<void> => {
  tell("begin", job);
  await Bun.sleep(random(6));
  if (job.payload === "hopeless") throw new JobFailed("hopeless");
  if (job.payload === "flaky" && job.attempts === 1) throw new Error("flaky");
  tell("end", job);
};
const giveUp = async (job: JobRecord): Promise<void> => tell("give-up", job);
const runner = startJobRunner({
  jobs: store.jobs,
  bus,
  clock,
  log,
  node,
  slots: 4,
  leaseMs: 400,
  handlers: Object.fromEntries(KINDS.map((kind) => [kind, { run: work, giveUp }])),
});

if (mode === "drain") {
  for (;;) {
    await runner.idle();
    const due = await store.jobs.nextDueIn(node, KINDS);
    if (due === undefined) break;
    await Bun.sleep(Math.min(due, 50));
  }
  await runner.stop();
  await store.close();
} else {
  for (const text of SCHEDULES) await store.schedules.put({ kind: "scheduled", key: text, text, payload: null, isEnabled: true });
  startScheduler({ schedules: store.schedules, recurring: [], bus, clock, log });
  for (let n = 0; ; n++) {
    const id = `${node}-${seed}-${n}`;
    const kind = random(2) ? "plain" : "grouped";
    await store.jobs.enqueue({
      id,
      kind,
      payload: ["fine", "fine", "fine", "flaky", "hopeless"][random(5)],
      priority: random(3),
      maxAttempts: 50,
      attemptTimeoutMs: 60_000,
      ...(kind === "grouped" ? { group: { name: `g${random(3)}`, slots: 1 + random(2) } } : {}),
    });
    process.stdout.write(`${id}\n`);
    bus.publish("jobs");
    await Bun.sleep(random(8));
  }
}
