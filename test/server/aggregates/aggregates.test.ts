/** Kept aggregates on a real server: they are what their rows are, before a backfill and after. */

import { Database } from "bun:sqlite";
import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import type { Client } from "@connectrpc/connect";
import { AggregateService } from "../../../gen/svc/v1/aggregate_pb.ts";
import { FeatureDataService } from "../../../gen/svc/v1/feature_data_pb.ts";
import { JobService, JobState } from "../../../gen/svc/v1/job_pb.ts";
import { MetricService } from "../../../gen/svc/v1/metric_pb.ts";
import { QueryService } from "../../../gen/svc/v1/query_pb.ts";
import { SqlFormat, SqlService } from "../../../gen/svc/v1/sql_pb.ts";
import { microsToTimestamp, timestampToMicros } from "../../../src/domain/proto-time.ts";
import { fromProtoValue } from "../../../src/domain/proto-value.ts";
import { formatMicros } from "../../../src/domain/timestamp.ts";
import { eventually } from "../../harness/eventually.ts";
import { TempFolder, TestServer } from "../../harness/running-server.ts";
import { seed } from "../../harness/seed.ts";
import { deploy, expectLive } from "../deployments/deploying.ts";
import { randomOf } from "../query/random-values.ts";
import { type Payment, paymentProject, paymentsIn } from "./worlds.ts";

const HOUR = 3_600_000_000n;
const WINDOWS = { "user.spend__86400__": 24n * HOUR, "user.spend__2592000__": 720n * HOUR, "user.large__3600__": HOUR } as const;

let folder: TempFolder;
let server: TestServer;
let db: Database;
let aggregates: Client<typeof AggregateService>;
const rows: Payment[] = [];

/** What a plain loop over the rows gives. */
function expected(user: number, now: bigint): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const [name, window] of Object.entries(WINDOWS)) {
    sums[name] = 0;
    for (const row of rows)
      if (row.user === user && row.at > now - window && row.at <= now) {
        if (!name.includes("large")) sums[name] += row.amount;
        else if (row.amount > 90) sums[name]++;
      }
  }
  return sums;
}

async function ask(user: number, now: bigint, explain = false) {
  const { data, errors, explainOutput } = await server.client(QueryService).query({
    inputs: [{ feature: "user.id", value: { case: "text", value: String(user) } }],
    outputs: Object.keys(WINDOWS),
    now: microsToTimestamp(now),
    explain,
  });
  expect(errors).toEqual([]);
  return { values: Object.fromEntries(data.map(({ field, value }) => [field, value && fromProtoValue(value)])), explainOutput };
}

function put(...added: Payment[]): void {
  const insert = db.prepare("insert into payment values (?, ?, ?, ?)");
  db.transaction(() => {
    for (const { id, user, amount, at } of added) insert.run(id, user, amount, formatMicros(at));
  })();
  rows.push(...added);
}

async function done(jobId: string): Promise<void> {
  await eventually(async () => {
    const { job } = await server.client(JobService).getJob({ id: jobId });
    if (job?.state === JobState.FAILED) throw new Error(job.error);
    return job?.state === JobState.COMPLETED;
  }, "the backfill ends");
}

const backfill = async (feature: string, more = {}) =>
  done((await aggregates.backfillAggregates({ backfill: { feature, ...more } })).jobId);
const NOW = BigInt(Date.now()) * 1000n;

beforeAll(async () => {
  folder = new TempFolder();
  db = paymentsIn(folder.path);
  const random = randomOf(seed);
  put(
    ...Array.from({ length: 2_000 }, (_, id): Payment => {
      const near = random() < 0.3;
      const age = BigInt(Math.floor(random() * (near ? 2 : 900) * 3_600)) * 1_000_000n + BigInt(Math.floor(random() * 3)) - 1n;
      return { id, user: 1 + (id % 3), amount: Math.floor(random() * 100), at: NOW - age };
    }),
  );
  server = await TestServer.start(folder.path);
  expectLive(await deploy(server, paymentProject(folder.path, '{"bucket_duration": "1h", "continuous_buffer_duration": "1h"}')));
  aggregates = server.client(AggregateService);
}, 300_000);
afterAll(async () => {
  db.close();
  await server[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

test("series are listed, and windows are computed from rows until they are filled", async () => {
  const { series } = await aggregates.listAggregates({});
  expect(
    series.map(({ namespace, group, aggregated, aggregation, dependentFeatures, tiles, filledUntil }) => ({
      ...{ namespace, group, aggregated, aggregation, dependentFeatures, tiles, filledUntil },
    })),
  ).toEqual([
    {
      ...{ namespace: "payment", group: ["payment.user_id"], aggregated: "payment.amount", aggregation: "sum" },
      ...{ dependentFeatures: ["user.spend__86400__", "user.spend__2592000__"], tiles: 0n, filledUntil: undefined },
    },
    {
      ...{ namespace: "payment", group: ["payment.user_id"], aggregated: "", aggregation: "count" },
      ...{ dependentFeatures: ["user.large__3600__"], tiles: 0n, filledUntil: undefined },
    },
  ]);
  for (const user of [1, 2, 3, 4]) expect((await ask(user, NOW)).values).toEqual(expected(user, NOW));
});

test("a plan says what a backfill would read, and does nothing", async () => {
  const { plans } = await aggregates.planAggregateBackfill({ backfill: { feature: "user.spend" }, exact: true });
  const [plan] = plans;
  const [from, until] = [plan?.from, plan?.until].map((time) => (time ? timestampToMicros(time) : 0n)) as [bigint, bigint];
  expect([from % HOUR, until % HOUR]).toEqual([0n, 0n]);
  expect(plan).toMatchObject({ resolver: "payments", buckets: (until - from) / HOUR });
  expect(plan?.rows).toBe(BigInt(rows.filter(({ at }) => at >= from && at < until).length));
  await backfill("user", { computeOnly: true });
  expect((await aggregates.listAggregates({})).series.map(({ tiles }) => tiles)).toEqual([0n, 0n]);
});

test("windows that are filled are what their rows are, with rows that came since and late ones in the buffer", async () => {
  await backfill("user");
  const { series } = await aggregates.listAggregates({});
  for (const { tiles, groups, filledUntil } of series) expect([tiles > 2n, groups, filledUntil !== undefined]).toEqual([true, 3n, true]);
  const { explainOutput } = await ask(1, NOW, true);
  expect(explainOutput).toContain("Tiles of user.spend[30d]");
  expect(explainOutput).toContain("asked of the database");
  const later = NOW + 10n * HOUR + 1n;
  put(
    { id: 10_001, user: 1, amount: 5, at: NOW + 1n },
    { id: 10_002, user: 1, amount: 95, at: NOW + 2n * HOUR },
    { id: 10_003, user: 2, amount: 7, at: later },
    { id: 10_004, user: 2, amount: 11, at: later + 1n },
  );
  for (const now of [NOW, NOW - HOUR, NOW + HOUR, later, later + 1n, NOW - 100n * HOUR - 17n])
    for (const user of [1, 2, 3, 4]) expect({ now, user, ...(await ask(user, now)).values }).toEqual({ now, user, ...expected(user, now) });
});

test("a row that came too late counts once its bucket is filled again, which changes nothing else", async () => {
  put({ id: 20_000, user: 3, amount: 1_000, at: NOW - 50n * HOUR });
  const late = expected(3, NOW);
  expect((await ask(3, NOW)).values["user.spend__2592000__"]).toBe((late["user.spend__2592000__"] as number) - 1_000);
  for (let time = 0; time < 2; time++) {
    await backfill("user.spend", { lowerBound: microsToTimestamp(NOW - 60n * HOUR), upperBound: microsToTimestamp(NOW - 40n * HOUR) });
    for (const user of [1, 2, 3]) expect((await ask(user, NOW)).values).toEqual(expected(user, NOW));
  }
});

test("a deployment with the same definitions goes on with the tiles, another bucket begins anew", async () => {
  const before = (await aggregates.listAggregates({})).series;
  const same = paymentProject(folder.path, '{"bucket_duration": "1h", "continuous_buffer_duration": "30m"}');
  expectLive(await deploy(server, { ...same, "notes.py": "# nothing\n" }));
  expect((await aggregates.listAggregates({})).series.map(({ series, tiles }) => [series, tiles])).toEqual(
    before.map(({ series, tiles }) => [series, tiles]),
  );
  expectLive(await deploy(server, paymentProject(folder.path, '{"bucket_durations": {"10m": "1d", "1d": ["30d"]}}')));
  const after = (await aggregates.listAggregates({})).series;
  expect(after.map(({ dependentFeatures, tiles }) => [dependentFeatures.join(), tiles > 0n])).toEqual([
    ["user.large__3600__", true],
    ["user.spend__86400__", false],
    ["user.spend__2592000__", false],
  ]);
  for (const user of [1, 2, 3]) expect((await ask(user, NOW)).values).toEqual(expected(user, NOW));
});

test("a schedule fills what came since, and tells when it comes next", async () => {
  expectLive(await deploy(server, paymentProject(folder.path, '{"bucket_duration": "2h", "backfill_schedule": "3s"}')));
  const spend = async () => (await aggregates.listAggregates({})).series.find(({ aggregation }) => aggregation === "sum");
  await eventually(async () => (await spend())?.nextBackfillAt !== undefined, "the schedule is planned");
  expect(await spend()).toMatchObject({ schedule: "3s" });
  await eventually(async () => ((await spend())?.filledUntil?.seconds ?? 0n) > 0n, "the schedule's backfill ends");
  for (const user of [1, 2, 3]) expect((await ask(user, NOW)).values).toEqual(expected(user, NOW));
});

test("the project that the page shows keeps what it says", async () => {
  const page = await Bun.file(join(import.meta.dir, "../../../docs/kept-windows.md")).text();
  const files = Object.fromEntries([...page.matchAll(/^```\w+ file: (\S+)\n(.*?)^```$/gms)].map(([, name, text]) => [name, text]));
  const source = files["features.py"]?.replace('"payments.db"', JSON.stringify(join(folder.path, "payments.db"))) as string;
  expectLive(await deploy(server, { ...(files as Record<string, string>), "features.py": source }));
  await backfill("user.spend");
  const [series] = (await aggregates.listAggregates({})).series;
  expect(series).toMatchObject({ aggregation: "sum", schedule: "15 * * * *", groups: 3n });
  const answer = async () => {
    const { data } = await server.client(QueryService).query({
      inputs: [{ feature: "user.id", value: { case: "text", value: "2" } }],
      outputs: ["user.spend__86400__", "user.by_size__2592000__"],
      now: microsToTimestamp(NOW),
    });
    return data.map(({ value }) => value && fromProtoValue(value));
  };
  const bySize = [false, true].flatMap((is_large) => {
    const payments = rows.filter(
      ({ user, amount, at }) => user === 2 && amount >= 50 === is_large && at > NOW - 720n * HOUR && at <= NOW,
    ).length;
    return payments > 0 ? [{ is_large, payments }] : [];
  });
  expect(await answer()).toEqual([expected(2, NOW)["user.spend__86400__"] as number, bySize]);
  await backfill("user.by_size");
  expect(await answer()).toEqual([expected(2, NOW)["user.spend__86400__"] as number, bySize]);
  expect((await aggregates.listAggregates({})).series.at(-1)).toMatchObject({ aggregated: "by ge(...)", aggregation: "count", groups: 3n });
});

test("what cannot be backfilled is refused, with what can", async () => {
  const refused = (backfill: object) =>
    aggregates.backfillAggregates({ backfill }).then(
      () => "accepted",
      (error: Error) => error.message,
    );
  expect(await refused({ feature: "user.spent" })).toBe(
    "[invalid_argument] 'user.spent' is no feature whose aggregate is kept; did you mean 'user.spend'?",
  );
  expect(await refused({ feature: "user.plain" })).toContain("no feature whose aggregate is kept");
  expect(await refused({ feature: "user.spend", resolver: "nobody" })).toContain(
    "there is no resolver 'nobody'; `svc resolvers` shows them",
  );
  expect(await refused({ feature: "" })).toContain("Name a feature");
  const bounds = { lowerBound: microsToTimestamp(NOW), upperBound: microsToTimestamp(NOW) };
  expect(await refused({ feature: "user.spend", ...bounds })).toContain("not before");
});

const published = (series: bigint) => `datasets.aggregate_series_${series}`;

/** The rows of a statement. */
async function selected(statement: string): Promise<unknown[][]> {
  const pieces: Uint8Array[] = [];
  for await (const { part } of server.client(SqlService).runSql({ statement, format: SqlFormat.JSON }))
    if (part.case === "piece") pieces.push(part.value);
  const text = Buffer.concat(pieces).toString();
  return (
    text.trim() === ""
      ? []
      : text.trim().startsWith("[")
        ? JSON.parse(text)
        : text
            .trim()
            .split("\n")
            .map((line) => JSON.parse(line))
  ).map((row: object) => Object.values(row));
}

test("tiles are published as a dataset, with buckets that have no rows where that is asked for", async () => {
  expectLive(await deploy(server, paymentProject(folder.path, '{"bucket_duration": "1d"}')));
  const DAY = 24n * HOUR;
  const until = NOW - (NOW % DAY);
  const from = until - 5n * DAY;
  const bounds = { lowerBound: microsToTimestamp(from), upperBound: microsToTimestamp(until) };
  const series = (await aggregates.listAggregates({})).series.find(({ aggregation }) => aggregation === "sum");
  const dataset = published(series?.series as bigint);
  const { plans } = await aggregates.planAggregateBackfill({ backfill: { feature: "user.spend", storeOffline: true, ...bounds } });
  expect(plans.map((plan) => `datasets.${plan.dataset}`)).toEqual([dataset]);
  await backfill("user.spend", { storeOffline: true, computeOnly: true, ...bounds });
  const tiles = () => selected(`select "payment.user_id", epoch_us(bucket_start), value, error from ${dataset} order by 1, 2`);
  const byBucket = new Map<string, number>();
  for (const { amount, at, user } of rows)
    if (at >= from && at < until) {
      const key = `${user} ${at - (at % DAY)}`;
      byBucket.set(key, (byBucket.get(key) ?? 0) + amount);
    }
  const sums = (await tiles()).map(([user, start, value, error]) => [`${user} ${start}`, Number(value), error]);
  expect(sums).toEqual([...byBucket].map(([key, sum]): [string, number, null] => [key, sum, null]).sort(([a], [b]) => (a < b ? -1 : 1)));
  expect((await aggregates.listAggregates({})).series.find(({ aggregation }) => aggregation === "sum")?.filledUntil).toBeUndefined();
  const before = rows.length;
  put({ id: 30_000, user: 9, amount: 4, at: from + 1n });
  await backfill("user.spend", { storeOffline: true, allowEmptyTiles: true, ...bounds });
  expect((await tiles()).filter(([user]) => Number(user) === 9).map(([, , value]) => Number(value))).toEqual([4, 0, 0, 0, 0]);
  expect((await aggregates.listAggregates({})).series.find(({ aggregation }) => aggregation === "sum")?.filledUntil).toBeDefined();
  expect(rows.splice(before)).toHaveLength(1);
  db.run("delete from payment where id = 30000");
}, 120_000);

test("a statement gives the rows of a backfill, and names what it has to give", async () => {
  const { series } = await aggregates.listAggregates({});
  const dataset = published(series.find(({ aggregation }) => aggregation === "sum")?.series as bigint);
  const inputSql = `select "payment.user_id" as user_id, bucket_start as "payment.at", cast(value as bigint) as amount from ${dataset}`;
  const until = NOW - (NOW % (24n * HOUR));
  const bounds = { lowerBound: microsToTimestamp(until - 5n * 24n * HOUR), upperBound: microsToTimestamp(until) };
  const { plans } = await aggregates.planAggregateBackfill({ backfill: { feature: "user.spend", inputSql, ...bounds }, exact: true });
  expect(plans.map(({ resolver }) => resolver)).toEqual([""]);
  const [[count] = []] = await selected(`select count(*) from ${dataset}`);
  expect(plans[0]?.rows).toBe(BigInt(count as number));
  await backfill("user.spend", { inputSql, ...bounds });
  for (const user of [1, 2, 3]) expect((await ask(user, NOW)).values).toEqual(expected(user, NOW));
  const wrong = (statement: string) =>
    aggregates.backfillAggregates({ backfill: { feature: "user.spend", inputSql: statement } }).then(
      () => "accepted",
      (error: Error) => error.message,
    );
  expect(await wrong(`select 1 as amount from ${dataset}`)).toContain("gives no column 'user_id'");
  expect(await wrong("select 1 from nowhere")).toContain("nowhere");
  expect(await wrong("drop table x")).not.toBe("accepted");
}, 120_000);

test("wishes that contradict themselves, or name what is not there, are refused", async () => {
  const refused = (backfill: object) =>
    aggregates.backfillAggregates({ backfill: { feature: "user.spend", ...backfill } }).then(
      () => "accepted",
      (error: Error) => error.message,
    );
  expect(await refused({ storeOffline: true })).toContain("a stated time");
  expect(await refused({ allowEmptyTiles: true })).toContain("can be empty");
  expect(await refused({ inputSql: "select 1", resolver: "payments" })).toContain("from a statement or from a resolver");
  expect(await refused({ inputSql: "select 1", tags: ["x"] })).toContain("from a statement or from a resolver");
  expect(await refused({ tags: ["nobody"] })).toContain("has the tags nobody");
  expect(await refused({ resourceGroup: "large" })).toContain("no resource group 'large'");
});

test("backfills of a resource group are jobs of one group", async () => {
  const { jobId } = await aggregates.backfillAggregates({ backfill: { feature: "user.spend", resourceGroup: "default" } });
  await done(jobId);
  const { job } = await server.client(JobService).getJob({ id: jobId });
  expect([job?.resourceGroup.endsWith("/default"), job?.slots]).toEqual([true, 1]);
});

test("tags choose the resolver whose rows are backfilled", async () => {
  const { "payments.svc.sql": plain = "", ...project } = paymentProject(folder.path, '{"bucket_duration": "1d"}');
  const tagged = plain.replace("-- count: all", "-- count: all\n-- tags: [history]").replace("amount, at", "amount * 10 as amount, at");
  expectLive(await deploy(server, { ...project, "payments.svc.sql": plain, "old.svc.sql": tagged }));
  const resolverOf = async (tags: string[]) =>
    (await aggregates.planAggregateBackfill({ backfill: { feature: "user.spend", tags } })).plans.map(({ resolver }) => resolver);
  expect(await resolverOf(["history"])).toEqual(["old"]);
  expect(await resolverOf([])).not.toEqual([]);
});

/** Tiles of a class that is joined by a text which rows of the parent have. */
const byMail = (materialization: string) => ({
  ...paymentProject(folder.path, materialization),
  "mail.py": `from svc import DataFrame, online
from svc.features import FeatureTime, _, features, has_many
from svc.streams import Windowed, windowed
from features import payments

@features
class Gift:
    id: int
    mail: str
    amount: int
    at: FeatureTime

@features(max_staleness="1d")
class Donor:
    id: int
    mail: str
    gifts: DataFrame[Gift] = has_many(lambda: Gift.mail == Donor.mail)
    given: Windowed[int] = windowed("30d", materialization=${materialization}, max_staleness="0s",
        expression=_.gifts[_.amount, _.at > _.svc_window, _.at <= _.svc_now].sum())

@online
def mail(id: Donor.id) -> Donor.mail:
    return f"m{id}"
`,
  "gifts.svc.sql": "-- resolves: Gift\n-- source: payments\n-- count: all\nselect id, 'm' || user_id as mail, amount, at from payment\n",
});

test("a deletion of a row reaches tiles that are joined by another of its values", async () => {
  expectLive(await deploy(server, byMail('{"bucket_duration": "1d"}')));
  const given = async (donor: number) => {
    const { data, errors } = await server.client(QueryService).query({
      inputs: [{ feature: "donor.id", value: { case: "text", value: String(donor) } }],
      outputs: ["donor.given__2592000__"],
      now: microsToTimestamp(NOW),
    });
    expect(errors).toEqual([]);
    return data.map(({ value }) => value && fromProtoValue(value))[0];
  };
  await backfill("donor.given");
  const gifts = async () => (await aggregates.listAggregates({})).series.find(({ namespace }) => namespace === "gift");
  expect((await gifts())?.groups).toBe(3n);
  expect(await given(1)).toBe(expected(1, NOW)["user.spend__2592000__"]);
  await server.client(FeatureDataService).deleteValues({ selection: { namespace: "donor", keys: ["1"] } });
  expect((await gifts())?.tiles).toBe(0n);
  expect(await given(2)).toBe(expected(2, NOW)["user.spend__2592000__"]);
});

/** What was recorded by a label, summed over time. */
async function recorded(expression: string, label: string): Promise<Record<string, number>> {
  const { series } = await server.client(MetricService).queryMetric({ expression });
  return Object.fromEntries(
    series.map(({ labels, points }) => [labels[label] ?? "", points.reduce((sum, { value }) => sum + (value ?? 0), 0)]),
  );
}

test("metrics tell what windows were computed of, and how backfills went", async () => {
  expectLive(await deploy(server, paymentProject(folder.path, '{"bucket_duration": "6h"}')));
  const windows = async () => recorded('sum:aggregate.windows{feature:"user.spend__2592000__"} by {source}', "source");
  const counts = async () => ({
    ...(await windows()),
    merged: (await recorded('sum:aggregate.tiles{feature:"user.spend__2592000__"} by {feature}', "feature"))["user.spend__2592000__"] ?? 0,
    edges: (await recorded('sum:aggregate.rows{feature:"user.spend__2592000__"} by {feature}', "feature"))["user.spend__2592000__"] ?? 0,
  });
  const before: Record<string, number> = await counts();
  const change = async () => Object.fromEntries(Object.entries(await counts()).map(([name, value]) => [name, value - (before[name] ?? 0)]));
  await ask(1, NOW);
  const inWindow = rows.filter(({ at, user }) => user === 1 && at <= NOW && at > NOW - 720n * HOUR).length;
  expect(await change()).toMatchObject({ rows: 1, edges: inWindow, merged: 0 });
  await backfill("user.spend");
  await ask(1, NOW);
  const { both = 0, edges = 0, merged = 0, rows: ofRows = 0, tiles = 0 } = await change();
  expect([ofRows, both + tiles]).toEqual([1, 1]);
  expect(merged).toBeGreaterThan(0);
  expect(merged).toBeLessThanOrEqual(121);
  expect(edges - inWindow).toBeLessThan(inWindow);
  expect((await recorded("sum:aggregate.backfill_rows by {feature}", "feature"))["user.spend__86400__"]).toBeGreaterThan(0);
  expect((await recorded("sum:aggregate.backfills by {state}", "state")).succeeded).toBeGreaterThan(0);
  await eventually(
    async () => "user.spend__86400__" in (await recorded("max:aggregate.lag by {feature}", "feature")),
    "the lag is sampled",
  );
}, 120_000);

/** The groups of series that have tiles, as the store's file has them. */
function groupsInFile(): string[] {
  using tiles = new Database(join(folder.path, "data", "tiles.db"), { readonly: true });
  return tiles
    .query<{ grp: string }, []>("select distinct grp from tile where grp <> '' order by grp")
    .all()
    .map(({ grp }) => grp);
}

test("a deletion reaches tiles, and those that are made later", async () => {
  expectLive(await deploy(server, paymentProject(folder.path, '{"bucket_duration": "15m"}')));
  const remove = async (namespace: string, key: number) =>
    server.client(FeatureDataService).deleteValues({ selection: { namespace, keys: [String(key)] } });
  const spend = async (user: number) => (await ask(user, NOW)).values["user.spend__2592000__"] as number;
  const sum = (user: number) => expected(user, NOW)["user.spend__2592000__"] as number;
  await backfill("user");
  expect(groupsInFile()).toEqual(["i:1", "i:2", "i:3"]);
  await remove("user", 2);
  expect(groupsInFile()).toEqual(["i:1", "i:3"]);
  await backfill("user");
  expect(groupsInFile()).toEqual(["i:1", "i:3"]);
  expect(await spend(1)).toBe(sum(1));
  const erased = rows.find(({ at, user }) => user === 1 && at < NOW - 100n * HOUR && at > NOW - 600n * HOUR) as Payment;
  await remove("payment", erased.id);
  expect((await aggregates.listAggregates({})).series.map(({ tiles, filledUntil }) => [tiles, filledUntil])).toEqual([
    [0n, undefined],
    [0n, undefined],
  ]);
  expect(groupsInFile()).toEqual([]);
  expect(await spend(1)).toBe(sum(1));
  await backfill("user");
  expect(groupsInFile()).toEqual(["i:1", "i:3"]);
  expect(await spend(1)).toBe(sum(1) - erased.amount);
  expect(await spend(3)).toBe(sum(3));
});
