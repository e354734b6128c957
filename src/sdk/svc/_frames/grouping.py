"""`DataFrame.group_by`."""

from __future__ import annotations

from typing import Any, Callable, Iterator, Mapping, Optional

from .._surface.names import did_you_mean
from . import aggregates
from .columns import Columns, Key, key_of
from .conditions import is_reference
from .dataframe import DataFrame, Item


class GroupedFrame:
    """Rows grouped by the values of some columns, to be aggregated."""

    def __init__(self, frame: DataFrame, keys: list[Key]) -> None:
        self._frame = frame
        self._keys = keys
        self._groups: dict[Any, list[int]] = {}
        for row, values in enumerate(zip(*(frame._columns[key] for key in keys))):
            self._groups.setdefault(values, []).append(row)

    def __len__(self) -> int:
        return len(self._groups)

    def __iter__(self) -> Iterator[tuple[tuple[Any, ...], DataFrame]]:
        """The values of the columns with the rows that have them, in the order of their first row.
        """
        for values, rows in self._groups.items():
            yield values, self._frame._take(rows)

    def agg(self, columns: Optional[Mapping[Item, Any]] = None, /, **named: Any) -> DataFrame:
        """One row per group: its columns, and for each name the aggregation of a column.

            df.group_by(Txn.kind).agg({User.spent: (Txn.amount, "sum")}, rows="count")

        An aggregation is `"count"`, a pair of a column and one of sum, mean, min, max, std, var,
        any, all and count, or a function of the rows.
        """
        result: Columns = {key: [values[at] for values in self._groups] for at, key in enumerate(self._keys)}
        for name, wanted in (*(columns or {}).items(), *named.items()):
            compute = self._aggregation(name, wanted)
            result[key_of(name)] = [compute(rows) for rows in self._groups.values()]
        return DataFrame._of(result, len(self._groups), self._frame._now)

    def count(self, name: Item = "count") -> DataFrame:
        """One row per group with the number of its rows."""
        return self.agg({name: "count"})

    def _aggregation(self, name: Any, wanted: Any) -> Callable[[list[int]], Any]:
        if isinstance(wanted, str) and wanted == "count":
            return len
        if callable(wanted) and not is_reference(wanted):
            return lambda rows: wanted(self._frame._take(rows))
        if not isinstance(wanted, tuple) or len(wanted) != 2:
            raise TypeError(f"'{name}' is no aggregation: write {name}=(Txn.amount, \"sum\") or {name}=\"count\"")
        column, function = wanted
        values = self._frame._columns[self._frame._key(column)]
        if function == "count":
            return lambda rows: sum(1 for row in rows if values[row] is not None)
        compute = aggregates.AGGREGATIONS.get(function)
        if compute is None:
            near = did_you_mean(str(function), aggregates.AGGREGATIONS)
            raise TypeError(f"'{function}' is no aggregation{near or '; there are: count, ' + ', '.join(aggregates.AGGREGATIONS)}")
        chosen = compute
        return lambda rows: chosen([values[row] for row in rows])
