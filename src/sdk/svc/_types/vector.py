"""Vectors: lists of finite floats of one length."""

from __future__ import annotations

from typing import Any, Dict, Mapping, Union

#: Precisions, by which elements are rounded.
PRECISIONS = ("f16", "f32", "f64")
#: Most elements.
MOST = 65_536


class VectorType:
    """A type of vectors: `Vector[768]`, `Vector["f64", 3]`."""

    def __init__(self, *parts: Any) -> None:
        """`parts` is what stands in the brackets."""
        self.parts = parts
        stated = bool(parts) and isinstance(parts[0], str)
        sizes = parts[1:] if stated else parts
        self.precision: Any = parts[0] if stated else "f32"
        #: Number of elements; 0 = any number.
        self.size: Any = sizes[0] if sizes else 0
        is_size = not sizes or (type(self.size) is int and 0 < self.size <= MOST)
        #: Whether there are such vectors.
        self.is_sound = len(sizes) < 2 and is_size and self.precision in PRECISIONS

    def __repr__(self) -> str:
        if not self.is_sound:
            return f"Vector[{', '.join(map(repr, self.parts))}]"
        return vector_name(self.json())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, VectorType) and self.parts == other.parts

    def __hash__(self) -> int:
        return hash(self.parts)

    def __or__(self, other: Any) -> Any:
        return Union[self, other]

    def __ror__(self, other: Any) -> Any:
        return Union[other, self]

    def __call__(self, *_: Any) -> Any:
        """Raises TypeError; Python 3.10 takes nothing that cannot be called for a type."""
        raise TypeError(f"{self!r} is a type of lists: write a list of floats")

    def json(self) -> Dict[str, Any]:
        """The proto3 JSON of `svc.v1.VectorType`."""
        precision = {"precision": f"VECTOR_PRECISION_{self.precision.upper()}"}
        return {**precision, "size": self.size} if self.size else precision


class Vector:
    """A list of floats of one length, such as an embedding: `Vector[768]`. Python is given a list of
    floats, and gives one, or an array of NumPy.

    Elements are finite and rounded to 32 bits, or to the precision that stands first:
    `Vector["f16", 768]`, `Vector["f64", 3]`. `Vector` alone has any length.
    """

    def __class_getitem__(cls, given: Any) -> VectorType:
        return VectorType(*given) if isinstance(given, tuple) else VectorType(given)


def vector_name(vector: Mapping[str, Any]) -> str:
    """A type of vectors as a user writes it, from its proto3 JSON."""
    precision, size = vector["precision"][-3:].lower(), vector.get("size", 0)
    stated = [*([] if precision == "f32" else [f'"{precision}"']), *([str(size)] if size else [])]
    return f"Vector[{', '.join(stated)}]" if stated else "Vector"
