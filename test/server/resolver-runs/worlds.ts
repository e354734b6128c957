/** A project whose resolvers run by themselves, and what is stored of it. */

import { Database } from "bun:sqlite";
import { join } from "node:path";
import type { Client } from "@connectrpc/connect";
import { type ResolverRun, type ResolverRunService, ResolverRunState } from "../../../gen/svc/v1/resolver_run_pb.ts";
import { eventually } from "../../harness/eventually.ts";
import type { TestServer } from "../../harness/running-server.ts";
import type { ProjectFiles } from "../deployments/deploying.ts";

/** Number of users in the project's database. */
export const USERS = 25;

/**
 * A project over a SQLite file with the ages of users: `users` reads them, `get_half` fails for the
 * age 13 and has no half for the age 14, `everyone` returns rows without arguments, `broken` would;
 * both add a line to a file for each call.
 */
export function scheduledProject(folder: string, cron = ""): ProjectFiles {
  const path = join(folder, "ages.db");
  using db = new Database(path);
  db.run("create table if not exists age (id integer primary key, age integer)");
  for (let id = 1; id <= USERS; id++) db.run("insert or replace into age values (?, ?)", [id, ageOf(id)]);
  const scheduled = cron === "" ? "" : `, cron=${JSON.stringify(cron)}`;
  return {
    "features.py": `from typing import Optional
from svc import DataFrame, offline, online
from svc.features import feature, features
from svc.sources import SQLiteSource

ages = SQLiteSource(name="ages", path=${JSON.stringify(path)})

@features
class Txn:
    id: int
    user_id: "User.id"
    amount: float

@features(max_staleness="infinity")
class User:
    id: int
    age: int
    half: Optional[float]
    rank: int
    label: str = feature(store_online=False)
    txns: DataFrame[Txn]

@online(translate=False)
def get_half(age: User.age) -> User.half:
    if age == 13:
        raise ValueError("thirteen")
    return None if age == 14 else age / 2

@offline(tags=["nightly"]${scheduled})
def everyone() -> DataFrame[User.id, User.rank]:
    with open(${JSON.stringify(join(folder, "calls"))}, "a") as calls:
        calls.write("called\\n")
    return DataFrame({User.id: [1, 2, 3, 900], User.rank: [10, 20, 30, 40]})

@offline
def broken() -> DataFrame[User.id, User.age]:
    with open(${JSON.stringify(join(folder, "calls"))}, "a") as calls:
        calls.write("called\\n")
    raise ValueError("no rows today")

@offline
def keyless() -> DataFrame[User.age, User.half]:
    return DataFrame({User.age: [1], User.half: [0.5]})

@online
def get_label(id: User.id) -> User.label:
    return f"user {id}"

@online
def get_txns(id: User.id) -> User.txns[Txn.id, Txn.amount]:
    return DataFrame({Txn.id: [id], Txn.amount: [1.5]})
`,
    "users.svc.sql": "-- resolves: User\n-- source: ages\nselect id, age from age\n",
  };
}

/** The age of a user in the database. */
export function ageOf(id: number): number {
  return 10 + (id % 7);
}

/** Follows a run to its end. */
export async function ended(service: Client<typeof ResolverRunService>, id: string): Promise<ResolverRun> {
  let last: ResolverRun | undefined;
  await eventually(async () => {
    last = (await service.getResolverRun({ id })).run;
    return last?.state === ResolverRunState.SUCCEEDED || last?.state === ResolverRunState.FAILED;
  }, "the run ends");
  return last as ResolverRun;
}

/** The stored values of a feature by the user's id, as a query reads them, without any resolver. */
export async function storedOnline(server: TestServer, feature: string, ids: readonly number[]): Promise<Map<number, unknown>> {
  const found = new Map<number, unknown>();
  for (const id of ids) {
    const response = await fetch(`${server.url}/v1/query/online`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${await server.token()}` },
      body: JSON.stringify({ inputs: { "user.id": id }, outputs: [feature], include_meta: true }),
    });
    const body = (await response.json()) as { data?: { value: unknown; meta?: { cache_hit?: boolean } }[] };
    const [field] = body.data ?? [];
    if (field?.meta?.cache_hit) found.set(id, field.value);
  }
  return found;
}

/** The history of a feature, by key and time: the users' ids, the values, and when they were observed. */
export function history(folder: string, feature: string): { readonly id: number; readonly value: unknown; readonly at: number }[] {
  using db = new Database(join(folder, "data/offline.db"), { readonly: true });
  const name = `obs\\_%\\_${feature.replace(".", "\\_\\_")}\\_\\_v1`;
  const tables = db
    .query<{ name: string }, [string]>("select name from sqlite_master where name like ? escape '\\' and type = 'table'")
    .all(name);
  return tables
    .flatMap(({ name: table }) =>
      db.query<{ pk: string; value: unknown; at: number }, []>(`select pk, value, observed_at as at from "${table}"`).all(),
    )
    .map(({ pk, value, at }) => ({ id: Number(pk.slice(2)), value, at }))
    .sort((a, b) => a.id - b.id || a.at - b.at);
}
