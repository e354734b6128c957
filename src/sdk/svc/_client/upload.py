"""Uploads of values: what callers have as columns, in parts that a server takes at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Iterator, Mapping, Sequence

from .frames import columns_of_table, plain_column
from .values import encode_of, feature_name

#: Most rows and values of a part; the server takes five times as many.
_PART_ROWS = 20_000
_PART_VALUES = 100_000


@dataclass(frozen=True)
class UploadResult:
    """What an upload stored."""

    #: Number of rows.
    rows: int
    #: Values that the online store was given: of each row of a class the newest.
    online_values: int
    #: Observations that the history was given.
    offline_values: int
    #: Values that were left out, because those of that time were deleted within the last 30 days.
    deleted_values: int
    #: Requests for approval that wait before anything is stored; empty = it is stored.
    approval_ids: tuple[str, ...] = ()


@dataclass(frozen=True)
class Part:
    """Rows that are sent together."""

    #: The number of rows before them.
    offset: int
    columns: dict[str, list[Any]]


def columns_of(values: Any) -> dict[str, list[Any]]:
    """Columns by name, in the API's form: of a dict of columns, a list of rows, or a table of
    pandas, polars or pyarrow. Raises TypeError and ValueError.
    """
    given = _columns(values)
    if not given:
        raise ValueError("there is nothing to upload: give columns such as {User.id: [1], User.name: ['Ann']}")
    columns: dict[str, list[Any]] = {}
    for feature, column in given.items():
        name = feature_name(feature)
        if name in columns:
            raise ValueError(f"the column {name!r} is given twice")
        if isinstance(column, (str, bytes, dict)) or not hasattr(column, "__iter__"):
            raise TypeError(f"a column is a list with a value per row; {name} has {column!r}")
        columns[name] = [encode_of(feature, value) for value in plain_column(column)]
    rows = {name: len(column) for name, column in columns.items()}
    if len(set(rows.values())) > 1:
        raise ValueError(f"columns have one value per row, and these have {rows}")
    return columns


def parts_of(columns: Mapping[str, Sequence[Any]]) -> Iterator[Part]:
    """Parts of columns, in order; one without rows when there are none."""
    total = len(next(iter(columns.values())))
    size = max(1, min(_PART_ROWS, _PART_VALUES // len(columns)))
    for offset in range(0, max(total, 1), size):
        yield Part(offset, {name: list(column[offset : offset + size]) for name, column in columns.items()})


def _columns(values: Any) -> Mapping[Any, Any]:
    if isinstance(values, Mapping):
        return values
    table = columns_of_table(values)
    if table is not None:
        return table
    if isinstance(values, (list, tuple)):
        return _columns_of_rows(values)
    raise TypeError(f"values are a dict of columns, a list of rows, or a table of pandas, polars or pyarrow, not {type(values).__qualname__}")


def _columns_of_rows(rows: Sequence[Any]) -> dict[str, list[Any]]:
    named: list[dict[str, Any]] = []
    for at, row in enumerate(rows):
        if not isinstance(row, Mapping) and not hasattr(type(row), "__svc_features__"):
            raise TypeError(f"row {at} is {type(row).__name__}: give values by feature, such as {{User.id: 1}}")
        named.append({feature_name(feature): value for feature, value in dict(row).items()})
    for at, row in enumerate(named):
        other = sorted(row.keys() ^ named[0].keys())
        if other:
            raise ValueError(f"row {at} names other features than row 0: only one of them has {', '.join(map(repr, other))}; upload them apart")
    return {name: [row[name] for row in named] for name in (named[0] if named else {})}
