"""`DataFrame`: a table of features, in pure Python, by columns."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, Iterator, Mapping, Optional, Sequence, Union

from .._model.frozen_time import frozen_time
from .._model.reference import FeatureReference, field_of
from .._surface.names import did_you_mean
from . import aggregates
from .columns import (
    Columns,
    Key,
    columns_of,
    instance_maker,
    key_of,
    missing_column,
)
from .conditions import Condition, after, as_condition, before, is_reference
from .decided import refuse_decided
from .selection import TableType

if TYPE_CHECKING:
    from typing import Generic

    from typing_extensions import TypeVarTuple, Unpack

    from .grouping import GroupedFrame

    _Items = TypeVarTuple("_Items", default=Unpack[tuple[Any, ...]])

    class _Typed(Generic[Unpack[_Items]]): ...
else:

    class _Typed:
        """`DataFrame[...]` in annotations, to type checkers that know no other way of saying so."""

        __slots__ = ()

        def __class_getitem__(cls, _: Any) -> Any:
            return cls

Item = Union[str, FeatureReference]


class DataFrame(_Typed["Unpack[_Items]"]):
    """Rows of features. Made from instances, from dicts, from a dict of columns, or from a table of
    pandas, polars or pyarrow:

        DataFrame([Txn(id=1, amount=5.0), Txn(id=2, amount=7.5)])
        DataFrame({Txn.id: [1, 2], "txn.amount": [5.0, 7.5]})
        DataFrame[Txn.id, Txn.amount]([(1, 5.0), (2, 7.5)])

    `df[0]` is a row, `df[1:3]` are rows, `df[Txn.amount]` or `df["txn.amount"]` is a column, and
    `df[Txn.amount > 100]` are the rows for which that is true; all of it may stand in one pair of
    brackets. What is compared with null is null, and aggregations leave nulls out. `DataFrame[Txn]`
    and `DataFrame[User.id, User.name]` stand in annotations. A DataFrame does not change: methods
    give another.
    """

    __slots__ = ("_columns", "_now", "_size")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, data: Any = None, *, now: Optional[datetime] = None) -> None:
        self._now: Optional[datetime] = data._now if isinstance(data, DataFrame) and now is None else now
        self._columns, self._size = columns_of(data)

    def __class_getitem__(cls, items: Any) -> TableType:
        return TableType(items if isinstance(items, tuple) else (items,))

    @classmethod
    def _of(cls, columns: Columns, size: int, now: Optional[datetime] = None) -> DataFrame:
        """A frame of columns that are known to be valid."""
        frame = cls.__new__(cls)
        frame._columns, frame._size, frame._now = columns, size, now
        return frame

    @classmethod
    def from_dict(cls, columns: Mapping[Any, Any], *, now: Optional[datetime] = None) -> DataFrame:
        """A DataFrame of columns: lists of values by feature or name, all of one length."""
        if not isinstance(columns, Mapping):
            raise TypeError(f"from_dict takes lists of values by column, such as {{Txn.id: [1, 2]}}, not {type(columns).__name__}")
        return cls(columns, now=now)

    @property
    def now(self) -> datetime:
        """The time of the query in UTC; outside of one that of `freeze_time`, or the time now."""
        return self._now or frozen_time() or datetime.now(timezone.utc)

    @property
    def columns(self) -> list[str]:
        """The columns' names: FQNs where they are features."""
        return [key.name for key in self._columns]

    def __len__(self) -> int:
        return self._size

    def __bool__(self) -> bool:
        return self._size > 0

    def __iter__(self) -> Iterator[Any]:
        """The rows: instances of the feature class when all columns belong to one, else dicts by
        column.
        """
        make = instance_maker(list(self._columns))
        return map(make, zip(*self._columns.values())) if self._columns else iter([make(())] * self._size)

    def __getitem__(self, items: Any) -> Any:
        if isinstance(items, int) and not isinstance(items, bool):
            return self._row(items)
        frame, projected = self, []
        listed = items if isinstance(items, (tuple, list)) else (items,)
        refuse_decided(listed, 2)
        for item in listed:
            if isinstance(item, Condition) or isinstance(item, bool):
                frame = frame._where(as_condition(item))
            elif not isinstance(item, slice):
                projected.extend(self._keys(item))
        for item in listed:
            if isinstance(item, slice):
                frame = frame._take(range(*item.indices(len(frame))))
        if not projected:
            return frame
        return DataFrame._of({key: frame._columns[key] for key in dict.fromkeys(projected)}, frame._size, frame._now)

    def _row(self, index: int) -> Any:
        if not -self._size <= index < self._size:
            raise IndexError(f"row {index} of a DataFrame of {self._size} rows")
        return instance_maker(list(self._columns))(tuple(values[index] for values in self._columns.values()))

    def _where(self, condition: Optional[Condition]) -> DataFrame:
        kept = condition.evaluate(self) if condition is not None else []
        return self._take([at for at, value in enumerate(kept) if value is True])

    def _take(self, rows: Sequence[int]) -> DataFrame:
        return DataFrame._of({key: [values[row] for row in rows] for key, values in self._columns.items()}, len(rows), self._now)

    def _keys(self, item: Any) -> list[Key]:
        if isinstance(item, type) and "__svc_features__" in item.__dict__:
            owner = item.__svc_features__  # type: ignore[attr-defined]
            found = [key for key in self._columns if key.reference is not None and key.reference._svc_root is owner]
            if not found:
                raise KeyError(f"no column belongs to {item.__name__}; the columns are: {self._listed()}")
            return found
        return [self._key(item)]

    def _key(self, item: Any) -> Key:
        if is_reference(item):
            wanted = str(item)
        elif isinstance(item, str):
            wanted = item
        else:
            raise TypeError(f"{item!r} is no row, column or filter: write df[0], df[Txn.amount] or df[Txn.amount > 100]")
        for key in self._columns:
            if key.name == wanted:
                return key
        if isinstance(item, str) and "." not in wanted:
            ends = [key for key in self._columns if key.reference is not None and key.name.endswith(f".{wanted}")]
            own = [key for key in ends if key.name.count(".") == 1] or ends
            if len(own) == 1:
                return own[0]
        near = did_you_mean(wanted, self.columns) or f"; the columns are: {self._listed()}"
        raise KeyError(f"the DataFrame has no column '{wanted}'{near}")

    def _listed(self) -> str:
        return ", ".join(self.columns) or "none"

    def column(self, item: Item) -> list[Any]:
        """The values of a column, named by its feature, its FQN, or the last part of it."""
        return list(self.values_of(item))

    def values_of(self, item: Item) -> list[Any]:
        """The values of a column, not to be changed."""
        return self._columns[self._key(item)]

    def times(self, wanted_by: str) -> list[Any]:
        """The feature time of every row, for `before` and `after`. Raises KeyError when there is no
        one column that is a feature time.
        """
        found = [key for key in self._columns if key.reference is not None and _is_time(key.reference)]
        if len(found) != 1:
            raise KeyError(f"{wanted_by}() needs the feature time of the rows: add it to the columns, which are: {self._listed()}")
        return self._columns[found[0]]

    def before(self, at: Optional[datetime] = None, /, **ago: float) -> DataFrame:
        """The rows whose feature time is not after a time: a datetime, or `days_ago=` (also weeks,
        hours, minutes, seconds) before now.
        """
        return self._where(before(at, **ago))

    def after(self, at: Optional[datetime] = None, /, **ago: float) -> DataFrame:
        """The rows whose feature time is after a time: a datetime, or `days_ago=` (also weeks,
        hours, minutes, seconds) before now.
        """
        return self._where(after(at, **ago))

    def count(self, column: Optional[Item] = None) -> int:
        """The number of rows; of a column, or when there is only one, the number of its values that
        are not null.
        """
        if column is None and len(self._columns) != 1:
            return self._size
        return sum(1 for value in self._one(column, "count") if value is not None)

    def sum(self, column: Optional[Item] = None) -> Any:
        """The sum of a column; may be left out when there is one. 0 for no values."""
        return aggregates.total(self._one(column, "sum"))

    def mean(self, column: Optional[Item] = None) -> Any:
        """The average of a column; None for no values."""
        return aggregates.mean(self._one(column, "mean"))

    def min(self, column: Optional[Item] = None) -> Any:
        """The least value of a column; None for no values."""
        return aggregates.least(self._one(column, "min"))

    def max(self, column: Optional[Item] = None) -> Any:
        """The greatest value of a column; None for no values."""
        return aggregates.greatest(self._one(column, "max"))

    def std(self, column: Optional[Item] = None) -> Any:
        """The sample standard deviation of a column; None for less than two values."""
        return aggregates.deviation(self._one(column, "std"))

    def var(self, column: Optional[Item] = None) -> Any:
        """The sample variance of a column; None for less than two values."""
        return aggregates.variance(self._one(column, "var"))

    def any(self, column: Optional[Item] = None) -> bool:
        """Whether a column holds a true value."""
        return aggregates.some(self._one(column, "any"))

    def all(self, column: Optional[Item] = None) -> bool:
        """Whether no value of a column is false."""
        return aggregates.every(self._one(column, "all"))

    def approx_count_distinct(self, column: Optional[Item] = None) -> int:
        """The number of different values of a column: exact here, and in expressions of the server
        beyond 256 of them an estimate.
        """
        return aggregates.distinct(self._one(column, "approx_count_distinct"))

    def approx_percentile(self, quantile: float, column: Optional[Item] = None) -> Any:
        """The least value of a column that at least a share of all values, from 0 to 1, do not exceed;
        None for no values. Exact here, and in expressions of the server beyond 256 values within 1%.
        """
        return aggregates.percentile(self._one(column, "approx_percentile"), quantile)

    def approx_top_k(self, k: int, column: Optional[Item] = None) -> list[Any]:
        """The most frequent values of a column, the most frequent first, of equally frequent ones the
        least.
        """
        return aggregates.most_frequent(self._one(column, "approx_top_k"), k)

    def min_by(self, column: Item, key: Item) -> Any:
        """The value of a column in the row with the least key; None when there is no such row."""
        return next(iter(self.min_by_n(column, key, 1)), None)

    def max_by(self, column: Item, key: Item) -> Any:
        """The value of a column in the row with the greatest key; None when there is no such row."""
        return next(iter(self.max_by_n(column, key, 1)), None)

    def min_by_n(self, column: Item, key: Item, n: int) -> list[Any]:
        """The values of a column in the rows with the least keys. Of equal keys the lesser value
        comes first; rows without a value or a key are left out.
        """
        return aggregates.by_key(self.values_of(column), self.values_of(key), n, False)

    def max_by_n(self, column: Item, key: Item, n: int) -> list[Any]:
        """The values of a column in the rows with the greatest keys. Of equal keys the lesser value
        comes first; rows without a value or a key are left out.
        """
        return aggregates.by_key(self.values_of(column), self.values_of(key), n, True)

    def _one(self, column: Optional[Item], name: str) -> list[Any]:
        if column is not None:
            return self.values_of(column)
        if len(self._columns) != 1:
            raise TypeError(f"{name}() is of one column: write df[Txn.amount].{name}(); the columns are: {self._listed()}")
        return next(iter(self._columns.values()))

    def with_column(self, column: Item, values: Any) -> DataFrame:
        """Adds or replaces a column. `values` are a list, one for all rows, a condition, another
        column's feature, or a function of the row.
        """
        return self.with_columns({column: values})

    def with_columns(self, columns: Mapping[Item, Any]) -> DataFrame:
        """Adds or replaces columns; each is made of those that were there before."""
        added = {self._own_key(name): self._values_of(name, values) for name, values in columns.items()}
        size = self._size if self._columns else len(next(iter(added.values()), []))
        return DataFrame._of({**self._columns, **added}, size, self._now)

    def _own_key(self, name: Any) -> Key:
        key = key_of(name)
        return next((own for own in self._columns if own.name == key.name), key)

    def _values_of(self, name: Any, values: Any) -> list[Any]:
        if isinstance(values, Condition):
            return values.evaluate(self)
        if is_reference(values):
            return self.column(values)
        if callable(values):
            return [values(row) for row in self]
        if isinstance(values, (list, tuple, range)) or hasattr(values, "__array__"):
            listed = list(values)
            if len(listed) != self._size and self._columns:
                raise ValueError(f"column '{name}' has {len(listed)} values for {self._size} rows")
            return listed
        return [values] * self._size

    def sort(self, *columns: Item, descending: bool = False) -> DataFrame:
        """The rows in the order of the columns' values, nulls last. Rows that are equal stay in
        order.
        """
        rows = list(range(self._size))
        for column in reversed(columns):
            values = self._columns[self._key(column)]
            known = [row for row in rows if values[row] is not None]
            known.sort(key=lambda row: aggregates.order_key(values[row]), reverse=descending)
            rows = known + [row for row in rows if values[row] is None]
        return self._take(rows)

    def head(self, rows: int = 5) -> DataFrame:
        """The first rows."""
        return self._take(range(min(max(0, rows), self._size)))

    def group_by(self, *columns: Item) -> GroupedFrame:
        """Rows with equal values in the columns together:
        `df.group_by(Txn.kind).agg(total=(Txn.amount, "sum"))`.
        """
        if not columns:
            raise TypeError("group_by takes at least one column")
        from .grouping import GroupedFrame

        return GroupedFrame(self, [self._key(column) for column in columns])

    def to_dicts(self) -> list[dict[str, Any]]:
        """The rows as dicts by column name."""
        names = self.columns
        return [dict(zip(names, row)) for row in zip(*self._columns.values())] if names else [{} for _ in range(self._size)]

    def to_dict(self) -> dict[str, list[Any]]:
        """The columns by name."""
        return {key.name: list(values) for key, values in self._columns.items()}

    def to_pandas(self) -> Any:
        """A pandas DataFrame. Raises ImportError when pandas is not installed."""
        return _library("pandas").DataFrame(self.to_dict())

    def to_polars(self) -> Any:
        """A polars DataFrame. Raises ImportError when polars is not installed."""
        return _library("polars").DataFrame(self.to_dict(), strict=False)

    def to_arrow(self) -> Any:
        """A pyarrow Table. Raises ImportError when pyarrow is not installed."""
        return _library("pyarrow").table(self.to_dict())

    def __eq__(self, other: object) -> Any:
        if not isinstance(other, DataFrame):
            return NotImplemented
        return self._size == other._size and self.to_dict() == other.to_dict()

    def __repr__(self) -> str:
        shown = self.head(10)
        names = self.columns
        cells = [names, *([_cell(value) for value in row] for row in zip(*shown._columns.values()))] if names else []
        widths = [max(len(row[at]) for row in cells) for at in range(len(names))]
        lines = ["  ".join(text.ljust(width) for text, width in zip(row, widths)).rstrip() for row in cells]
        rows = "1 row" if self._size == 1 else f"{self._size} rows"
        title = f"DataFrame of {rows}" + ("" if names else ", no columns")
        return "\n".join([title, *lines, *(["..."] if self._size > 10 else [])])


def typed_frame(table: TableType, data: Any) -> DataFrame:
    """`DataFrame[Txn.id, Txn.amount](data)`: a DataFrame with exactly these columns. Raises
    TypeError for others.
    """
    for item in table.items:
        if not is_reference(item) and not hasattr(item, "__svc_features__"):
            raise TypeError(f"{table!r} cannot be called: name features or feature classes, without quotes")
    owners: list[Any] = [getattr(item, "__svc_features__") if isinstance(item, type) else item._svc_root for item in table.items]
    order = [] if any(isinstance(item, type) for item in table.items) else list(table.items)
    frame = DataFrame._of(*columns_of(data, owners[0], order))
    if any(isinstance(item, type) for item in table.items):
        allowed = [str(field.fqn) for owner in owners for field in owner.values()]
        refuse_others(frame, allowed, repr(table))
        return frame
    return exactly(frame, list(table.items), repr(table))


def exactly(frame: DataFrame, columns: Sequence[FeatureReference], what: str) -> DataFrame:
    """A frame with these columns in this order: missing ones hold the features' defaults or None.
    Raises TypeError when it has others.
    """
    refuse_others(frame, [str(column) for column in columns], what)
    return project(frame, columns)


def project(frame: DataFrame, columns: Sequence[FeatureReference]) -> DataFrame:
    """A frame with these columns in this order: missing ones hold the features' defaults or None.
    """
    own = {key.name: values for key, values in frame._columns.items()}
    made = {key_of(column): own[str(column)] if str(column) in own else missing_column(column, len(frame)) for column in columns}
    return DataFrame._of(made, len(frame), frame._now)


def refuse_others(frame: DataFrame, allowed: Sequence[str], what: str) -> None:
    """Raises TypeError when a frame has a column that is not allowed."""
    extra = [name for name in frame.columns if name not in allowed]
    if extra:
        raise TypeError(f"{what} has no column '{extra[0]}'; its columns are: {', '.join(allowed)}")


def _is_time(reference: FeatureReference) -> bool:
    return len(reference._svc_names) == 1 and field_of(reference) in reference._svc_root.feature_times


def _cell(value: Any) -> str:
    text = "null" if value is None else str(value) if not isinstance(value, str) else repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


def _library(name: str) -> Any:
    import importlib

    try:
        return importlib.import_module(name)
    except ImportError:
        text = f"{name} is not installed here: add '{name}' to the project's requirements, or use to_dict() and to_dicts()"
        raise ImportError(text, name=name) from None
