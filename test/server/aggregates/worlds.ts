/** A project whose windows are kept, over rows in a SQLite file. */

import { Database } from "bun:sqlite";
import { join } from "node:path";
import type { ProjectFiles } from "../deployments/deploying.ts";

/** A row of a payment; `at` is microseconds since 1970. */
export interface Payment {
  readonly id: number;
  readonly user: number;
  readonly amount: number;
  readonly at: bigint;
}

/** Opens the database of payments, which it makes if there is none. */
export function paymentsIn(folder: string): Database {
  const db = new Database(join(folder, "payments.db"));
  db.run("create table if not exists payment (id integer primary key, user_id integer, amount integer, at text)");
  db.run("create index if not exists payment_by_user on payment (user_id, at)");
  return db;
}

/** The project: sums of a day and of 30 days, and how many large payments there were in an hour. */
export function paymentProject(folder: string, materialization: string): ProjectFiles {
  return {
    "features.py": `from svc import DataFrame
from svc.features import FeatureTime, _, features
from svc.sources import SQLiteSource
from svc.streams import Windowed, windowed

payments = SQLiteSource(name="payments", path=${JSON.stringify(join(folder, "payments.db"))})

@features
class Payment:
    id: int
    user_id: "User.id"
    amount: int
    at: FeatureTime

@features
class User:
    id: int
    payments: DataFrame[Payment]
    spend: Windowed[int] = windowed("1d", "30d", materialization=${materialization},
        expression=_.payments[_.amount, _.at > _.svc_window, _.at <= _.svc_now].sum())
    large: Windowed[int] = windowed("1h", materialization=True,
        expression=_.payments[_.amount > 90, _.at > _.svc_window, _.at <= _.svc_now].count())
    plain: Windowed[int] = windowed("30d", expression=_.payments[_.amount, _.at > _.svc_window, _.at <= _.svc_now].sum())
`,
    "payments.svc.sql": "-- resolves: Payment\n-- source: payments\n-- count: all\nselect id, user_id, amount, at from payment\n",
  };
}
