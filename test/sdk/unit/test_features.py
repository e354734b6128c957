"""Feature classes: types, defaults, metadata, instances."""

import unittest
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Annotated, Any, ClassVar, Dict, List, NewType, Optional, Set, Union

from svc.features import FeatureTime, Primary, description, feature, features, has_one, is_primary, owner, tags
from svc._types.data_type import type_name
from svc._diagnostics.findings import DefinitionError


class Kind(Enum):
    A = "a"
    B = "b"


class Level(IntEnum):
    LOW = 1


@dataclass
class Point:
    x: float
    y: Optional[float] = None


@dataclass
class Box:
    corner: Point
    labels: List[str]


Token = NewType("Token", str)


@features(owner="class@example.com", tags=["team:risk"], max_staleness="1d")
class Sample:
    """What there is of everything.

    Two paragraphs.
    :tags: sampled
    """

    LIMIT: ClassVar[int] = 5
    _private: int = 3

    id: int
    number: float = 0
    # How it is written
    #
    # on the card.
    # :owner: own@example.com
    # :tags: pii, team:identity
    name: str | None = feature(max_staleness="0s", tags="shown")

    # a comment that belongs to nothing

    flag: Optional[bool] = None
    raw: bytes
    day: date  # said beside, not above
    at: FeatureTime
    ago: timedelta
    price: Decimal = Decimal("1.50")
    kind: Kind = Kind.A
    level: Union[Level, None]
    corner: Point
    boxes: list[Box]
    words: Set[str]
    letters: frozenset[str] = frozenset()
    counts: list[int | None] = (1, None)
    extra: dict
    more: Dict[str, int]
    anything: Any
    token: Token
    noted: Annotated[int, "how many"]
    # not this
    told: str = feature(description="this", owner="told@example.com", name="said")

    def shout(self) -> str:
        return self.name.upper()


class Types(unittest.TestCase):
    def dtype(self, attribute):
        return Sample.__svc_features__.fields[attribute].type

    def test_names_of_types(self):
        expected = {
            "id": "int",
            "number": "float",
            "name": "str",
            "flag": "bool",
            "raw": "bytes",
            "day": "date",
            "at": "datetime",
            "ago": "timedelta",
            "price": "Decimal",
            "kind": "Kind",
            "level": "Level",
            "corner": "Point",
            "boxes": "list[Box]",
            "words": "set[str]",
            "letters": "set[str]",
            "counts": "list[int]",
            "extra": "json",
            "more": "json",
            "anything": "json",
            "token": "str",
            "noted": "int",
            "told": "str",
        }
        self.assertEqual({name: type_name(self.dtype(name).dtype) for name in expected}, expected)
        self.assertEqual(list(Sample.__svc_features__.fields), list(expected))

    def test_optional(self):
        self.assertEqual([name for name, field in Sample.__svc_features__.fields.items() if field.type.nullable], ["name", "flag", "level"])

    def test_enum_members_and_base(self):
        enum = self.dtype("level").dtype["enum"]
        self.assertEqual(enum["base"], "PRIMITIVE_TYPE_INT64")
        self.assertEqual(enum["members"], [{"name": "LOW", "value": {"int64Value": "1"}}])

    def test_nested_structs(self):
        struct = self.dtype("boxes").dtype["list"]["element"]["struct"]
        self.assertEqual(struct["name"], "Box")
        corner = struct["fields"][0]["dtype"]["struct"]
        self.assertEqual([field.get("nullable", False) for field in corner["fields"]], [False, True])

    def test_element_may_be_null(self):
        self.assertTrue(self.dtype("counts").dtype["list"]["elementNullable"])
        self.assertTrue(self.dtype("words").dtype["list"]["set"])

    def test_neither_private_nor_class_variables_are_features(self):
        self.assertEqual((Sample.LIMIT, Sample._private), (5, 3))


class Metadata(unittest.TestCase):
    def test_of_the_class(self):
        self.assertEqual(owner(Sample), "class@example.com")
        self.assertEqual(tags(Sample), ["team:risk", "sampled"])
        self.assertEqual(description(Sample), "What there is of everything.\n\nTwo paragraphs.")

    def test_from_the_comment_above(self):
        self.assertEqual(owner(Sample.name), "own@example.com")
        self.assertEqual(tags(Sample.name), ["shown", "pii", "team:identity", "team:risk", "sampled"])
        self.assertEqual(description(Sample.name), "How it is written\n\non the card.")

    def test_options_win_over_comments(self):
        self.assertEqual(description(Sample.told), "this")
        self.assertEqual(owner(Sample.told), "told@example.com")
        self.assertEqual(str(Sample.told), "sample.said")

    def test_a_blank_line_ends_the_block_and_trailing_comments_do_not_count(self):
        self.assertIsNone(description(Sample.flag))
        self.assertIsNone(description(Sample.day))
        self.assertIsNone(description(Sample.at))
        self.assertEqual(owner(Sample.flag), "class@example.com")

    def test_staleness_of_feature_and_class(self):
        fields = Sample.__svc_features__.fields
        self.assertEqual((fields["name"].max_staleness, fields["flag"].max_staleness), ("0s", "1d"))

    def test_keys(self):
        self.assertTrue(is_primary(Sample.id))
        self.assertFalse(is_primary(Sample.name))
        self.assertEqual([field.attribute for field in Sample.__svc_features__.feature_times], ["at"])

        @features
        class Marked:
            id: int
            email: Primary[str]
            ts: datetime

        @features
        class Flagged:
            code: str = feature(primary=True)

        self.assertTrue(is_primary(Marked.email))
        self.assertFalse(is_primary(Marked.id))
        self.assertTrue(is_primary(Flagged.code))
        self.assertEqual([field.attribute for field in Marked.__svc_features__.feature_times], ["ts"])

    def test_helpers_refuse_what_is_no_feature(self):
        with self.assertRaisesRegex(TypeError, "neither a feature such as User.id nor a feature class"):
            owner("sample.name")
        with self.assertRaisesRegex(TypeError, "Sample is a feature class"):
            is_primary(Sample)

    def test_namespace(self):
        @features
        class MNISTDataPointFeatures:
            id: int

        @features(name="thing")
        class Other:
            id: int

        self.assertEqual(str(MNISTDataPointFeatures.id), "mnist_data_point.id")
        self.assertEqual(str(Other.id), "thing.id")


class Instances(unittest.TestCase):
    def test_partial(self):
        sample = Sample(id=1, name="x")
        self.assertEqual((sample.id, sample.name, sample.shout()), (1, "x", "X"))
        with self.assertRaisesRegex(AttributeError, "'sample.raw' was not set on this Sample"):
            sample.raw

    def test_defaults(self):
        sample = Sample()
        self.assertEqual((sample.number, sample.flag, sample.kind, sample.letters), (0, None, Kind.A, set()))
        self.assertEqual(sample.counts, [1, None])
        sample.counts.append(2)
        self.assertEqual(Sample().counts, [1, None])

    def test_unknown_keyword(self):
        with self.assertRaisesRegex(TypeError, "Sample has no feature 'nmae'; did you mean 'name'"):
            Sample(nmae="x")
        with self.assertRaises(TypeError):
            Sample(1)

    def test_value_equality(self):
        self.assertEqual(Sample(id=1, name="x"), Sample(name="x", id=1))
        self.assertNotEqual(Sample(id=1), Sample(id=1, name="x"))
        self.assertNotEqual(Sample(id=1), 1)
        with self.assertRaises(TypeError):
            hash(Sample(id=1))

    def test_iteration_is_in_the_order_of_definition(self):
        self.assertEqual(list(Sample(told="t", name=None, id=1)), [("sample.id", 1), ("sample.name", None), ("sample.said", "t")])

    def test_repr(self):
        self.assertEqual(repr(Sample(name="x", id=1)), "Sample(id=1, name='x')")

    def test_own_methods_stay(self):
        @features
        class Told:
            id: int

            def __repr__(self):
                return "told"

        self.assertEqual(repr(Told(id=1)), "told")


class Refused(unittest.TestCase):
    def test_inheritance(self):
        with self.assertRaisesRegex(TypeError, "Child inherits from the feature class Sample"):

            @features
            class Child(Sample):
                more: int

    def test_options(self):
        with self.assertRaises(TypeError):
            feature(max_stalness="1d")
        with self.assertRaisesRegex(TypeError, "has_one takes a function"):
            has_one(Sample.id)

    def test_types_that_refer_to_each_other(self):
        @features
        class Left:
            id: int
            x: "Right.y"

        @features
        class Right:
            id: int
            y: "Left.x"

        with self.assertRaisesRegex(DefinitionError, "'left.x' refers back to itself"):
            Left.__svc_features__.fields["x"].type


if __name__ == "__main__":
    unittest.main()
