/** What the schedules of every metadata store must do. */

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { NewSchedule, RunJob, ScheduleRecord, ScheduleStore } from "../../../../src/server/stores/metadata/schedules.ts";
import type { MetadataStore } from "../../../../src/server/stores/metadata/store.ts";
import { TempFolder } from "../../../harness/running-server.ts";
import type { Driver } from "../driver.ts";

const START = 1_700_000_000_000;
const SET_BACK_MS = 60_000;

/** Runs the suite against a driver. */
export function schedulesConformance(driver: Driver<MetadataStore>): void {
  describe(`schedules: ${driver.name}`, () => {
    let folder: TempFolder;
    let store: MetadataStore;
    let schedules: ScheduleStore;
    let now = START;
    const put = (key: string, patch: Partial<NewSchedule> = {}) =>
      schedules.put({ kind: "k", key, text: "1h", payload: { n: 1 }, isEnabled: true, ...patch });
    const get = async (key: string) => (await schedules.schedule({ kind: "k", key })) as ScheduleRecord;
    const due = async () => (await schedules.due(10, SET_BACK_MS)).schedules.map(({ key }) => key);
    const run = (id: string, key: string): RunJob => ({
      id,
      kind: "k",
      payload: null,
      group: { name: `schedule:${key}`, slots: 1 },
      maxAttempts: 1,
      attemptTimeoutMs: 1,
    });

    beforeEach(async () => {
      now = START;
      folder = new TempFolder();
      store = await driver.open(folder.path, { now: () => now });
      schedules = store.schedules;
    });
    afterEach(async () => {
      await store.close();
      folder[Symbol.dispose]();
    });

    test("a schedule is kept with all that was said of it, and is to be planned", async () => {
      await put("a", { payload: { text: 'ü"', list: [1, null] }, scope: "env_1" });
      await store.close();
      store = await driver.open(folder.path, { now: () => now });
      schedules = store.schedules;
      expect(await get("a")).toEqual({
        ...{ kind: "k", key: "a", text: "1h", payload: { text: 'ü"', list: [1, null] }, scope: "env_1", isEnabled: true },
        ...{ anchorAt: START, plannedAt: START, nextAt: undefined, lastAt: undefined, runs: 0, revision: 1 },
      });
      expect([await due(), await schedules.nextDueIn()]).toEqual([["a"], 0]);
      expect(await schedules.schedule({ kind: "k", key: "b" })).toBeUndefined();
    });

    test("a run is kept as a job in one step with the next one, and once: who read the schedule before loses", async () => {
      await put("a");
      await schedules.advance(await get("a"), START + 10);
      expect([await due(), await schedules.nextDueIn()]).toEqual([[], 10]);
      now = START + 11;
      const read = await get("a");
      expect(await due()).toEqual(["a"]);
      const outcomes = await Promise.all([
        schedules.advance(read, START + 20, run("j1", "a")),
        schedules.advance(read, START + 20, run("j2", "a")),
      ]);
      expect(outcomes.map(({ isLost, job }) => [isLost, job?.id])).toEqual([
        [false, "j1"],
        [true, undefined],
      ]);
      expect(await get("a")).toMatchObject({ nextAt: START + 20, lastAt: START + 10, plannedAt: now, runs: 1, anchorAt: START });
      expect([await store.jobs.job("j1"), await store.jobs.job("j2")]).toMatchObject([{ state: "queued" }, undefined as never]);
    });

    test("while a run waits in the queue no other is kept, while one runs one is", async () => {
      await put("a");
      await put("b");
      expect((await schedules.advance(await get("a"), START, run("j1", "a"))).job?.id).toBe("j1");
      expect((await schedules.advance(await get("b"), START, run("of b", "b"))).job?.id).toBe("of b");
      expect((await schedules.advance(await get("a"), START, run("j2", "a"))).job).toBeUndefined();
      await store.jobs.claim({ node: "n", kinds: ["k"], limit: 1, leaseMs: 1_000 });
      expect((await schedules.advance(await get("a"), START, run("j3", "a"))).job?.id).toBe("j3");
      expect(await get("a")).toMatchObject({ runs: 2 });
    });

    test("saying the same again changes nothing; another payload keeps the plan, another text makes a new one", async () => {
      await put("a");
      await schedules.advance(await get("a"), START + 10);
      const planned = await get("a");
      now += 5;
      await put("a");
      expect(await get("a")).toEqual(planned);
      await put("a", { payload: 2 });
      expect(await get("a")).toMatchObject({ payload: 2, nextAt: START + 10, anchorAt: START });
      expect((await schedules.advance(planned, START + 99)).isLost).toBe(true);
      await put("a", { text: "2h" });
      expect(await get("a")).toMatchObject({ text: "2h", nextAt: undefined, anchorAt: START + 5 });
    });

    test("one that is turned off is never due, and is planned anew when it is turned on", async () => {
      await put("a");
      await schedules.advance(await get("a"), START + 10);
      await put("a", { isEnabled: false });
      now = START + 100;
      expect([await due(), await schedules.nextDueIn()]).toEqual([[], undefined]);
      await put("a", { isEnabled: true });
      expect([await due(), await get("a")]).toMatchObject([["a"], { nextAt: undefined }]);
    });

    test("one that is turned off stays so while it is put anew, and a new one is on", async () => {
      const only = (text: string) => schedules.put({ kind: "k", key: "a", text, payload: null });
      expect(await schedules.setEnabled({ kind: "k", key: "a" }, false)).toBe(false);
      await only("1h");
      await schedules.advance(await get("a"), START + 10);
      const planned = await get("a");
      expect([planned.isEnabled, await schedules.setEnabled(planned, true), await get("a")]).toEqual([true, true, planned]);
      expect(await schedules.setEnabled(planned, false)).toBe(true);
      expect((await schedules.advance(planned, START + 20, run("j1", "a"))).isLost).toBe(true);
      await only("2h");
      now = START + 100;
      expect([await get("a"), await due()]).toMatchObject([{ text: "2h", isEnabled: false, nextAt: undefined }, []]);
      await schedules.setEnabled(planned, true);
      expect(await due()).toEqual(["a"]);
    });

    test("one that is deleted is no longer due, also for who read it before; jobs that it made stay", async () => {
      await put("a");
      const read = await get("a");
      await schedules.advance(read, START, run("j1", "a"));
      expect([await schedules.delete({ kind: "k", key: "a" }), await schedules.delete({ kind: "k", key: "a" })]).toEqual([true, false]);
      expect((await schedules.advance(read, START, run("j2", "a"))).isLost).toBe(true);
      expect([await due(), (await store.jobs.job("j1"))?.state]).toEqual([[], "queued"]);
    });

    test("one that was planned far ahead of the time that it is now is to be planned anew", async () => {
      await put("a");
      now = START + SET_BACK_MS;
      await schedules.advance(await get("a"), START + 2 * SET_BACK_MS);
      now = START;
      expect(await due()).toEqual([]);
      now = START - 1;
      expect(await due()).toEqual(["a"]);
    });

    test("the longest due come first, no more than asked for", async () => {
      for (const [key, at] of [
        ["late", 30],
        ["early", 10],
        ["middle", 20],
      ] as const) {
        await put(key);
        await schedules.advance(await get(key), START + at);
      }
      await put("other kind", { kind: "other" });
      await schedules.delete({ kind: "other", key: "other kind" });
      now = START + 50;
      expect((await schedules.due(2, SET_BACK_MS)).schedules.map(({ key }) => key)).toEqual(["early", "middle"]);
      expect((await schedules.list()).map(({ key }) => key)).toEqual(["early", "late", "middle"]);
      expect(await schedules.list("other")).toEqual([]);
    });
  });
}
