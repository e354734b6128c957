/** A project whose features have a history, what is known of it, and queries of it. */

import { Database } from "bun:sqlite";
import { join } from "node:path";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import type { Client } from "@connectrpc/connect";
import {
  type OfflineQuery,
  type OfflineQueryService,
  OfflineQueryStatus,
  type StartOfflineQueryRequestSchema,
} from "../../../gen/svc/v1/offline_query_pb.ts";
import { type DataType, DataTypeSchema, PrimitiveType } from "../../../gen/svc/v1/value_pb.ts";
import type { FeatureValue } from "../../../src/domain/value.ts";
import { createSqliteOfflineStore } from "../../../src/server/stores/offline/sqlite.ts";
import { createTableEngine } from "../../../src/server/tables/create-table-engine.ts";
import { eventually } from "../../harness/eventually.ts";
import type { ProjectFiles } from "../deployments/deploying.ts";

export const HOUR = 3_600_000;
export const START = Date.UTC(2024, 0, 1);

/** A transaction of the project's database. */
export interface Txn {
  readonly id: number;
  readonly user: number;
  readonly amount: number;
  readonly at: number;
}

/** The project: `txns` are in a SQLite file, all else is in the history or computed. */
export function historyProject(folder: string, txns: readonly Txn[]): ProjectFiles {
  const path = join(folder, "txns.db");
  using db = new Database(path);
  db.run("create table if not exists txn (id integer primary key, user_id integer, amount real, at text)");
  for (const { id, user, amount, at } of txns)
    db.run("insert or replace into txn values (?, ?, ?, ?)", [id, user, amount, new Date(at).toISOString()]);
  return {
    "features.py": `from svc import DataFrame, Now, online, offline
from svc.features import FeatureTime, _, feature, features
from svc.sources import SQLiteSource
from svc.streams import Windowed, windowed

bank = SQLiteSource(name="bank", path=${JSON.stringify(path)})

@features
class Account:
    id: str
    balance: float

@features
class Txn:
    id: int
    user_id: "User.id"
    amount: float
    at: FeatureTime

@features
class User:
    id: int
    age: int | None
    score: float
    account_id: "Account.id | None"
    account: "Account | None"
    secret: str = feature(store_offline=False)
    twice: float = _.score * 2
    rich: float = _.account.balance + _.score
    txns: DataFrame[Txn]
    spent: float = _.txns[_.amount].sum()
    recent: Windowed[int] = windowed("2h", "1d", expression=_.txns[_.at > _.svc_window, _.at <= _.svc_now].count())
    level: int
    odd: int
    band: str
    worth: float = feature(expression=_.score * 2, offline_expression=_.score * 3 + 1)
    more: float = _.worth + 0.5
    guess: float = feature(offline_expression=_.score - 1)

@online
def get_guess(id: User.id) -> User.guess:
    return 7.0

@online(when=User.account.balance > 5 and User.score is not None)
def rich_band(score: User.score) -> User.band:
    return "rich"

@online(when=User.age is not None)
def aged_band(age: User.age) -> User.band:
    return f"age {age}"

@online
def other_band(id: User.id) -> User.band:
    return "other"

@online(translate=False)
def get_level(score: User.score, now: Now) -> User.level:
    return int(score) * 100 + now.hour

@offline(translate=False)
def get_odd(id: User.id) -> User.odd:
    if id % 2 == 0:
        raise ValueError("even")
    return id
`,
    "txns.svc.sql": "-- resolves: Txn\n-- source: bank\nselect id, user_id, amount, at from txn\n",
  };
}

/** One observation. */
export interface Seen {
  readonly feature: string;
  readonly key: FeatureValue;
  readonly at: number;
  readonly value: FeatureValue;
  /** When it was known; default: when it was true. */
  readonly knownAt?: number;
}

/** Puts observations into the history of a server that does not run. */
export async function putHistory(folder: string, seen: readonly Seen[]): Promise<void> {
  const { environmentId, ids } = featuresOf(folder);
  const store = createSqliteOfflineStore({ path: join(folder, "data/offline.db"), programVersion: "test", now: Date.now });
  const refused = await store.append(
    [...Map.groupBy(seen, ({ feature }) => feature)].map(([fqn, all]) => {
      const [namespace = "", name = ""] = fqn.split(".");
      const featureId = ids.get(fqn) ?? 0;
      return {
        version: { featureId, environmentId, namespace, name, internalVersion: 1, dtype: typeOf(fqn) },
        ...{ deploymentId: "", resolver: "", op: "upload" },
        keys: all.map(({ key }) => (typeof key === "string" ? `s:${key}` : `i:${String(key)}`)),
        values: all.map(({ value }) => value),
        observedAt: all.map(({ at }) => at),
        knownAt: all.map(({ at, knownAt = at }) => knownAt),
      };
    }),
  );
  await store.close();
  if (refused.length > 0) throw new Error(JSON.stringify(refused));
}

function featuresOf(folder: string): { environmentId: string; ids: Map<string, number> } {
  using db = new Database(join(folder, "data/meta.db"), { readonly: true });
  const ids = db.query<{ fqn: string; id: number; env: string }, []>("select fqn, id, environment_id as env from feature").all();
  return { environmentId: ids[0]?.env ?? "", ids: new Map(ids.map(({ fqn, id }) => [fqn, id])) };
}

const TYPES: Readonly<Record<string, PrimitiveType>> = {
  "account.balance": PrimitiveType.FLOAT64,
  "user.account_id": PrimitiveType.STRING,
  "user.age": PrimitiveType.INT64,
  "user.score": PrimitiveType.FLOAT64,
};

function typeOf(fqn: string): DataType {
  return create(DataTypeSchema, { kind: { case: "primitive", value: TYPES[fqn] ?? PrimitiveType.UNSPECIFIED } });
}

/** The value of a feature as known at a time, by a plain loop. */
export function knownAt(seen: readonly Seen[], feature: string, key: FeatureValue, at: number, asKnown = false): Seen | undefined {
  let best: Seen | undefined;
  for (const one of seen) {
    if (one.feature !== feature || one.key !== key || one.at > at) continue;
    if (asKnown && (one.knownAt ?? one.at) > at) continue;
    if (!best || one.at >= best.at) best = one;
  }
  return best;
}

/** Follows a query to its end. */
export async function endOf(service: Client<typeof OfflineQueryService>, id: string): Promise<OfflineQuery> {
  let last: OfflineQuery | undefined;
  await eventually(async () => {
    last = (await service.getOfflineQuery({ id })).query;
    return last !== undefined && last.status !== OfflineQueryStatus.QUEUED && last.status !== OfflineQueryStatus.WORKING;
  }, "the query ends");
  return last as OfflineQuery;
}

/** Begins a query and follows it to its end. */
export async function finish(
  service: Client<typeof OfflineQueryService>,
  request: MessageInitShape<typeof StartOfflineQueryRequestSchema>,
): Promise<OfflineQuery> {
  const { query } = await service.startOfflineQuery(request);
  return endOf(service, query?.id ?? "");
}

/** A row of an answer. */
export type Row = Readonly<Record<string, FeatureValue>>;

/** The rows of a query's answer, or of its files of another kind, with the names of the columns. */
export async function answerOf(
  server: { readonly url: string },
  service: Client<typeof OfflineQueryService>,
  id: string,
  folder: string,
  kind = "output",
): Promise<{ readonly columns: readonly string[]; readonly rows: readonly Row[] }> {
  const { files } = await service.listOfflineQueryFiles({ id });
  const log = { debug: () => undefined, info: () => undefined, warning: () => undefined, error: () => undefined, enabled: () => false };
  const tables = createTableEngine({ folder: join(folder, `read-${crypto.randomUUID()}`), libraryFolders: [], log: log as never });
  try {
    let columns: readonly string[] = [];
    const rows: Row[] = [];
    for (const file of files.filter((one) => one.kind === kind)) {
      const path = join(folder, `${crypto.randomUUID()}.parquet`);
      await Bun.write(path, await fetch(`${server.url}${file.url}`));
      columns = (await tables.describe(path)).columns.map(({ name }) => name);
      for await (const chunk of tables.read(path))
        for (let row = 0; row < chunk.rows; row++)
          rows.push(Object.fromEntries(columns.map((name, at) => [name, chunk.columns[at]?.[row] ?? null])));
    }
    return { columns, rows };
  } finally {
    await tables.close();
  }
}

/** A column of inputs. */
export function column(feature: string, values: readonly unknown[]) {
  return { feature, values: values.map((value) => ({ feature, value: { case: "text" as const, value: JSON.stringify(value) } })) };
}
