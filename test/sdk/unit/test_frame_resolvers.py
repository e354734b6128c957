"""Resolvers that take and give DataFrames: what their signatures mean, and calling them in tests.
"""

import asyncio
import unittest
from datetime import datetime, timedelta, timezone
from typing import Optional

from svc import Now, offline, online
from svc._loading.hook import compile_rewritten
from svc._model.registry import registry
from svc._model.signature import compile_resolver
from svc.features import DataFrame, Features, FeatureTime, after, before, features


@features
class Client:
    id: int
    name: str
    count: int
    total: float
    score: float
    orders: "DataFrame[Order]"


@features
class Order:
    id: int
    amount: float
    ok: bool
    kind: "str | None"
    at: FeatureTime
    client_id: Client.id
    client: Client


def rows():
    at = datetime(2024, 1, 1, tzinfo=timezone.utc)
    return [Order(id=n, amount=50.0 * n, ok=n % 2 == 0, kind="ab"[n % 2], at=at + timedelta(days=n)) for n in range(5)]


def spec(function):
    return registry.resolvers[f"{__name__}.{function.__name__}"]


def read(source):
    """The resolver `f` of a text, compiled by the hook: its definition's spec and problems."""
    names = dict(globals())
    exec(compile_rewritten(source, "<test>"), names)
    found = registry.definitions[-1]
    return compile_resolver(found)


@online
def many(big: Client.orders[Order.amount > 100, Order.amount]) -> Client.count:
    return len(big)


@online
def everything(orders: Client.orders) -> Client.total:
    return orders.sum("amount")


@online
def quoted(orders: "Client.orders[Order.ok is True and Order.kind in ('a', 'b'), Order.id, Order.client.name, :3]", id: Client.id) -> "Client.total":
    return orders.count()


@online
def optional(orders: "Optional[Client.orders[Order.id]]" = None, id: Optional[Client.id] = 3) -> Client.count:
    return len(orders) + id


@online
def listed(amounts: Client.orders.amount, names: "Optional[Client.orders.client.name]" = None) -> Client.total:
    return sum(amounts) + len(names)


calculated_filter = Order.amount * 2 - 1 <= -Order.id


@online
def calculated(orders: Client.orders[Order.amount * 2 > 100, Order.amount < 200.0 - Order.id]) -> Client.count:
    return len(orders)


@online
async def later(orders: Client.orders[Order.amount]) -> Client.total:
    await asyncio.sleep(0)
    return orders.sum()


@online
def recent(orders: Client.orders[after(days_ago=3), before(datetime(2030, 1, 1)), Order.id]) -> Client.count:
    return len(orders)


@online
def newest(orders: Client.orders[Order.id, Order.at, :2]) -> Client.count:
    return orders.column("id")


@online
def table(clients: DataFrame[Client.id, Client.total], now: Now) -> DataFrame[Client.id, Client.score]:
    return clients[Client.id].with_column(Client.score, clients.column("total"))


@offline(total=True)
def scan() -> DataFrame[Client.id, Client.name]:
    return [Client(id=1, name="x")]


@online
def whole() -> DataFrame[Client]:
    return []


@online
def relation(id: Client.id) -> Client.orders[Order.id, Order.amount]:
    return [Order(id=1, amount=2.0)]


@online
def whole_relation(id: Client.id) -> Client.orders:
    return []


@online
def extra() -> DataFrame[Client.id]:
    return [Client(id=1, name="x")]


class Signatures(unittest.TestCase):
    def test_rows(self):
        item = spec(many).inputs[0]
        self.assertEqual((item.rows.path, [column.path for column in item.rows.columns], item.optional), ("client.orders", ["order.amount"], False))
        self.assertEqual(
            item.rows.json(),
            {
                "path": "client.orders",
                "columns": ["order.amount"],
                "filters": [{"call": {"function": "gt", "arguments": [{"feature": {"path": ["amount"]}}, {"literal": {"int64Value": "100"}}]}}],
            },
        )
        self.assertEqual(spec(everything).inputs[0].rows.json(), {"path": "client.orders"})
        self.assertEqual((spec(many).shape, spec(many).takes_table), ("", False))

    def test_quoted_annotations_are_rewritten_too(self):
        rows = spec(quoted).inputs[0].rows
        self.assertEqual(repr(rows.filters), "(((~(Order.ok.is_null())) & (Order.ok == True)) & (Order.kind.isin(['a', 'b'])),)")
        self.assertEqual(([column.path for column in rows.columns], rows.limit), (["order.id", "order.client.name"], 3))

    def test_lists(self):
        amounts, names = spec(listed).inputs
        self.assertEqual((amounts.rows.json(), amounts.optional), ({"path": "client.orders", "columns": ["order.amount"]}, False))
        self.assertEqual((names.rows.json(), names.optional), ({"path": "client.orders", "columns": ["order.client.name"]}, True))
        self.assertEqual(listed([1.5, 2.5], ["a"]), 5.0)
        self.assertEqual(listed(rows(), None), 500.0)
        self.assertEqual(listed(DataFrame(rows()), []), 500.0)
        self.assertEqual(listed([], None), 0)

    def test_arithmetic_in_filters(self):
        filters = spec(calculated).inputs[0].rows.json()["filters"]
        amount = {"feature": {"path": ["amount"]}}
        twice = {"call": {"function": "mul", "arguments": [amount, {"literal": {"int64Value": "2"}}]}}
        self.assertEqual(filters[0], {"call": {"function": "gt", "arguments": [twice, {"literal": {"int64Value": "100"}}]}})
        self.assertEqual([item["call"]["function"] for item in filters], ["gt", "lt"])
        self.assertEqual(filters[1]["call"]["arguments"][1]["call"]["function"], "sub")
        self.assertEqual(repr(calculated_filter), "((Order.amount * 2) - 1) <= (0 - Order.id)")
        self.assertEqual(calculated(rows()), 2)
        frame = DataFrame[Order]([{"id": 1, "amount": None}, {"id": 2, "amount": 3.0}])
        self.assertEqual([row.id for row in frame[Order.amount / 2 == 1.5]], [2])
        self.assertEqual([row.id for row in frame[-Order.id % 2 == 1]], [1])
        self.assertEqual([row.id for row in frame[10 // Order.id == 5]], [2])
        with self.assertRaises(TypeError):
            Order.amount + "x"

    def test_optional(self):
        self.assertEqual([item.optional for item in spec(optional).inputs], [True, True])

    def test_times(self):
        first, second = spec(recent).inputs[0].rows.json()["filters"]
        self.assertEqual(first["call"]["function"], "gt")
        self.assertEqual(
            first["call"]["arguments"],
            [
                {"feature": {"path": ["at"]}},
                {"call": {"function": "sub", "arguments": [{"queryNow": {}}, {"literal": {"durationValue": "259200s"}}]}},
            ],
        )
        self.assertEqual(second["call"]["arguments"][1], {"literal": {"timestampValue": "2030-01-01T00:00:00.000000Z"}})

    def test_every_condition_has_an_expression(self):
        conditions = "Order.kind is None, Order.kind is not None, Order.kind == None, Order.kind not in ['a'], "
        conditions += "not Order.ok, Order.ok or 1 < Order.amount <= Order.id"
        found, problems = read(f"@online\ndef f(x: Client.orders[{conditions}]) -> Client.count:\n    return 1\n")
        self.assertEqual(problems, [])
        calls = [item["call"] for item in found.inputs[0].rows.json()["filters"]]
        self.assertEqual([call["function"] for call in calls], ["is_null", "not", "is_null", "not", "not", "or"])
        self.assertEqual(calls[1]["arguments"][0]["call"]["function"], "is_null")
        self.assertEqual(calls[3]["arguments"][0]["call"]["arguments"][1], {"literal": {"listValue": {"values": [{"stringValue": "a"}]}}})
        self.assertEqual(calls[4]["arguments"], [{"feature": {"path": ["ok"]}}])
        self.assertEqual(calls[5]["arguments"][1]["call"]["function"], "and")

    def test_tables(self):
        self.assertEqual(spec(table).inputs[0].table.json(), {"columns": ["client.id", "client.total"]})
        self.assertEqual((spec(table).shape, spec(table).takes_table), ("ROWS", True))

    def test_results(self):
        self.assertEqual((spec(scan).shape, [item.fqn for item in spec(scan).outputs]), ("ROWS", ["client.id", "client.name"]))
        self.assertEqual([item.fqn for item in spec(whole).outputs], ["client.id", "client.name", "client.count", "client.total", "client.score"])
        self.assertEqual((spec(relation).shape, spec(relation).relation), ("RELATION", "client.orders"))
        self.assertEqual([item.fqn for item in spec(relation).outputs], ["order.id", "order.amount"])
        self.assertIs(spec(relation).output_class, Order)
        self.assertEqual(len(spec(whole_relation).outputs), 6)


class Problems(unittest.TestCase):
    def check(self, signature, code, text, part="annotation", options="", body="return 1"):
        _, problems = read(f"@online{options}\ndef f({signature}:\n    {body}\n")
        self.assertEqual([(problem.error.code, problem.part) for problem in problems], [(code, part)], [str(problem.error) for problem in problems])
        self.assertIn(text, str(problems[0].error))

    def test_parameters(self):
        self.check("x: Client.orders[Client.id]) -> Client.count", 140, "Client.id is no feature of Order")
        self.check("x: Client.orders[Client.id > 5]) -> Client.count", 140, "Client.id is no feature of Order")
        self.check("x: Client.orders[5]) -> Client.count", 140, "'5' is neither a filter nor a column")
        self.check("x: Client.orders[Order.amount]['x']) -> Client.count", 140, "neither a filter nor a column")
        self.check("x: Client.orders[Order.client]) -> Client.count", 140, "is a relation")
        self.check("x: Client.orders[~Order.amount]) -> Client.count", 140, "Order.amount is not bool")
        self.check("x: Client.orders[Order.id, 1:5]) -> Client.count", 140, "write [:100]")
        self.check("x: Client.orders[Order.amount > 'x']) -> Client.count", 140, "Order.amount is float and is compared with str 'x'")
        self.check("x: Client.orders[Order.kind.isin(['a', 1])]) -> Client.count", 140, "Order.kind is str and is compared with int 1")
        self.check("x: Client.orders[Order.amount == True]) -> Client.count", 140, "never alike")
        self.check("x: Client.orders[False]) -> Client.count", 134, "at once")
        self.check("x: Client.name[Order.id]) -> Client.count", 140, "has no rows")
        self.check("x: Client.orders.client.orders.amount) -> Client.count", 140, "goes through two has-many relations")
        self.check("x: Client.orders[Order.amount * 2]) -> Client.count", 140, "Order.amount * 2 is a number, so it is no filter by itself: compare it")
        self.check("x: Client.orders[Order.at * 2 > 1]) -> Client.count", 140, "Order.at is datetime: in a filter one can calculate with int and float")
        self.check("x: Client.orders[Order.amount * 2 > 'a']) -> Client.count", 140, "compared with str 'a': the two are never alike")
        self.check("x: Client.orders[Client.total * 2 > 1]) -> Client.count", 140, "Client.total is no feature of Order")
        self.check("x: Client.orders[Order.id] = []) -> Client.count", 115, "is not used", "default")
        self.check("x: DataFrame) -> Client.count", 140, "does not say which rows: write 'x: User.txns'")
        self.check(") -> DataFrame", 143, "does not say which features", "return")
        self.check(") -> DataFrame[int]", 143, "'int' is no column", "return")

    def test_tables(self):
        self.check("x: DataFrame[Client.id, Order.id]) -> DataFrame[Client.id]", 141, "start from Client and from Order")
        self.check("x: DataFrame[Client.id], y: Client.name) -> DataFrame[Client.id, Client.score]", 140, "'y' is of one row")
        self.check("x: DataFrame[Client.id]) -> Client.score", 143, "write '-> DataFrame[Client.id, Client.score]'", "return")
        self.check("x: DataFrame[int]) -> DataFrame[Client.id]", 140, "'int' is no column")
        self.check("x: DataFrame[Client.score]) -> DataFrame[Client.id, Client.score]", 144, "cannot produce what it needs", "return")

    def test_results(self):
        self.check("id: Client.id) -> Client.orders[Order.amount > 5, Order.id]", 143, "an output names columns only", "return")
        self.check("id: Client.id) -> DataFrame[Order.id]", 145, "'order.id' is a feature of Order, but the parameters start from Client", "return")
        self.check("id: Order.id) -> Client.orders[Order.id]", 145, "'client.orders' is a feature of Client", "return")
        self.check("id: Order.id) -> Order.client.orders[Order.id]", 145, "reached through a relation", "return")
        self.check(") -> DataFrame[Client.name]", 149, "lack the primary key, Client.id", "return")
        self.check("id: Client.id) -> Client.count", 146, "return DataFrame[...]", "option", "(total=True)")
        self.check("id: Client.id) -> DataFrame[Client.id]", 146, "is asked for some", "option", "(total=True)")
        self.check(") -> DataFrame[Client.id]", 146, "write True or False", "option", "(total=1)")

    def test_149_is_a_warning(self):
        found, problems = read("@online\ndef f() -> DataFrame[Client.name]:\n    return []\n")
        self.assertIsNotNone(found)
        self.assertEqual([problem.error.said.severity for problem in problems], ["SEVERITY_WARNING"])


class Calls(unittest.TestCase):
    def test_filters_and_columns_are_applied(self):
        self.assertEqual((many(rows()), many(DataFrame(rows())), many([{"amount": 500.0}, {"amount": 1.0}]), many([])), (2, 2, 1, 0))
        self.assertEqual((everything(rows()), everything([]), everything(())), (500.0, 0, 0))
        self.assertEqual(quoted(rows(), 1), 3)
        self.assertEqual(newest(rows()), [4, 3])

    def test_columns_that_the_filter_alone_needs(self):
        self.assertEqual(recent([Order(id=1, at=datetime.now(timezone.utc)), Order(id=2, at=datetime(2020, 1, 1)), Order(id=3)]), 1)
        self.assertEqual(many([Order(id=1)]), 0)

    def test_the_time_that_is_passed_is_that_of_filters(self):
        @online
        def since(orders: Client.orders[after(days_ago=2), Order.at], now: Now) -> Client.count:
            return len(orders) * 10 + len(orders.after(days_ago=1))

        self.assertEqual(since(rows(), datetime(2024, 1, 5)), 21)
        self.assertEqual(since(rows(), datetime(2024, 1, 4, tzinfo=timezone.utc)), 32)

    def test_keywords_defaults_and_async(self):
        self.assertEqual((many(big=rows()), optional(rows()), optional(rows(), id=1), optional(orders=None)), (2, 8, 6, 3))
        self.assertEqual(asyncio.run(later(rows())), 500.0)
        self.assertTrue(asyncio.iscoroutinefunction(later))
        self.assertEqual((many.__name__, many.__module__), ("many", __name__))

    def test_tables(self):
        now = datetime.now(timezone.utc)
        self.assertEqual(table([Client(id=1, total=2.0, name="x")], now).to_dict(), {"client.id": [1], "client.score": [2.0]})
        self.assertEqual(table(DataFrame[Client]([{"id": 1}]), now).column(Client.score), [None])

    def test_results_are_left_as_they_are(self):
        self.assertEqual(scan(), [Client(id=1, name="x")])
        self.assertEqual(relation(1), [Order(id=1, amount=2.0)])
        with self.assertRaisesRegex(TypeError, "what .*extra returns has no column 'client.name'; its columns are: client.id"):
            extra()

    def test_rows_of_another_class(self):
        for given in ([Client(id=1, name="x")], DataFrame([Client(id=1, name="x")])):
            with self.assertRaisesRegex(TypeError, "these are rows of Order, and 'client.id' is a feature of Client"):
                many(given)

    def test_wrong_rows(self):
        with self.assertRaisesRegex(TypeError, "row 0 is int"):
            many([1])
        with self.assertRaisesRegex(TypeError, "Order has no 'amuont'; did you mean 'amount'"):
            many([{"amuont": 1}])

    def test_what_takes_no_frame_is_left_alone(self):
        @online
        def plain(id: Client.id) -> Features[Client.name, Client.count]:
            return "x", 1

        self.assertFalse(hasattr(plain, "__wrapped__"))


if __name__ == "__main__":
    unittest.main()
