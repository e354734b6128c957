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
        any, all, count and approx_count_distinct, or a function of the rows. What an aggregation
        takes stands behind its name: `(Txn.amount, "approx_percentile", 0.95)`,
        `(Txn.merchant, "max_by_n", Txn.amount, 3)`.
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
        if isinstance(wanted, tuple) and len(wanted) > 2:
            return self._with_arguments(name, wanted)
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

    def _with_arguments(self, name: Any, wanted: tuple[Any, ...]) -> Callable[[list[int]], Any]:
        column, function, *arguments = wanted
        values = self._frame._columns[self._frame._key(column)]
        of_constant = aggregates.OF_CONSTANT.get(function)
        if of_constant is not None and len(arguments) == 1:
            return lambda rows: of_constant([values[row] for row in rows], arguments[0])
        greatest_first = aggregates.BY_KEY.get(function)
        is_list = str(function).endswith("_n")
        if greatest_first is None or len(arguments) != 1 + is_list:
            takes = "approx_percentile and approx_top_k take a constant, min_by and max_by a column, min_by_n and max_by_n a column and a number"
            raise TypeError(f"'{name}' is no aggregation: {takes}")
        keys = self._frame._columns[self._frame._key(arguments[0])]
        most = arguments[1] if is_list else 1

        def chosen(rows: list[int]) -> Any:
            found = aggregates.by_key([values[row] for row in rows], [keys[row] for row in rows], most, bool(greatest_first))
            return found if is_list else next(iter(found), None)

        return chosen
