/** Merged tiles that are remembered are those that are stored, whatever is written in between. */

import { expect, spyOn, test } from "bun:test";
import { seriesOf } from "../../../src/domain/kept-series.ts";
import { openSqliteTileStore } from "../../../src/server/stores/tiles/sqlite.ts";
import type { FoundTiles, TileRead } from "../../../src/server/stores/tiles/store.ts";
import { filledTile } from "../../../src/server/tiles/coverage.ts";
import { mergedTiles } from "../../../src/server/tiles/merged-tiles.ts";
import { TileState } from "../../../src/server/tiles/tile-state.ts";
import { runs, seed } from "../../harness/seed.ts";
import { agg, featureClass, fn, graph, queryNow, windowStart } from "../query/graphs.ts";
import { pick, randomOf } from "../query/random-values.ts";

const [use] = seriesOf(
  graph(
    [
      featureClass("txn", { id: "int", user_id: "int", at: { type: "datetime", time: true } }),
      featureClass("user", {
        id: "int",
        txns: { many: "txn", on: [["id", "user_id"]] },
        n__3600__: {
          ...{ type: "int", window: "1h", kept: { bucket: "1m" } },
          expression: agg("count", "txns", undefined, fn("gt", "at", windowStart), fn("le", "at", queryNow)),
        },
      }),
    ],
    [],
  ),
);
if (!use) throw new Error("the window is not kept");
const { series } = use;

/** The state of a number of rows. */
function counted(rows: number): Uint8Array {
  const state = new TileState(series);
  for (let row = 0; row < rows; row++) state.add(true, null);
  return state.encode();
}

/** The number of rows of a state. */
function count(state: Uint8Array | undefined): unknown {
  const all = new TileState(series);
  if (state) all.merge(state);
  return all.result();
}

test(`tiles are merged as they are stored, whatever is written (seed ${seed})`, async () => {
  const random = randomOf(seed);
  const store = mergedTiles(openSqliteTileStore(":memory:"));
  // The oracle: rows by scope, series, group and bucket, summed by a loop.
  const rows = new Map<string, number>();
  const filled = new Map<string, bigint>();
  const scopes = ["main", "other"];
  const ids = [1, 2];
  const groups = ["i:1", "i:2", "s:x"];
  const forget = (test: (scope: string, seriesId: number, group: string, bucket: number) => boolean): void => {
    for (const key of [...rows.keys()]) {
      const [scope = "", seriesId, group = "", bucket] = key.split(" ");
      if (test(scope, Number(seriesId), group, Number(bucket))) rows.delete(key);
    }
  };
  for (let step = 0; step < runs(1_500, 100_000); step++) {
    const [scope, seriesId, group] = [pick(random, scopes), pick(random, ids), pick(random, groups)];
    const [from, until] = [Math.floor(random() * 10), 1 + Math.floor(random() * 12)];
    const added = Math.floor(random() * 4);
    const choice = random();
    if (choice < 0.35) {
      const key = `${scope} ${seriesId} ${group} ${from}`;
      rows.set(key, (rows.get(key) ?? 0) + added);
      const deltas = [{ seriesId, group, bucket: from, state: counted(added) }];
      await store.commit(scope, { deltas, steps: [] }, (_, stored, more) => counted((count(stored) as number) + (count(more) as number)));
    } else if (choice < 0.42) {
      forget((s, i, _, bucket) => s === scope && i === seriesId && bucket >= from && bucket < until);
      const tiles = from < until ? [{ seriesId, group, bucket: from, state: counted(added) }] : [];
      if (from < until) rows.set(`${scope} ${seriesId} ${group} ${from}`, added);
      await store.replace(scope, [{ seriesId, from, until, tiles }]);
    } else if (choice < 0.45) {
      forget((s, i, g) => s === scope && i === seriesId && g === group);
      await store.deleteGroups(scope, [{ seriesId, group }]);
    } else if (choice < 0.47) {
      forget((_, i, __, bucket) => i === seriesId && bucket < from);
      await store.prune(seriesId, from);
    } else if (choice < 0.475) {
      forget((_, i) => i === seriesId);
      for (const one of scopes) filled.delete(`${one} ${seriesId}`);
      await store.dropSeries([seriesId]);
    } else if (choice < 0.48) {
      forget((s) => s === scope);
      for (const one of ids) filled.delete(`${scope} ${one}`);
      await store.dropScope(scope);
    } else if (choice < 0.52) {
      filled.set(`${scope} ${seriesId}`, BigInt(step));
      const mark = filledTile(seriesId, { from: undefined, until: BigInt(step) });
      await store.replace(scope, [{ seriesId, from: mark.bucket, until: mark.bucket + 1, tiles: [mark] }]);
    }
    const reads: TileRead[] = groups.map((one) => ({ seriesId, group: one, from: Math.floor(from / 5) * 5, until: 10 }));
    const found = await store.merged(scope, reads, series);
    const wanted = reads.map((read) => {
      let sum = 0;
      for (let bucket = read.from; bucket < read.until; bucket++) sum += rows.get(`${scope} ${seriesId} ${read.group} ${bucket}`) ?? 0;
      return sum;
    });
    expect({ step, counts: found.map(({ state }) => count(state)) }).toEqual({ step, counts: wanted });
    expect((await store.filled(scope, seriesId))?.until).toEqual(filled.get(`${scope} ${seriesId}`));
  }
  await store.close();
});

test(`ranges of many tiles are divided, and each part is as it is stored (seed ${seed})`, async () => {
  const random = randomOf(seed);
  const stored = openSqliteTileStore(":memory:");
  const reading = spyOn(stored, "read");
  const tilesRead = () => reading.mock.results.flatMap(({ value }) => (value as FoundTiles).flat()).length;
  const store = mergedTiles(stored);
  const [SIZE, ALL] = [2_000, Number.MIN_SAFE_INTEGER];
  const of = { seriesId: 1, group: "i:1" };
  const rows: number[] = Array.from({ length: SIZE }, () => 1);
  const fill = () =>
    store.replace("main", [
      { ...of, from: 0, until: SIZE, tiles: rows.map((added, bucket) => ({ ...of, bucket, state: counted(added) })) },
    ]);
  const add = async (bucket: number, added: number) => {
    rows[bucket] = (rows[bucket] ?? 0) + added;
    await store.commit("main", { deltas: [{ ...of, bucket, state: counted(added) }], steps: [] }, (_, before, more) =>
      counted((count(before) as number) + (count(more) as number)),
    );
  };
  const expectSum = async (from: number, until: number) => {
    const [range] = await store.merged("main", [{ ...of, from, until }], series);
    const sum = rows.slice(Math.max(from, 0), until).reduce((all, one) => all + one, 0);
    expect({ from, until, count: count(range?.state) }).toEqual({ from, until, count: sum });
  };
  await fill();
  await expectSum(10, 1_990);
  reading.mockClear();
  await add(700, 2);
  await expectSum(10, 1_990);
  // The block of bucket 700, and what is beside whole blocks: from 10 to 256, and from 1,792 to 1,990.
  expect(tilesRead()).toBe(256 + 246 + 198);

  for (let step = 0; step < runs(300, 20_000); step++) {
    const [one, other] = [Math.floor(random() * SIZE), Math.floor(random() * SIZE)];
    const [from, until] = [Math.min(one, other), Math.max(one, other) + 1];
    const choice = random();
    if (choice < 0.6) await add(one, 1 + Math.floor(random() * 3));
    else if (choice < 0.7) {
      rows.fill(0, from, until);
      rows[from] = 3;
      await store.replace("main", [{ ...of, from, until, tiles: [{ ...of, bucket: from, state: counted(3) }] }]);
    } else if (choice < 0.72) {
      rows.fill(0, 0, from);
      await store.prune(1, from);
    } else if (choice < 0.74) {
      rows.fill(0);
      await store.deleteGroups("main", [of]);
    } else if (choice < 0.78) {
      rows.fill(1);
      await fill();
    }
    await expectSum(from, until);
    await expectSum(random() < 0.1 ? ALL : 0, SIZE);
  }
  await store.close();
});

test("of a store that others write to nothing is remembered", async () => {
  const other = openSqliteTileStore(":memory:");
  const store = mergedTiles(other, true);
  const read: TileRead = { seriesId: 1, group: "i:1", from: 0, until: 10 };
  const put = (rows: number) => other.replace("main", [{ ...read, tiles: [{ ...read, bucket: 1, state: counted(rows) }] }]);
  for (const rows of [1, 2]) {
    await put(rows);
    const [range] = await store.merged("main", [read], series);
    expect(count(range?.state)).toBe(rows);
  }
  await store.close();
});
