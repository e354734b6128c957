/** What every metadata store must do: streams, leases of their partitions, and dead letters. */

import { describe, expect, test } from "bun:test";
import type { MetadataStore } from "../../../../src/server/stores/metadata/store.ts";
import type { NewDeadLetter } from "../../../../src/server/stores/metadata/streams.ts";
import type { Driver } from "../driver.ts";
import { openEach } from "./records.ts";

const ROOM = { most: 100, mostBytes: 1_000_000 };
const letter = (offset: bigint, more: Partial<NewDeadLetter> = {}): NewDeadLetter => ({
  ...{ streamId: "str_1", partition: 0, offset, timestamp: 5, key: undefined, value: new Uint8Array([1, 0, 255]), size: 3 },
  ...{ reason: `é' ${offset}`, stage: "parse" },
  ...more,
});

/** Runs the suite against a driver. */
export function streamsConformance(driver: Driver<MetadataStore>): void {
  describe(`metadata store, streams: ${driver.name}`, () => {
    const on = openEach(driver);
    let ids = 0;
    const newId = () => `str_${++ids}`;

    test("are made once, and keep whether they are paused and why they were stopped", async () => {
      const { streams } = on.store;
      const [b, a] = await streams.ensure("env_1", ["b", "a"], newId);
      expect(await streams.ensure("env_1", ["a"], newId)).toEqual([a as never]);
      expect((await streams.ensure("env_2", ["a"], newId))[0]?.id).not.toBe(a?.id);
      await streams.fail(a?.id ?? "", { deploymentId: "dpl_0", reason: "before" });
      await streams.fail(a?.id ?? "", { deploymentId: "dpl_1", reason: "all of them" });
      await streams.fail(a?.id ?? "", { deploymentId: "dpl_1", reason: "once more" });
      const at = (await streams.get(a?.id ?? ""))?.failure?.at ?? 0;
      await streams.noteTold(a?.id ?? "", at - 1);
      expect((await streams.get(a?.id ?? ""))?.failure?.isTold).toBeUndefined();
      await streams.noteTold(a?.id ?? "", at);
      await streams.setPaused(b?.id ?? "", true);
      await on.reopen();
      expect(await on.store.streams.list("env_1")).toMatchObject([
        { name: "a", isPaused: false, failure: { deploymentId: "dpl_1", reason: "all of them", isTold: true } },
        { name: "b", isPaused: true, failure: undefined },
      ]);
      await on.store.streams.setPaused(a?.id ?? "", false);
      expect(await on.store.streams.get(a?.id ?? "")).toMatchObject({ failure: undefined });
    });

    test("share their partitions among nodes: a node has at most its share, and what it gives up another takes", async () => {
      const { streams } = on.store;
      const wanted = [0, 1, 2, 3].map((partition) => ({ streamId: "str_1", partition }));
      expect(await streams.lease("a", wanted, 4, 60_000)).toEqual(wanted);
      expect(await streams.lease("b", wanted, 2, 60_000)).toEqual([]);
      expect(await streams.lease("a", wanted, 2, 60_000)).toEqual(wanted.slice(0, 2));
      expect(await streams.lease("b", wanted, 2, 60_000)).toEqual(wanted.slice(2));
      await streams.note("b", { streamId: "str_1", partition: 3 }, "no topic");
      await streams.note("b", { streamId: "str_1", partition: 0 }, "not its own");
      expect((await streams.leases(["str_1"])).map(({ node, problem }) => [node, problem])).toEqual([
        ["a", ""],
        ["a", ""],
        ["b", ""],
        ["b", "no topic"],
      ]);
      await streams.release("b");
      expect(await streams.lease("a", wanted.slice(1), 4, 60_000)).toEqual(wanted.slice(1));
      expect((await streams.leases(["str_1"])).map(({ partition }) => partition)).toEqual([1, 2, 3]);
    });

    test("that only one node can read do not count in its share", async () => {
      const { streams } = on.store;
      const wanted = [0, 1, 2, 3].map((partition) => ({ streamId: "str_2", partition }));
      const own = [0, 1].map((partition) => ({ streamId: "str_9", partition }));
      await streams.lease("a", wanted, 4, 60_000);
      expect(await streams.lease("a", wanted, 2, 60_000, own)).toEqual([...wanted.slice(0, 2), ...own]);
      expect(await streams.lease("b", wanted, 2, 60_000)).toEqual(wanted.slice(2));
      expect(await streams.lease("a", wanted, 2, 60_000, own)).toEqual([...own, ...wanted.slice(0, 2)]);
    });

    test("keep which node has what is in one node's store, until that node is gone or the environment", async () => {
      const { streams } = on.store;
      expect(await streams.homeOf("env_1", "topic/é'")).toBeUndefined();
      expect(await streams.claimHome("env_1", "topic/é'", "a")).toBe("a");
      expect(await streams.claimHome("env_1", "topic/é'", "b")).toBe("a");
      expect(await streams.claimHome("env_1", "topic/é'", "b", "c")).toBe("a");
      expect(await streams.claimHome("env_2", "topic/é'", "b")).toBe("b");
      expect(await streams.claimHome("env_1", "topic/é'", "b", "a")).toBe("b");
      await on.reopen();
      expect(await on.store.streams.homeOf("env_1", "topic/é'")).toBe("b");
      await on.store.streams.forget("env_1");
      expect(await on.store.streams.homeOf("env_1", "topic/é'")).toBeUndefined();
      expect(await on.store.streams.homeOf("env_2", "topic/é'")).toBe("b");
    });

    test("that a node no longer renews are taken by another", async () => {
      const { streams } = on.store;
      const wanted = [{ streamId: "str_1", partition: 0 }];
      expect(await streams.lease("a", wanted, 1, 0)).toEqual(wanted);
      expect(await streams.lease("b", wanted, 1, 60_000)).toEqual(wanted);
      expect(await streams.lease("a", wanted, 1, 60_000)).toEqual([]);
    });

    test("keep dead letters by their place, the newest first, and never give a number twice", async () => {
      const { streams } = on.store;
      await streams.addLetters([letter(2n), letter(10n), letter(3n, { value: undefined, key: new Uint8Array([7]) })], ROOM);
      await streams.addLetters([letter(10n, { reason: "again", stage: "row" })], ROOM);
      await on.reopen();
      const kept = await on.store.streams.letters({ streamId: "str_1", limit: 10 });
      expect(kept.map(({ offset, seq, stage }) => [offset, seq, stage])).toEqual([
        [10n, 4, "row"],
        [3n, 3, "parse"],
        [2n, 1, "parse"],
      ]);
      expect(kept[1]).toMatchObject({ value: undefined, key: new Uint8Array([7]), size: 3, timestamp: 5 });
      expect(await on.store.streams.countLetters(["str_1", "str_2"])).toEqual(new Map([["str_1", 3]]));
      const some = { streamId: "str_1", limit: 2, oldestFirst: true };
      expect((await on.store.streams.letters({ ...some, before: 4 })).map(({ seq }) => seq)).toEqual([1, 3]);
      expect((await on.store.streams.letters({ ...some, after: 1, among: [1, 4] })).map(({ seq }) => seq)).toEqual([4]);
      expect(await on.store.streams.removeLetters("str_1", [4, 99])).toBe(1);
      await on.store.streams.addLetters([letter(11n)], ROOM);
      expect((await on.store.streams.letters({ streamId: "str_1", limit: 1 }))[0]?.seq).toBe(5);
    });

    test("let the oldest dead letters go for new ones, and those of an age", async () => {
      const { streams } = on.store;
      const many = [1n, 2n, 3n, 4n, 5n].map((offset) => letter(offset));
      await streams.addLetters([letter(1n, { streamId: "str_2" })], ROOM);
      expect(await streams.addLetters(many, { most: 3, mostBytes: 100 })).toBe(2);
      expect(await streams.addLetters([letter(6n)], { most: 9, mostBytes: 7 })).toBe(2);
      expect((await streams.letters({ streamId: "str_1", limit: 9 })).map(({ offset }) => offset)).toEqual([6n, 5n]);
      expect(await streams.countLetters(["str_2"])).toEqual(new Map([["str_2", 1]]));
      expect(await streams.purgeLetters(1_000)).toBe(0);
      expect(await streams.purgeLetters(-1)).toBe(3);
    });

    test("are forgotten with their environment", async () => {
      const { streams } = on.store;
      const [gone] = await streams.ensure("env_1", ["a"], newId);
      const [kept] = await streams.ensure("env_2", ["a"], newId);
      for (const id of [gone?.id ?? "", kept?.id ?? ""]) {
        await streams.addLetters([letter(1n, { streamId: id })], ROOM);
        await streams.lease(id, [{ streamId: id, partition: 0 }], 1, 60_000);
      }
      expect(await streams.forget("env_1")).toEqual([gone?.id ?? ""]);
      expect([...(await streams.countLetters([gone?.id ?? "", kept?.id ?? ""])).keys()]).toEqual([kept?.id ?? ""]);
      expect((await streams.leases([gone?.id ?? "", kept?.id ?? ""])).map(({ streamId }) => streamId)).toEqual([kept?.id ?? ""]);
    });
  });
}
