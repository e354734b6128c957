/** What every metadata store must do: the queue of jobs. */

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  type ClaimedJob,
  environmentOf,
  type JobLease,
  type JobRecord,
  type JobSelection,
  type JobStore,
  type NewJob,
} from "../../../../src/server/stores/metadata/jobs.ts";
import { TempFolder } from "../../../harness/running-server.ts";
import { seeded } from "../../../harness/seed.ts";
import type { Driver } from "../driver.ts";

const START = 1_700_000_000_000;
const LEASE_MS = 1_000;

/** A store that has a queue. */
export interface QueueOwner {
  readonly jobs: JobStore;
  close(): Promise<void>;
}

/** Runs the suite against a driver. */
export function jobsConformance(driver: Driver<QueueOwner>): void {
  describe(`metadata store, queue of jobs: ${driver.name}`, () => {
    let folder: TempFolder;
    let store: QueueOwner;
    let jobs: JobStore;
    let now = START;
    const reopen = async () => {
      await store.close();
      store = await driver.open(folder.path, { now: () => now });
      jobs = store.jobs;
    };
    const enqueue = (id: string, patch: Partial<NewJob> = {}) =>
      jobs.enqueue({ id, kind: "k", payload: { id }, maxAttempts: 3, attemptTimeoutMs: 60_000, ...patch });
    const claim = (node = "a", limit = 10, kinds: readonly string[] = ["k"]) => jobs.claim({ node, kinds, limit, leaseMs: LEASE_MS });
    const ids = (claimed: readonly ClaimedJob[]) => claimed.map(({ job }) => job.id);
    const leaseOf = async (node = "a"): Promise<JobLease> => ((await claim(node, 1))[0] as ClaimedJob).lease;
    const state = async (id: string) => (await jobs.job(id))?.state;
    const outcomes = async (id: string) => (await jobs.attempts(id)).map(({ number, node, outcome }) => [number, node, outcome]);

    beforeEach(async () => {
      now = START;
      folder = new TempFolder();
      store = await driver.open(folder.path, { now: () => now });
      jobs = store.jobs;
    });
    afterEach(async () => {
      await store.close();
      folder[Symbol.dispose]();
    });

    describe("a place", () => {
      const place = { kind: "k", scope: "env/a" };
      const wanted = (...names: string[]): NewJob[] =>
        names.map((id) => ({ id, ...place, payload: {}, idempotencyKey: `key ${id}`, maxAttempts: 2, attemptTimeoutMs: 1 }));
      const listed = async (filter: Partial<Parameters<JobStore["list"]>[0]> = {}) =>
        (await jobs.list({ ...place, limit: 10, ...filter })).map(({ id }) => id);

      test("takes jobs in their order while fewer than its limit wait or run; one that exists takes no room twice", async () => {
        expect(await jobs.enqueueWithin(place, 3, wanted("1", "2"))).toBe(2);
        expect(await jobs.enqueueWithin(place, 3, wanted("3", "4", "5"))).toBe(1);
        await jobs.enqueueWithin({ kind: "k", scope: "env/b" }, 3, [{ ...(wanted("b")[0] as NewJob), scope: "env/b" }]);
        expect(await listed()).toEqual(["3", "2", "1"]);
        await jobs.succeed(await leaseOf());
        expect(await jobs.enqueueWithin(place, 4, [{ ...(wanted("2")[0] as NewJob), id: "again" }, ...wanted("6")])).toBe(2);
        expect(await listed()).toEqual(["6", "3", "2", "1"]);
      });

      test("is listed newest first, with what is below it, by state and in pages", async () => {
        await jobs.enqueueWithin(place, 9, wanted("1", "2", "3"));
        await enqueue("beside", { scope: "env2" });
        await enqueue("other", { scope: "env/a", kind: "other" });
        await jobs.fail(await leaseOf(), "x");
        expect(await listed({ scope: "env" })).toEqual(["3", "2", "1"]);
        expect(await listed({ scope: "env/b" })).toEqual([]);
        expect(await listed({ states: ["failed"] })).toEqual(["1"]);
        expect(await listed({ limit: 2 })).toEqual(["3", "2"]);
        expect(await listed({ limit: 2, before: "2" })).toEqual(["1"]);
        expect(await listed({ before: "unknown" })).toEqual([]);
      });

      test("an ended job is tried again, for as many attempts more, unless its place is full", async () => {
        await jobs.enqueueWithin(place, 9, wanted("1", "2"));
        expect(await jobs.retry("1", 5, 9)).toBeUndefined();
        await jobs.fail(await leaseOf(), "x");
        expect(await jobs.retry("1", 5, 1)).toBe("full");
        expect(await jobs.retry("none", 5, 9)).toBeUndefined();
        expect(await jobs.retry("1", 5, 9)).toMatchObject({ state: "queued", attempts: 1, maxAttempts: 6, error: "x" });
        expect(ids(await claim())).toEqual(["1", "2"]);
        expect((await outcomes("1")).map(([number]) => number)).toEqual([1, 2]);
      });

      test("and those below it are forgotten, whatever their state, with their attempts and leases; no others are", async () => {
        await jobs.enqueueWithin(place, 9, wanted("1", "2", "3", "4"));
        await enqueue("beside", { scope: "env2" });
        await enqueue("other", { scope: "env/a", kind: "other" });
        const lease = await leaseOf();
        await jobs.fail(await leaseOf(), "x");
        expect(await jobs.forget({ kind: "k", scope: "env" }, 3)).toBe(3);
        expect([await jobs.forget({ kind: "k", scope: "env" }, 3), await jobs.forget({ kind: "k", scope: "env" }, 3)]).toEqual([1, 0]);
        expect([await jobs.succeed(lease), await jobs.attempts("1"), await listed()]).toEqual([false, [], []]);
        expect([await state("beside"), await state("other")]).toEqual(["queued", "queued"]);
      });

      test("and those below it get other payloads, page by page, whatever their state; no others do", async () => {
        await jobs.enqueueWithin(place, 9, wanted("1", "2", "3"));
        for (const [id, patch] of Object.entries({
          same: { scope: "env" },
          beside: { scope: "env2" },
          other: { scope: "env/a", kind: "other" },
        }))
          await enqueue(id, patch);
        await jobs.succeed(await leaseOf());
        await jobs.fail(await leaseOf(), "x");
        const running = await leaseOf();
        const before = await jobs.job("3");
        const pages: (number | undefined)[] = [];
        const change = (payload: unknown) => ((payload as { id?: string }).id === "same" ? undefined : { changed: true });
        for (let after: number | undefined = 0; after !== undefined; pages.push(after))
          after = await jobs.amend({ kind: "k", scope: "env" }, { after, limit: 3 }, change);
        expect(pages).toEqual([3, 4, undefined]);
        const payloads = await Promise.all(["1", "2", "3", "same", "beside", "other"].map(async (id) => (await jobs.job(id))?.payload));
        const changed = { changed: true };
        expect(payloads).toEqual([changed, changed, changed, { id: "same" }, { id: "beside" }, { id: "other" }]);
        expect(await jobs.job("3")).toEqual({ ...(before as JobRecord), payload: changed });
        expect(await jobs.succeed(running)).toBe(true);
      });

      test("keeps the newest of its ended jobs, and all others", async () => {
        await jobs.enqueueWithin(place, 9, wanted("1", "2", "3", "4", "5"));
        for (let n = 0; n < 4; n++) await jobs.succeed(await leaseOf());
        expect(await jobs.trim({ ...place, state: "queued" }, 0, 10)).toBe(0);
        expect(await jobs.trim({ ...place, state: "failed" }, 2, 10)).toBe(0);
        expect(await jobs.trim({ ...place, state: "succeeded" }, 2, 1)).toBe(1);
        expect(await jobs.trim({ ...place, state: "succeeded" }, 2, 10)).toBe(1);
        expect(await listed()).toEqual(["5", "4", "3"]);
        expect(await jobs.attempts("1")).toEqual([]);
      });
    });

    test("a job is kept with all that was said of it", async () => {
      const wanted: NewJob = {
        id: "j",
        kind: "k",
        payload: { text: 'ü"', list: [1, null] },
        priority: -2,
        group: { name: "g", slots: 2 },
        scope: "env/one",
        subject: "dpl_1",
        name: "shard 3",
        operationId: "op",
        index: 3,
        gate: 2,
        idempotencyKey: "once",
        delayMs: 5,
        maxAttempts: 4,
        attemptTimeoutMs: 7,
        timeoutMs: 11,
      };
      const kept: JobRecord = {
        id: "j",
        kind: "k",
        payload: { text: 'ü"', list: [1, null] },
        state: "queued",
        priority: -2,
        group: { name: "g", slots: 2 },
        scope: "env/one",
        subject: "dpl_1",
        name: "shard 3",
        operationId: "op",
        index: 3,
        workflowId: "",
        gate: 2,
        isHeld: false,
        idempotencyKey: "once",
        runAt: START + 5,
        deadlineAt: START + 11,
        maxAttempts: 4,
        attemptTimeoutMs: 7,
        attempts: 0,
        node: "",
        fence: 0,
        leaseUntil: 0,
        isCancelRequested: false,
        progress: "",
        error: "",
        createdAt: START,
        updatedAt: START,
      };
      expect(await jobs.enqueue(wanted)).toEqual(kept);
      await reopen();
      expect(await jobs.job("j")).toEqual(kept);
      expect(await jobs.job("other")).toBeUndefined();
      const { payload: _, idempotencyKey: __, ...shown } = kept;
      expect(await jobs.entry("j")).toEqual({ ...shown, number: 1 });
      expect(await jobs.entry(1)).toEqual({ ...shown, number: 1 });
      expect([await jobs.entry(2), await jobs.entry("1")]).toEqual([undefined, undefined]);
    });

    describe("the queue", () => {
      const numbers = async (selection: Partial<JobSelection> = {}) =>
        (await jobs.page({ limit: 10, ...selection })).map(({ number }) => number);

      beforeEach(async () => {
        await enqueue("1", { scope: "env_1" });
        await enqueue("2", { kind: "other", delayMs: 500 });
        await enqueue("3", { scope: "env_1/below", kind: "other" });
        await enqueue("4", { scope: "env_10" });
        await enqueue("5", { scope: "env_1", delayMs: 500 });
      });

      test("is shown newest first, whatever the place, in pages", async () => {
        expect(await numbers()).toEqual([5, 4, 3, 2, 1]);
        expect([await numbers({ limit: 2 }), await numbers({ limit: 2, before: 4 }), await numbers({ before: 1 })]).toEqual([
          [5, 4],
          [3, 2],
          [],
        ]);
        expect([await numbers({ limit: 2, offset: 1 }), await numbers({ offset: 2, before: 4 }), await numbers({ offset: 5 })]).toEqual([
          [4, 3],
          [1],
          [],
        ]);
      });

      test("is shown by kind, environment, state and whether jobs are due", async () => {
        expect([await numbers({ kinds: ["other"] }), await numbers({ kinds: ["none"] }), await numbers({ kinds: [] })]).toEqual([
          [3, 2],
          [],
          [],
        ]);
        expect([await numbers({ environmentIds: ["env_1"] }), await numbers({ environmentIds: ["", "env_10"] })]).toEqual([
          [5, 3, 1],
          [4, 2],
        ]);
        expect([await numbers({ environmentIds: [] }), await numbers({ environmentIds: ["env_"] })]).toEqual([[], []]);
        await jobs.succeed(await leaseOf());
        expect([await numbers({ states: ["succeeded"] }), await numbers({ states: ["queued", "failed"] })]).toEqual([[1], [5, 4, 3, 2]]);
        const isDue = (areDue: boolean, at: number) => numbers({ queued: { areDue, at } });
        expect([await isDue(true, START + 499), await isDue(false, START + 499)]).toEqual([
          [4, 3, 1],
          [5, 2, 1],
        ]);
        expect([await isDue(true, START + 500), await isDue(false, START + 500)]).toEqual([[5, 4, 3, 2, 1], [1]]);
      });

      test("is shown as a list of all jobs says, whatever they are and whatever is selected", async () => {
        let round = 0;
        await fc.assert(
          fc.asyncProperty(
            fc.array(fc.record({ kind: fc.constantFrom("a", "b"), scope: fc.constantFrom("", "e", "e/f", "g") }), { maxLength: 30 }),
            fc.record({ limit: fc.nat(6), offset: fc.nat(6), before: fc.nat(100) }),
            fc.subarray(["a", "b"]),
            fc.subarray(["", "e", "g"]),
            async (wanted, { before, limit, offset }, kinds, environmentIds) => {
              round++;
              for (const [n, patch] of wanted.entries()) await enqueue(`${round}/${n}`, patch);
              const selected = (await jobs.page({ limit: 10_000 })).filter(
                ({ kind, number, scope }) => kinds.includes(kind) && environmentIds.includes(environmentOf(scope)) && number < before,
              );
              expect(await jobs.page({ kinds, environmentIds, before, offset, limit })).toEqual(selected.slice(offset, offset + limit));
            },
          ),
          seeded(15, 200),
        );
      });
    });

    test("those wait that a slot is all they lack, counted by kind and environment, each kind up to a bound", async () => {
      const other = { kind: "other", scope: "env_1" };
      for (const id of ["1", "2", "3"]) await enqueue(id, { scope: "env_1/a" });
      await enqueue("4", { scope: "env_1/b" });
      await enqueue("5", { scope: "env_2" });
      await enqueue("6", other);
      await enqueue("later", { ...other, delayMs: 1_000 });
      await enqueue("after", { ...other, after: ["1"] });
      await claim("a", 1);
      const waiting = async (most: number) =>
        (await jobs.waiting(most)).map(({ kind, environmentId, jobs: count }) => `${kind} ${environmentId} ${count}`).sort();
      expect(await waiting(100)).toEqual(["k env_1 3", "k env_2 1", "other env_1 1"]);
      expect((await jobs.waiting(2)).filter(({ kind }) => kind === "k").reduce((sum, one) => sum + one.jobs, 0)).toBe(2);
      await claim("a", 10);
      expect(await waiting(100)).toEqual(["other env_1 1"]);
    });

    test("a group's standing says who has its slots and who gets those left, in the order of claims", async () => {
      const group = { name: "g", slots: 2 };
      await enqueue("1", { group });
      await enqueue("2", { group, scope: "env_1" });
      await enqueue("3", { group, priority: 1, delayMs: 10 });
      await enqueue("4", { group: { name: "h", slots: 1 } });
      await enqueue("5");
      const standing = async (name = "g") => {
        const { running, next } = await jobs.standing({ ...group, name }, now);
        return [running.map(({ number }) => number), next.map(({ number }) => number)];
      };
      expect(await standing()).toEqual([[], [1, 2]]);
      now += 10;
      expect(await standing()).toEqual([[], [3, 1]]);
      expect((await claim("a", 1)).map(({ job }) => job.id)).toEqual(["3"]);
      expect(await standing()).toEqual([[3], [1]]);
      await claim("a", 1);
      expect(await standing()).toEqual([[1, 3], []]);
      expect((await jobs.standing(group, now)).running).toEqual([
        { number: 1, scope: "" },
        { number: 3, scope: "" },
      ]);
      expect([await standing("h"), await standing("none")]).toEqual([
        [[], [4]],
        [[], []],
      ]);
    });

    describe("a job after others", () => {
      const run = async (id: string, end: (lease: JobLease) => Promise<boolean> = (lease) => jobs.succeed(lease)) => {
        const [claimed] = await claim("a", 1);
        expect([claimed?.job.id, claimed?.exhausted]).toEqual([id, undefined]);
        expect(await end((claimed as ClaimedJob).lease)).toBe(true);
      };
      const held = async (...ids: string[]) => Promise.all(ids.map(async (id) => (await jobs.job(id))?.isHeld));
      const of = (id: string, patch: Partial<NewJob> = {}): NewJob => ({
        ...{ id, kind: "k", payload: {}, maxAttempts: 2, attemptTimeoutMs: 60_000 },
        ...patch,
      });

      test("waits until all of them succeeded, whatever its priority, and is kept so", async () => {
        const made = await jobs.enqueueAll([
          of("prepare"),
          of("shard 0", { after: ["prepare"] }),
          of("shard 1", { after: ["prepare", "prepare"] }),
          of("complete", { after: ["shard 0", "shard 1"], priority: 9 }),
        ]);
        expect(made.map(({ isHeld }) => isHeld)).toEqual([false, true, true, true]);
        expect(await jobs.awaited("complete", 10)).toEqual([
          { number: 2, scope: "" },
          { number: 3, scope: "" },
        ]);
        await reopen();
        const lease = await leaseOf();
        expect([await claim(), await jobs.nextDueIn("a", ["k"])]).toEqual([[], undefined]);
        await jobs.fail(lease, "once more", 0);
        expect(await held("shard 0")).toEqual([true]);
        await run("prepare");
        expect([await held("shard 0", "complete"), await jobs.nextDueIn("a", ["k"])]).toEqual([[false, true], 0]);
        await run("shard 0");
        expect([await held("complete"), await jobs.awaited("complete", 10)]).toEqual([[true], [{ number: 3, scope: "" }]]);
        await run("shard 1");
        await run("complete");
        expect(await claim()).toEqual([]);
      });

      test("is given up when one fails, for a reason that names it, and so are those after it", async () => {
        await jobs.enqueueAll([
          of("1", { name: "first" }),
          of("2", { after: ["1"], delayMs: 500 }),
          of("3", { after: ["2"], priority: 1 }),
          of("beside", { delayMs: 1 }),
        ]);
        await run("1", (lease) => jobs.fail(lease, "no disk"));
        for (const [id, reason] of [
          ["2", "job 1 (first), which it waited for, failed: no disk"],
          ["3", "job 2 (k), which it waited for, failed: job 1 (first), which it waited for, failed: no disk"],
        ] as const) {
          const [given] = await claim();
          expect([given?.job.id, given?.exhausted, given?.job.attempts]).toEqual([id, reason, 0]);
          await jobs.abandon("a");
          const [again] = await claim();
          expect([again?.job.id, again?.exhausted]).toEqual([id, reason]);
          await jobs.fail((again as ClaimedJob).lease, reason);
        }
        expect([await state("2"), await state("3"), await state("beside")]).toEqual(["failed", "failed", "queued"]);
        expect(await claim()).toEqual([]);
      });

      test("is cancelled when one is, and so are those after it, but not what runs already", async () => {
        await jobs.enqueueAll([of("1"), of("2"), of("3", { after: ["1"] }), of("4", { after: ["2", "3"] }), of("5", { after: ["2"] })]);
        await jobs.cancel("1");
        expect(await Promise.all(["1", "2", "3", "4", "5"].map(state))).toEqual([
          "cancelled",
          "queued",
          "cancelled",
          "cancelled",
          "queued",
        ]);
        const lease = await leaseOf();
        await jobs.cancel("2");
        expect(await state("5")).toBe("queued");
        await jobs.confirmCancel(lease);
        expect(await state("5")).toBe("cancelled");
        await jobs.enqueueAll([of("6"), of("7", { after: ["6"] })]);
        await claim();
        await jobs.cancel("6");
        await jobs.abandon("a");
        expect([await state("6"), await state("7")]).toEqual(["cancelled", "cancelled"]);
      });

      test("stands as they ended when they ended before it came; one that there is not is refused, and all with it", async () => {
        await jobs.enqueueAll([of("good"), of("bad"), of("gone")]);
        await run("good");
        await run("bad", (lease) => jobs.fail(lease, "no"));
        await jobs.cancel("gone");
        await enqueue("2", { after: ["good"] });
        await enqueue("3", { after: ["good", "bad"], delayMs: 100 });
        expect(await enqueue("4", { after: ["gone"] })).toMatchObject({ state: "cancelled" });
        expect((await claim()).map(({ job, exhausted }) => [job.id, exhausted ?? ""])).toEqual([
          ["2", ""],
          ["3", "job 2 (k), which it waited for, failed: no"],
        ]);
        await expect(jobs.enqueueAll([of("5"), of("6", { after: ["nowhere"] })])).rejects.toThrow("nowhere");
        expect(await jobs.job("5")).toBeUndefined();
      });

      test("is cancelled when one is forgotten, and not told of those that were removed after their success", async () => {
        await jobs.enqueueAll([of("1", { scope: "env" }), of("2", { kind: "other", after: ["1"] }), of("3"), of("4", { after: ["3"] })]);
        await jobs.forget({ kind: "k", scope: "env" }, 10);
        expect(await state("2")).toBe("cancelled");
        await run("3");
        now += 10;
        await jobs.purge(5, 10);
        expect(await jobs.job("3")).toBeUndefined();
        await run("4");
      });

      test("waits again when it is tried again, and fails again as long as one before it has failed", async () => {
        await jobs.enqueueAll([of("1"), of("2", { after: ["1"] })]);
        await run("1", (lease) => jobs.fail(lease, "no"));
        const giveUp = async () => jobs.fail(await leaseOf(), "given up");
        await giveUp();
        await jobs.retry("2", 1, 9);
        expect((await claim("a", 1))[0]?.exhausted).toContain("job 1");
        await jobs.abandon("a");
        await giveUp();
        await jobs.retry("1", 1, 9);
        expect(await jobs.retry("2", 1, 9)).toMatchObject({ isHeld: true });
        await run("1");
        await run("2");
      });
    });

    test("an operation runs no more jobs at once than its gate lets through, over all nodes and beside others", async () => {
      const gated = { operationId: "op", gate: 2 };
      for (const id of ["1", "2", "3"]) await enqueue(id, gated);
      await enqueue("4", { operationId: "op2", gate: 1, group: { name: "g", slots: 1 } });
      await enqueue("5", { group: { name: "g", slots: 1 } });
      await enqueue("6", { operationId: "op" });
      const first = await claim("a", 1);
      const second = await claim("b");
      expect([ids(first), ids(second)]).toEqual([["1"], ["2", "4", "6"]]);
      expect((await jobs.runningOf("op", 9)).map(({ number }) => number)).toEqual([1, 2, 6]);
      expect(await jobs.runningOf("", 9)).toEqual([]);
      expect(await jobs.nextDueIn("a", ["k"])).toBe(LEASE_MS);
      for (const { lease } of [...first, ...second.slice(0, 1)]) await jobs.succeed(lease);
      expect(ids(await claim("b"))).toEqual(["3"]);
      await expect(enqueue("7", { gate: 1 })).rejects.toThrow();
    });

    test("kind and idempotency key name one job, also when two ask at once and after it ended", async () => {
      const both = await Promise.all(["1", "2"].map((id) => enqueue(id, { idempotencyKey: "x" })));
      expect(both.map(({ id }) => id)).toEqual(["1", "1"]);
      expect((await enqueue("3", { idempotencyKey: "x", kind: "other" })).id).toBe("3");
      expect([(await enqueue("4")).id, (await enqueue("5")).id]).toEqual(["4", "5"]);
      const [first] = await claim("a", 1);
      await jobs.succeed((first as ClaimedJob).lease);
      expect(await enqueue("6", { idempotencyKey: "x" })).toMatchObject({ id: "1", state: "succeeded" });
    });

    test("jobs are handed out by priority, then in the order they came, once, and only of the kinds asked for", async () => {
      await enqueue("1");
      await enqueue("2", { priority: 1 });
      await enqueue("3", { kind: "other" });
      await enqueue("4");
      const claims = await Promise.all([claim("a", 2), claim("b", 2)]);
      expect(claims.map(ids)).toEqual([["2", "1"], ["4"]]);
      expect(claims[0]?.[0]).toMatchObject({
        job: { state: "running", node: "a", attempts: 1, leaseUntil: START + LEASE_MS },
        lease: { id: "2" },
      });
      expect(await claim()).toEqual([]);
      expect(ids(await claim("a", 1, ["other", "k"]))).toEqual(["3"]);
    });

    test("a queued job is given another priority, which it keeps when an attempt fails; others stay as they are", async () => {
      const group = { name: "g", slots: 1 };
      for (const id of ["1", "2", "3"]) await enqueue(id, { group });
      await enqueue("late", { delayMs: 10 });
      expect(await jobs.setPriority("3", 7)).toMatchObject({ id: "3", state: "queued", priority: 7 });
      expect(await jobs.setPriority("late", 9)).toMatchObject({ state: "queued", priority: 9 });
      const [third] = await claim("a", 1);
      expect(third?.job.id).toBe("3");
      expect(await jobs.setPriority("3", -1)).toMatchObject({ state: "running", priority: 7 });
      expect(await jobs.setPriority("1", -1)).toMatchObject({ priority: -1 });
      await jobs.fail((third as ClaimedJob).lease, "once", 20);
      const [second] = await claim("a", 1);
      expect(second?.job.id).toBe("2");
      await jobs.succeed((second as ClaimedJob).lease);
      now += 20;
      expect(ids(await claim("a", 2))).toEqual(["late", "3"]);
      expect(await jobs.setPriority("2", 5)).toMatchObject({ state: "succeeded", priority: 0 });
      expect(await jobs.setPriority("none", 5)).toBeUndefined();
    });

    test("a delayed job is not due before its time", async () => {
      await enqueue("late", { delayMs: 500 });
      expect(await jobs.nextDueIn("n", ["k"])).toBe(500);
      expect(await jobs.nextDueIn("n", ["other"])).toBeUndefined();
      now += 499;
      expect(await claim()).toEqual([]);
      now += 1;
      expect(await jobs.nextDueIn("n", ["k"])).toBe(0);
      expect(ids(await claim())).toEqual(["late"]);
    });

    test("a job that is due at once does not wait for a clock that was set back", async () => {
      await enqueue("1");
      await enqueue("2");
      await jobs.release(await leaseOf());
      now -= 3_600_000;
      expect(ids(await claim())).toEqual(["1", "2"]);
    });

    test("a group has no more running jobs than slots, over all nodes, and says nothing of when a slot is free", async () => {
      const group = { name: "g", slots: 2 };
      for (const id of ["1", "2", "3", "4"]) await enqueue(id, { group });
      await enqueue("other", { group: { name: "h", slots: 1 } });
      expect(ids(await claim("a", 1))).toEqual(["1"]);
      const second = await claim("b");
      expect(ids(second)).toEqual(["2", "other"]);
      expect([await jobs.nextDueIn("n", ["k"]), await jobs.nextDueIn("a", ["k"])]).toEqual([LEASE_MS, LEASE_MS]);
      now += 1;
      await jobs.heartbeat((second[1] as ClaimedJob).lease, LEASE_MS);
      expect([await jobs.nextDueIn("b", ["k"]), await jobs.nextDueIn("a", ["k"])]).toEqual([LEASE_MS - 1, LEASE_MS - 1]);
      await jobs.succeed((second[0] as ClaimedJob).lease);
      expect(ids(await claim("b"))).toEqual(["3"]);
    });

    test("a lease that ended goes to another node, and the old one may change nothing", async () => {
      await enqueue("j");
      const old = await leaseOf("a");
      now += LEASE_MS - 1;
      expect(await jobs.heartbeat(old, LEASE_MS, "half")).toBe("kept");
      now += LEASE_MS;
      expect(await claim("a")).toEqual([]);
      const [taken] = await claim("b");
      expect(taken?.job).toMatchObject({ node: "b", attempts: 2, progress: "half" });
      expect(taken?.lease.fence).toBeGreaterThan(old.fence);
      expect(await jobs.heartbeat(old, LEASE_MS)).toBe("lost");
      expect(await Promise.all([jobs.succeed(old), jobs.fail(old, "x"), jobs.release(old), jobs.confirmCancel(old)])).toEqual([
        false,
        false,
        false,
        false,
      ]);
      expect(await state("j")).toBe("running");
      expect(await jobs.succeed((taken as ClaimedJob).lease)).toBe(true);
      expect(await outcomes("j")).toEqual([
        [1, "a", "lost"],
        [2, "b", "succeeded"],
      ]);
      expect(await jobs.succeed((taken as ClaimedJob).lease)).toBe(false);
    });

    test("what a node held is taken back when it is here again, and nothing of others", async () => {
      await enqueue("1");
      await enqueue("2");
      await claim("a", 1);
      await claim("b", 1);
      await jobs.abandon("a");
      expect([await state("1"), await state("2")]).toEqual(["queued", "running"]);
      expect(await jobs.attempts("1")).toMatchObject([{ outcome: "lost", endedAt: START }]);
    });

    test("a job that is handed back was not attempted", async () => {
      await enqueue("j");
      expect(await jobs.release(await leaseOf())).toBe(true);
      expect(await jobs.job("j")).toMatchObject({ state: "queued", attempts: 0, node: "", leaseUntil: 0 });
      expect(await jobs.attempts("j")).toEqual([]);
      expect((await claim())[0]?.job.attempts).toBe(1);
    });

    test("a failed attempt is made again after a while, until none is left", async () => {
      await enqueue("j", { maxAttempts: 2 });
      expect(await jobs.fail(await leaseOf(), "first", 300)).toBe(true);
      expect(await jobs.job("j")).toMatchObject({ state: "queued", runAt: START + 300, error: "first", attempts: 1 });
      now += 300;
      await jobs.fail(await leaseOf(), "second", 300);
      expect(await jobs.job("j")).toMatchObject({ state: "failed", error: "second", attempts: 2 });
      expect(await jobs.attempts("j")).toMatchObject([
        { number: 1, outcome: "failed", error: "first" },
        { number: 2, outcome: "failed", error: "second", startedAt: START + 300, endedAt: START + 300 },
      ]);
    });

    test("a job whose attempts died is handed out to be given up, without another attempt, as often as that dies too", async () => {
      await enqueue("j", { maxAttempts: 1 });
      await claim("a");
      await jobs.abandon("a");
      for (let round = 0; round < 2; round++) {
        const [given] = await claim("a");
        expect(given?.exhausted).toStartWith("its attempt failed: ");
        expect(given?.job).toMatchObject({ state: "running", attempts: 1 });
        await jobs.abandon("a");
      }
      const [given] = await claim("a");
      expect(await jobs.fail((given as ClaimedJob).lease, "over")).toBe(true);
      expect(await jobs.job("j")).toMatchObject({ state: "failed", error: "over" });
      expect(await outcomes("j")).toEqual([[1, "a", "lost"]]);
    });

    test("no attempt begins after the deadline, and a retry does not wait beyond it", async () => {
      await enqueue("j", { timeoutMs: 1_000, delayMs: 5_000 });
      expect(await jobs.nextDueIn("n", ["k"])).toBe(1_000);
      await enqueue("k", { timeoutMs: 1_000 });
      await jobs.fail(await leaseOf(), "slow", 60_000);
      now += 1_000;
      const claimed = await claim();
      expect(claimed.map(({ job, exhausted }) => [job.id, job.attempts, exhausted])).toEqual([
        ["j", 0, "its time was up before it was done"],
        ["k", 1, "its time was up before it was done"],
      ]);
    });

    test("a queued job is cancelled at once, a running one when its node hears of it, and one that ended stays as it is", async () => {
      await enqueue("1");
      await enqueue("2");
      await enqueue("3");
      await enqueue("4");
      expect(await jobs.cancel("1")).toMatchObject({ state: "cancelled" });
      const [two, three, four] = (await claim()).map(({ lease }) => lease) as [JobLease, JobLease, JobLease];
      for (const id of ["2", "3", "4"]) expect(await jobs.cancel(id)).toMatchObject({ state: "running", isCancelRequested: true });
      expect(await jobs.heartbeat(two, LEASE_MS)).toBe("cancel");
      expect(await jobs.confirmCancel(two)).toBe(true);
      await jobs.succeed(three);
      await jobs.fail(four, "on the way out", 10);
      expect(await Promise.all(["1", "2", "3", "4"].map(state))).toEqual(["cancelled", "cancelled", "succeeded", "cancelled"]);
      expect(await jobs.cancel("3")).toMatchObject({ state: "succeeded" });
      expect(await jobs.cancel("none")).toBeUndefined();
      await enqueue("5");
      await claim("a");
      await jobs.cancel("5");
      await jobs.abandon("a");
      expect(await state("5")).toBe("cancelled");
    });

    test("ended jobs are removed with their attempts after a while, others are not", async () => {
      await enqueue("done");
      await jobs.succeed(await leaseOf());
      now += 100;
      await enqueue("waiting");
      expect(await jobs.purge(100, 10)).toBe(0);
      now += 1;
      expect(await jobs.purge(100, 10)).toBe(1);
      expect([await jobs.job("done"), await jobs.attempts("done"), await state("waiting")]).toEqual([undefined, [], "queued"]);
    });

    test("any order of steps by several nodes loses no job, ends none twice and counts every attempt", async () => {
      const step = fc.record({
        does: fc.constantFrom("enqueue", "enqueue", "claim", "claim", "wait", "abandon", "succeed", "fail", "release", "cancel"),
        node: fc.constantFrom("a", "b", "c"),
        pick: fc.nat(1_000),
      });
      let ended = 0;
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 30, maxLength: 120 }), async (steps) => {
          using own = new TempFolder();
          const store = await driver.open(own.path, { now: () => now });
          const { jobs } = store;
          const leases: JobLease[] = [];
          const ends: string[] = [];
          const befores = new Map<string, readonly string[]>();
          let made = 0;
          for (const { does, node, pick } of steps) {
            const lease = leases[pick % Math.max(leases.length, 1)];
            const before = lease && (await jobs.job(lease.id));
            if (does === "enqueue") {
              const after = pick % 4 === 0 && made > 0 ? [`j${pick % made}`, `j${(pick * 7) % made}`] : [];
              const group = pick % 3 === 0 ? {} : { group: { name: `g${pick % 3}`, slots: 2 } };
              await jobs.enqueue({
                id: `j${made}`,
                kind: "k",
                payload: {},
                maxAttempts: 2,
                attemptTimeoutMs: 1,
                priority: pick % 2,
                ...group,
                ...(pick % 5 === 0 && { operationId: "op", gate: 1 }),
                after,
              });
              befores.set(`j${made++}`, after);
            } else if (does === "claim") {
              const claimed = await jobs.claim({ node, kinds: ["k"], limit: 3, leaseMs: LEASE_MS });
              leases.push(...claimed.map(({ lease }) => lease));
              for (const { job, exhausted } of claimed.filter(({ job }) => job.attempts > 0)) {
                const states = await Promise.all((befores.get(job.id) ?? []).map(async (id) => (await jobs.job(id))?.state));
                expect([job.id, exhausted === undefined && states.some((state) => state !== "succeeded")]).toEqual([job.id, false]);
              }
              const running: Record<string, number> = {};
              for (let n = 0; n < made; n++) {
                const job = await jobs.job(`j${n}`);
                if (job?.state === "running" && job.group) running[job.group.name] = (running[job.group.name] ?? 0) + 1;
                if (job?.state === "running" && job.gate) running.gate = (running.gate ?? 1) + 1;
              }
              for (const count of Object.values(running)) expect(count).toBeLessThanOrEqual(2);
            } else if (does === "wait") now += pick;
            else if (does === "abandon") await jobs.abandon(node);
            else if (does === "cancel") await jobs.cancel(`j${pick % Math.max(made, 1)}`);
            else if (lease) {
              const took = await (does === "succeed"
                ? jobs.succeed(lease)
                : does === "fail"
                  ? jobs.fail(lease, "x", 10)
                  : jobs.release(lease));
              expect(took).toBe(before?.state === "running" && before.fence === lease.fence);
              if (took && isOver(await jobs.job(lease.id))) ends.push(lease.id);
            }
          }
          for (let n = 0; n < made; n++) {
            const job = (await jobs.job(`j${n}`)) as JobRecord;
            const attempts = await jobs.attempts(job.id);
            const said = ends.filter((id) => id === job.id).length;
            if (job.state !== "cancelled") expect([job.id, said]).toEqual([job.id, isOver(job) ? 1 : 0]);
            ended += said;
            expect(attempts.map(({ number }) => number)).toEqual(Array.from({ length: job.attempts }, (_, i) => i + 1));
            const before = await Promise.all((befores.get(job.id) ?? []).map(async (id) => (await jobs.job(id))?.state));
            expect([job.id, job.isHeld && before.some((state) => state === "failed" || state === "cancelled")]).toEqual([job.id, false]);
            const open = attempts.filter(({ outcome }) => outcome === "running");
            expect(open.every(({ number }) => number === job.attempts && job.state === "running")).toBe(true);
          }
          await store.close();
        }),
        seeded(15, 2_000),
      );
      expect(ended).toBeGreaterThan(20);
    }, 300_000);
  });
}

function isOver(job: JobRecord | undefined): boolean {
  return job !== undefined && job.state !== "queued" && job.state !== "running";
}
