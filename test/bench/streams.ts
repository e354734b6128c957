/**
 * Streams: messages a second into rows and a kept sum, by Python and by expressions, against a
 * topic that is read and left alone; and the time from a push to the row, one message at a time.
 */

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { StreamService } from "../../gen/svc/v1/stream_pb.ts";
import { TopicService } from "../../gen/svc/v1/topic_pb.ts";
import { TestServer } from "../harness/running-server.ts";
import type { Sandbox } from "../harness/sandbox.ts";
import { deploy, expectLive } from "../server/deployments/deploying.ts";
import { type Line, median, milliseconds } from "./figures.ts";

const MESSAGES = 20_000;
const BATCH = 1_000;
const SINGLE = 100;

const PROJECT = {
  "features.py": `from dataclasses import dataclass
from datetime import datetime
import svc.functions as F
from svc.features import DataFrame, FeatureTime, Features, _, features
from svc.streams import TopicSource, Windowed, make_stream_resolver, stream, windowed

by_python = TopicSource(name="by_python")
by_expressions = TopicSource(name="by_expressions")

@features(max_staleness="infinity", store_offline=False)
class Txn:
    id: int
    user_id: "User.id"
    amount: float
    at: FeatureTime

@features
class User:
    id: int
    txns: DataFrame[Txn]
    spent: Windowed[float] = windowed(
        "1d", expression=_.txns[_.amount, _.at > _.svc_window, _.at <= _.svc_now].sum(), materialization={"bucket_duration": "10m"}, default=0
    )

@dataclass
class Payment:
    id: int
    user: int
    amount: float
    at: datetime

@stream(source=by_python)
def on_python(message: Payment) -> Features[Txn.id, Txn.user_id, Txn.amount, Txn.at]:
    return Txn(id=message.id, user_id=message.user, amount=message.amount, at=message.at)

make_stream_resolver(name="on_expressions", source=by_expressions, message_type=Payment,
    output_features={Txn.id: _.id, Txn.user_id: _.user, Txn.amount: _.amount, Txn.at: _.at})
`,
};

/** Measures messages a second, and the time of one. */
export async function measureStreams(sandbox: Pick<Sandbox, "work">): Promise<readonly Line[]> {
  const folder = join(sandbox.work, "streams");
  mkdirSync(folder, { recursive: true });
  await using server = await TestServer.start(folder);
  expectLive(await deploy(server, PROJECT));
  const streams = server.client(StreamService);
  const topics = server.client(TopicService);
  const position = async (name: string) => Number((await streams.getStream({ name })).stream?.partitions[0]?.offset ?? 0n);
  const until = async (name: string, offset: number): Promise<void> => {
    while ((await position(name)) < offset) await Bun.sleep(5);
  };
  let next = 0;
  const payment = () => {
    const id = next++;
    const at = new Date(Date.now() - (id % 3_600) * 1_000).toISOString();
    return { value: new TextEncoder().encode(JSON.stringify({ id, user: id % 1_000, amount: id / 7, at, memo: "x".repeat(40) })) };
  };
  const lines: Line[] = [];
  let anchor: number | undefined;
  for (const how of ["expressions", "python"]) {
    const [name, topicName] = [`on_${how}`, `by_${how}`];
    await topics.pushMessages({ topicName, messages: [payment()] });
    await until(name, 1);
    await streams.pauseStream({ name });
    for (let at = 0; at < MESSAGES; at += BATCH) await topics.pushMessages({ topicName, messages: Array.from({ length: BATCH }, payment) });
    const began = performance.now();
    await streams.resumeStream({ name });
    await until(name, MESSAGES + 1);
    const rate = MESSAGES / ((performance.now() - began) / 1_000);
    const ratio = anchor === undefined ? {} : { ratio: rate / anchor, anchor: "expressions" };
    lines.push({ what: `${MESSAGES} messages, ${how}`, value: `${Math.round(rate).toLocaleString("en")} messages/s`, ...ratio });
    anchor ??= rate;
    const took: number[] = [];
    for (let one = 1; one <= SINGLE; one++) {
      const from = performance.now();
      await topics.pushMessages({ topicName, messages: [payment()] });
      await until(name, MESSAGES + 1 + one);
      took.push(performance.now() - from);
    }
    const p99 = took.toSorted((a, b) => a - b)[Math.floor(SINGLE * 0.99) - 1] ?? Number.NaN;
    lines.push({ what: `push to stored row, ${how}`, value: `${milliseconds(median(took))}, p99 ${milliseconds(p99)}` });
  }
  return lines;
}
