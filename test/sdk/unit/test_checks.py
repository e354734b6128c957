"""Checks of values by functions, as a worker makes them."""

import unittest
from array import array
from dataclasses import dataclass
from typing import Optional

from svc import online
from svc._model.registry import registry
from svc._model.resolver import ResolverSpec
from svc._worker.checks import PREFIX, CheckRunner, Checks
from svc.features import Features, Validation, feature, features


def is_even(value):
    return value % 2 == 0


def says_nothing(value):
    pass


def raises(value):
    raise LookupError(f"no \ud800 {value}")


@dataclass
class Point:
    x: float


seen = []


def sees(value):
    seen.append(value)
    return True


@features
class Item:
    id: int
    even: int = feature(version=2, validations=[Validation(check=is_even, strict=True), Validation(check=says_nothing)])
    raising: float = feature(strict=True, validations=[Validation(check=raises)])
    point: Optional[Point] = feature(validations=[Validation(check=sees)])
    plain: int


@online
def items(id: Item.id) -> Features[Item.even, Item.raising, Item.point, Item.plain]:
    return Item(even=1, raising=1.0, point=None, plain=1)


class ChecksTest(unittest.TestCase):
    def setUp(self):
        self.spec: ResolverSpec = next(spec for spec in registry.resolvers.values() if spec.fqn.endswith("test_checks.items"))
        seen.clear()

    def checked(self, **columns):
        result = {}
        Checks(self.spec.outputs).add_to(result, {f"item.{name}": values for name, values in columns.items()})
        return result

    def test_broken_and_counted(self):
        self.assertEqual(
            self.checked(even=[2, 3, None, 5], plain=[1, 2, 3, 4]),
            {"broken": {"item.even": [(1, "check=is_even"), (3, "check=is_even")]}, "counted": {"item.even": 1}},
        )
        self.assertEqual(self.checked(plain=[1]), {})

    def test_blocks(self):
        self.assertEqual(self.checked(even=array("d", [2.0, 3.0]))["broken"], {"item.even": [(1, "check=is_even")]})

    def test_what_a_check_raises_is_told(self):
        (row, rule), = self.checked(raising=[0.5])["broken"]["item.raising"]
        self.assertEqual((row, rule), (0, "check=raises (LookupError: no \\ud800 0.5)"))

    def test_values_are_those_that_resolvers_are_given(self):
        self.checked(point=[{"x": 1}, None, "no point"])
        self.assertEqual(seen, [Point(1.0)])

    def test_a_call_for_one_feature(self):
        message = {"id": 7, "rows": 2, "columns": {"value": [1, 2]}}
        for name in ("item.even", "item.even@2"):
            with self.subTest(name):
                self.assertEqual(CheckRunner(PREFIX + name).run(message)["broken"], {name: [(0, "check=is_even")]})

    def test_names(self):
        self.assertEqual(repr(Validation(min=1, check=is_even, strict=True)), "Validation(min=1, check=is_even, strict=True)")


if __name__ == "__main__":
    unittest.main()
