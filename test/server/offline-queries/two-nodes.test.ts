/** An offline query whose node dies in the middle: another one completes it. */

import { expect, test } from "bun:test";
import { DatasetService } from "../../../gen/svc/v1/dataset_pb.ts";
import { OfflineQueryService, OfflineQueryStatus } from "../../../gen/svc/v1/offline_query_pb.ts";
import { msToTimestamp } from "../../../src/domain/proto-time.ts";
import { deploy, expectLive } from "../deployments/deploying.ts";
import { Cluster, mortal, until } from "../nodes/two-nodes.ts";
import { answerOf, column, endOf, historyProject, START } from "./worlds.ts";

const IDS = Array.from({ length: 300 }, (_, at) => at);

test("what a dead node left of a query is completed by another: every row once, in one revision", async () => {
  await using cluster = new Cluster();
  const metadata = cluster.openMetadata();
  const died = Promise.withResolvers<void>();
  let done = 0;
  // A shard is done; of the next one the file is there, and nobody knows that it is done.
  const report: typeof metadata.offlineQueries.report = (id, shard, fence, counts) => {
    if (!counts.isDone || ++done === 1) return metadata.offlineQueries.report(id, shard, fence, counts);
    died.resolve();
    return new Promise(() => undefined);
  };
  const dying = mortal({ ...metadata, offlineQueries: { ...metadata.offlineQueries, report } });
  const a = await cluster.start("a", { metadata: dying.store });
  expectLive(await deploy(a, historyProject(cluster.folder, [])));
  const request = {
    inputs: [column("user.id", IDS), column("user.score", IDS)],
    times: [msToTimestamp(START)],
    ...{ outputs: ["user.level"], recompute: true, numShards: 4, datasetName: "shared" },
  };
  const { query } = await a.client(OfflineQueryService).startOfflineQuery(request);
  const id = query?.id ?? "";
  await died.promise;
  const b = await cluster.start("b");
  dying.die();
  const service = b.client(OfflineQueryService);
  expect((await service.getOfflineQuery({ id })).query).toMatchObject({ status: OfflineQueryStatus.WORKING });
  cluster.clock.advance(31_000);
  cluster.bus.publish("jobs");
  const ended = await endOf(service, id);
  expect([ended.status, ended.error, ended.rows]).toEqual([OfflineQueryStatus.COMPLETED, "", BigInt(IDS.length)]);
  const { rows } = await answerOf(b, service, id, cluster.folder);
  expect(rows.map((row) => [row["user.id"], row["user.level"]])).toEqual(IDS.map((user) => [user, user * 100]));
  const { revisions } = await b.client(DatasetService).getDataset({ dataset: "shared" });
  expect(revisions.length).toBe(1);
  const outcomes = () =>
    cluster.rows<{ outcome: string }>(
      "select outcome from job_attempt join job on job.id = job_id where kind = 'async_offline_query' order by job.seq, number",
    );
  const all = await until(
    () => Promise.resolve(outcomes().map(({ outcome }) => outcome)),
    (found) => !found.includes("running"),
  );
  expect(all).toContain("lost");
  cluster.clock.release();
}, 300_000);
