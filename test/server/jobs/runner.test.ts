import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { backoffMs } from "../../../src/server/jobs/backoff.ts";
import { createMemoryBus } from "../../../src/server/jobs/bus.ts";
import { type Attempt, JobFailed, type JobHandler, type JobRunner, startJobRunner } from "../../../src/server/jobs/runner.ts";
import type { Log, LogFields } from "../../../src/server/log.ts";
import type { JobRecord, NewJob } from "../../../src/server/stores/metadata/jobs.ts";
import { createSqliteMetadataStore } from "../../../src/server/stores/metadata/sqlite.ts";
import type { MetadataStore } from "../../../src/server/stores/metadata/store.ts";
import { TempFolder } from "../../harness/running-server.ts";
import { ManualClock } from "./manual-clock.ts";

const LEASE_MS = 9_000;

let folder: TempFolder;
let store: MetadataStore;
let clock: ManualClock;
let bus: ReturnType<typeof createMemoryBus>;
let logged: string[];
let runners: JobRunner[];

beforeEach(() => {
  folder = new TempFolder();
  clock = new ManualClock();
  bus = createMemoryBus();
  logged = [];
  runners = [];
  store = createSqliteMetadataStore({ path: join(folder.path, "meta.db"), programVersion: "1", now: clock.now });
});
afterEach(async () => {
  const stopped = Promise.all(runners.map((runner) => runner.stop()));
  await clock.advance(20_000);
  await stopped;
  await store.close();
  folder[Symbol.dispose]();
});

const log: Log = {
  debug: () => undefined,
  info: () => undefined,
  warning: (message: string, fields?: LogFields) => void logged.push(`${message}: ${fields?.error ?? fields?.reason ?? ""}`),
  error: (message: string, fields?: LogFields) => void logged.push(`${message}: ${fields?.error ?? ""}`),
  enabled: () => true,
};

interface Call {
  readonly job: JobRecord;
  readonly attempt: Attempt;
  done(): void;
  failed(error: Error): void;
}

/** A handler whose attempts end when the test says so. */
class ManualHandler implements JobHandler {
  readonly calls: Call[] = [];
  readonly givenUp: string[] = [];
  giveUpFailures = 0;

  run(job: JobRecord, attempt: Attempt): Promise<void> {
    return new Promise((resolve, reject) => {
      this.calls.push({ job, attempt, done: resolve, failed: reject });
      attempt.signal.addEventListener("abort", () => {
        if (job.payload !== "stubborn") reject(attempt.signal.reason);
      });
    });
  }

  async giveUp(job: JobRecord, reason: string): Promise<void> {
    if (this.giveUpFailures-- > 0) throw new Error("cannot give up yet");
    this.givenUp.push(`${job.id}: ${reason}`);
  }

  /** Ids of the jobs of its calls. */
  get ids(): string[] {
    return this.calls.map(({ job }) => job.id);
  }
}

async function begin(
  handler: JobHandler,
  options: { node?: string; slots?: number; jobs?: MetadataStore["jobs"] } = {},
): Promise<JobRunner> {
  const { node = "a", slots = 4, jobs = store.jobs } = options;
  const runner = startJobRunner({ jobs, bus, clock, log, node, slots, handlers: { k: handler }, leaseMs: LEASE_MS });
  runners.push(runner);
  await clock.advance(0);
  return runner;
}

async function enqueue(id: string, patch: Partial<NewJob> = {}): Promise<void> {
  await store.jobs.enqueue({ id, kind: "k", payload: null, maxAttempts: 2, attemptTimeoutMs: 600_000, ...patch });
  bus.publish("jobs");
  await clock.advance(0);
}

const state = async (id: string) => (await store.jobs.job(id))?.state;

describe("a runner", () => {
  test("takes no more than it has slots for, the next when one is done, and what comes at once", async () => {
    const handler = new ManualHandler();
    await enqueue("1");
    await enqueue("2");
    await enqueue("3");
    await begin(handler, { slots: 2 });
    expect(handler.ids).toEqual(["1", "2"]);
    handler.calls[1]?.done();
    await clock.advance(0);
    expect(handler.ids).toEqual(["1", "2", "3"]);
    handler.calls[0]?.done();
    await enqueue("4");
    expect(handler.ids).toEqual(["1", "2", "3", "4"]);
    expect(await Promise.all(["1", "2", "3", "4"].map(state))).toEqual(["succeeded", "succeeded", "running", "running"]);
  });

  test("finds by itself what nobody told it of, and a delayed job when it is due", async () => {
    const handler = new ManualHandler();
    await begin(handler);
    const job = { kind: "k", payload: null, maxAttempts: 1, attemptTimeoutMs: 600_000 };
    await store.jobs.enqueue({ ...job, id: "untold" });
    await clock.advance(30_000);
    expect(handler.ids).toEqual(["untold"]);
    await enqueue("delayed", { delayMs: 5_000 });
    await clock.advance(4_999);
    expect(handler.ids).toEqual(["untold"]);
    await clock.advance(1);
    expect(handler.ids).toEqual(["untold", "delayed"]);
  });

  test("keeps the lease of a long job, and what it says", async () => {
    const handler = new ManualHandler();
    await enqueue("long");
    await begin(handler);
    handler.calls[0]?.attempt.progress("half");
    await clock.advance(LEASE_MS * 5);
    expect(await store.jobs.job("long")).toMatchObject({ state: "running", attempts: 1, progress: "half" });
    handler.calls[0]?.done();
    await clock.advance(0);
    expect(await state("long")).toBe("succeeded");
  });

  test("tries again after a pause, then gives up, and at once when another attempt would meet the same", async () => {
    const handler = new ManualHandler();
    await enqueue("j");
    await enqueue("hopeless");
    await begin(handler);
    handler.calls[0]?.failed(new Error("first"));
    handler.calls[1]?.failed(new JobFailed("never"));
    await clock.advance(0);
    expect([await store.jobs.job("j"), await store.jobs.job("hopeless")]).toMatchObject([
      { state: "queued", error: "first" },
      { state: "failed", error: "never" },
    ]);
    await clock.advance(backoffMs(1, () => 1));
    handler.calls[2]?.failed(new Error("second"));
    await clock.advance(0);
    expect(await store.jobs.job("j")).toMatchObject({ state: "failed", error: "second", attempts: 2 });
    expect(handler.givenUp).toEqual(["hopeless: never", "j: second"]);
  });

  test("ends an attempt that takes too long, also one that does not give way", async () => {
    const handler = new ManualHandler();
    await enqueue("slow", { attemptTimeoutMs: 2_000, maxAttempts: 1 });
    await enqueue("stubborn", { attemptTimeoutMs: 2_000, maxAttempts: 1, payload: "stubborn" });
    await begin(handler);
    await clock.advance(2_000);
    expect([await state("slow"), await state("stubborn")]).toEqual(["failed", "running"]);
    await clock.advance(10_000);
    expect(await store.jobs.job("stubborn")).toMatchObject({ state: "failed", error: "it took longer than 2 s" });
  });

  test("ends a job that was cancelled, and gives up what it left", async () => {
    const handler = new ManualHandler();
    await enqueue("j");
    await begin(handler);
    await store.jobs.cancel("j");
    await clock.advance(LEASE_MS / 3);
    expect(handler.calls[0]?.attempt.signal.aborted).toBe(true);
    expect(await state("j")).toBe("cancelled");
    expect(handler.givenUp).toEqual(["j: it was cancelled"]);
  });

  test("that drains goes on with what it runs, and takes no more", async () => {
    const handler = new ManualHandler();
    await enqueue("1");
    const runner = await begin(handler);
    runner.drain();
    await enqueue("2");
    await clock.advance(60_000);
    expect([handler.ids, await state("2")]).toEqual([["1"], "queued"]);
    handler.calls[0]?.done();
    await clock.advance(0);
    expect(await state("1")).toBe("succeeded");
  });

  test("that stops hands back what it runs, and the next one begins with it", async () => {
    const handler = new ManualHandler();
    await enqueue("j");
    const first = await begin(handler);
    await first.stop();
    expect(await store.jobs.job("j")).toMatchObject({ state: "queued", attempts: 0 });
    await enqueue("later");
    expect(handler.ids).toEqual(["j"]);
    await begin(handler, { node: "b" });
    expect(handler.ids).toEqual(["j", "j", "later"]);
  });

  test("whose node died is followed by another when its lease ends, and by itself at once", async () => {
    const dead = new ManualHandler();
    let isDead = false;
    const mortal =
      <A extends unknown[], T>(use: (...given: A) => Promise<T>) =>
      (...given: A): Promise<T> =>
        isDead ? Promise.reject(new Error("the store cannot be reached")) : use(...given);
    const jobs = {
      ...store.jobs,
      claim: mortal(store.jobs.claim),
      heartbeat: mortal(store.jobs.heartbeat),
      release: mortal(store.jobs.release),
    };
    await enqueue("1");
    await enqueue("2", { maxAttempts: 3 });
    await begin(dead, { node: "a", jobs });
    isDead = true;
    const next = new ManualHandler();
    await begin(next, { node: "b" });
    await clock.advance(LEASE_MS - 1);
    expect(next.ids).toEqual([]);
    await clock.advance(30_000);
    expect(next.ids).toEqual(["1", "2"]);
    dead.calls[0]?.done();
    await clock.advance(0);
    expect(await state("1")).toBe("running");
    next.calls[0]?.done();
    await clock.advance(0);
    expect(await state("1")).toBe("succeeded");
    const again = new ManualHandler();
    await begin(again, { node: "b" });
    expect(again.ids).toEqual(["2"]);
  });

  test("begins anew with what it could not keep, when the store is there again", async () => {
    let isAway = false;
    const orAway = <T>(use: () => Promise<T>): Promise<T> => (isAway ? Promise.reject(new Error("away")) : use());
    const handler = new ManualHandler();
    await enqueue("j");
    await begin(handler, {
      jobs: {
        ...store.jobs,
        claim: (options) => orAway(() => store.jobs.claim(options)),
        heartbeat: (lease, ms, said) => orAway(() => store.jobs.heartbeat(lease, ms, said)),
        release: (lease) => orAway(() => store.jobs.release(lease)),
      },
    });
    isAway = true;
    await clock.advance(LEASE_MS * 2);
    expect(handler.calls.map(({ attempt }) => attempt.signal.aborted)).toEqual([true]);
    isAway = false;
    await clock.advance(2_000);
    expect([handler.ids, (await store.jobs.job("j"))?.attempts]).toEqual([["j", "j"], 1]);
    handler.calls[1]?.done();
    await clock.advance(0);
    expect(await state("j")).toBe("succeeded");
  });

  test("gives up a job that its node died over too often, as often as it takes", async () => {
    await enqueue("j", { maxAttempts: 1 });
    await store.jobs.claim({ node: "a", kinds: ["k"], limit: 1, leaseMs: LEASE_MS });
    const handler = new ManualHandler();
    handler.giveUpFailures = 2;
    await begin(handler);
    expect([handler.givenUp, await state("j")]).toEqual([[], "running"]);
    await clock.advance(2_000);
    expect(handler.givenUp).toEqual([expect.stringMatching(/^j: its attempt failed: /)]);
    expect([handler.ids, await state("j")]).toEqual([[], "failed"]);
  });

  test("writes a job's end when the store takes it again", async () => {
    let isFull = true;
    const succeed: MetadataStore["jobs"]["succeed"] = (lease) =>
      isFull ? Promise.reject(new Error("no space left")) : store.jobs.succeed(lease);
    const handler = new ManualHandler();
    await enqueue("j");
    await begin(handler, { jobs: { ...store.jobs, succeed } });
    handler.calls[0]?.done();
    const other = new ManualHandler();
    await begin(other, { node: "b" });
    await clock.advance(LEASE_MS * 5);
    expect([await state("j"), other.ids]).toEqual(["running", []]);
    isFull = false;
    await clock.advance(1_000);
    expect(await state("j")).toBe("succeeded");
    expect(logged).toEqual(["the end of a job waits: no space left"]);
  });

  test("goes on when the queue could not be read for a while", async () => {
    let isAway = true;
    const orAway = <T>(use: () => Promise<T>): Promise<T> => (isAway ? Promise.reject(new Error("away")) : use());
    const jobs: MetadataStore["jobs"] = {
      ...store.jobs,
      abandon: (node) => orAway(() => store.jobs.abandon(node)),
      claim: (options) => orAway(() => store.jobs.claim(options)),
    };
    const handler = new ManualHandler();
    await enqueue("1");
    await begin(handler, { jobs });
    isAway = false;
    await clock.advance(1_000);
    isAway = true;
    await enqueue("2");
    expect(handler.ids).toEqual(["1"]);
    isAway = false;
    await clock.advance(1_000);
    expect(handler.ids).toEqual(["1", "2"]);
  });
});

test("pauses between attempts double up to five minutes, and are spread", () => {
  expect([1, 2, 3, 9, 10, 60].map((attempts) => backoffMs(attempts, () => 1))).toEqual([1_000, 2_000, 4_000, 256_000, 300_000, 300_000]);
  expect(backoffMs(5, () => 0)).toBe(0);
});
