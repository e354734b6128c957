/**
 * A process that reads a topic as a node does, over the real stores, and counts its messages and
 * their numbers in tiles, one for each group of ten seconds. It runs until it is killed.
 *
 *     bun counting.ts FOLDER
 */

import { create } from "@bufbuild/protobuf";
import { FeatureSetSchema, GraphSchema, type StreamResolver, StreamResolverSchema } from "../../../gen/svc/v1/graph_pb.ts";
import { type DataType, DataTypeSchema, PrimitiveType } from "../../../gen/svc/v1/value_pb.ts";
import { systemClock } from "../../../src/context/system-clock.ts";
import { createMemoryBus } from "../../../src/server/jobs/bus.ts";
import { buildGraphIndex } from "../../../src/server/query/graph/graph-index.ts";
import { createSqliteMetadataStore } from "../../../src/server/stores/metadata/sqlite.ts";
import { openSqliteTileStore } from "../../../src/server/stores/tiles/sqlite.ts";
import type { Tile, TileStore } from "../../../src/server/stores/tiles/store.ts";
import { createSqliteTopicStore } from "../../../src/server/stores/topics/sqlite.ts";
import { MessageComputer } from "../../../src/server/streams/messages.ts";
import { type KeptWindows, readPartition } from "../../../src/server/streams/partition-reader.ts";
import { filledRead } from "../../../src/server/tiles/coverage.ts";
import { createEmbeddedTopics } from "../../../src/server/topics/embedded.ts";

/** Names of the world that is counted. */
export const COUNTED = { environmentId: "env_1", topic: "numbers", streamId: "str_1", scope: "main", seriesId: 1 };

/** The tile store of a folder. */
export function tilesOf(folder: string): TileStore {
  return openSqliteTileStore(`${folder}/tiles.db`, { programVersion: "1" });
}

/** The topics of a folder. */
export function topicsOf(folder: string) {
  const store = createSqliteTopicStore({ path: `${folder}/topics.db`, programVersion: "1", clock: systemClock });
  return { store, embedded: createEmbeddedTopics({ store: async () => store, bus: createMemoryBus() }) };
}

const type = (value: PrimitiveType): DataType => create(DataTypeSchema, { kind: { case: "primitive", value } });

/** A stream that takes a number and a group as they are. */
function counting(): { readonly resolver: StreamResolver; readonly computer: MessageComputer } {
  const feature = (namespace: string, name: string, of: PrimitiveType, primary = false) => ({
    ...{ fqn: `${namespace}.${name}`, name, namespace },
    kind: { case: "scalar" as const, value: { dtype: type(of), primary } },
  });
  const set = (namespace: string) =>
    create(FeatureSetSchema, {
      ...{ namespace, className: namespace, primaryKey: `${namespace}.id` },
      features: [
        feature(namespace, "id", PrimitiveType.STRING, true),
        feature(namespace, "number", PrimitiveType.INT64),
        feature(namespace, "group", PrimitiveType.STRING),
      ],
    });
  const path = (name: string) => ({ node: { case: "feature" as const, value: { path: [name] } } });
  const resolver = create(StreamResolverSchema, {
    ...{ fqn: "count", outputs: ["row.id", "row.number", "row.group"] },
    body: {
      case: "expressions",
      value: { message: set("message"), outputs: { "row.id": path("id"), "row.number": path("number"), "row.group": path("group") } },
    },
  });
  const graph = create(GraphSchema, { featureSets: [set("row")] });
  const featureIds = new Map(["row.id", "row.number", "row.group"].map((fqn, id) => [fqn, id + 1]));
  const index = buildGraphIndex(graph, { environmentName: "default", featureIds, sources: [] });
  const deployment = { index, graph, versions: "", offline: new Map(), staleness: new Map() };
  return { resolver, computer: new MessageComputer(resolver, deployment) };
}

/** States are the count and the sum, as text. */
const folding: KeptWindows = {
  deltas(_namespace, { columns, rows }) {
    const sums = new Map<string, [count: number, sum: number]>();
    for (let row = 0; row < rows; row++) {
      const group = String(columns.get("row.group")?.[row]);
      const [count, sum] = sums.get(group) ?? [0, 0];
      sums.set(group, [count + 1, sum + Number(columns.get("row.number")?.[row])]);
    }
    const tiles = [...sums].map(
      ([group, state]): Tile => ({ seriesId: COUNTED.seriesId, group, bucket: 0, state: Buffer.from(state.join(" ")) }),
    );
    return { tiles, expired: 0 };
  },
  guard: { read: filledRead, admits: () => true },
  merge(_seriesId, stored, added) {
    const [a, b] = [stored, added].map((state) => Buffer.from(state).toString().split(" ").map(Number));
    return Buffer.from(`${(a?.[0] ?? 0) + (b?.[0] ?? 0)} ${(a?.[1] ?? 0) + (b?.[1] ?? 0)}`);
  },
};

if (import.meta.main) {
  const folder = process.argv[2] ?? "";
  const { embedded } = topicsOf(folder);
  const tiles = tilesOf(folder);
  const metadata = createSqliteMetadataStore({ path: `${folder}/meta.db`, programVersion: "1" });
  const { computer } = counting();
  console.log("ready");
  await readPartition({
    key: { streamId: COUNTED.streamId, partition: 0 },
    ...{ scope: COUNTED.scope, tiles, streams: metadata.streams },
    open: async () => ({ topic: COUNTED.topic, topics: embedded.of(COUNTED.environmentId), release: () => undefined }),
    deployment: async () => ({
      ...{ id: "dpl_1", computer, folding, latenessMs: 3_600_000, pool: undefined as never, release: () => undefined },
      store: async () => true,
    }),
    now: () => Date.now(),
    pause: (ms) => Bun.sleep(ms),
    note: async () => undefined,
    fail: async (_, reason) => console.log(reason),
    stepped: () => undefined,
    warn: (message, fields) => console.log(message, fields),
    signal: new AbortController().signal,
  });
}
