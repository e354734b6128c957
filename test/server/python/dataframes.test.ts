/** DataFrames across the worker's socket: rows of relations and tables in, rows out. */

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import type { FeatureValue } from "../../../src/domain/value.ts";
import type { ResolverCall, ResolverResult, RowGroups } from "../../../src/server/python/pool.ts";
import { module, startPool, type TestPool } from "./project.ts";

setDefaultTimeout(300_000);

const FIELDS = `
from svc.features import DataFrame, FeatureTime, after, before

class Kind(Enum):
    CARD = "card"
    CASH = "cash"

@features
class User:
    id: int
    name: str
    count: int
    total: float
    score: float
    kinds: str
    recent: int
    txns: "DataFrame[Txn]"

@features
class Txn:
    id: int
    amount: float
    ok: "bool | None"
    kind: Kind
    big: int
    at: FeatureTime
    user_id: User.id
    user: "User"
`;

const RESOLVERS = `
runs = []

@online
def first(id: User.id) -> User.name:
    return str(id)

@online
def count(txns: User.txns[Txn.amount > 100, Txn.amount]) -> User.count:
    return len(txns)

@online
def total(txns: User.txns, id: User.id) -> User.total:
    if id == 13:
        raise ValueError("unlucky")
    return txns[Txn.amount].sum()

@online
def kinds(txns: User.txns[Txn.kind, Txn.user.name]) -> User.kinds:
    return ",".join(f"{t.kind.name}/{t.user.name}" for t in txns) + f" {txns.columns}"

@online
def recent(txns: User.txns[Txn.at], now: Now) -> User.recent:
    assert txns.now == now
    return len(txns[after(days_ago=1)]) * 10 + len(txns.before(days_ago=1))

@online
def captured(txns: User.txns[Txn.ok, Txn.big]) -> User.count:
    return len(txns[Txn.ok is True and Txn.big not in (1, 2)])

@online
def mixed(txns: User.txns[Txn.ok, Txn.big], name: Optional[User.name] = "none") -> User.kinds:
    return f"{name} {[(t.ok, t.big) for t in txns]}"

@online
async def later(txns: User.txns[Txn.amount]) -> User.total:
    await asyncio.sleep(0)
    return txns.max("amount")

@online
def scores(users: DataFrame[User.id, User.total]) -> DataFrame[User.id, User.score]:
    runs.append(len(users))
    if any(user.id == 13 for user in users):
        raise ValueError("unlucky")
    highest = users.max(User.total) or 1
    return users[User.id].with_column(User.score, lambda row: 0.0).with_columns({User.score: [t / highest for t in users.column("total")]})

@online
async def scores_later(users: DataFrame[User.id, User.total]) -> DataFrame[User.id, User.score]:
    await asyncio.sleep(0)
    return [{"id": user.id, "score": user.total} for user in users]

@online
def ran(id: User.id) -> User.kinds:
    return str(runs)

@online(total=True)
def scan() -> DataFrame[User.id, User.name]:
    return [User(id=n, name=f"user {n}") for n in range(3)]

@online
def scan_frame(now: Now) -> DataFrame[Txn.id, Txn.amount, Txn.kind, Txn.at, Txn.big]:
    return DataFrame({Txn.id: [1, 2], "txn.amount": [1.5, float("nan")], "kind": [Kind.CARD, None], "at": [now, None], "big": [9007199254740993, -1]})

@online
def scan_dicts() -> DataFrame[User.id, User.name]:
    return ({"id": 1, "user.name": "a"}, {User.id: 2})

@online
def scan_nothing() -> DataFrame[User.id, User.name]:
    return []

@online
def scan_extra() -> DataFrame[User.id, User.name]:
    return [User(id=1, name="x", total=1.0)]

@online
def scan_unknown() -> DataFrame[User.id, User.name]:
    return [{"id": 1, "nam": "x"}]

@online
def scan_text() -> DataFrame[User.id, User.name]:
    return "rows"

@online
def relation(id: User.id, name: User.name) -> User.txns[Txn.id, Txn.amount]:
    if name == "none":
        return None
    if name == "raises":
        raise ValueError("no rows")
    if name == "wrong":
        return [Txn(id=1, amount=object())]
    return [Txn(id=id * 10 + n, amount=n / 2) for n in range(id)]
`;

let live: TestPool;
beforeAll(async () => {
  live = await startPool(module(FIELDS, RESOLVERS), { size: 1 });
});
afterAll(() => live?.[Symbol.asyncDispose]());

const NOW = "2024-05-01T12:00:00.000000Z";

function call(resolver: string, rows: number, given: Partial<ResolverCall>): Promise<ResolverResult> {
  return live.pool.call({
    resolver: `mod.${resolver}`,
    rows,
    columns: {},
    now: Array.from({ length: rows }, () => NOW),
    deadlineMs: 120_000,
    context: { queryId: "q-1", traceId: "t-1", tags: [], queryContext: {} },
    ...given,
  });
}

const txns = (offsets: number[], columns: Record<string, FeatureValue[]>): { txns: RowGroups } => ({ txns: { offsets, columns } });

describe("rows of a relation", () => {
  test("each row of the batch is given its own, none included", async () => {
    const groups = txns([0, 2, 2, 5], { "txn.amount": [101, 102, 103, 104, 105] });
    const result = await call("count", 3, { groups });
    expect(result).toMatchObject({ columns: { "user.count": [2, 0, 3] }, errors: [] });
    expect(result.groups).toBeUndefined();
  });

  test("without rows the columns are there all the same", async () => {
    expect(await call("total", 1, { groups: txns([0, 0], {}), columns: { id: [1] } })).toMatchObject({
      columns: { "user.total": [0] },
      errors: [],
    });
    expect(await call("later", 1, { groups: txns([0, 0], {}) })).toMatchObject({ columns: { "user.total": [null] }, errors: [] });
  });

  test("an exception is an error of its row", async () => {
    const groups = txns([0, 1, 2, 3], { "txn.id": [1, 2, 3], "txn.amount": [1.5, 2.5, null] });
    const result = await call("total", 3, { groups, columns: { id: [1, 13, 3] } });
    expect(result.columns).toEqual({ "user.total": [1.5, null, 0] });
    expect(result.errors.map((error) => [error.row, error.exception?.kind, error.exception?.file])).toEqual([[1, "ValueError", "mod.py"]]);
  });

  test("values have their types, and rows their relations", async () => {
    const groups = txns([0, 2], { "txn.kind": ["card", "cash"], "txn.user.name": ["a", "b"] });
    const result = await call("kinds", 1, { groups });
    expect(result.columns["user.kinds"]).toEqual(["CARD/a,CASH/b ['txn.kind', 'txn.user.name']"]);
  });

  test("before and after count from the query's time", async () => {
    const at = ["2024-05-01T11:00:00.000000Z", "2024-04-30T12:00:00.000000Z", "2024-04-30T12:00:00.000001Z", null];
    const result = await call("recent", 1, { groups: txns([0, 4], { "txn.at": at }) });
    expect(result).toMatchObject({ columns: { "user.recent": [21] }, errors: [] });
  });

  test("'and', 'in' and 'is' are captured in a worker", async () => {
    const groups = txns([0, 4], { "txn.ok": [true, true, null, false], "txn.big": [1, 3, 3, 3] });
    expect(await call("captured", 1, { groups })).toMatchObject({ columns: { "user.count": [1] }, errors: [] });
  });

  test("integers beyond 2^53 survive, and a default stands beside rows", async () => {
    const groups = txns([0, 2], { "txn.ok": [null, true], "txn.big": [9007199254740993n, null] });
    const result = await call("mixed", 1, { groups, columns: { name: [null] } });
    expect(result.columns["user.kinds"]).toEqual(["none [(None, 9007199254740993), (True, None)]"]);
  });

  test("a value that Python cannot read is an error of the row that has it", async () => {
    const groups = txns([0, 1, 2], { "txn.kind": ["card", "gold"], "txn.user.name": ["a", "b"] });
    const result = await call("kinds", 2, { groups });
    expect(result.columns["user.kinds"]?.[0]).toStartWith("CARD/a");
    expect(result.errors.map((error) => error.row)).toEqual([1]);
    expect(result.errors[0]?.message).toContain("'gold' is not a valid Kind");
  });

  test("an async resolver is given them too", async () => {
    const result = await call("later", 2, { groups: txns([0, 2, 2], { "txn.amount": [1, 7.5] }) });
    expect(result).toMatchObject({ columns: { "user.total": [7.5, null] }, errors: [] });
  });

  test.each([1, 1_000])("%d children for each of 10 rows", async (children) => {
    const rows = 10;
    const size = rows * children;
    const offsets = Array.from({ length: rows + 1 }, (_, row) => row * children);
    const groups = txns(offsets, {
      "txn.id": Array.from({ length: size }, (_, at) => at),
      "txn.amount": Array.from({ length: size }, () => 0.5),
    });
    const result = await call("total", rows, { groups, columns: { id: Array.from({ length: rows }, () => 1) } });
    expect(result).toMatchObject({ columns: { "user.total": Array.from({ length: rows }, () => children / 2) }, errors: [] });
  });
});

describe("tables", () => {
  test("a resolver with a table runs once for the batch", async () => {
    const tables = { users: { "user.id": [1, 2, 3], "user.total": [1, 4, 2] } };
    const result = await call("scores", 3, { tables });
    expect(result).toMatchObject({ columns: {}, errors: [] });
    expect(result.groups).toEqual({ offsets: [0, 3], columns: { "user.id": [1, 2, 3], "user.score": [0.25, 1, 0.5] } });
    expect((await call("ran", 1, { columns: { id: [1] } })).columns["user.kinds"]).toEqual(["[3]"]);
  });

  test("an exception is an error of the whole batch", async () => {
    const result = await call("scores", 3, { tables: { users: { "user.id": [1, 13, 3], "user.total": [1, 4, 2] } } });
    expect(result.errors.map((error) => error.row)).toEqual([0, 1, 2]);
    expect(result.errors[2]?.message).toBe(
      `resolver 'mod.scores' raised ValueError: unlucky (mod.py:${result.errors[0]?.exception?.line})`,
    );
  });

  test("a value that Python cannot read is an error of the whole batch", async () => {
    const result = await call("scores", 2, { tables: { users: { "user.id": ["x", 1], "user.total": [1, 4] } } });
    expect(result.errors.map((error) => error.row)).toEqual([0, 1]);
  });

  test("an async resolver with a table", async () => {
    const result = await call("scores_later", 2, { tables: { users: { "user.id": [1, 2], "user.total": [0.5, 4] } } });
    expect(result.groups).toEqual({ offsets: [0, 2], columns: { "user.id": [1, 2], "user.score": [0.5, 4] } });
  });
});

describe("rows returned", () => {
  test("instances of a scan", async () => {
    const result = await call("scan", 1, {});
    expect(result.groups).toEqual({ offsets: [0, 3], columns: { "user.id": [0, 1, 2], "user.name": ["user 0", "user 1", "user 2"] } });
  });

  test("a DataFrame, every value in the engine's form", async () => {
    const result = await call("scan_frame", 1, {});
    expect(result.errors).toEqual([]);
    expect(result.groups).toEqual({
      offsets: [0, 2],
      columns: {
        "txn.id": [1, 2],
        "txn.amount": [1.5, Number.NaN],
        "txn.kind": ["card", null],
        "txn.at": [NOW, null],
        "txn.big": [9007199254740993n, -1],
      },
    });
  });

  test("dicts by name, FQN or feature, and no rows at all", async () => {
    expect((await call("scan_dicts", 1, {})).groups).toEqual({ offsets: [0, 2], columns: { "user.id": [1, 2], "user.name": ["a", null] } });
    expect((await call("scan_nothing", 1, {})).groups).toEqual({ offsets: [0, 0], columns: { "user.id": [], "user.name": [] } });
  });

  test.each([
    ["scan_extra", "what mod.scan_extra returns has no column 'user.total'; its columns are: user.id, user.name"],
    ["scan_unknown", "'nam' is no feature: User has no 'nam'; did you mean 'name'"],
    ["scan_text", "mod.scan_text returned str for rows of User"],
  ])("%s is refused", async (resolver, text) => {
    const result = await call(resolver, 1, {});
    expect(result.errors).toHaveLength(1);
    expect(result.errors[0]?.message).toContain(text);
    expect(result.groups?.offsets).toEqual([0, 0]);
  });

  test("the rows of a relation, each row of the batch its own", async () => {
    const result = await call("relation", 5, { columns: { id: [1, 2, 3, 4, 2], name: ["a", "none", "raises", "wrong", "b"] } });
    expect(result.groups).toEqual({ offsets: [0, 1, 1, 1, 1, 3], columns: { "txn.id": [10, 20, 21], "txn.amount": [0, 0, 0.5] } });
    expect(result.errors.map((error) => [error.row, error.exception?.kind])).toEqual([
      [2, "ValueError"],
      [3, "ValueMismatch"],
    ]);
  });
});
