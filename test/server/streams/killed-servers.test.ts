/**
 * Rows of streams in windows that are kept, on a real server that is killed at any moment: a sum is
 * that of a loop over the messages, each of which counts once.
 */

import { expect, test } from "bun:test";
import { join } from "node:path";
import { StreamService } from "../../../gen/svc/v1/stream_pb.ts";
import { eventually } from "../../harness/eventually.ts";
import { TempFolder, TestServer } from "../../harness/running-server.ts";
import { runs, seed } from "../../harness/seed.ts";
import { clientOf, spawnServer } from "../../harness/spawned-server.ts";
import { deploy, expectLive } from "../deployments/deploying.ts";
import { Pusher } from "./pusher.ts";

const PROJECT = {
  "features.py": `from dataclasses import dataclass
from datetime import datetime
from svc.features import DataFrame, FeatureTime, Features, _, features
from svc.streams import TopicSource, Windowed, stream, windowed

payments = TopicSource(name="payments")

@features
class Txn:
    id: int
    user_id: "User.id"
    amount: int
    at: FeatureTime

@features
class User:
    id: int
    txns: DataFrame[Txn]
    spent: Windowed[int] = windowed(
        "30d", expression=_.txns[_.amount, _.at > _.svc_window, _.at <= _.svc_now].sum(), materialization={"bucket_duration": "1h"}, default=0
    )

@dataclass
class Payment:
    id: int
    user: int
    amount: int
    at: datetime

@stream(source=payments, lateness="10d")
def on_payment(message: Payment) -> Features[Txn.id, Txn.user_id, Txn.amount, Txn.at]:
    if message.amount < 0:
        raise ValueError("nobody pays less than nothing")
    return Txn(id=message.id, user_id=message.user, amount=message.amount, at=message.at)
`,
};
const USERS = 3;

test("a kept sum is that of the messages, whenever the server was killed", async () => {
  using folder = new TempFolder();
  const first = await TestServer.start(folder.path);
  const deployment = await deploy(first, PROJECT);
  expectLive(deployment);
  const token = await first.token();
  const { credentials } = first;
  await first[Symbol.asyncDispose]();
  await using pusher = new Pusher(join(folder.path, "data"), deployment.environmentId);
  const begin = Date.now() - 5 * 86_400_000;
  const sums = new Map<number, number>();
  let pushed = 0;
  for (let round = 0; round < runs(8, 60); round++) {
    const messages = Array.from({ length: 400 }, () => {
      const id = pushed++;
      const amount = id % 50 === 49 ? -1 : id;
      if (amount >= 0) sums.set(id % USERS, (sums.get(id % USERS) ?? 0) + amount);
      return { id, user: id % USERS, amount, at: new Date(begin + ((id * 7919) % 86_400) * 1_000).toISOString() };
    });
    await pusher.push("payments", messages);
    await using server = await spawnServer(folder.path, credentials);
    const streams = clientOf(StreamService, server, token);
    const position = async () => Number((await streams.getStream({ name: "on_payment" })).stream?.partitions[0]?.offset ?? 0n);
    const before = await position();
    await eventually(async () => (await position()) > before, "a step is done");
    await Bun.sleep((seed + round * 37) % 120);
    await server.kill();
  }
  await using server = await spawnServer(folder.path, credentials);
  const streams = clientOf(StreamService, server, token);
  await eventually(async () => {
    const { stream } = await streams.getStream({ name: "on_payment" });
    return Number(stream?.partitions[0]?.offset ?? 0n) === pushed;
  }, "all messages are read");
  for (const [user, sum] of sums) {
    const response = await fetch(`${server.url}/v1/query/online`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
      body: JSON.stringify({ inputs: { "user.id": user }, outputs: ["user.spent[30d]"] }),
    });
    const { data } = (await response.json()) as { data: { value: unknown }[] };
    expect([user, data[0]?.value]).toEqual([user, sum]);
  }
  expect((await streams.getStream({ name: "on_payment" })).stream?.deadLetters).toBe(BigInt(Math.floor(pushed / 50)));
}, 300_000);
