/** Backfills beside streams of the same rows: each row counts once, whichever comes first. */

import { expect, test } from "bun:test";
import { bucketOf } from "../../../src/domain/expressions/tile-series.ts";
import { seriesOf } from "../../../src/domain/kept-series.ts";
import { formatMicros } from "../../../src/domain/timestamp.ts";
import type { FeatureValue } from "../../../src/domain/value.ts";
import { backfill, spanOf } from "../../../src/server/aggregates/backfill.ts";
import { createFolding } from "../../../src/server/aggregates/folding.ts";
import { openSqliteTileStore } from "../../../src/server/stores/tiles/sqlite.ts";
import { createSeriesReader } from "../../../src/server/tiles/series-rows.ts";
import { TileState } from "../../../src/server/tiles/tile-state.ts";
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
  await backfill(
    store,
    {
      ...{ seriesId: 1, series, reader: createSeriesReader(made, series), scope: "main", isStored: true, erased: () => undefined },
      span: { from: NOW - 60n * MINUTE, until: NOW },
      rows: {
        resolver: "txns",
        isSelective: async () => false,
        async read() {
          if (when === "while") await fold();
          return { rows: 1, columns: own, failures: new Map() };
        },
        count: async () => 1,
      },
    },
    new AbortController().signal,
    () => {},
  );
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
