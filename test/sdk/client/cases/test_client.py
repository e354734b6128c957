"""The client against a real server. The server's address, credentials and deployment come from the
environment.
"""

import ast
import math
import os
import subprocess
import sys
import tempfile
import threading
import unittest
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from unittest import mock

import svc
from features import Echo, Kind, Order, Point, Team, User
from svc.client import (
    AuthenticationError,
    BulkQueryResult,
    ClientError,
    ConfigError,
    OnlineQueryContext,
    QueryError,
    ServerUnreachable,
    SvcClient,
)

DEPLOYMENT = os.environ["TEST_DEPLOYMENT"]


def orders_of(user: int) -> list:
    at = [datetime(2024, 1, day, tzinfo=timezone.utc) for day in (1, 2)]
    return [Order(id=user * 10 + n, user_id=user, placed_at=at[n], kind=Kind.SMALL) for n in range(2)]


class Query(unittest.TestCase):
    def setUp(self) -> None:
        self.client = SvcClient()
        self.addCleanup(self.client.close)

    def test_references_and_names_ask_the_same(self) -> None:
        by_reference = self.client.query(input={User.id: 7}, output=[User.name, User.score])
        by_name = self.client.query(input={"user.id": 7}, output=["user.name", "score"])
        wanted = {"user.name": "user-7", "user.score": 3.5}
        self.assertEqual(by_reference.to_dict(), wanted)
        self.assertEqual(by_name.to_dict(), wanted)
        self.assertEqual(by_reference.get_feature_value(User.name), "user-7")
        self.assertEqual(by_reference["user.score"], 3.5)
        self.assertEqual(by_reference.errors, [])
        self.assertIn(User.name, by_reference)

    def test_the_export_is_the_client(self) -> None:
        self.assertIs(svc.SvcClient, SvcClient)

    def test_a_class_is_all_of_its_values(self) -> None:
        result = self.client.query(input={User.id: 2}, output=[User])
        self.assertEqual({item.field for item in result}, {f"user.{name}" for name in ("id", "name", "score", "fragile", "origin", "asked_at")})
        inferred = self.client.query({User.id: 2})
        self.assertEqual(inferred.meta.inferred_outputs, ("user",))

    def test_facts_of_the_query(self) -> None:
        result = self.client.query({User.id: 3}, [User.score], include_meta=True, explain=True)
        one = result.get_feature(User.score)
        self.assertEqual((one.pkey, one.ts.tzinfo), (3, timezone.utc))
        self.assertEqual(one.meta.chosen_resolver_fqn, "resolvers.score")
        self.assertFalse(one.meta.cache_hit)
        self.assertEqual(result.meta.deployment_id, DEPLOYMENT)
        self.assertEqual(result.meta.environment_name, "default")
        self.assertTrue(result.meta.query_id)
        self.assertGreater(result.meta.execution_duration, timedelta(0))
        self.assertIn("user.score", result.meta.explain_output)
        self.assertIsNone(self.client.query({User.id: 3}, [User.score]).get_feature(User.score).meta)

    def test_traces_stages_and_planner_options(self) -> None:
        plain = self.client.query({User.id: 3}, [User.score])
        self.assertEqual((plain.meta.trace_id, plain.meta.plan_stages), (None, 0))
        watched = self.client.query({User.id: 3}, [User.score], trace=True, store_plan_stages=True, planner_options={"max_batch_rows": 5})
        self.assertRegex(watched.meta.trace_id, "^[0-9a-f]{32}$")
        self.assertGreaterEqual(watched.meta.plan_stages, 1)
        bulk = self.client.query_bulk({User.id: [3, 4]}, [User.score], trace=True, store_plan_stages=True)
        self.assertRegex(bulk.meta.trace_id, "^[0-9a-f]{32}$")
        self.assertGreaterEqual(bulk.meta.plan_stages, 1)
        with self.assertRaisesRegex(QueryError, "did you mean 'disable_cache_reads'"):
            self.client.query({User.id: 3}, [User.score], planner_options={"disable_cache_reeds": True})

    def test_stored_values_and_staleness(self) -> None:
        def hit(**options) -> bool:
            result = self.client.query({User.id: 1000 + sys.version_info[1]}, [User.name], include_meta=True, **options)
            return result.get_feature(User.name).meta.cache_hit

        hit()
        self.assertTrue(hit())
        self.assertFalse(hit(staleness={User.name: "0s"}))
        self.assertTrue(hit(staleness={User.name: timedelta(hours=2)}))
        self.assertTrue(hit(staleness={"user.name": "infinity"}))

    def test_context_tags_and_now(self) -> None:
        result = self.client.query(
            {User.id: 1}, [User.origin, User.asked_at], tags=["a", "b"], query_context={"from": "test"}, now=datetime(2024, 5, 1, 12), correlation_id="c-1"
        )
        self.assertEqual(result[User.origin], "test/a,b")
        self.assertEqual(result[User.asked_at], datetime(2024, 5, 1, 12, tzinfo=timezone.utc))
        zoned = datetime(2024, 5, 1, 14, 0, 0, 250, tzinfo=timezone(timedelta(hours=2)))
        self.assertEqual(self.client.query({User.id: 1}, [User.asked_at], now=zoned)[User.asked_at], zoned)
        with svc.freeze_time(zoned):
            self.assertEqual(self.client.query({User.id: 1}, [User.asked_at])[User.asked_at], zoned)
            self.assertEqual(self.client.query_bulk({User.id: [1, 2]}, [User.asked_at])[User.asked_at], [zoned, zoned])
            at = zoned - timedelta(days=1)
            self.assertEqual(self.client.query({User.id: 1}, [User.asked_at], now=at)[User.asked_at], at)
        self.assertEqual(self.client.query({User.id: 1}, [User.origin], tags="one")[User.origin], "/one")

    def test_rows_have_times_of_their_own(self) -> None:
        times = [datetime(2024, 5, 1, 12), "2024-05-02T12:00:00Z", datetime(2024, 5, 3, 14, tzinfo=timezone(timedelta(hours=2)))]
        wanted = [datetime(2024, 5, day, 12, tzinfo=timezone.utc) for day in (1, 2, 3)]
        for result in (
            self.client.query_bulk({User.id: [1, 2, 3]}, [User.asked_at], now=times),
            self.client.query_bulk({User.id: [1]}, [User.asked_at], now=times),
            self.client.query([{User.id: id} for id in (1, 2, 3)], [User.asked_at], now=times),
        ):
            self.assertEqual(result[User.asked_at], wanted)
        same = self.client.query_bulk({User.id: [1, 2]}, [User.asked_at], now=times[0])
        self.assertEqual(same[User.asked_at], [wanted[0]] * 2)
        for wrong, said in ((times[:2], "now has 2"), ([], "now has 0"), (["soon", "now", "then"], r"now\[0\]: expected an ISO 8601 time")):
            with self.assertRaisesRegex(QueryError, said):
                self.client.query_bulk({User.id: [1, 2, 3]}, [User.asked_at], now=wrong)
        with self.assertRaisesRegex(QueryError, "now: expected an ISO 8601 time .* got list"):
            self.client.query({User.id: 1}, [User.asked_at], now=times)

    def test_a_named_query_has_its_own_outputs(self) -> None:
        for version in ("1.0.0", None):
            result = self.client.query({User.id: 8}, query_name="scores", query_name_version=version)
            self.assertEqual(result.to_dict(), {"user.score": 4.0})

    def test_integers_are_integers_whatever_their_size_and_whoever_knows_the_class(self) -> None:
        large = 2**60 + 1
        given = {"id": 1, "a_int": large, "a_json": {"n": [1, large, {"deep": -large}]}, "a_point": {"x": 1.5, "y": large, "at": None}}
        rows = [{"id": large, "user_id": 1, "kind": "s"}, {"id": 2, "user_id": 1, "kind": "s"}]
        script = f"""
from svc.client import SvcClient
with SvcClient() as client:
    given = {({f"echo.{name}": value for name, value in given.items()})!r}
    outputs = [*given, "echo.a_float"]
    result = client.query({{**given, "echo.a_float": 2.0}}, outputs)
    bulk = client.query_bulk({{**{{name: [value] for name, value in given.items()}}, "echo.a_int": [1, {large}], "echo.a_float": [None]}}, outputs)
    orders = client.query({{"user.id": 1, "user.orders": {rows!r}}}, ["user.orders", "user.orders.id"])
    print(repr((result.to_dict(), bulk.to_dict(), orders.to_dict(), result.meta.types, bulk.meta.types)))
"""
        # The first asker knows no classes.
        stranger = dict(os.environ, PYTHONPATH=os.environ["PYTHONPATH"].partition(os.pathsep)[0])
        said = subprocess.run([sys.executable, "-c", script], env=stranger, capture_output=True, text=True)
        self.assertEqual(said.stderr, "")
        one, bulk, orders, types, bulk_types = ast.literal_eval(said.stdout)
        wanted = {f"echo.{name}": value for name, value in given.items()}
        self.assertEqual({name: one[name] for name in wanted}, wanted)
        self.assertEqual(bulk["echo.a_int"], [1, large])
        self.assertEqual(bulk["echo.a_json"], [given["a_json"]] * 2)
        self.assertEqual(orders, {"user.orders": rows, "user.orders.id": [large, 2]})
        self.assertEqual((types["echo.a_int"], types["echo.a_float"], types["echo.a_json"]), ("int64", "float64", "json"))
        self.assertEqual(bulk_types, types)
        known = self.client.query({Echo.id: 1, Echo.a_int: large, Echo.a_point: Point(1.5, large), Echo.a_json: given["a_json"]}, [Echo])
        self.assertEqual((known[Echo.a_int], known[Echo.a_point], known[Echo.a_json]), (large, Point(1.5, large), given["a_json"]))

    def test_paths_through_relations(self) -> None:
        result = self.client.query({Team.id: 4}, [Team.lead_id, Team.lead.name, Team.lead.asked_at])
        self.assertEqual(result[Team.lead.name], "user-40")
        self.assertIsInstance(result[Team.lead.asked_at], datetime)

    def test_rows_of_a_relation(self) -> None:
        result = self.client.query({User.id: 1}, [User.orders, User.orders.placed_at])
        self.assertEqual(result[User.orders], orders_of(1))
        self.assertEqual(result[User.orders.placed_at], [order.placed_at for order in orders_of(1)])
        bulk = self.client.query_bulk({User.id: [1, 2]}, [User.orders, User.name])
        self.assertEqual(bulk[User.orders], [orders_of(1), orders_of(2)])
        self.assertEqual(bulk[User.name], ["user-1", "user-2"])

    def test_values_of_every_type_come_back_as_they_went(self) -> None:
        at = datetime(2024, 5, 1, 12, 30, 0, 123456, tzinfo=timezone.utc)
        values = {
            Echo.a_int: 2**63 - 1,
            Echo.a_float: -0.1,
            Echo.a_str: "gr\u00fc\u00df \U0001f600 \"quoted\" \u2028",
            Echo.a_bool: True,
            Echo.a_bytes: bytes(range(256)),
            Echo.a_date: date(2024, 2, 29),
            Echo.a_datetime: at,
            Echo.a_timedelta: timedelta(days=-3, microseconds=17),
            Echo.a_decimal: Decimal("12345678901234567890.123456789"),
            Echo.a_kind: Kind.LARGE,
            Echo.a_point: Point(1.5, None, at),
            Echo.a_list: [1.0, math.inf, -0.5],
            Echo.a_set: {"b", "a"},
            Echo.a_json: {"deep": [1, "x", None, {"k": 2.5}]},
            Echo.renamed: at,
        }
        result = self.client.query({Echo.id: 1, **values}, list(values))
        self.assertEqual(result.errors, [])
        for feature, value in values.items():
            got = result.get_feature_value(feature)
            self.assertEqual(got, value, str(feature))
            self.assertIs(type(got), type(value), str(feature))
        not_a_number = self.client.query({Echo.id: 1, Echo.a_float: math.nan}, [Echo.a_float])[Echo.a_float]
        self.assertTrue(math.isnan(not_a_number))
        empty = self.client.query({Echo.id: 1, **{feature: None for feature in values}}, list(values))
        self.assertEqual(set(empty.to_dict().values()), {None})

    def test_what_fails_stands_beside_what_does_not(self) -> None:
        result = self.client.query({User.id: 13}, [User.fragile, User.score])
        self.assertEqual(result.to_dict(), {"user.fragile": None, "user.score": 6.5})
        (error,) = result.errors
        self.assertEqual((error.feature, error.resolver, error.exception.kind), ("user.fragile", "resolvers.fragile", "ValueError"))
        self.assertTrue(error.exception.file.endswith("resolvers.py"))
        self.assertEqual(result.get_feature(User.fragile).error, error)
        self.assertIn("unlucky number", repr(result))
        with self.assertRaisesRegex(QueryError, "user.fragile.*unlucky number"):
            result.raise_for_errors()

    def test_refusals_are_raised(self) -> None:
        for call, said in (
            (lambda: self.client.query({"user.idd": 1}, ["user.name"]), "did you mean 'user.id'"),
            (lambda: self.client.query({User.id: "x"}, [User.name]), "expected int"),
            (lambda: self.client.query({User.id: 1}, query_name="nothing"), "nothing"),
            (lambda: SvcClient(deployment_id="dpl_nothing").query({User.id: 1}), "dpl_nothing"),
            (lambda: SvcClient(environment="nowhere").query({User.id: 1}), "nowhere"),
            (lambda: SvcClient(branch="kein/zweig \u00fc").query({User.id: 1}), "kein/zweig \u00fc"),
        ):
            with self.subTest(said), self.assertRaises(QueryError) as raised:
                call()
            self.assertIn(said, str(raised.exception))
            self.assertGreaterEqual(raised.exception.status, 400)
        with self.assertRaisesRegex(KeyError, "did you mean 'user.name'"):
            self.client.query({User.id: 1}, [User.name])["user.nam"]

    def test_wrong_arguments(self) -> None:
        for call, said in (
            (lambda: self.client.query({User.id: 1}, [User.name], staleness={User.name: "soon"}), "staleness of user.name"),
            (lambda: self.client.query({User.id: 1, "user.id": 2}, [User.name]), "given twice"),
            (lambda: self.client.query({User.id: object()}, [User.name]), "cannot be a feature's value"),
            (lambda: self.client.query({3: 1}, [User.name]), "expected a feature"),
            (lambda: SvcClient(timeout=0), "timeout"),
        ):
            with self.subTest(said), self.assertRaisesRegex((TypeError, ValueError), said):
                call()

    def test_one_deployment_can_be_named(self) -> None:
        with SvcClient(deployment_id=DEPLOYMENT, environment="default") as client:
            self.assertEqual(client.query({User.id: 1}, [User.score])[User.score], 0.5)


class QueryRows(unittest.TestCase):
    """A list of rows where one row is usual."""

    def setUp(self) -> None:
        self.client = SvcClient()
        self.addCleanup(self.client.close)

    def test_a_list_of_rows_is_a_bulk_query(self) -> None:
        wanted = self.client.query_bulk({User.id: [1, 13, 3]}, [User.name, User.score])
        for rows in ([{User.id: 1}, {"user.id": 13}, {User.id: 3}], ({User.id: 1}, User(id=13), {User.id: 3})):
            result = self.client.query(input=rows, output=[User.name, User.score])
            self.assertIsInstance(result, BulkQueryResult)
            self.assertEqual((result.to_dict(), result.errors), (wanted.to_dict(), []))
        (only,) = self.client.query([{User.id: 2}], [User.name], now=datetime(2024, 1, 1)).to_rows()
        self.assertEqual(only["user.name"], "user-2")

    def test_an_instance_is_a_row(self) -> None:
        self.assertEqual(self.client.query(User(id=2), [User.score])[User.score], 1.0)

    def test_what_is_no_list_of_rows_says_so(self) -> None:
        for wrong, said in (
            ([], "without rows"),
            ([1, 2], "row 0 of the input is int"),
            ([{User.id: 1}, {User.id: 2, User.name: "x"}], "row 1 .*'user.name'"),
            ("user.id", "input is str"),
        ):
            with self.subTest(said), self.assertRaisesRegex((TypeError, ValueError), said):
                self.client.query(wrong, [User.score])
        with self.assertRaisesRegex(ValueError, "include_meta"):
            self.client.query([{User.id: 1}], [User.score], include_meta=True)


class Context(unittest.TestCase):
    def setUp(self) -> None:
        self.client = SvcClient()
        self.addCleanup(self.client.close)

    def test_tags_and_environment_of_a_query(self) -> None:
        tagged = OnlineQueryContext(tags=["risk", "eu"])
        self.assertEqual(self.client.query({User.id: 1}, [User.origin], context=tagged)[User.origin], "/risk,eu")
        self.assertEqual(self.client.query({User.id: 1}, [User.origin], context=tagged, tags="own")[User.origin], "/own")
        self.assertEqual(self.client.query_bulk({User.id: [1, 2]}, [User.origin], context=tagged)[User.origin], ["/risk,eu"] * 2)
        self.assertEqual(self.client.query({User.id: 1}, [User.score], context=OnlineQueryContext(environment="default"))[User.score], 0.5)
        with self.assertRaisesRegex(QueryError, "nowhere"):
            self.client.query({User.id: 1}, [User.score], context=OnlineQueryContext(environment="nowhere"))


class QueryBulk(unittest.TestCase):
    def setUp(self) -> None:
        self.client = SvcClient()
        self.addCleanup(self.client.close)

    def test_columns(self) -> None:
        result = self.client.query_bulk({User.id: range(1, 4)}, [User.name, User.score, User.asked_at], now=datetime(2024, 1, 1))
        self.assertEqual(result[User.name], ["user-1", "user-2", "user-3"])
        self.assertEqual(result["user.score"], [0.5, 1.0, 1.5])
        self.assertEqual(result[User.asked_at], [datetime(2024, 1, 1, tzinfo=timezone.utc)] * 3)
        self.assertEqual((len(result), result.errors), (3, []))
        self.assertEqual(result.to_rows()[1]["user.name"], "user-2")
        self.assertEqual(list(result.to_dict()), ["user.name", "user.score", "user.asked_at"])
        self.assertEqual(result.meta.deployment_id, DEPLOYMENT)

    def test_one_value_stands_for_all_rows(self) -> None:
        kinds = [Kind.SMALL, None, Kind.LARGE]
        result = self.client.query_bulk({Echo.id: [1, 2, 3], Echo.a_kind: kinds, Echo.a_bool: [True]}, [Echo.a_kind, Echo.a_bool])
        self.assertEqual(result.to_dict(), {"echo.a_kind": kinds, "echo.a_bool": [True] * 3})

    def test_rows_that_fail(self) -> None:
        result = self.client.query_bulk({User.id: [1, 13, 2]}, [User.fragile, User.score])
        self.assertEqual(result.to_dict(), {"user.fragile": [1, None, 2], "user.score": [0.5, 6.5, 1.0]})
        (error,) = result.errors
        self.assertEqual((error.row, error.feature, error.exception.kind), (1, "user.fragile", "ValueError"))
        self.assertIn("row 1", str(error))
        self.assertIn("1 error", repr(result))
        with self.assertRaisesRegex(QueryError, "row 1, user.fragile: .*unlucky number"):
            result.raise_for_errors()

    def test_refusals(self) -> None:
        with self.assertRaisesRegex(QueryError, "user.id|user.name"):
            self.client.query_bulk({User.id: [1, 2, 3], User.name: ["a", "b"]}, [User.score])
        for wrong in ("text", 5, {"a": 1}):
            with self.assertRaisesRegex(TypeError, "list of values per input; user.id"):
                self.client.query_bulk({User.id: wrong}, [User.score])


class Check(unittest.TestCase):
    def setUp(self) -> None:
        self.client = SvcClient()
        self.addCleanup(self.client.close)

    def test_passes(self) -> None:
        result = self.client.check({User.id: 1}, {User.name: "user-1", User.score: 0.5 + 1e-9, "user.asked_at": datetime(2024, 1, 1)}, now=datetime(2024, 1, 1))
        self.assertEqual(result[User.name], "user-1")
        given = {Echo.id: 1, Echo.a_set: {"x", "y"}, Echo.a_list: [math.nan, 1.0], Echo.a_point: Point(1.0, 2), Echo.a_int: None}
        expected = {Echo.a_set: {"y", "x"}, Echo.a_list: [math.nan, 1.0 + 1e-8], Echo.a_point: Point(1.0, 2), Echo.a_int: None}
        self.client.check(given, expected)
        with self.assertRaises(AssertionError):
            self.client.check(given, {**expected, Echo.a_list: [1.0, math.nan]})

    def test_every_mismatch_is_told(self) -> None:
        with self.assertRaises(AssertionError) as raised:
            self.client.check({User.id: 13}, {User.name: "somebody", User.score: 6.5, User.fragile: 13, "user.id": 14})
        text = str(raised.exception)
        self.assertTrue(text.startswith("3 of 4 features not as expected:\n"), text)
        self.assertIn("user.name\n    expected: 'somebody'\n    got:      'user-13'", text)
        self.assertIn("user.fragile\n    expected: 13\n    failed:   user.fragile: ", text)
        self.assertIn("user.id\n    expected: 14\n    got:      13", text)
        self.assertNotIn("user.score", text)

    def test_tolerance(self) -> None:
        self.client.check({User.id: 1}, {User.score: 0.55}, float_relative_tolerance=0.2)
        with self.assertRaises(AssertionError):
            self.client.check({User.id: 1}, {User.score: 0.55})


class Connection(unittest.TestCase):
    def test_threads_share_a_client(self) -> None:
        client = SvcClient()
        self.addCleanup(client.close)
        exchanges: list[int] = []
        session = client._calls.session
        exchange = session._exchange
        session._exchange = lambda ends: (exchanges.append(1), exchange(ends))[1]
        got: dict[int, float] = {}

        def ask(number: int) -> None:
            for turn in range(5):
                got[number * 10 + turn] = client.query({User.id: number * 10 + turn}, [User.score])[User.score]

        threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(got, {number * 10 + turn: (number * 10 + turn) / 2 for number in range(8) for turn in range(5)})
        self.assertEqual(len(exchanges), 1)

    def test_the_connection_is_kept_and_replaced_when_it_is_gone(self) -> None:
        client = SvcClient()
        self.addCleanup(client.close)
        client.query({User.id: 1}, [User.score])
        ((kept,),) = client._run._idle.values()
        client.query({User.id: 1}, [User.score])
        self.assertEqual(list(client._run._idle.values()), [[kept]])
        import socket

        kept.sock.shutdown(socket.SHUT_RDWR)
        self.assertEqual(client.query({User.id: 4}, [User.score])[User.score], 2.0)

    def test_a_refused_token_is_exchanged_once_more(self) -> None:
        client = SvcClient()
        self.addCleanup(client.close)
        client.query({User.id: 1}, [User.score])
        client._calls.session._token = "ey.broken.token"
        self.assertEqual(client.query({User.id: 2}, [User.score])[User.score], 1.0)
        self.assertNotEqual(client._calls.session._token, "ey.broken.token")

    def test_the_token_is_renewed_before_it_ends(self) -> None:
        client = SvcClient()
        self.addCleanup(client.close)
        client.query({User.id: 1}, [User.score])
        session = client._calls.session
        later = session._refresh_at + 1
        session._now = lambda: later
        client.query({User.id: 1}, [User.score])
        self.assertGreater(session._refresh_at, later)

    def test_wrong_credentials(self) -> None:
        secret = "sec_something_wrong"
        with self.assertRaisesRegex(AuthenticationError, "rejected the client ID and secret") as raised:
            SvcClient(client_secret=secret).query({User.id: 1})
        self.assertNotIn(secret, str(raised.exception))

    def test_a_server_that_is_not_there(self) -> None:
        with self.assertRaisesRegex(ServerUnreachable, "http://127.0.0.1:9 cannot be reached.*svc server start"):
            SvcClient(api_server="127.0.0.1:9").query({User.id: 1})

    def test_a_server_that_takes_too_long(self) -> None:
        import socket

        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            listener.listen(1)
            with self.assertRaisesRegex(ServerUnreachable, "did not answer within 0.2 s"):
                SvcClient(api_server=f"127.0.0.1:{listener.getsockname()[1]}", timeout=0.2).query({User.id: 1})

    def test_the_secret_is_not_shown(self) -> None:
        client = SvcClient()
        self.assertIn(os.environ["SVC_CLIENT_ID"], repr(client))
        for text in (repr(client), repr(client._calls.settings)):
            self.assertNotIn(os.environ["SVC_CLIENT_SECRET"], text)

    def test_settings_come_from_the_config_file(self) -> None:
        names = ("SVC_CLIENT_ID", "SVC_CLIENT_SECRET", "SVC_API_SERVER")
        values = {name: os.environ[name] for name in names}
        with tempfile.TemporaryDirectory() as home:
            bare = {name: value for name, value in os.environ.items() if name not in (*names, "XDG_CONFIG_HOME")} | {"HOME": home}
            with mock.patch.dict(os.environ, bare, clear=True), self.assertRaisesRegex(ConfigError, "svc login"):
                SvcClient()
            path = os.path.join(home, ".config", "svc.yml")
            os.makedirs(os.path.dirname(path))
            with open(path, "w", encoding="utf-8") as file:
                file.write(os.environ["TEST_CONFIG_FILE"])
            with mock.patch.dict(os.environ, bare, clear=True):
                client = SvcClient()
                self.addCleanup(client.close)
                self.assertEqual(client.query({User.id: 1}, [User.score])[User.score], 0.5)
        self.assertEqual(client._calls.settings.client_id, values["SVC_CLIENT_ID"])

    def test_errors_have_one_base(self) -> None:
        for kind in (AuthenticationError, QueryError, ServerUnreachable):
            self.assertTrue(issubclass(kind, ClientError))


class Upload(unittest.TestCase):
    def setUp(self) -> None:
        self.client = SvcClient()
        self.addCleanup(self.client.close)

    def test_columns_rows_and_instances(self) -> None:
        result = self.client.upload_features({User.id: [900, 901], User.name: ["a", "b"]})
        self.assertEqual((result.rows, result.online_values, result.offline_values, result.deleted_values), (2, 2, 2, 0))
        self.assertEqual(self.client.query({User.id: 901}, [User.name])[User.name], "b")
        self.client.upload_features([{"user.id": 902, "user.name": "c"}, User(id=903, name="d")])
        answer = self.client.query_bulk({User.id: [902, 903]}, [User.name])
        self.assertEqual([answer[User.name][row] for row in range(2)], ["c", "d"])

    def test_every_type(self) -> None:
        at = datetime(2024, 5, 1, 12, 0, 0, 123456, tzinfo=timezone.utc)
        point = Point(x=0.5, y=None, at=at)
        columns = {
            Echo.id: [2**62],
            Echo.a_int: [-(2**60)],
            Echo.a_float: [math.inf],
            Echo.a_bytes: [b"\x00\xff"],
            Echo.a_date: [date(2024, 2, 29)],
            Echo.a_datetime: [at],
            Echo.a_timedelta: [timedelta(days=3, microseconds=1)],
            Echo.a_decimal: [Decimal("1.50")],
            Echo.a_kind: [Kind.LARGE],
            Echo.a_point: [point],
            Echo.a_set: [{"x", "y"}],
            Echo.a_json: [{"a": [1, None]}],
            Echo.a_str: [None],
        }
        result = self.client.upload_features(columns, target="offline", time=at, known_at=at)
        self.assertEqual((result.online_values, result.offline_values), (0, 12))

    def test_many_rows_are_checked_before_any_is_stored(self) -> None:
        # Other interpreters ask the same server.
        first = sys.version_info.minor * 1_000_000
        ids = list(range(first, first + 30_000))
        names = [f"n{id}" for id in ids]
        with self.assertRaises(QueryError) as refused:
            self.client.upload_features({User.id: ids, User.name: [*names[:-1], 5.5]})
        self.assertEqual(refused.exception.errors[0].row, 30_000)
        self.assertIn("row 30000, column user.name: ", refused.exception.errors[0].message)
        self.assertNotEqual(self.client.query({User.id: first}, [User.name])[User.name], names[0])
        result = self.client.upload_features({User.id: ids, User.name: names})
        self.assertEqual((result.rows, result.offline_values), (30_000, 30_000))
        self.assertEqual(self.client.query({User.id: ids[-1]}, [User.name])[User.name], names[-1])

    def test_tables_of_other_packages(self) -> None:
        try:
            import pandas
        except ImportError:
            self.skipTest("pandas is not installed")
        frame = pandas.DataFrame({"user.id": [910, 911], "user.name": ["p", "q"], "when": pandas.to_datetime(["2024-01-01", "2024-01-02"], utc=True)})
        self.assertEqual(self.client.upload_features(frame, time_column="when").offline_values, 2)

    def test_what_is_wrong(self) -> None:
        for wrong, error in (
            ({}, ValueError),
            ({User.id: [1], User.name: ["a", "b"]}, ValueError),
            ({User.id: [1], "user.id": [2]}, ValueError),
            ({User.id: 5}, TypeError),
            ([{User.id: 1}, {User.name: "x"}], ValueError),
            ("text", TypeError),
            ({User.id: [1], "user.nam": ["x"]}, QueryError),
            ({User.id: [None], User.name: ["x"]}, QueryError),
        ):
            with self.subTest(wrong), self.assertRaises(error):
                self.client.upload_features(wrong)


class PrintedCall(unittest.TestCase):
    def test_the_call_that_the_command_line_prints_works(self) -> None:
        scope: dict = {}
        with mock.patch.dict(os.environ, {"SVC_CLIENT_ID": "", "SVC_CLIENT_SECRET": "", "SVC_API_SERVER": ""}):
            exec(os.environ["TEST_SVCPY"], scope)
            self.addCleanup(scope["client"].close)
            self.assertEqual(scope["client"].query({User.id: 6}, [User.score])[User.score], 3.0)


if __name__ == "__main__":
    unittest.main()
