"""Vectors: their types, their defaults, and what is no vector."""

import unittest
from typing import Optional

from svc._codec.values import decode, encode
from svc._codec.wire import value_json
from svc._diagnostics.findings import DefinitionError
from svc._types.annotations import Scope, read_annotation
from svc._types.data_type import type_name
from svc._types.dtypes import value_type
from svc.features import Vector

SCOPE = Scope("m", "m.py", {}, {})


class Vectors(unittest.TestCase):
    def test_sizes_and_precisions(self):
        named = {
            "Vector": Vector,
            "Vector[768]": Vector["f32", 768],
            'Vector["f16"]': Vector["f16"],
            'Vector["f64", 3]': Vector["f64", 3],
            "list[Vector[2]]": list[Vector[2]],
        }
        for name, written in named.items():
            self.assertEqual(type_name(value_type(written, SCOPE).dtype), name)
        self.assertEqual(repr(Vector["f16", 8]), 'Vector["f16", 8]')

    def test_they_may_be_none(self):
        for written in (Vector[2] | None, None | Vector[2], Optional[Vector[2]], "Vector[2] | None", Vector | None, list[Vector[2]] | None):
            reading = read_annotation(written, Scope("m", "m.py", {"Vector": Vector}, {}))
            self.assertTrue(reading.nullable, written)
            value_type(reading.core, SCOPE)
        with self.assertRaisesRegex(DefinitionError, "more than one type"):
            read_annotation(Vector[2] | Vector[3], SCOPE)

    def test_what_is_no_type_of_vectors(self):
        for parts in (0, -1, 65_537, True, 1.5, "f8", ("f8", 3), (3, "f16"), (3, 4), ("f16", 3, 4), ("f16", None), None):
            with self.assertRaisesRegex(DefinitionError, r"cannot be the type of a feature: write Vector\[768\]"):
                value_type(Vector[parts], SCOPE)

    def test_values_are_lists_of_floats(self):
        wanted = value_type(Vector[2], SCOPE).python_type
        self.assertEqual(decode(wanted, [1, 0.5]), [1.0, 0.5])
        self.assertEqual(encode((1, 0.5), wanted), [1, 0.5])

    def test_defaults(self):
        dtype = value_type(Vector[2], SCOPE).dtype
        self.assertEqual(value_json([1, 0.5], dtype), {"listValue": {"values": [{"doubleValue": 1.0}, {"doubleValue": 0.5}]}})
        for value in ([1], [1, 2, 3], {1.0, 2.0}, [1, float("nan")], [1, "x"], "ab"):
            with self.assertRaises(DefinitionError):
                value_json(value, dtype)


if __name__ == "__main__":
    unittest.main()
