/** What finding 143 advises to write is written, and then nothing is found. */

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { tempFolder } from "../../client/test-context.ts";
import { type Platform, runCommand, startPlatform, writeProject } from "../../commands/platform.ts";

setDefaultTimeout(300_000);

const home = tempFolder("svc-advice-");
let platform: Platform;
beforeAll(async () => {
  platform = await startPlatform();
});
afterAll(() => platform.server.stop());

/**
 * Two classes with a foreign key, one with its key in another class, and resolvers beside the one
 * in question.
 */
const HEAD = `from datetime import datetime

from svc import Now, offline, online
from svc.features import DataFrame, Features, FeatureTime, Primary, _, feature, features, has_one


@features
class User:
    id: int
    name: str
    email: str
    at: FeatureTime
    loud: bool = _.id > 1
    profile: "Profile | None"


@features
class Profile:
    key: Primary[int]
    user_id: User.id
    picture: str


@features
class Order:
    id: int
    user_id: User.id
    other_id: "User.id | None"
    user: User
    other: "User | None" = has_one(lambda: Order.other_id == User.id)
    total: float
    risk: float


@features
class Full:
    id: int
    value: int


@online
def email(id: User.id) -> User.email: ...


`;

/** A resolver's parameters, what it wrongly returns, and the words of the finding. */
const CASES: readonly (readonly [parameters: string, returns: string, says: string])[] = [
  ["id: Order.id", "", "'f' does not say what it produces: write '-> Order.user_id' or '-> Features[Order.user_id, Order.other_id]'"],
  ["user_id: Order.user_id", "str", "'str' names no feature: write '-> Order.other_id' or '-> Features[Order.other_id, Order.total]'"],
  ["id: User.id", "str", "'str' names no feature: write '-> User.name'"],
  ["name: Order.user.name", "User", "'User' is a class: write '-> Order.total' or '-> Features[Order.total, Order.risk]'"],
  ["name: Order.other.name", "str", "'str' names no feature: write '-> Order.total' or '-> Features[Order.total, Order.risk]'"],
  ["key: Profile.key", "Profile", "'Profile' is a class: write '-> Features[Profile]', or name its features"],
  ["id: User.id", "User", "'User' is a class: write '-> User.name'"],
  ["id: Order.id", "Order.user", "is a relation, found by its join: write '-> Order.user_id', which the join compares"],
  ["id: Order.id", "Order.other", "is a relation, found by its join: write '-> Order.other_id', which the join compares"],
  ["id: Order.user_id", "Order.user", "write '-> Order.other_id' or '-> Features[Order.other_id, Order.total]'"],
  [
    "id: User.id",
    "User.profile",
    "the join compares Profile.user_id, which a resolver produces that starts from Profile; here write '-> User.name'",
  ],
  ["id: Order.id", "tuple[Order.total, Order.risk]", "write '-> Order.user_id' or '-> Features[Order.user_id, Order.other_id]'"],
  ["orders: DataFrame[Order.id]", "Order.total", "write '-> DataFrame[Order.id, Order.total]'"],
  ["now: Now", "DataFrame", "write '-> DataFrame[Full.id, Full.value]'"],
  ["id: Order.id", "Order.total | None", "write '-> Order.total': whether it may be None is said where the feature is defined"],
  ["value: Full.value", "str", "add a feature to Full for what 'f' produces, and write its name behind '->'"],
];

async function findings(parameters: string, returns: string): Promise<string[]> {
  const arrow = returns === "" ? "" : ` -> ${returns}`;
  const dir = writeProject({
    "resolvers.py": "",
    "svc.yaml": "project: demo\nenvironments:\n  default: {}\n",
    "features.py": `${HEAD}@online\ndef f(${parameters})${arrow}: ...\n`,
  });
  const done = await runCommand("lint", ["--local", "--json"], { home, env: platform.env, dir });
  const all = done.json() as { code: number; severity: number; message: string }[];
  return all.filter(({ severity }) => severity === 1).map(({ code, message }) => `${code} ${message}`);
}

test.each(CASES)("def f(%s) -> %s", async (parameters, returns, says) => {
  const found = await findings(parameters, returns);
  expect(found).toEqual([expect.stringMatching(/^143 /)]);
  expect(found[0]).toEndWith(says);
  const advised = [...(found[0] as string).matchAll(/'-> ([^']+)'/g)].map(([, text]) => text as string);
  expect(advised.length > 0 || says.startsWith("add a feature")).toBe(true);
  for (const text of advised) expect([text, await findings(parameters, text)]).toEqual([text, []]);
});
