/**
 * Deletions and windows by group: of rows in a database, and of rows that a stream alone knows. What a
 * window should be is computed of the rows by a plain loop.
 */

import type { Database } from "bun:sqlite";
import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import { AggregateService } from "../../../gen/svc/v1/aggregate_pb.ts";
import { FeatureDataService } from "../../../gen/svc/v1/feature_data_pb.ts";
import { JobService, JobState } from "../../../gen/svc/v1/job_pb.ts";
import { QueryService } from "../../../gen/svc/v1/query_pb.ts";
import { StreamService } from "../../../gen/svc/v1/stream_pb.ts";
import { microsToTimestamp } from "../../../src/domain/proto-time.ts";
import { fromProtoValue } from "../../../src/domain/proto-value.ts";
import { formatMicros } from "../../../src/domain/timestamp.ts";
import { eventually } from "../../harness/eventually.ts";
import { TempFolder, TestServer } from "../../harness/running-server.ts";
import { deploy, expectLive } from "../deployments/deploying.ts";
import { Pusher } from "../streams/pusher.ts";
import { paymentsIn } from "./worlds.ts";

const HOUR = 3_600_000_000n;
const NOW = BigInt(Date.now()) * 1000n;

/** A row of any of the classes; `amount` decides the group. */
interface Row {
  readonly id: number;
  readonly owner: number;
  readonly amount: number;
  readonly at: bigint;
}

const owned = (name: string, options: string): string => `
@features${options}
class ${name}:
    id: int
    owner_id: "${name}Owner.id"
    amount: int
    at: FeatureTime

@features
class ${name}Owner:
    id: int
    rows: DataFrame[${name}]
    total: Windowed[int] = windowed("30d", materialization={"bucket_duration": "1h"}, default=0,
        expression=_.rows[_.amount, _.at > _.svc_window, _.at <= _.svc_now].sum())
    by_size: Windowed[list[SizeTotal]] = group_by_windowed("30d", group_by=_.amount >= 50, materialization={"bucket_duration": "1h"},
        expression=_.rows[_.amount, _.at > _.svc_window, _.at <= _.svc_now].sum())
`;

const streamed = (name: string, topic: string): string => `
@stream(source=TopicSource(name="${topic}"), lateness="30d")
def on_${topic}(row: Message) -> Features[${name}.id, ${name}.owner_id, ${name}.amount, ${name}.at]:
    return ${name}(id=row.id, owner_id=row.owner, amount=row.amount, at=row.at)
`;

const projectIn = (folder: string) => ({
  "features.py": `from dataclasses import dataclass
from datetime import datetime
from svc import DataFrame
from svc.features import Features, FeatureTime, _, features
from svc.sources import SQLiteSource, TopicSource
from svc.streams import Windowed, group_by_windowed, stream, windowed

payments = SQLiteSource(name="payments", path=${JSON.stringify(join(folder, "payments.db"))})

@dataclass
class SizeTotal:
    is_large: bool
    total: int

@dataclass
class Message:
    id: int
    owner: int
    amount: int
    at: datetime
${owned("Payment", "")}
${owned("Call", '(max_staleness="infinity")')}
${owned("Ping", "")}
${streamed("Call", "calls")}
${streamed("Ping", "pings")}
`,
  "payments.svc.sql": "-- resolves: Payment\n-- source: payments\n-- count: all\nselect id, user_id as owner_id, amount, at from payment\n",
});

let folder: TempFolder;
let server: TestServer;
let pusher: Pusher;
let db: Database;

beforeAll(async () => {
  folder = new TempFolder();
  db = paymentsIn(folder.path);
  server = await TestServer.start(folder.path);
  const deployment = await deploy(server, projectIn(folder.path));
  expectLive(deployment);
  pusher = new Pusher(join(folder.path, "data"), deployment.environmentId);
}, 300_000);
afterAll(async () => {
  db.close();
  await pusher[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

/** The windows of an owner as its rows have them. */
function expected(rows: readonly Row[], owner: number) {
  const own = rows.filter((row) => row.owner === owner && row.at > NOW - 720n * HOUR && row.at <= NOW);
  const totalOf = (some: readonly Row[]): number => some.reduce((sum, { amount }) => sum + amount, 0);
  const groups = [false, true].map((isLarge) => ({ is_large: isLarge, rows: own.filter(({ amount }) => amount >= 50 === isLarge) }));
  return {
    total: totalOf(own),
    by_size: groups.filter((one) => one.rows.length > 0).map((one) => ({ is_large: one.is_large, total: totalOf(one.rows) })),
  };
}

async function windows(namespace: string, owner: number) {
  const { data, errors } = await server.client(QueryService).query({
    inputs: [{ feature: `${namespace}.id`, value: { case: "text", value: String(owner) } }],
    outputs: ["total", "by_size"].map((name) => `${namespace}.${name}__2592000__`),
    now: microsToTimestamp(NOW),
  });
  expect(errors).toEqual([]);
  const [total, bySize] = data.map(({ value }) => value && fromProtoValue(value));
  return { total, by_size: bySize } as unknown;
}

const remove = async (namespace: string, key: number): Promise<void> => {
  const { deletion } = await server.client(FeatureDataService).deleteValues({ selection: { namespace, keys: [String(key)] } });
  expect(deletion?.done).toBe(true);
};

async function backfill(feature: string): Promise<void> {
  const { jobId } = await server.client(AggregateService).backfillAggregates({ backfill: { feature } });
  await eventually(async () => {
    const { job } = await server.client(JobService).getJob({ id: jobId });
    if (job?.state === JobState.FAILED) throw new Error(job.error);
    return job?.state === JobState.COMPLETED;
  }, "the backfill ends");
}

const hoursAgo = (hours: number): bigint => NOW - BigInt(hours) * HOUR;

test("rows of a database: groups lose the deleted ones, and no backfill brings them back", async () => {
  const rows: Row[] = [30, 40, 50, 60, 70].flatMap((hours, at) =>
    [1, 2].map((owner) => ({ id: at * 2 + owner, owner, amount: at * 20 + owner, at: hoursAgo(hours) })),
  );
  const insert = db.prepare("insert into payment values (?, ?, ?, ?)");
  for (const { id, owner, amount, at } of rows) insert.run(id, owner, amount, formatMicros(at));
  const filled = async () =>
    (await server.client(AggregateService).listAggregates({})).series
      .filter(({ namespace }) => namespace === "payment")
      .map(({ filledUntil, tiles }) => [filledUntil !== undefined, tiles > 0n]);
  await backfill("payment_owner");
  expect(await windows("payment_owner", 1)).toEqual(expected(rows, 1));

  const small = rows.filter(({ amount, owner }) => owner === 1 && amount < 50);
  const left = rows.filter((row) => !small.includes(row));
  for (const { id } of small) await remove("payment", id);
  expect(await filled()).toEqual([
    [false, false],
    [false, false],
  ]);
  // Nothing is filled, so the rows of the database count, as far as it has them.
  expect(await windows("payment_owner", 1)).toEqual(expected(rows, 1));
  await backfill("payment_owner");
  await backfill("payment_owner");
  expect(await filled()).toEqual([
    [true, true],
    [true, true],
  ]);
  expect(await windows("payment_owner", 1)).toEqual(expected(left, 1));
  expect(await windows("payment_owner", 2)).toEqual(expected(left, 2));

  await remove("payment_owner", 2);
  expect(await windows("payment_owner", 2)).toEqual({ total: 0, by_size: [] });
  await backfill("payment_owner");
  expect(await windows("payment_owner", 2)).toEqual({ total: 0, by_size: [] });
  expect(await windows("payment_owner", 1)).toEqual(expected(left, 1));
}, 300_000);

for (const [namespace, topic, stored] of [
  ["call", "calls", "stored online too"],
  ["ping", "pings", "stored in the history alone"],
] as const)
  test(`rows of a stream that are ${stored}: the tiles of a deleted row's group go, and it does not come back`, async () => {
    const rows: Row[] = [30, 40, 50].flatMap((hours, at) =>
      [1, 2].map((owner) => ({ id: at * 2 + owner, owner, amount: 40 + at * 10 + owner, at: hoursAgo(hours) })),
    );
    let pushed = 0;
    const push = async (some: readonly Row[]): Promise<void> => {
      await pusher.push(
        topic,
        some.map((row) => ({ ...row, at: formatMicros(row.at) })),
      );
      pushed += some.length;
      await eventually(async () => {
        const { stream } = await server.client(StreamService).getStream({ name: `features.on_${topic}` });
        return Number(stream?.partitions[0]?.offset ?? 0n) >= pushed;
      }, "the stream has read them");
    };
    const owner = `${namespace}_owner`;
    await push(rows);
    expect(await windows(owner, 1)).toEqual(expected(rows, 1));

    const moved: Row = { id: 3, owner: 3, amount: 90, at: hoursAgo(20) };
    await push([moved]);
    expect(await windows(owner, 3)).toEqual(expected([moved], 3));
    await remove(namespace, 3);
    expect(await windows(owner, 1)).toEqual({ total: 0, by_size: [] });
    expect(await windows(owner, 3)).toEqual({ total: 0, by_size: [] });
    expect(await windows(owner, 2)).toEqual(expected(rows, 2));
    await push(rows.filter(({ id }) => id === 3));
    expect(await windows(owner, 1)).toEqual({ total: 0, by_size: [] });
    await push(rows.filter(({ id }) => id === 5));
    expect(await windows(owner, 1)).toEqual(expected(rows.slice(4), 1));

    await remove(owner, 2);
    expect(await windows(owner, 2)).toEqual({ total: 0, by_size: [] });
    await push(rows.filter(({ id }) => id === 4));
    expect(await windows(owner, 2)).toEqual({ total: 0, by_size: [] });
  }, 300_000);
