"""Vectors: lists of finite floats of one length."""

from __future__ import annotations

from typing import Any, Mapping, Optional, Tuple

#: Precisions, by which elements are rounded.
PRECISIONS = ("f16", "f32", "f64")
#: Most elements.
MOST = 65_536


class VectorType:
    """A type of vectors: `Vector[768]`, `Vector["f64", 3]`."""

    def __init__(self, size: int = 0, precision: str = "f32") -> None:
        #: Number of elements; 0 = any number.
        self.size = size
        self.precision = precision

    def __repr__(self) -> str:
        return vector_name({"size": self.size, "precision": self.proto_precision})

    @property
    def proto_precision(self) -> str:
        """The precision as proto3 JSON."""
        return f"VECTOR_PRECISION_{self.precision.upper()}"


class Vector:
    """A list of floats of one length, such as an embedding: `Vector[768]`. Python is given a list of
    floats, and gives one, or an array of NumPy.

    Elements are finite and rounded to 32 bits, or to the precision that stands first:
    `Vector["f16", 768]`, `Vector["f64", 3]`. `Vector` alone has any length.
    """

    def __class_getitem__(cls, given: Any) -> VectorType:
        parts: Tuple[Any, ...] = given if isinstance(given, tuple) else (given,)
        precision = parts[0] if isinstance(parts[0], str) else None
        sizes = parts[1:] if precision is not None else parts
        size: Optional[Any] = sizes[0] if sizes else 0
        is_size = isinstance(size, int) and not isinstance(size, bool) and (0 < size <= MOST or not sizes)
        if len(sizes) > 1 or not is_size or (precision is not None and precision not in PRECISIONS):
            written = ", ".join(map(repr, parts))
            raise TypeError(f"Vector[{written}] is no type: write Vector[768], with 1 to {MOST} elements, or Vector['f16', 768]")
        return VectorType(int(size or 0), precision or "f32")


def vector_name(vector: Mapping[str, Any]) -> str:
    """A type of vectors as a user writes it, from its proto3 JSON."""
    precision, size = vector["precision"][-3:].lower(), vector.get("size", 0)
    stated = [*([] if precision == "f32" else [f'"{precision}"']), *([str(size)] if size else [])]
    return f"Vector[{', '.join(stated)}]" if stated else "Vector"
