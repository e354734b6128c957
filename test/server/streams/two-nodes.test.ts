/** A topic of the server on two nodes with stores of their own: the node that has it reads it, and is the only one to take messages. */

import { expect, test } from "bun:test";
import { Code, ConnectError } from "@connectrpc/connect";
import { StreamService, StreamStatus } from "../../../gen/svc/v1/stream_pb.ts";
import { TopicService } from "../../../gen/svc/v1/topic_pb.ts";
import { eventually } from "../../harness/eventually.ts";
import type { TestServer } from "../../harness/running-server.ts";
import { deploy, expectLive } from "../deployments/deploying.ts";
import { Cluster } from "../nodes/two-nodes.ts";

const PROJECT = {
  "features.py": `from dataclasses import dataclass
from svc.features import _, features
from svc.sources import TopicSource
from svc.streams import make_stream_resolver

numbers = TopicSource(name="numbers", partitions=3)

@features(max_staleness="infinity")
class Number:
    id: int
    twice: int

@dataclass
class Message:
    id: int

make_stream_resolver(name="on_number", source=numbers, message_type=Message, output_features={Number.id: _.id, Number.twice: _.id * 2})
`,
};

const push = async (server: TestServer, ids: readonly number[]): Promise<void> => {
  const messages = ids.map((id) => ({ value: Buffer.from(JSON.stringify({ id })), partition: id % 3 }));
  await server.client(TopicService).pushMessages({ topicName: "numbers", messages });
};
const refusal = (server: TestServer): Promise<ConnectError> =>
  push(server, [99]).then(
    () => Promise.reject(new Error("it was taken")),
    (error: unknown) => ConnectError.from(error),
  );
const standing = async (server: TestServer) => (await server.client(StreamService).getStream({ name: "on_number" })).stream;
const caughtUp = (server: TestServer, offset: bigint) =>
  eventually(
    async () => (await standing(server))?.partitions.map((one) => one.offset).join() === [offset, offset, offset].join(),
    `all partitions are read up to ${offset}`,
  );

test("a topic is read by the node that has it, which also takes its messages; the other says where that is", async () => {
  await using cluster = new Cluster();
  const servers = new Map<string, TestServer>();
  for (const name of ["a", "b"]) servers.set(name, await cluster.start(name));
  const [a, b] = [...servers.values()] as [TestServer, TestServer];
  expectLive(await deploy(a, PROJECT));
  await eventually(() => cluster.rows("select * from stream_lease").length === 3, "all partitions are read");
  const nodes = cluster.rows<{ id: string; url: string }>("select id, url from node");
  const homes = cluster.rows<{ thing: string; node: string }>("select thing, node from home order by thing");
  const home = homes[0]?.node ?? "";
  expect(homes.map(({ node, thing }) => [thing.split("/")[0], node])).toEqual([
    ["stream", home],
    ["topic", home],
  ]);
  const url = nodes.find(({ id }) => id === home)?.url ?? "";
  const [owner, other] = a.url === url ? [a, b] : [b, a];
  await push(owner, [0, 1, 2, 3, 4, 5]);
  await caughtUp(owner, 2n);
  expect(cluster.rows("select distinct node from stream_lease")).toEqual([{ node: home }]);
  expect((await refusal(other)).rawMessage).toBe(`The topic 'numbers' lies with the node ${home} at ${url}: ask there.`);
  expect(await standing(other)).toMatchObject({
    status: StreamStatus.RUNNING,
    problem: `Its position lies with the node ${home} at ${url}: ask there.`,
    partitions: [0, 1, 2].map((partition) => ({ partition, node: home })),
  });
  const sought = await other
    .client(StreamService)
    .seekStream({ name: "on_number", to: { case: "earliest", value: true } })
    .catch((error: unknown) => ConnectError.from(error));
  expect(sought).toMatchObject({ code: Code.FailedPrecondition, rawMessage: expect.stringContaining("lies with the node") });

  // Gone, it is said so, and nobody else begins anew.
  await owner.server.stop();
  expect((await refusal(other)).rawMessage).toBe(
    `The topic 'numbers' lies with the node ${home}, which does not run: start that one again.`,
  );
  expect(await standing(other)).toMatchObject({ status: StreamStatus.RETRYING, problem: expect.stringContaining("which does not run") });
  const back = await cluster.start(owner === a ? "a" : "b");
  await push(back, [6, 7, 8]);
  await caughtUp(back, 3n);
}, 300_000);
