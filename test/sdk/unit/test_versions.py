"""Versions of features, as Python code names them."""

import unittest

from svc import DataFrame
from svc.features import _, feature, features


@features
class Owner:
    id: int
    name: str = feature(version=2, default="a", versions={2: feature(default="b")})


@features
class Trial:
    id: int
    code: str = feature(version=3, default_version=2)
    plain: int
    owner_id: Owner.id
    owner: Owner


class References(unittest.TestCase):
    def test_a_version_is_a_reference_of_its_own_and_the_default_is_the_bare_name(self):
        self.assertEqual([str(Trial.code @ number) for number in (1, 2, 3)], ["trial.code@1", "trial.code", "trial.code@3"])
        self.assertIs(Trial.code @ 2, Trial.code)
        self.assertIs(Trial.code @ 1, Trial.code @ 1)
        self.assertIs((Trial.code @ 1) @ 2, Trial.code)
        self.assertEqual({Trial.code @ 1: 1, Trial.code: 2}[Trial.code @ 2], 2)
        self.assertEqual(repr(Trial.code @ 1), "Trial.code @ 1")

    def test_through_a_relation(self):
        self.assertEqual(str(Trial.owner.name @ 2), "trial.owner.name@2")
        self.assertEqual(str(Trial.owner.name @ 1), "trial.owner.name")
        self.assertIs(Trial.owner.name @ 1, Trial.owner.name)

    def test_there_is_no_other_version(self):
        for number in (0, 4, "1", True, None):
            with self.assertRaises(AttributeError) as raised:
                Trial.code @ number
            self.assertEqual(str(raised.exception), f"Trial.code has no version {number!r}: its versions are 1 to 3")
        with self.assertRaises(AttributeError) as raised:
            Trial.plain @ 2
        self.assertEqual(str(raised.exception), "Trial.plain has no version 2: it has one")

    def test_in_expressions(self):
        self.assertEqual(repr(_.code @ 3), "_.code@3")
        self.assertEqual(repr(_.owner.name @ 2), "_.owner.name@2")


class Rows(unittest.TestCase):
    def test_the_attribute_is_the_default_version(self):
        trial = Trial(id=1, code="b", **{"code@1": "a"})
        self.assertEqual(trial.code, "b")
        self.assertEqual(list(trial), [("trial.id", 1), ("trial.code@1", "a"), ("trial.code", "b")])
        self.assertEqual((Owner(id=1).name, getattr(Owner(id=1), "name@2")), ("a", "b"))

    def test_versions_are_columns(self):
        frame = DataFrame({Trial.id: [1, 2], Trial.code @ 1: ["a", "b"], Trial.code: ["x", "y"]})
        self.assertEqual([getattr(row, "code@1") for row in frame[Trial.code @ 1]], ["a", "b"])
        self.assertEqual([row.code for row in frame[Trial.code @ 2]], ["x", "y"])
        self.assertEqual(len(frame[(Trial.code @ 1) == "b"]), 1)


if __name__ == "__main__":
    unittest.main()
