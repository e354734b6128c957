/** What every tile store does, whatever keeps its tiles. */

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { MergeStates, StreamStep, Tile, TileStore } from "../../../../src/server/stores/tiles/store.ts";
import { TempFolder } from "../../../harness/running-server.ts";
import { seeded } from "../../../harness/seed.ts";
import { TILE_DRIVERS } from "./drivers.ts";

/** States are lists of bytes here, and merging appends. */
const append: MergeStates = (_, stored, added) => Uint8Array.of(...stored, ...added);
const tile = (seriesId: number, group: string, bucket: number, ...state: number[]): Tile => ({
  ...{ seriesId, group, bucket },
  state: Uint8Array.of(...state),
});

for (const driver of TILE_DRIVERS)
  describe(`tile store: ${driver.name}`, () => {
    let folder: TempFolder;
    let store: TileStore;
    const reopen = async (): Promise<void> => {
      await store.close();
      store = await driver.open(folder.path);
    };
    beforeEach(async () => {
      folder = new TempFolder();
      store = await driver.open(folder.path);
    });
    afterEach(async () => {
      await store.close();
      folder[Symbol.dispose]();
    });

    const put = (deltas: readonly Tile[], scope = "main") => store.commit(scope, { deltas, steps: [] }, append);
    const step = (offset: bigint, expected: bigint | undefined, watermark?: number): StreamStep => ({
      ...{ streamId: "s", partition: 0, offset, expected, watermark },
    });
    const read = async (seriesId: number, group: string, from = -1_000, until = 1_000, scope = "main") =>
      ((await store.read(scope, [{ seriesId, group, from, until }]))[0] ?? []).map(({ bucket, state }) => [bucket, ...state]);

    test("a group's tiles are read by bucket, from the first to before the last, beyond 1970 too", async () => {
      await put([tile(1, "a", 3, 30), tile(1, "a", -2, 20), tile(1, "a", 4, 40), tile(1, "b", 3, 31), tile(2, "a", 3, 32)]);
      expect(await read(1, "a")).toEqual([
        [-2, 20],
        [3, 30],
        [4, 40],
      ]);
      expect(await read(1, "a", 3, 4)).toEqual([[3, 30]]);
      expect(await read(1, "A")).toEqual([]);
      expect(await read(1, "a", -1_000, 1_000, "branch")).toEqual([]);
      const both = await store.read("main", [
        { seriesId: 2, group: "a", from: 0, until: 9 },
        { seriesId: 1, group: "b", from: 0, until: 9 },
      ]);
      expect(both.map((tiles) => tiles.map(({ state }) => [...state]))).toEqual([[[32]], [[31]]]);
    });

    test("what was committed outlives the store, and states are merged in the order of commits", async () => {
      await put([tile(1, "a", 0, 1), tile(1, "a", 0, 2)]);
      await reopen();
      await put([tile(1, "a", 0, 3)]);
      expect(await read(1, "a")).toEqual([[0, 1, 2, 3]]);
    });

    test("tiles and positions are written together, or not at all", async () => {
      const commit = (state: number, ...steps: StreamStep[]) => store.commit("main", { deltas: [tile(1, "a", 0, state)], steps }, append);
      expect(await commit(1, step(10n, undefined, 500))).toBe(true);
      expect(await commit(2, step(10n, undefined))).toBe(false);
      expect(await commit(3, step(20n, 9n))).toBe(false);
      expect(await commit(4, step(2n ** 60n, 10n), { ...step(5n, 4n), partition: 1 })).toBe(false);
      expect(await commit(5, step(2n ** 60n, 10n))).toBe(true);
      await reopen();
      expect(await read(1, "a")).toEqual([[0, 1, 5]]);
      expect(await store.positions("main", "s")).toEqual([{ streamId: "s", partition: 0, offset: 2n ** 60n, watermark: undefined }]);
      expect(await store.positions("branch", "s")).toEqual([]);
    });

    test("of two who read from one position, one moves on", async () => {
      const deltas = [tile(1, "a", 0, 1)];
      const outcomes = await Promise.all([
        store.commit("main", { deltas, steps: [step(1n, undefined)] }, append),
        store.commit("main", { deltas, steps: [step(1n, undefined)] }, append),
      ]);
      expect(outcomes.sort()).toEqual([false, true]);
      expect(await read(1, "a")).toEqual([[0, 1]]);
    });

    test("a merge that throws leaves everything as it was", async () => {
      await put([tile(1, "a", 0, 1)]);
      const failing = store.commit("main", { deltas: [tile(1, "b", 0, 9), tile(1, "a", 0, 2)], steps: [step(1n, undefined)] }, () => {
        throw new Error("damaged");
      });
      expect(failing).rejects.toThrow("damaged");
      await failing.catch(() => undefined);
      expect([await read(1, "a"), await read(1, "b"), await store.positions("main", "s")]).toEqual([[[0, 1]], [], []]);
    });

    test("partitions are moved, and forgotten", async () => {
      await store.commit("main", { deltas: [], steps: [step(10n, undefined, 7), { ...step(3n, undefined), partition: 2 }] }, append);
      await store.seek("main", [
        { streamId: "s", partition: 0, offset: 4n },
        { streamId: "s", partition: 2, offset: undefined },
      ]);
      expect(await store.positions("main", "s")).toEqual([{ streamId: "s", partition: 0, offset: 4n, watermark: undefined }]);
      await store.forgetStreams("main", ["s"]);
      expect(await store.positions("main", "s")).toEqual([]);
    });

    test("buckets of all groups are replaced by what is given, and again the same", async () => {
      await put([tile(1, "a", 0, 1), tile(1, "a", 1, 2), tile(1, "b", 1, 3), tile(1, "c", 2, 4), tile(2, "b", 1, 5)]);
      await put([tile(1, "b", 1, 6)], "branch");
      const replacement = { seriesId: 1, from: 1, until: 2, tiles: [tile(1, "a", 1, 20), tile(1, "d", 1, 21)] };
      for (let time = 0; time < 2; time++) {
        await store.replace("main", [replacement]);
        expect(await read(1, "a")).toEqual([
          [0, 1],
          [1, 20],
        ]);
        expect([await read(1, "b"), await read(1, "c"), await read(1, "d"), await read(2, "b")]).toEqual([
          [],
          [[2, 4]],
          [[1, 21]],
          [[1, 5]],
        ]);
        expect(await read(1, "b", 0, 9, "branch")).toEqual([[1, 6]]);
      }
    });

    test("groups, old buckets, series and scopes are removed, and counted", async () => {
      const all = [1, 2].flatMap((series) => ["a", "b"].flatMap((group) => [0, 1, 2].map((bucket) => tile(series, group, bucket, 1))));
      await put(all);
      await put(all, "branch");
      expect(
        await store.deleteGroups("main", [
          { seriesId: 1, group: "a" },
          { seriesId: 9, group: "a" },
        ]),
      ).toBe(3);
      expect([await read(1, "a"), (await read(1, "a", 0, 9, "branch")).length]).toEqual([[], 3]);
      expect(await store.prune(1, 1)).toBe(3);
      expect(await read(1, "b")).toEqual([
        [1, 1],
        [2, 1],
      ]);
      expect(await read(1, "a", 0, 9, "branch")).toEqual([
        [1, 1],
        [2, 1],
      ]);
      await store.dropScope("branch");
      expect(await read(2, "a", 0, 9, "branch")).toEqual([]);
      expect([...(await store.measure())].map(([id, { tiles, groups }]) => [id, tiles, groups])).toEqual([
        [1, 2, 1],
        [2, 6, 2],
      ]);
      expect(await store.dropSeries([2, 3])).toBe(6);
      expect([...(await store.measure()).keys()]).toEqual([1]);
    });

    test("a probe leaves nothing, and an ended signal ends what walks", async () => {
      await put([tile(1, "a", 0, 1)]);
      await store.probe();
      expect([...(await store.measure()).keys()]).toEqual([1]);
      expect(await store.prune(1, 9, AbortSignal.abort())).toBe(0);
      expect(await store.dropSeries([1], AbortSignal.abort())).toBe(0);
    });

    test("what commits and replacements leave is what a map of them holds", async () => {
      const anyTile = fc
        .tuple(fc.constantFrom(1, 2), fc.constantFrom("", "a", "ä\u0000b"), fc.integer({ min: -3, max: 3 }), fc.nat(255))
        .map(([series, group, bucket, state]) => tile(series, group, bucket, state));
      const write = fc.oneof(
        fc.record({ deltas: fc.array(anyTile, { maxLength: 6 }) }),
        fc.record({ seriesId: fc.constantFrom(1, 2), from: fc.integer({ min: -3, max: 3 }), tiles: fc.array(anyTile, { maxLength: 4 }) }),
      );
      await fc.assert(
        fc.asyncProperty(fc.array(write, { maxLength: 8 }), async (writes) => {
          await store.dropScope("main");
          const kept = new Map<string, number[]>();
          const key = ({ seriesId, group, bucket }: Tile): string => JSON.stringify([seriesId, group, bucket]);
          for (const one of writes)
            if ("deltas" in one) {
              await put(one.deltas);
              for (const added of one.deltas) kept.set(key(added), [...(kept.get(key(added)) ?? []), ...added.state]);
            } else {
              const { seriesId, from } = one;
              const tiles = one.tiles.filter((given) => given.seriesId === seriesId && given.bucket >= from && given.bucket < from + 2);
              await store.replace("main", [{ seriesId, from, until: from + 2, tiles }]);
              for (const known of [...kept.keys()]) {
                const [series, , bucket] = JSON.parse(known) as [number, string, number];
                if (series === seriesId && bucket >= from && bucket < from + 2) kept.delete(known);
              }
              for (const given of tiles) kept.set(key(given), [...given.state]);
            }
          for (const seriesId of [1, 2])
            for (const group of ["", "a", "ä\u0000b"]) {
              const expected = [-3, -2, -1, 0, 1, 2, 3, 4].flatMap((bucket) => {
                const state = kept.get(JSON.stringify([seriesId, group, bucket]));
                return state ? [[bucket, ...state]] : [];
              });
              expect(await read(seriesId, group)).toEqual(expected);
            }
        }),
        seeded(60, 2_000),
      );
    });
  });
