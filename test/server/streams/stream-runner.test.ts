/** What a node reads, over real stores, with functions that a test holds. */

import { expect, test } from "bun:test";
import { create } from "@bufbuild/protobuf";
import { DataSourceSchema, type Graph, GraphSchema, SourceKind } from "../../../gen/svc/v1/graph_pb.ts";
import { systemClock } from "../../../src/context/system-clock.ts";
import { createMemoryBus } from "../../../src/server/jobs/bus.ts";
import { createLog } from "../../../src/server/log.ts";
import { createMetricRecorder } from "../../../src/server/metrics/recorder.ts";
import { createSqliteMetadataStore } from "../../../src/server/stores/metadata/sqlite.ts";
import { LiveStreams } from "../../../src/server/streams/live-streams.ts";
import type { StepDeployment } from "../../../src/server/streams/partition-reader.ts";
import { startStreamRunner } from "../../../src/server/streams/stream-runner.ts";
import { EVERYWHERE } from "../../../src/server/topics/homes.ts";
import { eventually } from "../../harness/eventually.ts";
import { TempFolder } from "../../harness/running-server.ts";
import { tilesOf, topicsOf } from "./counting.ts";

/** A graph whose streams read topics of their names. */
const graphOf = (...names: string[]): Graph =>
  create(GraphSchema, {
    streamResolvers: names.map((name) => ({ fqn: name, source: name })),
    sources: names.map((name) => create(DataSourceSchema, { name, kind: SourceKind.TOPIC })),
  });

test("a function that takes its time holds back no other stream, not even when it is deployed anew", async () => {
  using folder = new TempFolder();
  await using stack = new AsyncDisposableStack();
  const { embedded, store } = topicsOf(folder.path);
  const tiles = tilesOf(folder.path);
  const metadata = createSqliteMetadataStore({ path: `${folder.path}/meta.db`, programVersion: "1" });
  stack.defer(async () => {
    embedded.close();
    await store.close();
    await tiles.close();
    await metadata.close();
  });
  const bus = createMemoryBus();
  const log = createLog({ write: () => undefined, level: "error", clock: systemClock });
  const metrics = createMetricRecorder({ store: () => Promise.reject(new Error("none")), clock: systemClock, log, isOff: true });
  const environment = { id: "env_1", teamId: "team_1", name: "default", createdAt: 1, suspendedAt: undefined };
  let live = "dpl_1";
  const graphs = new Map([
    ["dpl_1", graphOf("slow")],
    ["dpl_2", graphOf("slow", "other")],
  ]);
  for (const topic of ["slow", "other"]) {
    await embedded.ensure("env_1", topic, 1);
    await embedded.of("env_1").push(topic, [{ value: Buffer.from("{}") }]);
  }
  const held = Promise.withResolvers<never>();
  held.promise.catch(() => undefined);
  const called: string[] = [];
  const runner = startStreamRunner({
    metadata,
    live: new LiveStreams({
      metadata: { environments: async () => [environment as never] },
      deployments: { live: () => live, graph: async (id) => graphs.get(id) as Graph },
    }),
    open: async (environmentId, { name }) => ({ topic: name, topics: embedded.of(environmentId), release: () => undefined }),
    homes: { topics: EVERYWHERE, streams: EVERYWHERE },
    tiles: async () => tiles,
    stepOf: async ({ deploymentId, resolver }) => {
      called.push(`${deploymentId} ${resolver.fqn}`);
      return { id: deploymentId, computer: { compute: () => held.promise }, release: () => undefined } as never as StepDeployment;
    },
    tellStopped: async () => undefined,
    isSuspended: () => false,
    ...{ metrics, bus, clock: systemClock, log, node: "node_1" },
  });
  stack.defer(() => runner.stop());
  stack.defer(() => {
    live = "";
    held.reject(new Error("the function ended"));
  });
  await eventually(() => called.includes("dpl_1 slow"), "the slow one is called");
  live = "dpl_2";
  bus.publish("live");
  await eventually(() => called.includes("dpl_2 other"), "the other one is called");
  expect(called).toEqual(["dpl_1 slow", "dpl_2 other"]);
});
