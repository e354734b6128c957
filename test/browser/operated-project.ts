/** A server at work, for pages about what runs: markup is in every text that callers choose. */

import { AggregateService } from "../../gen/svc/v1/aggregate_pb.ts";
import { BenchmarkService, BenchmarkState } from "../../gen/svc/v1/benchmark_pb.ts";
import { EvaluationRunState, EvaluationService } from "../../gen/svc/v1/evaluation_pb.ts";
import { IntegrationService } from "../../gen/svc/v1/integration_pb.ts";
import { OfflineQueryService, OfflineQueryStatus } from "../../gen/svc/v1/offline_query_pb.ts";
import { QueryService } from "../../gen/svc/v1/query_pb.ts";
import { ResolverRunService, ResolverRunState } from "../../gen/svc/v1/resolver_run_pb.ts";
import { SecretService } from "../../gen/svc/v1/secret_pb.ts";
import { ServiceTokenService } from "../../gen/svc/v1/service_token_pb.ts";
import { StreamService } from "../../gen/svc/v1/stream_pb.ts";
import { TaskService, TaskState } from "../../gen/svc/v1/task_pb.ts";
import { TopicService } from "../../gen/svc/v1/topic_pb.ts";
import { TrafficService } from "../../gen/svc/v1/traffic_pb.ts";
import { WebhookService } from "../../gen/svc/v1/webhook_pb.ts";
import { eventually } from "../harness/eventually.ts";
import type { TestServer } from "../harness/running-server.ts";
import { uploadDataset } from "../server/datasets/uploading.ts";
import { deploy, expectLive } from "../server/deployments/deploying.ts";
import { HOSTILE } from "./hostile-project.ts";

const TEXT = HOSTILE.replace("\u202e", "");

const FILES = {
  "features.py": `from svc import Monitor
from svc.features import features
from svc.queries import ScheduledQuery

@features(max_staleness="1h")
class User:
    id: int
    name: str
    score: float

ScheduledQuery(name="scores", schedule="30 2 * * *", output=[User.score])
Monitor("busy", "sum:query.count{query_name:browse}.rollup(10m)", above=5, for_="1m", notify=["webhook:ops"])
Monitor(${JSON.stringify(TEXT.slice(0, 90))}, "p99:query.latency by {query_name}", above="80ms", owner=${JSON.stringify(TEXT)}, description=${JSON.stringify(TEXT)})
`,
  "resolvers.py": `import logging
from svc import Cron, DataFrame, offline, online
from features import User

@online
def get_name(id: User.id) -> User.name:
    print("asked for", id)
    logging.getLogger("shop").warning(${JSON.stringify(TEXT)})
    return ${JSON.stringify(TEXT)} + str(id)

@online
def get_score(id: User.id) -> User.score:
    print("score of", id)
    return id / 2

@offline(cron="1d")
def known() -> DataFrame[User.id, User.score]:
    print("known users")
    return DataFrame({User.id: [1, 2, 3], User.score: [0.5, 1.0, 1.5]})
`,
  "shouting.py": `from svc.compute import function

@function(concurrency=2)
def shout_loudly(text: str) -> str:
    """${TEXT}"""
    return text.upper()
`,
  "evals.py": `from svc.evaluations import Evaluation, exact_match
from work import shout

def length(output):
    return len(output)

Evaluation(${JSON.stringify(TEXT.slice(0, 90))}, dataset="texts", task=shout, key="text", description=${JSON.stringify(TEXT)},
    scorers=[exact_match("expected", name=${JSON.stringify(TEXT.slice(0, 30))}), length])
`,
  "payments.py": `from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from svc import online
from svc.features import DataFrame, FeatureTime, Features, Primary, _, feature, features
from svc.sources import TopicSource
from svc.streams import Windowed, stream, windowed

@dataclass
class Message:
    id: int
    shop: int
    amount: int
    at: datetime
    note: str = ""

@features(max_staleness="infinity")
class Payment:
    id: int
    shop_id: "Shop.id"
    amount: int = feature(min=0, max=1000, strict=True, cache_nulls=False)
    at: FeatureTime
    note: str = feature(version=2, default_version=2, deprecated=True, offline_ttl="30d", default="", cache_defaults="evict_defaults")

@features
class Visit:
    id: int
    shop_id: "Shop.id"
    at: FeatureTime

@features
class Shop:
    id: int
    payments: DataFrame[Payment]
    visits: DataFrame[Visit]
    spend: Windowed[int] = windowed("30d", materialization=True, default=0,
        expression=_.payments[_.amount, _.at > _.svc_window, _.at <= _.svc_now].sum())
    visited: Windowed[int] = windowed("1d", "30d", materialization={"bucket_duration": "1h", "backfill_schedule": "15 * * * *"},
        expression=_.visits[_.at > _.svc_window, _.at <= _.svc_now].count())

@stream(source=TopicSource(name="payments", partitions=2))
def on_payment(message: Message) -> Features[Payment.id, Payment.shop_id, Payment.amount, Payment.at]:
    if message.amount < 0:
        raise ValueError(message.note)
    return Payment(id=message.id, shop_id=message.shop, amount=message.amount, at=message.at)

@online
def visits() -> DataFrame[Visit.id, Visit.shop_id, Visit.at]:
    now = datetime.now(timezone.utc)
    return DataFrame({Visit.id: list(range(40)), Visit.shop_id: [7] * 40, Visit.at: [now - timedelta(hours=hour) for hour in range(40)]})
`,
  "work.py": "def shout(text):\n    print('worked', text)\n    return text\n",
};

const idOf = (id: number) => ({ feature: "user.id", value: { case: "text", value: String(id) } }) as const;

/** Ids of what was made. */
export interface Operated {
  readonly live: string;
  readonly ready: string;
  readonly resolverRun: string;
  readonly offlineQuery: string;
  readonly task: string;
  /** Runs of the evaluation, the older one first. */
  readonly evaluation: string;
  readonly evaluationRuns: readonly string[];
  /** Benchmarks with results, the older one first. */
  readonly benchmarks: readonly string[];
  readonly dataset: string;
  /** Name of a stream with dead letters. */
  readonly stream: string;
  /** Id of the job that filled kept windows. */
  readonly backfill: string;
}

/** Deploys, queries, runs, and sets what can be set. */
export async function operate(server: TestServer): Promise<Operated> {
  const first = await deploy(server, FILES, { tags: ["stable"] });
  expectLive(first);
  const second = await deploy(server, { ...FILES, "more.py": "x = 1\n" }, { tags: ["canary"], description: HOSTILE });
  expectLive(second);
  expectLive(await deploy(server, FILES, { branch: "experiment" }));
  const query = server.client(QueryService);
  for (let id = 1; id <= 20; id++) {
    await query.query({ inputs: [idOf(id)], outputs: ["user.name", "user.score"], queryName: "browse" });
  }
  const runs = server.client(ResolverRunService);
  const resolverRun = (await runs.triggerResolver({ resolver: "known" })).run?.id ?? "";
  const offline = server.client(OfflineQueryService);
  const inputs = [{ feature: "user.id", values: [1, 2, 3].map(idOf) }];
  const dataset = `scores ${TEXT}`;
  const started = await offline.startOfflineQuery({ inputs, outputs: ["user.name", "user.score"], recompute: true, datasetName: dataset });
  const offlineQuery = started.query?.id ?? "";
  await eventually(async () => {
    const { query: now } = await offline.getOfflineQuery({ id: offlineQuery });
    return now?.status === OfflineQueryStatus.COMPLETED;
  }, "the offline query is done");
  await eventually(async () => {
    const { run } = await runs.getResolverRun({ id: resolverRun });
    return run?.state === ResolverRunState.SUCCEEDED;
  }, "the run is done");
  const tasks = server.client(TaskService);
  const target = { code: { case: "path", value: "work.py" }, callable: "shout" } as const;
  const { ids } = await tasks.runTasks({ target, arguments: [{ argsJson: JSON.stringify([TEXT]) }] });
  const task = ids[0] ?? "";
  await eventually(async () => (await tasks.getTask({ id: task })).task?.state === TaskState.SUCCEEDED, "the task is done");
  const evaluations = server.client(EvaluationService);
  const evaluationRuns: string[] = [];
  for (const expected of [TEXT, "other"]) {
    await uploadDataset(server, "texts", { "texts.jsonl": `${JSON.stringify({ text: TEXT, expected })}\n` });
    const id = (await evaluations.triggerEvaluation({ id: TEXT.slice(0, 90) })).run?.id ?? "";
    await eventually(
      async () => (await evaluations.getEvaluationRun({ id })).run?.state === EvaluationRunState.SUCCEEDED,
      "the evaluation has run",
    );
    evaluationRuns.push(id);
  }
  const benchmarks: string[] = [];
  for (const image of [TEXT.slice(0, 60), ""]) benchmarks.push(await measured(server, image));
  const stream = await readTopic(server);
  const backfilled = await server.client(AggregateService).backfillAggregates({ backfill: { feature: "shop.visited" } });
  await eventually(async () => {
    const { series } = await server.client(AggregateService).listAggregates({});
    return series.some(({ filledUntil, namespace }) => namespace === "visit" && filledUntil !== undefined);
  }, "the kept windows are filled");
  await server.client(SecretService).setSecrets({ secrets: [{ name: "API_KEY", value: `secret-${TEXT}` }] });
  // Nobody listens there.
  const environmentVariables = { PGHOST: "127.0.0.1", PGPORT: "1", PGDATABASE: "shop", PGUSER: "shop", PGPASSWORD: TEXT };
  await server.client(IntegrationService).applyIntegration({ name: "closed", kind: "postgresql", environmentVariables });
  const url = "https://hooks.example.com/events";
  await server
    .client(WebhookService)
    .createWebhook({ name: TEXT.slice(0, 60), url, subscriptions: ["nothing.happens"], secret: "long enough a secret" });
  await server.client(ServiceTokenService).createServiceToken({ name: TEXT.slice(0, 60), role: "viewer" });
  await server.client(TrafficService).setTraffic({ weights: { stable: 30, canary: 70 } });
  return {
    ...{ live: second.id, ready: first.id, resolverRun, offlineQuery, task, dataset, stream },
    ...{ evaluation: TEXT.slice(0, 90), evaluationRuns, benchmarks, backfill: backfilled.jobId },
  };
}

/** The id of a benchmark with results, which warns of its image. */
async function measured(server: TestServer, image: string): Promise<string> {
  const benchmarks = server.client(BenchmarkService);
  const plan = { outputs: ["user.name", "user.score"], qps: 20, duration: { seconds: 1n }, image };
  const id = (await benchmarks.runBenchmark({ inputs: { "user.id": "7" }, plan })).benchmark?.id ?? "";
  await eventually(
    async () => (await benchmarks.getBenchmark({ id })).benchmark?.state === BenchmarkState.SUCCEEDED,
    "the benchmark has results",
  );
  return id;
}

/** Messages of which the stream stores some and puts others aside; returns its name. */
async function readTopic(server: TestServer): Promise<string> {
  const [topicName, name] = ["payments", "payments.on_payment"];
  const at = new Date().toISOString();
  const message = (id: number, amount: number) => JSON.stringify({ id, shop: 7, amount, at, note: TEXT });
  const values = [message(1, 40), message(2, 2), message(3, -1), TEXT, message(4, 10_000)];
  const messages = values.map((value) => ({ value: new TextEncoder().encode(value) }));
  await server.client(TopicService).pushMessages({ topicName, messages });
  await eventually(async () => {
    const { stream } = await server.client(StreamService).getStream({ name });
    return stream?.deadLetters === 3n && stream.lag === 0n;
  }, "the messages are read");
  return name;
}
