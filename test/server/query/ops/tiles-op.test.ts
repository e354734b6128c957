/**
 * Windows that are kept in tiles are what their rows are, to the microsecond: with tiles of a part
 * of the time, of all and of none, buckets that begin anywhere, and rows that lie on the bounds of
 * windows and of buckets and beside them. Python, which is given the rows and goes through them one
 * by one, says what is right.
 */

import { Database } from "bun:sqlite";
import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { canonicalDecimal } from "../../../../src/domain/expressions/decimal.ts";
import { bucketOf, bucketStart } from "../../../../src/domain/expressions/tile-series.ts";
import { seriesOf } from "../../../../src/domain/kept-series.ts";
import { formatMicros } from "../../../../src/domain/timestamp.ts";
import { type FeatureValue, untagged } from "../../../../src/domain/value.ts";
import { BucketFold } from "../../../../src/server/aggregates/folding.ts";
import { bulkColumn } from "../../../../src/server/query/request/request.ts";
import { createSqlSources } from "../../../../src/server/sql/create-sources.ts";
import { openSqliteTileStore } from "../../../../src/server/stores/tiles/sqlite.ts";
import { filledTile } from "../../../../src/server/tiles/coverage.ts";
import { mergedTiles } from "../../../../src/server/tiles/merged-tiles.ts";
import { createSeriesReader } from "../../../../src/server/tiles/series-rows.ts";
import { TempFolder } from "../../../harness/running-server.ts";
import { patience, runs, seed } from "../../../harness/seed.ts";
import { agg, featureClass, fn, graph, queryNow, sql, windowStart } from "../graphs.ts";
import { pick, randomOf } from "../random-values.ts";
import { ask, World } from "../worlds.ts";
import { type Asked, make, NAMES, oracle, type RandomWorld, randomWorld, shown, USERS, WINDOWS } from "./window-worlds.ts";

setDefaultTimeout(patience(300_000));

const store = mergedTiles(openSqliteTileStore(":memory:"));
afterAll(() => store.close());

/** Lengths of buckets that windows are multiples of, in seconds. */
const BUCKETS: Readonly<Record<number, readonly number[]>> = {
  1: [1],
  3600: [1, 60, 900, 3_600],
  86400: [60, 3_600, 21_600, 86_400],
  604800: [3_600, 86_400, 604_800],
  2592000: [600, 3_600, 86_400, 864_000],
};

/** Fills tiles of a world's series for random parts of the time; returns the deployment that has them. */
async function fill(random: () => number, world: ReturnType<typeof make>, { rows, now }: RandomWorld) {
  const { graph } = world.deployment;
  const uses = seriesOf(graph);
  const seriesIds = new Map(uses.map(({ series }, id) => [series.key, id]));
  await store.dropScope("main");
  for (const [id, { series, retentionMicros }] of uses.entries()) {
    const chance = random();
    if (chance < 0.15) continue;
    const at = (share: number): bigint => now - BigInt(Math.floor(share * Number(retentionMicros)));
    const from = chance < 0.4 ? undefined : bucketStart(series, bucketOf(series, at(random() * 1.2)));
    const until = bucketStart(series, bucketOf(series, chance < 0.7 ? now : at(random())));
    if (from !== undefined && from >= until) continue;
    const folded = new BucketFold(id, series, createSeriesReader(graph, series), from, until);
    const columns = new Map<string, readonly FeatureValue[]>([
      ["user_id", rows.map(({ user }) => user)],
      ["at", rows.map(({ at: time }) => (time === null ? null : formatMicros(time)))],
      ...NAMES.map((name) => [name, rows.map(({ values }) => values[name])] as const),
    ]);
    folded.add(columns, rows.length);
    await store.commit("main", { deltas: [...folded.tiles(), filledTile(id, { from, until })], steps: [] }, (_, stored) => stored);
  }
  return { ...world.deployment, tiles: { store, scope: "main", seriesIds } };
}

/** A value as text; of equal decimals, such as 1.1 and 1.10, any may be the least or greatest. */
function alike(value: FeatureValue, asked: Asked): unknown {
  if (asked.group.length > 0 && Array.isArray(value))
    return value.map((struct) => {
      const { value: own = null, ...columns } = struct as { [field: string]: FeatureValue };
      return [shown(columns, { ...asked, group: [] }), alike(own, { ...asked, group: [] })];
    });
  const isChosen = asked.column === "d" && (asked.name === "min" || asked.name === "max");
  return isChosen && typeof value === "string" ? canonicalDecimal(value) : shown(value, asked);
}

test("the rows of the edges are found by an index of key and time", async () => {
  using folder = new TempFolder();
  const path = join(folder.path, "txns.db");
  using db = new Database(path);
  db.run("create table txn (id integer primary key, user_id integer, at text)");
  db.run("create index txn_by on txn (user_id, at)");
  db.run("insert into txn values (1, 1, '2024-04-01T12:29:59Z'), (2, 1, '2024-04-20 10:00:00'), (3, 1, '2024-05-01T14:10+02:00')");
  const made = graph(
    [
      featureClass("txn", { id: "int", user_id: "int", at: { type: "datetime", time: true } }),
      featureClass("user", {
        id: "int",
        txns: { many: "txn", on: [["id", "user_id"]] },
        n__2592000__: {
          ...{ type: "int", window: "30d", kept: { bucket: "1h" } },
          expression: agg("count", "txns", undefined, fn("gt", "at", windowStart), fn("le", "at", queryNow)),
        },
      }),
    ],
    [sql("txns", "select * from txn", { "txn.id": "id", "txn.user_id": "user_id", "txn.at": "at" })],
  );
  const sources = createSqlSources({ declared: [], env: { DB_SQLITE_PATH: path } });
  const source = sources.get("db");
  const asked: string[] = [];
  const query = source.query.bind(source);
  source.query = (statement, parameters, signal) => {
    asked.push(statement);
    return query(statement, parameters, signal);
  };
  const world = new World(made, { sources: [source] });
  const [use] = seriesOf(made);
  await store.dropScope("main");
  await store.commit(
    "main",
    { deltas: [filledTile(1, { from: undefined, until: BigInt(world.now) * 1000n })], steps: [] },
    (_, one) => one,
  );
  const seriesIds = new Map([[use?.series.key as string, 1]]);
  world.now += 30 * 60_000;
  const { fields } = await world.engine.answer(
    { ...world.deployment, tiles: { store, scope: "main", seriesIds } },
    ask({ "user.id": 1 }, ["user.n__2592000__"]),
    world.now,
  );
  expect(fields.map(({ value }) => value)).toEqual([1]);
  expect(asked).toHaveLength(1);
  const plan = db.query<{ detail: string }, []>(`explain query plan ${asked[0]}`).all();
  const searches = plan.map(({ detail }) => detail).filter((detail) => !/^(MULTI-INDEX OR|INDEX \d+)$/.test(detail));
  expect(searches.length).toBeGreaterThan(1);
  for (const detail of searches) expect(detail).toMatch(/^SEARCH txn USING (COVERING )?INDEX txn_by \(user_id=\? AND at[<>=]/);
  await sources.close();
});

test("tiles and rows together give what the rows give", async () => {
  const random = randomOf(seed + 1);
  const total = runs(11, 3_000);
  const perChild = 200;
  let [compared, tiled] = [0, 0];
  for (let done = 0; done < total; done += perChild) {
    const worlds = Array.from({ length: Math.min(perChild, total - done) }, (_, nth) => randomWorld(random, done + nth));
    const expected = await oracle(worlds);
    for (const [nth, given] of worlds.entries()) {
      const buffer = pick(random, [undefined, "1s", "10m", "2d"]);
      const start = random() < 0.5 ? undefined : BigInt(Math.floor(random() * 1e15));
      await using world = make(given, (_, seconds) => ({
        kept: { bucket: `${pick(random, BUCKETS[seconds] ?? [1])}s`, ...(buffer && { buffer }), ...(start && { start }) },
      }));
      const deployment = await fill(random, world, given);
      const outputs = given.asked.map((_, at) => `user.w${at}`);
      const request = ask({}, outputs, { now: given.now });
      const bulk = await world.engine.answerBulk(deployment, { request, columns: [bulkColumn("user.id", USERS)] }, world.now);
      const failed = new Set(bulk.failures.map(({ feature, row }) => `${feature}#${row}`));
      const columns = new Map(bulk.columns.map(({ path, values }) => [path, values]));
      for (const [at, asked] of given.asked.entries())
        for (const [window, seconds] of WINDOWS.entries()) {
          const path = `user.w${at}__${seconds}__`;
          const wanted = expected[nth]?.[at * WINDOWS.length + window] as unknown[];
          for (const [row, one] of wanted.entries()) {
            const right = one === "error" ? "error" : alike(untagged(one) as FeatureValue, asked);
            const got = failed.has(`${path}#${row}`) ? "error" : alike(columns.get(path)?.[row] as FeatureValue, asked);
            const place = { world: done + nth, path, ...asked, buffer, isTimed: given.isTimed, now: formatMicros(given.now), seed };
            if (!Bun.deepEquals(got, right, true))
              expect({ ...place, user: USERS[row], value: got }).toEqual({ ...place, user: USERS[row], value: right });
            compared++;
          }
        }
      tiled += (await store.measure()).size;
    }
  }
  console.log(`kept windows: ${compared} values, ${tiled} series with tiles`);
  expect(compared).toBe(total * 14 * WINDOWS.length * USERS.length);
  expect(tiled).toBeGreaterThan(total * 5);
});
