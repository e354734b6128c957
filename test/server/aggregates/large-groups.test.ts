/** Windows by group whose states are large: those that are kept, and those that cannot be. */

import type { Database } from "bun:sqlite";
import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import { AggregateService } from "../../../gen/svc/v1/aggregate_pb.ts";
import { JobService, JobState } from "../../../gen/svc/v1/job_pb.ts";
import { QueryService } from "../../../gen/svc/v1/query_pb.ts";
import { StreamService, StreamStatus } from "../../../gen/svc/v1/stream_pb.ts";
import { microsToTimestamp } from "../../../src/domain/proto-time.ts";
import { fromProtoValue } from "../../../src/domain/proto-value.ts";
import { formatMicros } from "../../../src/domain/timestamp.ts";
import { eventually } from "../../harness/eventually.ts";
import { TempFolder, TestServer } from "../../harness/running-server.ts";
import { deploy, expectLive } from "../deployments/deploying.ts";
import { Pusher } from "../streams/pusher.ts";
import { paymentsIn } from "./worlds.ts";

const HOUR = 3_600_000_000n;
const NOW = ((BigInt(Date.now()) * 1000n) / HOUR) * HOUR;
const AT = NOW - 30n * HOUR;
/** Characters of a text; 200 of them are more than is kept of a bucket. */
const LENGTH = 30_000;
/** Groups whose sketches have more than a MiB together. */
const GROUPS = 600;

const projectIn = (folder: string) => ({
  "features.py": `from dataclasses import dataclass
from datetime import datetime
from svc import DataFrame
from svc.features import Features, FeatureTime, _, features
from svc.sources import SQLiteSource, TopicSource
from svc.streams import Windowed, group_by_windowed, stream

payments = SQLiteSource(name="payments", path=${JSON.stringify(join(folder, "payments.db"))})
BUCKETS = {"bucket_duration": "1h"}

@dataclass
class Top:
    kind: int
    texts: list[str]

@dataclass
class Different:
    kind: int
    amounts: int

@features
class Word:
    id: int
    owner_id: "Owner.id"
    kind: int
    text: str
    at: FeatureTime

@features
class Owner:
    id: int
    words: DataFrame[Word]
    top: Windowed[list[Top]] = group_by_windowed("30d", group_by=_.kind, materialization=BUCKETS,
        expression=_.words[_.text, _.at > _.svc_window, _.at <= _.svc_now].approx_top_k(1))

@features
class Payment:
    id: int
    payer_id: "Payer.id"
    kind: int
    amount: int
    at: FeatureTime

@features
class Payer:
    id: int
    payments: DataFrame[Payment]
    different: Windowed[list[Different]] = group_by_windowed("30d", group_by=_.kind, materialization=BUCKETS,
        expression=_.payments[_.amount, _.at > _.svc_window, _.at <= _.svc_now].approx_count_distinct())

@dataclass
class Message:
    id: int
    owner: int
    kind: int
    text: str
    at: datetime

@stream(source=TopicSource(name="words"), lateness="30d")
def on_words(word: Message) -> Features[Word.id, Word.owner_id, Word.kind, Word.text, Word.at]:
    return Word(id=word.id, owner_id=word.owner, kind=word.kind, text=word.text, at=word.at)
`,
  "payments.svc.sql": `-- resolves: Payment\n-- source: payments\n-- count: all\nselect id, user_id as payer_id, id % ${GROUPS} as kind, amount, at from payment\n`,
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

async function window(feature: string, id: number) {
  const { data, errors } = await server.client(QueryService).query({
    inputs: [{ feature: `${feature.split(".")[0]}.id`, value: { case: "text", value: String(id) } }],
    outputs: [`${feature}__2592000__`],
    now: microsToTimestamp(NOW),
  });
  return { value: data[0]?.value && fromProtoValue(data[0].value), error: errors[0]?.message };
}

test("what is more than is kept is told where it is read, and the stream goes on", async () => {
  let pushed = 0;
  const push = async (owner: number, kinds: number): Promise<void> => {
    const messages = Array.from({ length: kinds }, (_, kind) => ({
      ...{ id: pushed + kind, owner, kind, text: `${kind} ${"x".repeat(LENGTH)}`, at: formatMicros(AT) },
    }));
    await pusher.push("words", messages);
    pushed += kinds;
    await eventually(async () => {
      const { stream } = await server.client(StreamService).getStream({ name: "features.on_words" });
      return Number(stream?.partitions[0]?.offset ?? 0n) >= pushed;
    }, "the stream has read them");
  };
  await push(1, 100);
  expect((await window("owner.top", 1)).value).toHaveLength(100);
  await push(2, 200);
  expect((await window("owner.top", 2)).error).toContain("groups take more than the 4 MiB that are kept of a bucket");
  await push(2, 1);
  await push(3, 2);
  expect((await window("owner.top", 2)).error).toContain("4 MiB");
  expect((await window("owner.top", 3)).value).toHaveLength(2);
  const { stream } = await server.client(StreamService).getStream({ name: "features.on_words" });
  expect([stream?.status, stream?.deadLetters]).toEqual([StreamStatus.RUNNING, 0n]);
}, 300_000);

test("a backfill keeps groups of more than a MiB, and the window is that of the rows", async () => {
  // So many different values that the sketch of each group has all of its bytes.
  db.query(
    `insert into payment with recursive n(id) as (select 0 union all select id + 1 from n where id + 1 < ?)
     select id, 1, (id / ?) * 7, ? from n`,
  ).run(GROUPS * 270, GROUPS, formatMicros(AT));
  const ofRows = await window("payer.different", 1);
  expect(ofRows.value).toHaveLength(GROUPS);
  const { jobId } = await server.client(AggregateService).backfillAggregates({ backfill: { feature: "payer.different" } });
  await eventually(async () => {
    const { job } = await server.client(JobService).getJob({ id: jobId });
    if (job?.state === JobState.FAILED) throw new Error(job.error);
    return job?.state === JobState.COMPLETED;
  }, "the backfill ends");
  const { series } = await server.client(AggregateService).listAggregates({});
  const [kept] = series.filter(({ namespace }) => namespace === "payment");
  expect(Number(kept?.bytes)).toBeGreaterThan(1_100_000);
  expect(await window("payer.different", 1)).toEqual(ofRows);
}, 300_000);
