/**
 * Measures the compiled binary and prints ratios against anchors measured in the same run; nothing
 * is asserted about time.
 *
 *   bun build.ts --single && bun test/bench/bench.ts [start] [query] [grpc] [compute] [translate] [bulk] [peer] [size] [apply] [webhooks] [tables] [offline] [upload] [landing] [streams] [kept] [vectors] [jobs] [recording] [metrics] [logs] [historical] [paint] [tail] [topics] [containers] [workers] [gateway] [--rounds=5] [--json]
 *
 * `start`  cold start of `svc version` against a hello-world binary of the same runtime `query`
 * online queries over HTTP against a bare server that reads as much from SQLite `grpc`
 * the same query over gRPC against Connect, from one client and from sixteen `compute` one
 * Python resolver, ten in a diamond, an aggregation over 1,000 children, four clients, and the
 * engine's time, against a cached query `translate` resolvers translated from Python against the
 * same in Python, and one that cannot be, from one client and from sixteen `bulk`   rows of bulk
 * queries against single queries `peer`   stored features against Feast's own server, which is
 * installed from PyPI into `dist/feast-venv` the first time `size`   checking and deploying
 * projects of 1,000, 4,000 and 16,000 features, against CPython's import of as many dataclasses
 * `apply`  deployments to a branch: the example project, and one of 1,000 features and 500
 * resolvers `webhooks` queries that webhooks are told of, against the same without `tables` a table
 * of 1,000,000 rows written as Parquet and read, against DuckDB by hand `offline` point-in-time
 * samples of files against the same SQL by hand on the same history, and moves to it;
 * SVC_BENCH_OBSERVATIONS=1000000 makes that smaller `upload` a million rows of Parquet into the
 * history, against writing the file `landing` 50,000 rows a second into the history for
 * SVC_BENCH_SECONDS (20), and stalls of the event loop `jobs` what a job of the queue costs beside
 * 100,000 that wait, against beside 100 `streams` messages a second into
 * rows and a kept sum, and the time of one `kept` windows of 30 days over 1,000,000 rows of one key
 * (SVC_BENCH_ROWS) with their tiles, against a cached query `vectors` reads of stored vectors of 768
 * dimensions against their JSON, and searches of 6,250, 25,000 and 100,000 `recording` queries with and without the recording of
 * metrics `metrics` reads of the store of metrics `logs` searches of 100,000, 1,000,000 and
 * 3,000,000 lines `historical` point-in-time samples against Feast's, which is installed as for
 * `peer`, compared row by row `paint` first paint of the dashboard against a page of one paragraph,
 * and pages with their data, in a browser `tail` the log followed in a tab while 1,000 lines a second
 * come, twelve seconds a round `topics` 100,000 messages pushed and read, with each driver, against
 * kafkajs `containers` containers and commands in sandboxes against Podman's own commands, as root
 * `workers` workers in containers against processes, as root
 * `gateway` what the gateway adds to a request to a container, and the first answer of a scaling
 * group without replicas, on a Podman
 */

import { Sandbox } from "../harness/sandbox.ts";
import { measureApply } from "./apply.ts";
import { measureBulk } from "./bulk.ts";
import { measureComputing } from "./compute.ts";
import { measureContainers } from "./containers.ts";
import { type Line, table } from "./figures.ts";
import { measureGateway } from "./gateway.ts";
import { measureGrpc } from "./grpc.ts";
import { measureHistorical } from "./historical.ts";
import { measureJobs } from "./jobs.ts";
import { measureKept } from "./kept.ts";
import { measureLanding } from "./landing.ts";
import { measureLogs } from "./logs.ts";
import { measureMetrics } from "./metrics.ts";
import { measureOffline } from "./offline.ts";
import { measurePaint } from "./paint.ts";
import { measurePeer } from "./peer.ts";
import { measureQueries } from "./query.ts";
import { measureRecording } from "./recording.ts";
import { measureSize } from "./size.ts";
import { measureStart } from "./start.ts";
import { measureStreams } from "./streams.ts";
import { measureTables } from "./tables.ts";
import { measureTail } from "./tail.ts";
import { measureTopics } from "./topics.ts";
import { measureTranslation } from "./translate.ts";
import { measureUpload } from "./upload.ts";
import { measureVectors } from "./vectors.ts";
import { measureWebhooks } from "./webhooks.ts";
import { measureWorkerContainers } from "./worker-containers.ts";

const PARTS = {
  start: { title: "Cold start", measure: measureStart },
  query: { title: "Online query", measure: measureQueries },
  grpc: { title: "Queries over gRPC", measure: measureGrpc },
  compute: { title: "Computing query", measure: measureComputing },
  translate: { title: "Translated resolvers", measure: measureTranslation },
  bulk: { title: "Bulk query", measure: measureBulk },
  peer: { title: "Feast's feature server", measure: measurePeer },
  size: { title: "Projects by size", measure: measureSize },
  apply: { title: "Apply to a branch", measure: measureApply },
  tables: { title: "Tables in files", measure: measureTables },
  webhooks: { title: "Queries that webhooks are told of", measure: measureWebhooks },
  offline: { title: "Offline store", measure: measureOffline },
  upload: { title: "Upload of values", measure: measureUpload },
  landing: { title: "Landing of observations", measure: measureLanding },
  streams: { title: "Streams of messages", measure: measureStreams },
  kept: { title: "Kept windows", measure: measureKept },
  vectors: { title: "Vectors", measure: measureVectors },
  jobs: { title: "Queue of jobs", measure: measureJobs },
  recording: { title: "Recording of metrics, statistics and requests", measure: measureRecording },
  metrics: { title: "Store of metrics", measure: measureMetrics },
  logs: { title: "Log", measure: measureLogs },
  paint: { title: "First paint of the dashboard", measure: measurePaint },
  tail: { title: "The log followed in a tab", measure: measureTail },
  containers: { title: "Containers", measure: measureContainers },
  workers: { title: "Workers in containers", measure: measureWorkerContainers },
  topics: { title: "Topics", measure: measureTopics },
  gateway: { title: "Gateway to containers", measure: measureGateway },
  historical: { title: "Feast's historical retrieval", measure: measureHistorical },
} as const;

const names = Object.keys(PARTS) as (keyof typeof PARTS)[];
const given = process.argv.slice(2);
const rounds = Number(given.find((word) => word.startsWith("--rounds="))?.slice("--rounds=".length) ?? 5);
const wanted = names.filter((name) => given.includes(name));
const unknown = given.find((word) => !/^--(rounds=\d+|json)$/.test(word) && !names.some((name) => name === word));
if (unknown !== undefined || !(rounds > 0)) throw new Error(`not understood: ${unknown ?? "--rounds"}; parts are ${names.join(", ")}`);

const report: Record<string, readonly Line[]> = {};
for (const name of wanted.length > 0 ? wanted : names) {
  await using sandbox = new Sandbox();
  const { title, measure } = PARTS[name];
  const lines = await measure(sandbox, rounds);
  report[name] = lines;
  if (!given.includes("--json")) console.log(`${table(title, lines)}\n`);
}
if (given.includes("--json")) console.log(JSON.stringify(report, null, 2));
