"""Tables of pandas, polars and pyarrow as inputs of the client, and its answers as tables."""

import importlib.util
import json
import unittest
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum
from typing import Any
from unittest import mock

from svc._client import frames
from svc._client.calls import Calls, QueryOptions
from svc._client.offline import input_columns
from svc._client.result import bulk_result
from svc._client.upload import columns_of
from svc._client.values import classes_in
from svc.features import DataFrame, features


class Kind(Enum):
    SMALL = "s"


@dataclass
class Point:
    x: float
    y: "int | None"


@features
class Row:
    id: int
    name: "str | None"
    at: "datetime | None"
    day: "date | None"
    long: "timedelta | None"
    price: "Decimal | None"
    is_new: "bool | None"
    raw: "bytes | None"
    kind: "Kind | None"
    point: "Point | None"
    parts: "DataFrame[Part]"
    tags: "list[str] | None"
    ratio: "float | None"
    nothing: "int | None"
    any: "dict | None"


@features
class Part:
    id: int
    row_id: "Row.id"


AT = datetime(2024, 1, 1, 12, 0, 0, 5, tzinfo=timezone.utc)
TYPES: Any = {
    "row.id": "int64",
    "row.name": "string",
    "row.at": "timestamp",
    "row.day": "date",
    "row.long": "duration",
    "row.price": "decimal",
    "row.is_new": "bool",
    "row.raw": "bytes",
    "row.kind": "string",
    "row.point": {"type": "struct", "fields": [{"name": "x", "type": "float64"}, {"name": "y", "type": "int64"}]},
    "row.parts": {"type": "list", "items": {"type": "struct", "fields": [{"name": "id", "type": "int64"}, {"name": "row_id", "type": "int64"}]}},
    "row.tags": {"type": "set", "items": "string"},
    "row.ratio": "float64",
    "row.nothing": "int64",
    "row.any": "json",
}
#: What the server answers, for a value and for none.
ANSWERED: Any = {
    "row.id": [2**62 + 1, 2],
    "row.name": ["a", None],
    "row.at": ["2024-01-01T12:00:00.000005Z", None],
    "row.day": ["2024-01-01", None],
    "row.long": [1.5, None],
    "row.price": ["1.50", None],
    "row.is_new": [True, None],
    "row.raw": ["AP8=", None],
    "row.kind": ["s", None],
    "row.point": [{"x": 0.5, "y": None}, None],
    "row.parts": [[{"id": 1, "row_id": 7}], []],
    "row.tags": [["a", "b"], None],
    "row.ratio": [{"$float": "Infinity"}, None],
    "row.nothing": [None, None],
    "row.any": [{"deep": [1]}, None],
}
WANTED: Any = {
    "row.id": [2**62 + 1, 2],
    "row.name": ["a", None],
    "row.at": [AT, None],
    "row.day": [date(2024, 1, 1), None],
    "row.long": [timedelta(seconds=1.5), None],
    "row.price": [Decimal("1.50"), None],
    "row.is_new": [True, None],
    "row.raw": [b"\x00\xff", None],
    "row.kind": ["s", None],
    "row.point": [{"x": 0.5, "y": None}, None],
    "row.parts": [[{"id": 1, "row_id": 7}], []],
    "row.tags": [["a", "b"], None],
    "row.ratio": [float("inf"), None],
    "row.nothing": [None, None],
    "row.any": ['{"deep": [1]}', None],
}


def lacks(*modules: str) -> bool:
    return any(importlib.util.find_spec(name) is None for name in modules)


def results() -> list[Any]:
    """The answer to somebody who knows the classes, and to somebody who does not."""
    body = {"data": ANSWERED, "meta": {"types": TYPES}}
    stranger = {"data": {name.replace("row.", "far."): column for name, column in ANSWERED.items()}}
    stranger["meta"] = {"types": {name.replace("row.", "far."): kind for name, kind in TYPES.items()}}
    return [bulk_result(body, classes_in([Row])), bulk_result(stranger, {})]


class Outputs(unittest.TestCase):
    maxDiff = None

    @unittest.skipIf(lacks("pyarrow"), "needs pyarrow")
    def test_pyarrow(self) -> None:
        for result in results():
            table = result.to_arrow()
            self.assertEqual(list(table.to_pydict().values()), list(WANTED.values()))
            self.assertEqual([str(field.type) for field in table.schema], [
                "int64", "string", "timestamp[us, tz=UTC]", "date32[day]", "duration[us]", "decimal128(3, 2)", "bool", "binary", "string",
                "struct<x: double, y: int64>", "list<item: struct<id: int64, row_id: int64>>", "list<item: string>", "double", "int64", "string",
            ])

    @unittest.skipIf(lacks("polars"), "needs polars")
    def test_polars(self) -> None:
        import polars

        for result in results():
            frame = result.to_polars()
            self.assertEqual(list(frame.to_dict(as_series=False).values()), list(WANTED.values()))
            self.assertEqual([frame.dtypes[at] for at in (0, 2, 4, 6, 13)], [polars.Int64, polars.Datetime("us", "UTC"), polars.Duration("us"), polars.Boolean, polars.Int64])

    @unittest.skipIf(lacks("pandas"), "needs pandas")
    def test_pandas(self) -> None:
        for result in results():
            frame = result.to_pandas()
            found = {name: frames.plain_column(frame[name]) for name in frame.columns}
            self.assertEqual(list(found.values()), list(WANTED.values()))
            types = {name.partition(".")[2]: str(kind) for name, kind in frame.dtypes.items()}
            self.assertEqual((types["id"], types["nothing"], types["is_new"], types["ratio"]), ("int64", "Int64", "boolean", "float64"))
            self.assertEqual((types["at"], types["long"]), ("datetime64[us, UTC]", "timedelta64[us]"))

    def test_no_rows(self) -> None:
        result = bulk_result({"data": {name: [] for name in TYPES}, "meta": {"types": TYPES}}, {})
        for library, way in (("pyarrow", "to_arrow"), ("pandas", "to_pandas"), ("polars", "to_polars")):
            if not lacks(library):
                self.assertEqual(len(getattr(result, way)()), 0)


class Inputs(unittest.TestCase):
    """One table is the same columns wherever it is given."""

    columns: Any = {"row.id": [1, 2**60], "row.name": ["a", None], "row.at": [AT, AT], "row.tags": [["a"], []]}
    wanted: Any = {
        "row.id": [1, 2**60],
        "row.name": ["a", None],
        "row.at": ["2024-01-01T12:00:00.000005Z"] * 2,
        "row.tags": [["a"], []],
    }

    def check(self, table: Any) -> None:
        self.assertEqual(columns_of(table), self.wanted)
        self.assertEqual(input_columns(table), self.wanted)
        calls = Calls("id", "secret", None, "http://127.0.0.1:9", None, None, 1, 0)
        calls.session._token, calls.session._refresh_at = "token", float("inf")
        steps = calls.query_bulk(table, ["row.name"], QueryOptions(**dict.fromkeys([*QueryOptions.__dataclass_fields__])))
        # As JSON, where Arrow cannot say them.
        with mock.patch("svc._client.calls.stream_of", return_value=None):
            self.assertEqual(json.loads(next(steps).content)["inputs"], self.wanted)

    @unittest.skipIf(lacks("pyarrow"), "needs pyarrow")
    def test_pyarrow(self) -> None:
        import pyarrow

        self.check(pyarrow.table(self.columns))
        self.check(pyarrow.record_batch(self.columns))

    @unittest.skipIf(lacks("polars"), "needs polars")
    def test_polars(self) -> None:
        import polars

        self.check(polars.DataFrame(self.columns))
        with self.assertRaisesRegex(TypeError, "collect"):
            self.check(polars.LazyFrame(self.columns))

    @unittest.skipIf(lacks("pandas"), "needs pandas")
    def test_pandas(self) -> None:
        import pandas

        self.check(pandas.DataFrame(self.columns))
        self.check({name: pandas.Series(column) for name, column in self.columns.items()})
        missing = pandas.DataFrame({"row.id": [1, 2], "row.ratio": [0.5, float("nan")], "row.at": [pandas.NaT, AT], "row.nothing": pandas.array([1, None], "Int64")})
        found = {"row.id": [1, 2], "row.ratio": [0.5, None], "row.at": [None, "2024-01-01T12:00:00.000005Z"], "row.nothing": [1, None]}
        self.assertEqual(columns_of(missing), found)
        self.assertEqual(input_columns(missing), found)

    def test_what_is_no_table(self) -> None:
        calls = Calls("id", "secret", None, "http://127.0.0.1:9", None, None, 1, 0)
        with self.assertRaisesRegex(TypeError, "lists of values by feature or a table, not str"):
            next(calls.query_bulk("row.id", [], QueryOptions(**dict.fromkeys([*QueryOptions.__dataclass_fields__]))))


if __name__ == "__main__":
    unittest.main()
