/**
 * A topic of Kafka that two nodes read: they share its partitions, which go from one to the other
 * when a node comes, stops or is cut off, and the sums in the tiles that they share are those of a
 * loop over the messages.
 */

import { expect } from "bun:test";
import { StreamService } from "../../../gen/svc/v1/stream_pb.ts";
import { openSqliteTileStore } from "../../../src/server/stores/tiles/sqlite.ts";
import type { Topics } from "../../../src/server/topics/topics.ts";
import { eventually } from "../../harness/eventually.ts";
import type { TestServer } from "../../harness/running-server.ts";
import { deploy, expectLive } from "../deployments/deploying.ts";
import { Cluster, mortal } from "../nodes/two-nodes.ts";

const PARTITIONS = 4;
const USERS = 3;
const MESSAGES = 400;
/** After it leases have ended, and a node that says nothing counts as gone. */
const GONE_MS = 40_000;

const project = (topic: string, brokers: string) => ({
  "features.py": `from dataclasses import dataclass
import svc.functions as F
from svc.features import DataFrame, FeatureTime, _, features
from svc.sources import KafkaSource
from svc.streams import Windowed, make_stream_resolver, windowed

payments = KafkaSource(name="payments", topic="${topic}", bootstrap_servers="${brokers}")

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
    t: int

make_stream_resolver(
    name="on_payment", source=payments, message_type=Payment, lateness="10d",
    output_features={Txn.id: _.id, Txn.user_id: _.user, Txn.amount: _.amount, Txn.at: F.from_unix_seconds(_.t)},
)
`,
});

/** Runs it over a topic of Kafka, which is there and empty, with 4 partitions. */
export async function countOnTwoNodes(topic: string, brokers: string, topics: Topics): Promise<void> {
  await using cluster = new Cluster();
  const tiles = openSqliteTileStore(`${cluster.folder}/tiles.db`, { programVersion: "1" });
  cluster.closeAtEnd(tiles);
  const begin = Math.floor(Date.now() / 1000) - 5 * 86_400;
  const sums = new Map<number, number>();
  let pushed = 0;
  const push = async (): Promise<void> => {
    const messages = Array.from({ length: MESSAGES }, () => {
      const id = pushed++;
      const user = id % USERS;
      sums.set(user, (sums.get(user) ?? 0) + id);
      const value = JSON.stringify({ id, user, amount: id, t: begin + ((id * 7919) % 86_400) });
      return { value: Buffer.from(value), partition: id % PARTITIONS };
    });
    await topics.push(topic, messages);
  };
  const readers = (): number[] =>
    cluster
      .rows<{ n: number }>(
        `select count(*) as n from stream_lease where node in (select id from node) and until > ${cluster.clock.now()} group by node`,
      )
      .map(({ n }) => n);
  /** Has nodes say that they run and look at once, and waits until they share the partitions so. */
  const shared = (wanted: readonly number[]) =>
    eventually(
      () => {
        cluster.clock.release();
        cluster.bus.publish("streams");
        return readers().join() === wanted.join();
      },
      `nodes read ${wanted.join(" and ")} partitions`,
    );
  const isCounted = async (server: TestServer): Promise<void> => {
    await eventually(async () => {
      const { stream } = await server.client(StreamService).getStream({ name: "on_payment" });
      return stream?.partitions.reduce((sum, { offset }) => sum + Number(offset ?? 0n), 0) === pushed;
    }, "all messages are read");
    for (const [user, sum] of sums) {
      const response = await fetch(`${server.url}/v1/query/online`, {
        method: "POST",
        headers: { "content-type": "application/json", authorization: `Bearer ${await server.token()}` },
        body: JSON.stringify({ inputs: { "user.id": user }, outputs: ["user.spent[30d]"] }),
      });
      const { data } = (await response.json()) as { data: { value: unknown }[] };
      expect([user, data[0]?.value]).toEqual([user, sum]);
    }
  };

  await push();
  const first = mortal(cluster.openMetadata());
  const a = await cluster.start("a", { metadata: first.store, tiles });
  expectLive(await deploy(a, project(topic, brokers)));
  await shared([PARTITIONS]);
  await push();
  const b = await cluster.start("b", { tiles });
  await push();
  await shared([PARTITIONS / 2, PARTITIONS / 2]);
  await push();
  await isCounted(b);
  // Cut off from the metadata, the first one goes on with what it had read, while another takes its partitions.
  first.die();
  await push();
  cluster.clock.advance(GONE_MS);
  await shared([PARTITIONS]);
  const c = await cluster.start("c", { tiles });
  await push();
  await b.server.stop();
  await push();
  await isCounted(c);
}
