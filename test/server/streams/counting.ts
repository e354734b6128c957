/**
 * A process that reads a topic as a node does, over the real stores, and counts its messages and
 * their numbers in tiles, one for each group: by a stream of expressions, and by one that is a
 * statement. It runs until it is killed.
 *
 *     bun counting.ts FOLDER
 */

import { create } from "@bufbuild/protobuf";
import { FeatureSetSchema, GraphSchema, StreamResolverSchema } from "../../../gen/svc/v1/graph_pb.ts";
import { type DataType, DataTypeSchema, PrimitiveType } from "../../../gen/svc/v1/value_pb.ts";
import { systemClock } from "../../../src/context/system-clock.ts";
import { createMemoryBus } from "../../../src/server/jobs/bus.ts";
import { createLog } from "../../../src/server/log.ts";
import { buildGraphIndex } from "../../../src/server/query/graph/graph-index.ts";
import { createSqliteMetadataStore } from "../../../src/server/stores/metadata/sqlite.ts";
import { openSqliteTileStore } from "../../../src/server/stores/tiles/sqlite.ts";
import type { Tile, TileStore } from "../../../src/server/stores/tiles/store.ts";
import { createSqliteTopicStore } from "../../../src/server/stores/topics/sqlite.ts";
import { MessageComputer } from "../../../src/server/streams/messages.ts";
import { type KeptWindows, readPartition } from "../../../src/server/streams/partition-reader.ts";
import { createTableEngine } from "../../../src/server/tables/create-table-engine.ts";
import type { TableEngine } from "../../../src/server/tables/engine.ts";
import { filledRead } from "../../../src/server/tiles/coverage.ts";
import { createEmbeddedTopics } from "../../../src/server/topics/embedded.ts";

/** Names of the world that is counted. */
export const COUNTED = { environmentId: "env_1", topic: "numbers", scope: "main" };

/** The streams that count, each in a series of its own. */
export const COUNTERS = [
  { streamId: "str_1", seriesId: 1, body: "expressions" },
  { streamId: "str_2", seriesId: 2, body: "statement" },
] as const;

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
function counting(by: (typeof COUNTERS)[number]["body"], engine: TableEngine): MessageComputer {
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
    body:
      by === "expressions"
        ? {
            case: by,
            value: { message: set("message"), outputs: { "row.id": path("id"), "row.number": path("number"), "row.group": path("group") } },
          }
        : { case: by, value: { message: set("message"), table: "ev", sql: 'select "group", number, id from ev order by random()' } },
  });
  const graph = create(GraphSchema, { featureSets: [set("row")] });
  const featureIds = new Map(["row.id", "row.number", "row.group"].map((fqn, id) => [fqn, id + 1]));
  const index = buildGraphIndex(graph, { environmentName: "default", featureIds, sources: [] });
  const deployment = { index, graph, versions: "", offline: new Map(), staleness: new Map() };
  return new MessageComputer(resolver, deployment, async () => engine);
}

/** States are the count and the sum, as text. */
const foldingOf = (seriesId: number): KeptWindows => ({
  deltas(_namespace, { columns, rows }) {
    const sums = new Map<string, [count: number, sum: number]>();
    for (let row = 0; row < rows; row++) {
      const group = String(columns.get("row.group")?.[row]);
      const [count, sum] = sums.get(group) ?? [0, 0];
      sums.set(group, [count + 1, sum + Number(columns.get("row.number")?.[row])]);
    }
    const tiles = [...sums].map(([group, state]): Tile => ({ seriesId, group, bucket: 0, state: Buffer.from(state.join(" ")) }));
    return { tiles, expired: 0 };
  },
  guard: { read: filledRead, admits: () => true },
  merge(_seriesId, stored, added) {
    const [a, b] = [stored, added].map((state) => Buffer.from(state).toString().split(" ").map(Number));
    return Buffer.from(`${(a?.[0] ?? 0) + (b?.[0] ?? 0)} ${(a?.[1] ?? 0) + (b?.[1] ?? 0)}`);
  },
});

if (import.meta.main) {
  const folder = process.argv[2] ?? "";
  const { embedded } = topicsOf(folder);
  const tiles = tilesOf(folder);
  const metadata = createSqliteMetadataStore({ path: `${folder}/meta.db`, programVersion: "1" });
  const log = createLog({ write: () => undefined, level: "error", clock: systemClock });
  const tables = createTableEngine({ folder: `${folder}/tables-${process.pid}`, libraryFolders: [`${folder}/library`], log });
  const id = { name: "id", dtype: type(PrimitiveType.STRING) };
  // The engine's process takes longer to start than a round takes.
  await tables.examine({ statement: "select id from ev", table: "ev", columns: [id], answer: [id] });
  console.log("ready");
  await Promise.all(
    COUNTERS.map(({ body, seriesId, streamId }) =>
      readPartition({
        key: { streamId, partition: 0 },
        ...{ scope: COUNTED.scope, tiles, streams: metadata.streams },
        open: async () => ({ topic: COUNTED.topic, topics: embedded.of(COUNTED.environmentId), release: () => undefined }),
        deployment: async () => ({
          ...{ id: "dpl_1", computer: counting(body, tables), folding: foldingOf(seriesId), latenessMs: 3_600_000 },
          ...{ pool: undefined as never, release: () => undefined },
          store: async () => true,
        }),
        isCurrent: () => true,
        now: () => Date.now(),
        pause: (ms) => Bun.sleep(ms),
        note: async () => undefined,
        fail: async (_, reason) => console.log(reason),
        stepped: () => undefined,
        warn: (message, fields) => console.log(message, fields),
        signal: new AbortController().signal,
      }),
    ),
  );
}
