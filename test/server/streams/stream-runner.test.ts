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

/** A node that reads streams, whose deployments are those of `graphs`. */
class Node implements AsyncDisposable {
  live = "dpl_1";
  /** Deployments and streams whose functions were called; no call ends before the node. */
  readonly called: string[] = [];
  readonly bus = createMemoryBus();
  readonly #stack = new AsyncDisposableStack();
  readonly #topics: ReturnType<typeof topicsOf>;

  constructor(folder: string, graphs: Readonly<Record<string, Graph>>) {
    const { embedded, store } = topicsOf(folder);
    this.#topics = { embedded, store };
    const tiles = tilesOf(folder);
    const metadata = createSqliteMetadataStore({ path: `${folder}/meta.db`, programVersion: "1" });
    this.#stack.defer(async () => {
      embedded.close();
      await store.close();
      await tiles.close();
      await metadata.close();
    });
    const log = createLog({ write: () => undefined, level: "error", clock: systemClock });
    const metrics = createMetricRecorder({ store: () => Promise.reject(new Error("none")), clock: systemClock, log, isOff: true });
    const environment = { id: "env_1", teamId: "team_1", name: "default", createdAt: 1, suspendedAt: undefined };
    const held = Promise.withResolvers<never>();
    held.promise.catch(() => undefined);
    const runner = startStreamRunner({
      metadata,
      live: new LiveStreams({
        metadata: { environments: async () => [environment as never] },
        deployments: { live: () => this.live, graph: async (id) => graphs[id] as Graph },
      }),
      open: async (environmentId, { name }) => ({ topic: name, topics: embedded.of(environmentId), release: () => undefined }),
      homes: { topics: EVERYWHERE, streams: EVERYWHERE },
      tiles: async () => tiles,
      stepOf: async ({ deploymentId, resolver }) => {
        this.called.push(`${deploymentId} ${resolver.fqn}`);
        return { id: deploymentId, computer: { compute: () => held.promise }, release: () => undefined } as never as StepDeployment;
      },
      tellStopped: async () => undefined,
      isSuspended: () => false,
      ...{ metrics, bus: this.bus, clock: systemClock, log, node: "node_1" },
    });
    this.#stack.defer(() => runner.stop());
    this.#stack.defer(() => {
      this.live = "";
      held.reject(new Error("the function ended"));
    });
    this.partitions = () => runner.partitions();
  }

  readonly partitions: () => number;

  /** Makes a topic. */
  async make(topic: string): Promise<void> {
    await this.#topics.embedded.ensure("env_1", topic, 1);
  }

  /** Pushes a message. */
  async push(topic: string): Promise<void> {
    await this.#topics.embedded.of("env_1").push(topic, [{ value: Buffer.from("{}") }]);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#stack.disposeAsync();
  }
}

test("a function that takes its time holds back no other stream, not even when it is deployed anew", async () => {
  using folder = new TempFolder();
  await using node = new Node(folder.path, { dpl_1: graphOf("slow"), dpl_2: graphOf("slow", "other") });
  for (const topic of ["slow", "other"]) {
    await node.make(topic);
    await node.push(topic);
  }
  node.bus.publish("live");
  await eventually(() => node.called.includes("dpl_1 slow"), "the slow one is called");
  node.live = "dpl_2";
  node.bus.publish("live");
  await eventually(() => node.called.includes("dpl_2 other"), "the other one is called");
  expect(node.called).toEqual(["dpl_1 slow", "dpl_2 other"]);
});

test("a message that was pushed after a deployment had gone live is computed by it, though nobody told the reader yet", async () => {
  using folder = new TempFolder();
  await using node = new Node(folder.path, { dpl_1: graphOf("one"), dpl_2: graphOf("one") });
  await node.make("one");
  node.bus.publish("live");
  await eventually(() => node.partitions() === 1, "the topic is read");
  node.live = "dpl_2";
  await node.push("one");
  await eventually(() => node.called.length > 0, "the message is computed");
  expect(node.called).toEqual(["dpl_2 one"]);
});
