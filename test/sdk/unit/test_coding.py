"""Values of classes of the project, which a feature's encoder and decoder turn into what is stored."""

import unittest
from typing import Optional

from svc._client.upload import columns_of
from svc._client.values import decode_field, encode_of, fields_along
from svc._codec.values import decode, encode
from svc._diagnostics.findings import DefinitionError
from svc._model.reference import field_of
from svc._worker.column_codec import column_decoder, packing_encoder
from svc.features import DataFrame, feature, features, unwrap_feature


class Point:
    def __init__(self, x: int, y: int) -> None:
        self.x, self.y = x, y

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Point) and (self.x, self.y) == (other.x, other.y)

    def __hash__(self) -> int:
        return hash((self.x, self.y))


def write(point: Point) -> "list[int]":
    return [point.x, point.y]


def read(stored: "list[int]") -> Point:
    return Point(*stored)


@features
class Place:
    id: int
    at: Point = feature(encoder=write, decoder=read, default=Point(0, 0))
    last: Optional[Point] = feature(encoder=write, decoder=read)


class Coding(unittest.TestCase):
    kind = field_of(Place.at).type

    def test_what_is_stored_is_what_the_encoder_returns(self):
        self.assertEqual(self.kind.dtype, {"list": {"element": {"primitive": "PRIMITIVE_TYPE_INT64"}}})
        self.assertEqual(encode(Point(1, 2**60), self.kind.python_type), [1, {"$int": str(2**60)}])
        self.assertEqual(decode(self.kind.python_type, [1, {"$int": str(2**60)}]), Point(1, 2**60))

    def test_none_is_never_handed_over(self):
        self.assertIsNone(encode(None, self.kind.python_type))
        self.assertIsNone(decode(self.kind.python_type, None))

    def test_columns_of_a_worker(self):
        self.assertEqual(packing_encoder(self.kind.python_type)([Point(1, 2), None]), [[1, 2], None])
        self.assertEqual(column_decoder(self.kind.python_type)([[1, 2], None]), [Point(1, 2), None])

    def test_a_value_of_another_class_is_refused(self):
        with self.assertRaisesRegex(TypeError, "expected Point, got str"):
            encode("1,2", self.kind.python_type)

    def test_clients_give_and_get_values_of_the_class(self):
        fields = fields_along("place.at", {})
        self.assertEqual(encode_of(Place.at, Point(3, 4)), [3, 4])
        self.assertEqual(encode_of("place.at", [Point(3, 4), None]), [[3, 4], None])
        self.assertEqual(encode_of(Place.at, [3, 4]), [3, 4])
        self.assertEqual(decode_field([3, 4], fields), Point(3, 4))
        self.assertEqual(decode_field(["no point"], fields), ["no point"])
        self.assertEqual(columns_of({Place.id: [1], Place.at: [Point(5, 6)]}), {"place.id": [1], "place.at": [[5, 6]]})
        self.assertEqual(columns_of([Place(id=1, at=Point(5, 6))]), {"place.id": [1], "place.at": [[5, 6]]})

    def test_facts_name_the_class(self):
        self.assertIs(unwrap_feature(Place.at).python_type, Point)
        self.assertEqual(unwrap_feature(Place.at).default, Point(0, 0))

    def test_rows_of_a_frame_have_values_of_the_class(self):
        frame = DataFrame([Place(id=1, at=Point(1, 2)), Place(id=2)])
        self.assertEqual(frame.column(Place.at), [Point(1, 2), Point(0, 0)])

    def test_what_cannot_be_stored(self):
        @features
        class Broken:
            id: int
            at: Point = feature(encoder=lambda point: [point.x], decoder=read)

        with self.assertRaisesRegex(DefinitionError, "does not say what it returns"):
            field_of(Broken.at).type


if __name__ == "__main__":
    unittest.main()
