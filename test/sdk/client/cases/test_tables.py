"""Bulk queries of tables, which go as Arrow where pyarrow is installed, and come to what JSON does."""

import importlib.util
import math
import unittest
from datetime import date, datetime, timedelta, timezone
from typing import Any
from unittest import mock

from features import Echo, Point, User
from svc._client.session import Session
from svc.client import AsyncSvcClient, BulkQueryResult, QueryError, SvcClient

AT = datetime(2024, 5, 1, 12, 30, 0, 123456, tzinfo=timezone.utc)
#: Two rows of every type, the second one without values.
COLUMNS: "dict[str, list[Any]]" = {
    "echo.id": [2**62 + 1, 2],
    "echo.a_int": [-(2**63), None],
    "echo.a_float": [math.inf, None],
    "echo.a_str": ["gr\u00fc\u00df \U0001f600\x00", None],
    "echo.a_bool": [False, None],
    "echo.a_bytes": [bytes(range(256)), None],
    "echo.a_date": [date(1960, 2, 29), None],
    "echo.a_datetime": [AT, None],
    "echo.a_timedelta": [timedelta(days=730_000, microseconds=-17), None],
    "echo.a_decimal": ["12345678901234567890.12345", None],
    "echo.a_kind": ["l", None],
    "echo.a_point": [{"x": 1.5, "y": None, "at": AT}, None],
    "echo.a_list": [[1.0, -0.5], []],
    "echo.a_set": [["b", "a"], None],
    "echo.a_json": ["text", None],
}
NAMES = list(COLUMNS)


def lacks(name: str) -> bool:
    return importlib.util.find_spec(name) is None


class Sent:
    """What went as a table, while it is looked at."""

    def __enter__(self) -> "Sent":
        self.count = 0
        post_table = Session.post_table

        def counted(session: Session, *given: Any) -> Any:
            self.count += 1
            return post_table(session, *given)

        self._patch = mock.patch.object(Session, "post_table", counted)
        self._patch.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self._patch.stop()


@unittest.skipIf(lacks("pyarrow"), "without pyarrow there is only JSON")
class Tables(unittest.TestCase):
    def setUp(self) -> None:
        self.client = SvcClient()
        self.addCleanup(self.client.close)

    def compare(self, table: Any, columns: "dict[str, list[Any]]", output: Any, as_table: bool = True) -> BulkQueryResult:
        with Sent() as sent:
            got = self.client.query_bulk(table, output)
        self.assertEqual(sent.count, int(as_table))
        wanted = self.client.query_bulk(columns, output)
        self.assertEqual((got.to_dict(), len(got), got.meta.types), (wanted.to_dict(), len(wanted), wanted.meta.types))
        self.assertEqual([(one.row, one.feature, one.code, one.message) for one in got.errors], [(one.row, one.feature, one.code, one.message) for one in wanted.errors])
        self.assertEqual(got.to_rows(), wanted.to_rows())
        import pyarrow

        self.assertTrue(got.to_arrow().equals(wanted.to_arrow(), check_metadata=True), (got.to_arrow(), wanted.to_arrow()))
        self.assertIsInstance(got.to_arrow(), pyarrow.Table)
        if not lacks("pandas"):
            self.assertTrue(got.to_pandas().equals(wanted.to_pandas()))
        if not lacks("polars"):
            self.assertTrue(got.to_polars().equals(wanted.to_polars()))
            self.assertEqual(got.to_polars().schema, wanted.to_polars().schema)
        return got

    def test_every_type(self) -> None:
        import pyarrow

        table = pyarrow.table(COLUMNS)
        for output in ([Echo], NAMES, [Echo.a_int, "echo.a_point", Echo.a_set], [Echo.a_float], [Echo.a_decimal]):
            self.compare(table, COLUMNS, output)
        known = self.compare(table, COLUMNS, [Echo.a_point])
        self.assertEqual(known[Echo.a_point], [Point(1.5, None, AT), None])

    def test_narrow_types_and_dictionaries(self) -> None:
        import pyarrow

        table = pyarrow.table(
            {
                "echo.id": pyarrow.array([1, 2], pyarrow.int8()),
                "echo.a_float": pyarrow.array([0.5, None], pyarrow.float32()),
                "echo.a_str": pyarrow.array(["a", "a"]).dictionary_encode(),
                "echo.a_datetime": pyarrow.array([datetime(2024, 1, 1), None], pyarrow.timestamp("ms")),
                "echo.a_list": pyarrow.array([[1.0, 2.0], None], pyarrow.list_(pyarrow.float64(), 2)),
            }
        )
        self.compare(table, table.to_pydict(), table.column_names)
        self.compare(table.to_batches()[0], table.to_pydict(), table.column_names)

    def test_rows_of_relations_and_rows_that_fail(self) -> None:
        import pyarrow

        columns = {"user.id": [1, 13, 2]}
        got = self.compare(pyarrow.table(columns), columns, [User.fragile, User.score, User.orders, User.orders.kind])
        self.assertEqual([(error.row, error.exception.kind) for error in got.errors if error.exception], [(1, "ValueError")])
        wrong = self.compare(pyarrow.table({"user.id": ["x", "y"]}), {"user.id": ["x", "y"]}, [User.score])
        self.assertGreater(len(wrong.errors), 0)
        self.compare(pyarrow.table({"user.id": pyarrow.array([], pyarrow.int64())}), {"user.id": []}, [User.score, User.orders])

    def test_options_go_with_a_table(self) -> None:
        import pyarrow

        table = pyarrow.table({"user.id": [1, 2]})
        times = [datetime(2024, 1, 1, tzinfo=timezone.utc), AT]
        with Sent() as sent:
            self.assertEqual(self.client.query_bulk(table, [User.asked_at], now=times)[User.asked_at], times)
            tagged = self.client.query_bulk(table, [User.origin], tags=["risk"], query_context={"from": "there"})
            self.assertEqual(tagged[User.origin], ["there/risk"] * 2)
            with self.assertRaisesRegex(QueryError, "did you mean 'user.name'"):
                self.client.query_bulk(table, ["user.nmae"])
        self.assertEqual(sent.count, 3)

    def test_what_arrow_cannot_say_goes_as_json(self) -> None:
        import pyarrow

        columns = {"user.id": [1, 2]}
        as_views = pyarrow.table({"word.text": pyarrow.array(["a"]).cast(pyarrow.string_view())})
        with Sent() as sent, self.assertRaises(QueryError):
            self.client.query_bulk(as_views, ["word.text"])
        self.assertEqual(sent.count, 0)
        with Sent() as sent:
            self.client.query_bulk(pyarrow.table(columns), [User.score], query_context={"long": "x" * (1 << 20)})
        self.assertEqual(sent.count, 0)
        with mock.patch.object(importlib.util, "find_spec", return_value=None):
            self.compare(pyarrow.table(columns), columns, [User.score], as_table=False)

    @unittest.skipIf(lacks("pandas"), "without pandas")
    def test_frames_of_pandas(self) -> None:
        import pandas

        frame = pandas.DataFrame({"echo.id": [1, 2], "echo.a_float": [0.5, None], "echo.a_str": ["a", None]}, index=[7, 9])
        frame["echo.a_str"] = frame["echo.a_str"].astype("category")
        columns = {"echo.id": [1, 2], "echo.a_float": [0.5, None], "echo.a_str": ["a", None]}
        self.compare(frame, columns, list(columns))
        mixed = pandas.DataFrame({"echo.id": [1, 2], "echo.a_json": [{"a": 1}, "x"]})
        self.compare(mixed, {name: mixed[name].tolist() for name in mixed}, list(mixed), as_table=False)

    @unittest.skipIf(lacks("polars"), "without polars")
    def test_frames_of_polars(self) -> None:
        import polars

        columns = {"echo.id": [1, 2], "echo.a_str": ["a", None], "echo.a_list": [[1.0], [2.0, 3.0]]}
        self.compare(polars.DataFrame(columns), columns, list(columns))


@unittest.skipIf(lacks("pyarrow"), "without pyarrow there is only JSON")
class Awaited(unittest.IsolatedAsyncioTestCase):
    async def test_a_table(self) -> None:
        import pyarrow

        async with AsyncSvcClient() as client:
            with Sent() as sent:
                result = await client.query_bulk(pyarrow.table({"user.id": [4, 5]}), [User.score])
            self.assertEqual((sent.count, result[User.score], result.to_arrow()["user.score"].to_pylist()), (1, [2.0, 2.5], [2.0, 2.5]))


