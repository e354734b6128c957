/** Backfills beside streams of the same rows: each row counts once, whichever comes first. */

import { expect, test } from "bun:test";
import { bucketOf } from "../../../src/domain/expressions/tile-series.ts";
import { seriesOf } from "../../../src/domain/kept-series.ts";
import { formatMicros } from "../../../src/domain/timestamp.ts";
import type { FeatureValue } from "../../../src/domain/value.ts";
import { backfill, endFilling, type SeriesBackfill, spanOf } from "../../../src/server/aggregates/backfill.ts";
import { createFolding } from "../../../src/server/aggregates/folding.ts";
import { createTurns } from "../../../src/server/aggregates/turns.ts";
import { openSqliteTileStore } from "../../../src/server/stores/tiles/sqlite.ts";
import type { TileStore } from "../../../src/server/stores/tiles/store.ts";
import { filledOf, filledRead, fillingRead } from "../../../src/server/tiles/coverage.ts";
import { createSeriesReader } from "../../../src/server/tiles/series-rows.ts";
import { TileState } from "../../../src/server/tiles/tile-state.ts";
import { turn } from "../../harness/eventually.ts";
import { agg, featureClass, fn, graph, queryNow, windowStart } from "../query/graphs.ts";

const made = graph(
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
);
const [use] = seriesOf(made);
if (!use) throw new Error("the window is not kept");
const { series } = use;
const MINUTE = 60_000_000n;
const NOW = BigInt(Date.parse("2024-05-01T12:00:00Z")) * 1000n;
const LATE = NOW - 5n * MINUTE + 1n;

/** A backfill of an hour, whose rows are given. */
function workOf(columns: ReadonlyMap<string, readonly FeatureValue[]>, meanwhile?: () => Promise<unknown>): SeriesBackfill {
  return {
    ...{ seriesId: 1, series, reader: createSeriesReader(made, series), scope: "main", job: "job_1", isStored: true },
    ...{ erased: () => NOTHING_ERASED, inTurn: createTurns() },
    span: { from: NOW - 60n * MINUTE, until: NOW },
    rows: {
      ...{ resolver: "txns", tags: [], isSelective: async () => false, count: async () => 1 },
      async *read() {
        await meanwhile?.();
        yield { rows: 1, columns, failures: new Map() };
      },
    },
  };
}

const NOTHING_ERASED = { test: undefined };
const ONE_ROW = new Map<string, readonly FeatureValue[]>([
  ["id", [7]],
  ["user_id", [1]],
  ["at", [formatMicros(LATE)]],
]);

async function filledIn(store: TileStore): Promise<boolean> {
  const [found = []] = await store.read("main", [filledRead(1)]);
  return filledOf(found) !== undefined;
}

test("a backfill that failed leaves a mark until its job is over, and then late rows count", async () => {
  const store = openSqliteTileStore(":memory:");
  const folding = createFolding(made, new Map([[series.key, 1]]));
  const broken = workOf(ONE_ROW, () => Promise.reject(new Error("the source is gone")));
  const run = backfill(store, broken, new AbortController().signal, () => {});
  expect(await run.catch((error: Error) => error.message)).toBe("the source is gone");
  const fold = async () => {
    const columns = new Map([...ONE_ROW].map(([name, values]) => [`txn.${name}`, values]));
    const { tiles: deltas } = folding.deltas("txn", { columns, rows: 1 }, NOW);
    await store.commit("main", { deltas, steps: [], guard: folding.guard }, folding.merge);
    const [tiles = []] = await store.read("main", [{ seriesId: 1, group: "i:1", from: 0, until: bucketOf(series, NOW) }]);
    return tiles.length;
  };
  expect(await fold()).toBe(0);
  await endFilling(store, broken, (job) => job === "job_2");
  expect(await fold()).toBe(0);
  await endFilling(store, broken, (job) => job === "job_1");
  expect((await store.read("main", [fillingRead(1)]))[0]).toEqual([]);
  expect(await fold()).toBe(1);
  await store.close();
});

test("the mark of a backfill outlives another's end", async () => {
  const store = openSqliteTileStore(":memory:");
  const other = { ...workOf(ONE_ROW), job: "job_2" };
  await backfill(
    store,
    workOf(ONE_ROW, () => backfill(store, other, new AbortController().signal, () => {}).then(seen)),
    new AbortController().signal,
    () => {},
  );
  async function seen() {
    expect((await store.read("main", [fillingRead(1)]))[0]).toHaveLength(1);
  }
  expect((await store.read("main", [fillingRead(1)]))[0]).toEqual([]);
  await store.close();
});

test("a time whose tiles are removed while a backfill tells of it is not told as filled", async () => {
  const inner = openSqliteTileStore(":memory:");
  const inTurn = createTurns();
  let erased = NOTHING_ERASED;
  let removal: Promise<unknown> | undefined;
  // The last step of a backfill reads what was filled before: the deletion comes to be known there.
  const store: TileStore = {
    ...inner,
    replace: (scope, replacements) => inner.replace(scope, replacements),
    commit: (scope, commit, merge) => inner.commit(scope, commit, merge),
    async read(scope, reads) {
      if (!removal && reads[0]?.from === filledRead(1).from) {
        erased = { test: undefined };
        removal = inTurn(() => inner.dropSeries([1]));
        await turn();
      }
      return inner.read(scope, reads);
    },
  };
  await backfill(store, { ...workOf(ONE_ROW), inTurn, erased: () => erased }, new AbortController().signal, () => {});
  await removal;
  const [tiles = []] = await inner.read("main", [{ seriesId: 1, group: "i:1", from: 0, until: bucketOf(series, NOW) }]);
  expect(await filledIn(inner)).toBe(tiles.length > 0);
  await inner.close();
});

test.each(["before", "while", "after"])("a late message whose row is backfilled, and which is folded %s", async (when) => {
  const store = openSqliteTileStore(":memory:");
  const folding = createFolding(made, new Map([[series.key, 1]]));
  const columns = new Map<string, readonly FeatureValue[]>([
    ["txn.id", [7]],
    ["txn.user_id", [1]],
    ["txn.at", [formatMicros(LATE)]],
  ]);
  const { tiles: deltas } = folding.deltas("txn", { columns, rows: 1 }, NOW);
  expect(deltas).toHaveLength(1);
  const fold = () => store.commit("main", { deltas, steps: [], guard: folding.guard }, folding.merge);
  const count = async () => {
    const bucket = bucketOf(series, LATE);
    const [found = []] = await store.read("main", [{ seriesId: 1, group: "i:1", from: bucket, until: bucket + 1 }]);
    const state = new TileState(series);
    for (const tile of found) state.merge(tile.state);
    return state.result();
  };
  if (when === "before") await fold();
  const own = new Map([...columns].map(([fqn, values]) => [fqn.slice("txn.".length), values]));
  await backfill(store, workOf(own, when === "while" ? fold : undefined), new AbortController().signal, () => {});
  expect(await count()).toBe(1);
  if (when === "after") await fold();
  expect(await count()).toBe(1);
  await store.close();
});

test.each([
  ["before all that windows reach", NOW - 7n * 3_600n * 1_000_000n],
  ["in the first bucket", NOW - use.retentionMicros + 1n],
])("an upper bound %s leaves no bucket to fill", (_, upper) => {
  const { from, until } = spanOf(use, { lower: undefined, upper, now: NOW });
  expect(until).toBe(from as bigint);
});
