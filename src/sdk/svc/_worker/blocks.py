"""Columns of numbers as blocks of doubles after a frame's JSON.

A long column of nothing but numbers is written as ``{"block": i}``, and block i of the frame holds
its values in the machine's byte order: both ends run on one machine. Integers beyond 2**53 are
never in a block, so a double holds each of them exactly.
"""

from __future__ import annotations

from array import array
from typing import Any, Dict, Iterator, List, Sequence, Union

#: Columns shorter than this are written as JSON, which is no slower for them.
SHORTEST = 256

_SAFE_INTEGER = 2**53 - 1

Column = Union[List[Any], "array[float]"]


def packed_floats(values: Sequence[Any]) -> Column | None:
    """The block of a column; None when it is short or holds anything but floats."""
    if len(values) < SHORTEST or set(map(type, values)) != {float}:
        return None
    return array("d", values)


def packed_integers(values: Sequence[Any]) -> Column | None:
    """The block of a column; None when it is short or holds anything but integers that a double
    holds exactly.
    """
    if len(values) < SHORTEST or set(map(type, values)) != {int} or max(values) > _SAFE_INTEGER or min(values) < -_SAFE_INTEGER:
        return None
    return array("d", values)


def packed(values: List[Any]) -> Column:
    """The column as a block if it can be one, else as it is."""
    return packed_floats(values) or packed_integers(values) or values


def detach(message: Dict[str, Any]) -> List[array[float]]:
    """Takes the blocks out of a message to be sent, leaving their indexes in it."""
    blocks: List[array[float]] = []
    for columns in _columns_of(message):
        for name, values in columns.items():
            if type(values) is array:
                columns[name] = {"block": len(blocks)}
                blocks.append(values)
    return blocks


def attach(message: Dict[str, Any], blocks: List[array[float]]) -> None:
    """Puts the blocks of a frame into its message."""
    for columns in _columns_of(message):
        for name, values in columns.items():
            if type(values) is dict:
                columns[name] = blocks[values["block"]]


def _columns_of(message: Dict[str, Any]) -> Iterator[Dict[str, Any]]:
    columns = message.get("columns")
    if columns:
        yield columns
    groups = message.get("groups")
    if groups:
        if message["type"] == "RESULT":
            yield groups["columns"]
        else:
            yield from (group["columns"] for group in groups.values())
    tables = message.get("tables")
    if tables:
        yield from tables.values()
