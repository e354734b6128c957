import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { join } from "node:path";
import fc from "fast-check";
import { createMemoryBus } from "../../../src/server/jobs/bus.ts";
import { NEVER, nextRun } from "../../../src/server/jobs/next-run.ts";
import { recurringHandlers } from "../../../src/server/jobs/recurring.ts";
import { startJobRunner } from "../../../src/server/jobs/runner.ts";
import { type ScheduledRun, type Scheduler, type SchedulerOptions, startScheduler } from "../../../src/server/jobs/scheduler.ts";
import { createLog } from "../../../src/server/log.ts";
import type { JobRecord } from "../../../src/server/stores/metadata/jobs.ts";
import type { NewSchedule } from "../../../src/server/stores/metadata/schedules.ts";
import { createSqliteMetadataStore } from "../../../src/server/stores/metadata/sqlite.ts";
import type { MetadataStore } from "../../../src/server/stores/metadata/store.ts";
import { TempFolder } from "../../harness/running-server.ts";
import { seeded } from "../../harness/seed.ts";
import { ManualClock } from "./manual-clock.ts";

const HOUR_MS = 3_600_000;

let folder: TempFolder;
let store: MetadataStore;
let clock: ManualClock;
let bus: ReturnType<typeof createMemoryBus>;
let logged: string[];
let schedulers: Scheduler[];

beforeEach(() => {
  folder = new TempFolder();
  clock = new ManualClock();
  bus = createMemoryBus();
  logged = [];
  schedulers = [];
  store = createSqliteMetadataStore({ path: join(folder.path, "meta.db"), programVersion: "1", now: clock.now });
});
afterEach(async () => {
  await Promise.all(schedulers.map((scheduler) => scheduler.stop()));
  await store.close();
  folder[Symbol.dispose]();
});

const log = () => createLog({ clock, write: (line) => logged.push(String((JSON.parse(line) as { message: string }).message)) });

async function begin(options: Partial<Pick<SchedulerOptions, "schedules" | "recurring" | "workflows">> = {}): Promise<Scheduler> {
  const scheduler = startScheduler({ schedules: store.schedules, recurring: [], bus, clock, log: log(), ...options });
  schedulers.push(scheduler);
  await clock.advance(0);
  return scheduler;
}

async function put(text: string, patch: Partial<NewSchedule> = {}): Promise<void> {
  await store.schedules.put({ kind: "k", key: "s", text, payload: "p", isEnabled: true, ...patch });
  bus.publish("schedules");
  await clock.advance(0);
}

/** Runs the queued jobs, and returns them. */
async function work(): Promise<readonly JobRecord[]> {
  const claimed = await store.jobs.claim({ node: "n", kinds: ["k"], limit: 100, leaseMs: 1_000 });
  for (const { lease } of claimed) await store.jobs.succeed(lease);
  return claimed.map(({ job }) => job);
}

/** The due times of the queued runs, in milliseconds after `since`. */
async function dueTimes(since: number): Promise<number[]> {
  return (await work()).map(({ payload }) => (payload as ScheduledRun).dueAt - since);
}

describe("a scheduler", () => {
  test("makes a job whenever a schedule is due, and tells the runners", async () => {
    const start = clock.now();
    let told = 0;
    bus.subscribe("jobs", () => void told++);
    await begin();
    await put("90m", { scope: "env_1" });
    await clock.advance(90 * 60_000 - 1);
    expect([await dueTimes(start), told]).toEqual([[], 0]);
    await clock.advance(1);
    expect(await work()).toMatchObject([{ kind: "k", scope: "env_1", payload: { key: "s", dueAt: start + 90 * 60_000, payload: "p" } }]);
    expect(told).toBe(1);
    await clock.advance(90 * 60_000);
    expect(await dueTimes(start)).toEqual([180 * 60_000]);
  });

  test("begins a workflow with each run of the kinds that have them", async () => {
    await begin({ workflows: { k: "cron" } });
    await put("1h", { scope: "env_1", key: "env_1/f.a" });
    await clock.advance(HOUR_MS);
    const [workflow] = await store.workflows.list({ environmentId: "env_1", limit: 9 });
    expect(workflow).toMatchObject({
      kind: "cron",
      subject: "f.a",
      status: "queued",
      deploymentId: "",
      operations: [{ name: "f.a", jobs: 1 }],
    });
    expect(await work()).toMatchObject([{ workflowId: workflow?.id, name: "f.a", payload: { payload: "p" } }]);
    expect((await store.workflows.list({ environmentId: "env_1", limit: 9 }))[0]?.status).toBe("completed");
  });

  test("knows cron expressions, in UTC", async () => {
    await nextRun("@daily", 0, 0); // Loads croner: a clock that is moved by hand waits for no file.
    await begin();
    await put("30 2 * * mon");
    await clock.advance(8 * 24 * HOUR_MS);
    const [run] = await dueTimes(0);
    expect(new Date(run ?? 0).toUTCString()).toMatch(/^Mon, .* 02:30:00 GMT$/);
  });

  test("makes one of the runs that were missed, and keeps to the times of the schedule", async () => {
    const start = clock.now();
    const first = await begin();
    await put("1h");
    await first.stop();
    await clock.advance(5.5 * HOUR_MS);
    await begin();
    expect(await dueTimes(start)).toEqual([HOUR_MS]);
    await clock.advance(HOUR_MS / 2);
    expect(await dueTimes(start)).toEqual([6 * HOUR_MS]);
  });

  test("makes one run however many were due while the one before waited in the queue", async () => {
    const start = clock.now();
    await begin();
    await put("1h");
    await clock.advance(3 * HOUR_MS);
    expect(await dueTimes(start)).toEqual([HOUR_MS]);
    await clock.advance(HOUR_MS);
    expect(await dueTimes(start)).toEqual([4 * HOUR_MS]);
  });

  test("survives a clock that is put forward: the runs between become one", async () => {
    const start = clock.now();
    await begin();
    await put("1h");
    clock.set(start + 100.5 * HOUR_MS);
    await clock.advance(30_000);
    expect(await dueTimes(start)).toEqual([HOUR_MS]);
    await clock.advance(HOUR_MS / 2);
    expect(await dueTimes(start)).toEqual([101 * HOUR_MS]);
  });

  test("survives a clock that is set back: by far, it plans anew and runs again; by little, nothing runs twice", async () => {
    await begin();
    const start = clock.now();
    await put("1h");
    await clock.advance(10 * HOUR_MS);
    await work();
    clock.set(start + HOUR_MS / 2);
    await clock.advance(30_000);
    await clock.advance(HOUR_MS / 2);
    expect(await dueTimes(start)).toEqual([HOUR_MS]);
    clock.set(clock.now() - 59_000);
    await clock.advance(59 * 60_000);
    expect(await dueTimes(start)).toEqual([]);
  });

  test("makes each run once, however many nodes there are", async () => {
    const start = clock.now();
    for (let node = 0; node < 4; node++) await begin();
    await put("1h");
    const times: number[] = [];
    for (let hour = 0; hour < 10; hour++) {
      await clock.advance(HOUR_MS);
      times.push(...(await dueTimes(start)));
    }
    expect(times).toEqual(Array.from({ length: 10 }, (_, hour) => (hour + 1) * HOUR_MS));
    expect(await store.schedules.schedule({ kind: "k", key: "s" })).toMatchObject({ runs: 10 });
  });

  test("a schedule that is changed or deleted while its job runs lets the job end, and runs by the new text or no more", async () => {
    const start = clock.now();
    await begin();
    await put("1h");
    await clock.advance(HOUR_MS);
    const [claimed] = await store.jobs.claim({ node: "n", kinds: ["k"], limit: 1, leaseMs: 10 * HOUR_MS });
    await put("10m", { payload: "new" });
    await clock.advance(10 * 60_000);
    expect(await store.jobs.succeed(claimed?.lease ?? { id: "", fence: 0 })).toBe(true);
    expect((await work()).map(({ payload }) => payload)).toEqual([{ key: "s", dueAt: start + HOUR_MS + 600_000, payload: "new" }]);
    await store.schedules.delete({ kind: "k", key: "s" });
    await clock.advance(5 * HOUR_MS);
    expect(await work()).toEqual([]);
  });

  test("one that is turned off does not run, and does not make good for it when it is turned on", async () => {
    const start = clock.now();
    await begin();
    await put("1h");
    await put("1h", { isEnabled: false });
    await clock.advance(3.5 * HOUR_MS);
    await put("1h");
    expect(await dueTimes(start)).toEqual([]);
    await clock.advance(HOUR_MS / 2);
    expect(await dueTimes(start)).toEqual([4 * HOUR_MS]);
  });

  test("finds by itself a schedule that nobody told it of", async () => {
    const start = clock.now();
    await begin();
    await store.schedules.put({ kind: "k", key: "s", text: "1m", payload: null, isEnabled: true });
    await clock.advance(90_000);
    expect(await dueTimes(start)).toEqual([60_000]);
  });

  test("says once that a schedule is not understood, and goes on with the others", async () => {
    await begin();
    await put("every now and then");
    await put("1h", { key: "other" });
    await clock.advance(HOUR_MS);
    expect([(await work()).length, logged]).toEqual([1, ["a schedule is not understood"]]);
    await clock.advance(HOUR_MS);
    expect([(await work()).length, logged.length]).toEqual([1, 1]);
  });

  test("goes on when the store could not be used for a while", async () => {
    let isAway = true;
    const orAway = <T>(use: () => Promise<T>): Promise<T> => (isAway ? Promise.reject(new Error("away")) : use());
    await begin({ schedules: { ...store.schedules, due: (limit, ms) => orAway(() => store.schedules.due(limit, ms)) } });
    await put("1h");
    isAway = false;
    await clock.advance(1_000 + HOUR_MS);
    expect(logged).toContain("the schedules could not be kept");
    expect((await work()).length).toBe(1);
  });

  test("keeps the platform's own jobs, which the runner does", async () => {
    let ran = 0;
    const recurring = [{ kind: "sweep", schedule: "1h", run: async () => void ran++ }];
    await begin({ recurring });
    const runner = startJobRunner({
      jobs: store.jobs,
      bus,
      clock,
      log: log(),
      node: "n",
      slots: 1,
      handlers: recurringHandlers(recurring),
    });
    await clock.advance(HOUR_MS);
    expect(ran).toBe(1);
    await clock.advance(2 * HOUR_MS);
    expect(ran).toBe(3);
    await runner.stop();
  });
});

describe("the next run", () => {
  test("of a duration is always behind the time, and keeps its distance from the anchor", async () => {
    const time = fc.integer({ min: 0, max: 4_000_000_000_000 });
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 100, max: 10_000_000_000 }), time, time, async (everyMs, anchor, after) => {
        const next = await nextRun(`${everyMs}ms`, anchor, after);
        expect(next).toBeGreaterThan(after);
        expect(next - after).toBeLessThanOrEqual(everyMs);
        expect(Math.abs(next - anchor) % everyMs).toBe(0);
      }),
      seeded(500),
    );
  });

  test("may never come, and is never nearer than a tenth of a second", async () => {
    expect(await nextRun("0 0 31 2 *", 0, 0)).toBe(NEVER);
    expect(await nextRun("1us", 0, 1_000)).toBe(1_100);
    await expect(nextRun("sometimes", 0, 0)).rejects.toThrow("it has 1 field");
  });
});
