/** Rules about aggregates of windows that are kept in tiles, and of groups: 181 to 184. */

import { message, rule } from "./rule.ts";

/** A class of users with a windowed feature, and its transactions. */
const user = (window: string): string =>
  `@features
class User:
    id: int
    txns: "DataFrame[Txn]"
    ${window}


@features
class Txn:
    id: int
    user_id: User.id
    amount: float
    at: FeatureTime


@online
def get_txns(id: User.id) -> User.txns[Txn.id, Txn.amount, Txn.at]:
    return []
`;

export const WINDOW_NOT_KEPT = rule(
  {
    code: 181,
    id: "window-not-kept",
    title: "The aggregate of a window cannot be kept",
    severity: "error",
    foundBy: ["graph"],
    means:
      "`materialization=` keeps one state for each bucket of time. The expression is one aggregation over a has-many relation of the class; its conditions and its column read the row alone, but for `_.at > _.svc_window` and `_.at <= _.svc_now`; and the state of the aggregation has a size that does not grow with the rows.",
    why: "Tiles are made of rows before anybody asks, so nothing of the query may be in them.",
    example: {
      broken: {
        "features.py": user(
          'kinds: Windowed[int] = windowed("1d", materialization=True, expression=_.txns[_.amount, _.at > _.svc_window].n_unique())',
        ),
      },
      mended: {
        "features.py": user(
          'total: Windowed[float] = windowed("1d", materialization=True, expression=_.txns[_.amount, _.at > _.svc_window].sum())',
        ),
      },
    },
  },
  { shape: message("'{feature}' cannot be kept: {why}", "cannot be kept") },
);

export const BAD_BUCKETS = rule(
  {
    code: 182,
    id: "bad-buckets",
    title: "The buckets of a kept window do not fit it",
    severity: "error",
    foundBy: ["graph"],
    means: "A window is a multiple of its buckets, of which it has at most 50,000.",
    why: "A query merges all buckets of its window, and reads the rows of the edges that are no whole buckets.",
    example: {
      broken: {
        "features.py": user(
          'total: Windowed[float] = windowed("1d", materialization={"bucket_duration": "7h"}, expression=_.txns[_.amount, _.at > _.svc_window].sum())',
        ),
      },
      mended: {
        "features.py": user(
          'total: Windowed[float] = windowed("1d", materialization={"bucket_duration": "1h"}, expression=_.txns[_.amount, _.at > _.svc_window].sum())',
        ),
      },
    },
  },
  {
    longer: message("'{feature}' has buckets of {bucket}, longer than its window {window}: shorten them", "too long"),
    noMultiple: message("the window {window} of '{feature}' is no multiple of its buckets of {bucket}", "no multiple"),
    tooMany: message("the window {window} of '{feature}' has {buckets} buckets of {bucket}, more than {most}: lengthen them", "too many"),
  },
);

const grouped = (fields: string): string =>
  `from dataclasses import dataclass


@dataclass
class Spend:
${fields}


${user('spends: Windowed[list[Spend]] = group_by_windowed("1d", group_by=_.kind, expression=_.txns[_.amount, _.at > _.svc_window].sum())')
  .replace("amount: float\n", "amount: float\n    kind: str\n")
  .replace("Txn.amount, Txn.at", "Txn.amount, Txn.kind, Txn.at")}`;

export const BAD_GROUPING = rule(
  {
    code: 183,
    id: "bad-grouping",
    title: "The groups of a window make no sense",
    severity: "error",
    foundBy: ["analyzer", "graph"],
    means:
      "`group_by_windowed` aggregates the rows of each group. Its value is a list of a @dataclass, which has a field for each column of `group_by=`, in their " +
      "order, and then one for the aggregate. Columns are ints, texts, bools, bytes, dates, times, lengths of time, decimals or enums of the row.",
    why: "Each value of the list is made of the columns of a group, and of its aggregate.",
    example: {
      broken: { "features.py": grouped("    kind: str") },
      mended: { "features.py": grouped("    kind: str\n    total: float") },
    },
  },
  {
    column: message(
      "group_by has values of type {type}, by which rows are not told apart: name one of int, str, bool, date or an Enum",
      "no group",
    ),
    field: message("'{feature}' has {type} for '{field}', and its class says {annotation}: change one of the two", "wrong type"),
    fields: message(
      "'{feature}' has rows of {wanted}, and {struct} has the fields {have}: give it one for each, in this order",
      "other fields",
    ),
    noAggregate: message("the expression of '{feature}' is not one aggregation of rows, such as {example}", "no aggregation"),
    noColumns: message(
      "group_by of '{feature}' is {value}: write a feature of the rows such as _.kind, or a list of up to {most}",
      "no column",
    ),
    noRows: message("'{feature}' is {type}, and groups are several values: write Windowed[list[...]] of a @dataclass", "no rows"),
    nullable: message("'{feature}' may have null for '{field}': annotate the field of its class '{annotation} | None'", "may be null"),
  },
);

const byDay = (fields: string, columns: string): string =>
  `from dataclasses import dataclass
from enum import Enum

Day = Enum("Day", [f"DAY_{number}" for number in range(1, 32)])
Shop = Enum("Shop", [f"SHOP_{number}" for number in range(1, 41)])


@dataclass
class Spend:
${fields}    total: float


${user(
  `spends: Windowed[list[Spend]] = group_by_windowed("1d", group_by=${columns}, expression=_.txns[_.amount, _.at > _.svc_window].sum())`,
)
  .replace("amount: float\n", "amount: float\n    day: Day\n    shop: Shop\n")
  .replace("Txn.amount, Txn.at", "Txn.amount, Txn.day, Txn.shop, Txn.at")}`;

export const MANY_GROUPS = rule(
  {
    code: 184,
    id: "many-groups",
    title: "A window may have more groups than a value holds",
    severity: "warning",
    foundBy: ["graph"],
    means:
      "The columns of `group_by=` have as many combinations of values as their enums and bools have members, and a value of more than 1,000 groups is an error.",
    why: "Rows that happen to have more groups leave the feature without a value.",
    example: {
      broken: { "features.py": byDay("    day: Day\n    shop: Shop\n", "[_.day, _.shop]") },
      mended: { "features.py": byDay("    day: Day\n", "_.day") },
    },
  },
  {
    combinations: message(
      "'{feature}' may have {groups} groups, and at most {most} are a value: group by fewer columns",
      "up to {groups} groups",
    ),
  },
);
