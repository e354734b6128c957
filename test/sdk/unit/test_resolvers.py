"""Resolvers: plain callables, and what the worker knows of them."""

import asyncio
import unittest
from dataclasses import dataclass
from datetime import datetime, timezone
from enum import Enum
from typing import Optional

import svc
from svc import Now, batch, offline, online, realtime, svc_logger
from svc._model.registry import registry
from svc._model.resolver import InputSpec, OutputSpec
from svc.features import Features, FeatureTime, feature, features


class Kind(Enum):
    A = "a"


@dataclass
class Point:
    x: float


@features
class Town:
    id: int
    size: float


@features
class Person:
    id: int
    at: FeatureTime
    name: str
    email: str | None
    kind: Kind
    home: Point
    score: float
    label: str = feature(name="title")
    town_id: Town.id
    town: Town


def spec(function):
    return registry.resolvers[f"{function.__module__}.{function.__name__}"]


@online
def greeting(name: Person.name, kind: Person.kind, home: "Person.home", size: Person.town.size) -> Person.label:
    """Says hello.

    Politely.
    """
    return f"{name} {kind.value} {home.x} {size}"


@online(tags=["live"], environment="prod", timeout="1m30s", cron="1d", owner="a@example.com")
def several(id: Person.id, now: Now, score: Optional[Person.score] = -1, email: Person.email | None = None) -> Features[Person.name, Person.label]:
    return Person(name=f"{id} {score}", label=f"{now.year} {email}")


@offline
def everything(email: Person.email) -> Features[Person] - Person.score - Person.town_id:
    return Person(id=1, name="x")


@online
async def later(id: Person.id) -> Person.score:
    await asyncio.sleep(0)
    return id / 2


@online
def keyword_only(id: Person.id, *, name: "Optional[Person.name]" = "none") -> Person.score:
    return len(name) + id


class PlainCallables(unittest.TestCase):
    def test_called_as_they_are(self):
        self.assertEqual(greeting("Ann", Kind.A, Point(1.0), 2), "Ann a 1.0 2")
        self.assertEqual(several(3, datetime(2020, 1, 1)), Person(name="3 -1", label="2020 None"))
        self.assertEqual(asyncio.run(later(3)), 1.5)
        self.assertEqual(keyword_only(1), 5)
        self.assertEqual(greeting.__name__, "greeting")

    def test_aliases(self):
        self.assertIs(realtime, online)
        self.assertIs(batch, offline)
        self.assertEqual(svc_logger.name, "svc")
        for name in svc.__all__:
            self.assertTrue(hasattr(svc, name), name)

    def test_only_functions(self):
        with self.assertRaisesRegex(TypeError, "stand above a function"):
            online(5)
        with self.assertRaises(TypeError):
            online(timout="1s")


class Specs(unittest.TestCase):
    def test_inputs(self):
        inputs = spec(greeting).inputs
        self.assertEqual([item.path for item in inputs], ["person.name", "person.kind", "person.home", "person.town.size"])
        self.assertEqual([item.python_type for item in inputs], [str, Kind, Point, float])
        self.assertEqual(
            spec(several).inputs,
            (
                InputSpec("id", False, "person.id", int, {"primitive": "PRIMITIVE_TYPE_INT64"}),
                InputSpec("now", True, python_type=datetime),
                InputSpec("score", False, "person.score", float, {"primitive": "PRIMITIVE_TYPE_FLOAT64"}, True, -1),
                InputSpec("email", False, "person.email", str, {"primitive": "PRIMITIVE_TYPE_STRING"}, True, None),
            ),
        )

    def test_outputs(self):
        self.assertEqual(
            spec(several).outputs,
            (
                OutputSpec("person.name", "name", str, {"primitive": "PRIMITIVE_TYPE_STRING"}, False),
                OutputSpec("person.title", "label", str, {"primitive": "PRIMITIVE_TYPE_STRING"}, False),
            ),
        )

    def test_a_class_means_all_values_that_are_no_input(self):
        outputs = [item.fqn for item in spec(everything).outputs]
        self.assertEqual(outputs, ["person.id", "person.at", "person.name", "person.kind", "person.home", "person.title"])

    def test_kind_and_options(self):
        self.assertEqual(spec(greeting).kind, "RESOLVER_KIND_ONLINE")
        self.assertEqual(spec(everything).kind, "RESOLVER_KIND_OFFLINE")
        self.assertEqual((spec(several).timeout, spec(greeting).timeout), (90.0, None))
        self.assertTrue(spec(later).is_async)
        self.assertEqual(spec(greeting).definition.description, "Says hello.\n\nPolitely.")

    def test_keyword_only_parameters_are_given_by_position(self):
        self.assertEqual(spec(keyword_only).fn(1, "ab"), 3)

    def test_names(self):
        @online(name="renamed")
        def original(id: Person.id) -> Person.name:
            return ""

        self.assertIn(f"{__name__}.renamed", registry.resolvers)
        self.assertNotIn(f"{__name__}.original", registry.resolvers)

    def test_a_decorated_function(self):
        import functools

        def twice(function):
            @functools.wraps(function)
            def wrapper(*values):
                return function(*values) * 2

            return wrapper

        @online
        @twice
        def doubled(id: Person.id) -> Person.score:
            return float(id)

        self.assertEqual(spec(doubled).fn(2), 4.0)
        self.assertEqual([item.path for item in spec(doubled).inputs], ["person.id"])


class Unpacking(unittest.TestCase):
    def test_one_value(self):
        self.assertEqual(spec(greeting).unpack("x"), ("x",))
        self.assertEqual(spec(greeting).unpack(None), (None,))
        self.assertEqual(spec(greeting).unpack(Person(label="x")), ("x",))

    def test_instance(self):
        self.assertEqual(spec(several).unpack(Person(label="b", name="a")), ("a", "b"))
        self.assertEqual(spec(several).unpack(Person(label="b")), (None, "b"))
        self.assertEqual(spec(several).unpack(Person(id=5, label="b")), (None, "b"))

    def test_tuple_and_none(self):
        self.assertEqual(spec(several).unpack(("a", "b")), ("a", "b"))
        self.assertEqual(spec(several).unpack(None), (None, None))

    def test_refused(self):
        with self.assertRaisesRegex(TypeError, "set 'score', which is not among its outputs"):
            spec(several).unpack(Person(score=1.0))
        with self.assertRaisesRegex(TypeError, "returned 3 values for 2 features"):
            spec(several).unpack(("a", "b", "c"))
        with self.assertRaisesRegex(TypeError, r"returned str for 2 features: return Person\(name=\.\.\., label=\.\.\.\) or a tuple"):
            spec(several).unpack("a")


class Times(unittest.TestCase):
    def test_now_is_a_datetime(self):
        self.assertEqual(several(1, datetime(2021, 1, 1, tzinfo=timezone.utc)).label, "2021 None")


if __name__ == "__main__":
    unittest.main()
