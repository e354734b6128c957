"""Values between Python and the engine: every type, both directions."""

import json
import math
import os
import random
import unittest
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Any, List, NewType, Optional, Set

from svc._codec.values import ValueMismatch, decode, encode, untag


class Kind(Enum):
    A = "a"


class Level(IntEnum):
    HIGH = 2


class Word(str, Enum):
    YES = "yes"


@dataclass
class Point:
    x: float
    at: Optional[datetime] = None
    hidden: int = field(default=1, init=False)


@dataclass
class Line:
    points: List[Point]
    kind: Kind


Token = NewType("Token", str)
UTC = timezone.utc

PAIRS = [
    (int, 5, 5),
    (int, -(2**53) + 1, -(2**53) + 1),
    (int, 2**53, {"$int": "9007199254740992"}),
    (int, -(2**63), {"$int": "-9223372036854775808"}),
    (float, 1.5, 1.5),
    (float, math.inf, {"$float": "Infinity"}),
    (float, -math.inf, {"$float": "-Infinity"}),
    (str, "", ""),
    (str, "grüße 👋", "grüße 👋"),
    (bool, True, True),
    (bytes, b"\x00\xff", {"$bytes": "AP8="}),
    (date, date(1, 2, 3), "0001-02-03"),
    (datetime, datetime(2024, 2, 29, 1, 2, 3, 4, tzinfo=UTC), "2024-02-29T01:02:03.000004Z"),
    (datetime, datetime(1, 1, 1, tzinfo=UTC), "0001-01-01T00:00:00.000000Z"),
    (timedelta, timedelta(days=-1, microseconds=1), {"$micros": -86399999999}),
    (timedelta, timedelta(days=730000, microseconds=7), {"$micros": "63072000000000007"}),
    (Decimal, Decimal("1.500"), "1.500"),
    (Kind, Kind.A, "a"),
    (Level, Level.HIGH, 2),
    (Word, Word.YES, "yes"),
    (Token, "t", "t"),
    (Optional[int], None, None),
    (Optional[int], 3, 3),
    (list[int], [1, 2], [1, 2]),
    (List[Optional[bytes]], [None, b"a"], [None, {"$bytes": "YQ=="}]),
    (Set[str], {"a"}, ["a"]),
    (frozenset[int], frozenset({7}), [7]),
    (Line, Line([Point(1.0, datetime(2020, 1, 1, tzinfo=UTC)), Point(2.0)], Kind.A),
     {"points": [{"x": 1.0, "at": "2020-01-01T00:00:00.000000Z"}, {"x": 2.0, "at": None}], "kind": "a"}),
    (dict, {"a": [1, None, {"b": 2**60}], "n": math.inf}, {"a": [1, None, {"b": {"$int": str(2**60)}}], "n": {"$float": "Infinity"}}),
    (Any, "x", "x"),
]


class Pairs(unittest.TestCase):
    def test_both_ways(self):
        for python_type, value, engine in PAIRS:
            with self.subTest(python_type=python_type, value=value):
                self.assertEqual(encode(value, python_type), engine)
                self.assertEqual(json.loads(json.dumps(encode(value, python_type))), engine)
                self.assertEqual(decode(python_type, engine), value)

    def test_types_after_decoding(self):
        self.assertIs(type(decode(float, 5)), float)
        self.assertIs(type(decode(Level, 2)), Level)
        self.assertIs(type(decode(set[int], [1, 1])), set)
        self.assertIsInstance(decode(Line, {"points": [{"x": 1}], "kind": "a"}).points[0].x, float)

    def test_nan_and_minus_zero(self):
        self.assertEqual(encode(math.nan), {"$float": "NaN"})
        self.assertTrue(math.isnan(decode(float, {"$float": "NaN"})))
        self.assertEqual(encode(-0.0), {"$float": "-0"})
        self.assertEqual(math.copysign(1, decode(float, {"$float": "-0"})), -1)
        self.assertEqual(encode(0.0), 0.0)

    def test_datetimes(self):
        self.assertEqual(encode(datetime(2020, 1, 1)), "2020-01-01T00:00:00.000000Z")
        east = timezone(timedelta(hours=2))
        self.assertEqual(encode(datetime(2020, 1, 1, 1, tzinfo=east)), "2019-12-31T23:00:00.000000Z")
        self.assertEqual(decode(datetime, "2020-01-01T01:00:00+02:00"), datetime(2019, 12, 31, 23, tzinfo=UTC))

    def test_timedelta_is_read_from_microseconds(self):
        self.assertEqual(decode(timedelta, 1_500_000), timedelta(seconds=1.5))
        self.assertEqual(decode(timedelta, {"$int": "9007199254740993"}), timedelta(microseconds=9007199254740993))

    def test_missing_struct_fields_take_the_default(self):
        self.assertEqual(decode(Point, {"x": 1.0}), Point(1.0))

    def test_untag(self):
        self.assertEqual(untag({"a": {"$int": "5"}, "b": [{"$bytes": "YQ=="}]}), {"a": 5, "b": [b"a"]})

    def test_objects_that_look_like_tags(self) -> None:
        for name in ("$int", "$float", "$bytes", "$$int"):
            value = {name: "5"}
            self.assertEqual(encode(value), {"$" + name: "5"})
            self.assertEqual(untag({"$" + name: "5"}), value)
        self.assertEqual(encode({"$int": "5", "b": 1}), {"$int": "5", "b": 1})


class Mismatches(unittest.TestCase):
    def test_what_json_would_disguise(self):
        for value in (datetime(2020, 1, 1), date(2020, 1, 1), Decimal("1")):
            with self.subTest(value=value), self.assertRaisesRegex(ValueMismatch, "expected str, got"):
                encode(value, str)
        with self.assertRaises(ValueMismatch):
            encode([date(2020, 1, 1)], list[str])

    def test_other_mismatches_are_left_to_the_engine(self):
        self.assertEqual(encode("5", int), "5")
        self.assertEqual(encode("ab", list[str]), "ab")
        self.assertEqual(encode({"x": 1}, Point), {"x": 1})

    def test_what_no_feature_can_hold(self):
        with self.assertRaisesRegex(ValueMismatch, "a value of type object cannot be"):
            encode(object())
        with self.assertRaises(ValueError):
            decode(Kind, "b")


class Arrays(unittest.TestCase):
    def test_numpy_values_when_installed(self):
        try:
            import numpy
        except ImportError:
            self.skipTest("numpy is not installed")
        self.assertEqual(encode([numpy.int64(5), numpy.float32(0.5), numpy.bool_(True), numpy.array([1, 2])]), [5, 0.5, True, [1, 2]])

    def test_by_their_interface(self):
        class Scalar:
            def tolist(self):
                return 5

        Scalar.__module__ = "numpy"
        self.assertEqual(encode([Scalar()], list[int]), [5])


class Properties(unittest.TestCase):
    def test_random_values_survive(self):
        seed = int(os.environ["SVC_TEST_SEED"])
        chance = random.Random(seed)
        for _ in range(2000):
            cases = [
                (int, chance.randrange(-(2**63), 2**63)),
                (int, chance.randrange(-(2**54), 2**54)),
                (float, chance.uniform(-1e308, 1e308)),
                (bytes, chance.randbytes(chance.randrange(9))),
                (timedelta, timedelta(microseconds=chance.randrange(-(10**17), 10**17))),
                (datetime, datetime(1, 1, 1, tzinfo=UTC) + timedelta(microseconds=chance.randrange(315_537_897_600_000_000))),
                (Decimal, Decimal(chance.randrange(10**12)).scaleb(-chance.randrange(12))),
            ]
            for python_type, value in cases:
                wire = json.loads(json.dumps(encode(value, python_type)))
                self.assertEqual(decode(python_type, wire), value, f"seed {seed}")


if __name__ == "__main__":
    unittest.main()
