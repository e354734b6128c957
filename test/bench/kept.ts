/**
 * Kept windows: 30 days of 1,000,000 rows of one key, with buckets of an hour and of a minute,
 * against a cached query; the engine's time apart. What a stream of messages keeps is read from
 * tiles alone. Of rows in a database, what is left beside the cached query is one statement for the
 * rows of the edges, which follow from the length of a bucket.
 */

import { Database } from "bun:sqlite";
import { join } from "node:path";
import { lacksPostgres, startPostgres, type TestPostgres } from "../harness/postgres.ts";
import type { Sandbox } from "../harness/sandbox.ts";
import { type Requests, type Served, sampleText, send, serve } from "./client.ts";
import { interleave, type Line, median, milliseconds } from "./figures.ts";
import type { Latencies } from "./load.ts";

const ROWS = Number(process.env.SVC_BENCH_ROWS ?? 1_000_000);
const DAYS = 30;
const REQUESTS = 300;
const BUCKETS = { hour: "1h", minute: "1m" } as const;
/** Messages of a push. */
const PUSHED = 1_000;
const CACHED = "cached query";

type Kind = "sqlite" | "postgres" | "topic";

/** Measures queries of kept windows of each database that is here. */
export async function measureKept(sandbox: Sandbox, rounds: number): Promise<readonly Line[]> {
  const path = join(sandbox.root, "payments.db");
  fillSqlite(path);
  const postgres = lacksPostgres() ? undefined : await startPostgres();
  try {
    return await measure(sandbox, rounds, path, postgres);
  } finally {
    await postgres?.stop();
  }
}

async function measure(sandbox: Sandbox, rounds: number, path: string, postgres: TestPostgres | undefined): Promise<readonly Line[]> {
  const env: Record<string, string> = { LITE_SQLITE_PATH: path };
  if (postgres) {
    const { host, port, user, password, database } = postgres;
    Object.assign(env, { PG_PGHOST: host, PG_PGPORT: String(port), PG_PGUSER: user, PG_PGPASSWORD: password, PG_PGDATABASE: database });
    await fillPostgres(postgres);
  }
  const kinds: Kind[] = ["sqlite", "topic", ...(postgres ? ["postgres" as const] : [])];
  const served = await serve(sandbox, Object.assign({ "svc.yaml": "project: kept\n" }, ...kinds.map(projectOf)), env);
  for (const kind of kinds) await (kind === "topic" ? push(sandbox, served) : fill(sandbox, kind));

  const ask = (feature: string): Requests =>
    served.json("/v1/query/online", [{ inputs: { [`${feature.split(".")[0]}.id`]: 1 }, outputs: [feature] }]);
  const subjects: Record<string, Requests> = { [CACHED]: ask("sqlite_user.cached[30d]") };
  for (const kind of kinds)
    for (const length of Object.keys(BUCKETS)) subjects[`${kind}, buckets of a ${length}`] = ask(`${kind}_user.by_${length}[30d]`);
  for (const [name, subject] of Object.entries(subjects)) {
    const text = sampleText(await send({ ...subject, requests: 20, concurrency: 1 }));
    const { data } = JSON.parse(text) as { data: readonly { value?: unknown }[] };
    if (typeof data[0]?.value !== "number") throw new Error(`${name} gave no answer: ${text}`);
  }
  const measured = await interleave<string, Latencies>(
    rounds,
    Object.fromEntries(
      Object.entries(subjects).map(([name, subject]) => [name, () => send({ ...subject, requests: REQUESTS, concurrency: 1 })]),
    ),
  );
  const of = (name: string, figure: "p50" | "engineP50"): number => median((measured[name] ?? []).map((latencies) => latencies[figure]));
  return Object.keys(subjects).flatMap((name) =>
    (["p50", "engineP50"] as const).map((figure) => ({
      what: `${name}, ${figure === "p50" ? "over HTTP" : "in the engine"}, p50`,
      value: milliseconds(of(name, figure)),
      ...(name !== CACHED && { ratio: of(name, figure) / of(CACHED, figure), anchor: "of cached" }),
    })),
  );
}

const SOURCES: Readonly<Record<Kind, readonly [prefix: string, source: string]>> = {
  sqlite: ["Sqlite", 'SQLiteSource(name="lite")'],
  postgres: ["Postgres", 'PostgreSQLSource(name="pg")'],
  topic: ["Topic", 'TopicSource(name="payments")'],
};

/** The project's files for a kind of rows. */
function projectOf(kind: Kind): Record<string, string> {
  const [prefix, source] = SOURCES[kind];
  const window = (name: string, options: string): string =>
    `    ${name}: Windowed[float] = windowed("30d", expression=_.payments[_.amount, _.at > _.svc_window, _.at <= _.svc_now].sum(), ${options})\n`;
  const features = `from dataclasses import dataclass
from datetime import datetime
from svc import DataFrame
from svc.features import FeatureTime, _, features
from svc.sources import PostgreSQLSource, SQLiteSource, TopicSource
from svc.streams import Windowed, make_stream_resolver, windowed

source = ${source}

@features
class ${prefix}Payment:
    id: int
    user_id: "${prefix}User.id"
    amount: float
    at: FeatureTime

@features
class ${prefix}User:
    id: int
    payments: DataFrame[${prefix}Payment]
${Object.entries(BUCKETS)
  .map(([length, bucket]) => window(`by_${length}`, `materialization={"bucket_duration": "${bucket}"}`))
  .join("")}${window("cached", 'max_staleness="1d", materialization={"bucket_duration": "1h"}')}`;
  if (kind === "topic")
    return {
      "topic_features.py": `${features}
@dataclass
class Message:
    id: int
    user_id: int
    amount: float
    at: datetime

make_stream_resolver(name="on_payment", source=source, message_type=Message,
    output_features={${["id", "user_id", "amount", "at"].map((name) => `TopicPayment.${name}: _.${name}`).join(", ")}})
`,
    };
  return {
    [`${kind}_features.py`]: features,
    [`${kind}_payments.svc.sql`]: `-- resolves: ${prefix}Payment\n-- source: ${kind === "sqlite" ? "lite" : "pg"}\n-- count: all\nselect id, user_id, amount, at from payment\n`,
  };
}

/** Pushes the rows as messages, the oldest first, and waits until the stream has read them. */
async function push(sandbox: Sandbox, { host, port, authorization }: Served): Promise<void> {
  const now = Date.now();
  for (let begin = 0; begin < ROWS; begin += PUSHED) {
    const messages = Array.from({ length: Math.min(PUSHED, ROWS - begin) }, (_, at) => {
      const back = ROWS - 1 - begin - at;
      const time = new Date(now - back * STEP_SECONDS * 1_000).toISOString();
      return { value: Buffer.from(JSON.stringify({ id: back, user_id: 1, amount: (back % 1_000) / 100, at: time })).toString("base64") };
    });
    const pushed = await fetch(`http://${host}:${port}/svc.v1.TopicService/PushMessages`, {
      method: "POST",
      headers: { authorization, "content-type": "application/json" },
      body: JSON.stringify({ topicName: "payments", messages }),
    });
    if (!pushed.ok) throw new Error(`push: ${await pushed.text()}`);
  }
  const waited = await sandbox.svc(["streams", "get", "on_payment", "--wait"]);
  if (waited.exitCode !== 0) throw new Error(`streams get: ${waited.stdout}${waited.stderr}`);
}

async function fill(sandbox: Sandbox, kind: Kind): Promise<void> {
  await sandbox.json(["aggregate", "backfill", "--feature", `${kind}_user`]);
  for (;;) {
    const { series } = await sandbox.json<{ series: readonly { namespace: string; filled_until?: string }[] }>(["aggregate", "list"]);
    if (series.every(({ namespace, filled_until: until }) => !namespace.startsWith(kind) || until !== undefined)) return;
    await Bun.sleep(200);
  }
}

const STEP_SECONDS = (DAYS * 86_400) / ROWS;

function fillSqlite(path: string): void {
  const db = new Database(path);
  db.run("create table payment (id integer primary key, user_id integer, amount real, at text)");
  db.run(
    `insert into payment with recursive n(i) as (select 0 union all select i + 1 from n where i < ${ROWS - 1})
     select i, 1, i % 1000 / 100.0, strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-' || (i * ${STEP_SECONDS}) || ' seconds') from n`,
  );
  db.run("create index payment_by on payment (user_id, at)");
  db.close();
}

async function fillPostgres({ host, port, user, password, database }: TestPostgres): Promise<void> {
  const sql = new Bun.SQL({ adapter: "postgres", hostname: host, port, username: user, password: () => password, database, max: 1 });
  await sql.unsafe("create table payment (id bigint primary key, user_id bigint, amount float8, at timestamptz)");
  await sql.unsafe(
    `insert into payment select i, 1, i % 1000 / 100.0, now() - i * interval '${STEP_SECONDS} seconds' from generate_series(0, ${ROWS - 1}) i`,
  );
  await sql.unsafe("create index payment_by on payment (user_id, at)");
  await sql.unsafe("analyze payment");
  await sql.close();
}
