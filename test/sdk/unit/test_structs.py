"""Structs of attrs classes and pydantic models, which have the fields and values of a dataclass."""

import dataclasses
import unittest
from datetime import datetime, timezone
from enum import Enum
from typing import Annotated, Optional

from svc._codec.structs import is_struct
from svc._codec.values import decode, encode
from svc._diagnostics.findings import DefinitionError
from svc._types.annotations import Scope
from svc._types.dtypes import value_type
from svc.features import feature, features

try:
    import attr
    import attrs
except ImportError:
    attrs = None
try:
    import pydantic
except ImportError:
    pydantic = None


class Kind(Enum):
    HOME = "home"


@dataclasses.dataclass
class Town:
    name: str
    zip: Optional[int] = None


@dataclasses.dataclass
class Plain:
    street: str
    towns: list[Town]
    kind: Kind
    since: Optional[datetime] = None
    number: int = 1


if attrs is not None:

    @attrs.define
    class Defined:
        street: str
        towns: list[Town]
        kind: Kind
        since: Optional[datetime] = None
        number: int = 1
        computed: int = attrs.field(init=False, default=7)

    @attr.s
    class Older:
        _street = attr.ib(type=str)
        number = attr.ib(type=int, default=1)


if pydantic is not None:

    class Model(pydantic.BaseModel):
        street: Annotated[str, pydantic.Field(min_length=2)]
        towns: list[Town]
        kind: Kind
        since: Optional[datetime] = None
        number: int = pydantic.Field(default=1, ge=1, alias="houseNumber")

    class Self(pydantic.BaseModel):
        parts: "list[Self]"

    class Odd(pydantic.BaseModel):
        model_config = pydantic.ConfigDict(arbitrary_types_allowed=True)
        part: complex


SCOPE = Scope(__name__, __file__, globals(), {})
WIRE = {"street": "Elm", "towns": [{"name": "A", "zip": None}], "kind": "home", "since": "2024-05-01T00:00:00.000000Z", "number": 2}
SINCE = datetime(2024, 5, 1, tzinfo=timezone.utc)


class Same:
    """What holds of each of the libraries."""

    cls = Plain

    def fields(self, cls):
        return value_type(cls, SCOPE).dtype["struct"]["fields"]

    def test_the_type_is_that_of_the_dataclass(self):
        self.assertEqual(self.fields(self.cls), self.fields(Plain))
        self.assertEqual(value_type(self.cls, SCOPE).dtype["struct"]["name"], self.cls.__name__)

    def test_a_value_goes_there_and_back(self):
        value = decode(self.cls, WIRE)
        self.assertIs(type(value), self.cls)
        self.assertEqual((value.street, value.towns, value.kind, value.since, value.number), ("Elm", [Town("A")], Kind.HOME, SINCE, 2))
        self.assertEqual(encode(value, self.cls), WIRE)
        self.assertEqual(encode(value), WIRE)
        self.assertEqual(encode([value], list[self.cls]), [WIRE])
        self.assertIsNone(decode(self.cls, None))

    def test_it_is_the_type_of_a_feature_and_its_default(self):
        default = decode(self.cls, WIRE)

        @features
        class Person:
            id: int
            address: self.cls = feature(default=default)

        self.assertEqual(Person(id=1).address, default)
        self.assertIsNot(Person(id=1).address, default)


class Dataclasses(Same, unittest.TestCase):
    pass


@unittest.skipUnless(attrs, "attrs is not installed")
class Attrs(Same, unittest.TestCase):
    cls = globals().get("Defined")

    def test_an_older_class_with_a_private_attribute(self):
        value = decode(Older, {"_street": "Elm", "number": 3})
        self.assertEqual((value._street, value.number), ("Elm", 3))
        self.assertEqual(encode(value, Older), {"_street": "Elm", "number": 3})


@unittest.skipUnless(pydantic, "pydantic is not installed")
class Pydantic(Same, unittest.TestCase):
    cls = globals().get("Model")

    def test_what_the_model_refuses_raises_its_error(self):
        for wire in ({**WIRE, "street": "E"}, {**WIRE, "number": 0}):
            with self.assertRaises(pydantic.ValidationError):
                decode(Model, wire)

    def test_a_dict_is_validated_and_may_have_aliases(self):
        given = {"street": "Elm", "towns": [{"name": "A"}], "kind": "home", "since": "2024-05-01T00:00:00Z", "houseNumber": "2"}
        self.assertEqual(encode(given, Model), WIRE)
        with self.assertRaises(pydantic.ValidationError):
            encode({**given, "street": "E"}, Model)

    def test_types_that_no_feature_can_have_are_told(self):
        for cls, said in ((Odd, "field 'part' of the class Odd: 'complex'"), (Self, "the class Self contains itself")):
            with self.assertRaises(DefinitionError) as raised:
                value_type(cls, SCOPE)
            self.assertIn(said, str(raised.exception))


class Others(unittest.TestCase):
    def test_other_classes_are_no_structs(self):
        for cls in (int, dict, Kind, SCOPE, "text", unittest.TestCase):
            self.assertFalse(is_struct(cls), cls)


if __name__ == "__main__":
    unittest.main()
