"""Statements that resolvers returned, as a RESULT frame hands them to the server."""

from __future__ import annotations

from typing import Any, Dict, List, Sequence

from .._codec.values import encode
from .._model.reference import field_of
from .._model.statement import SQLStatement


class Statements:
    """The statements of a call. Rows with one text share it."""

    def __init__(self, outputs: Sequence[str], keys: Sequence[str], is_rows: bool) -> None:
        self._outputs = outputs
        self._keys = keys
        self._is_rows = is_rows
        self._found: Dict[Any, Dict[str, Any]] = {}

    def add(self, row: int, statement: SQLStatement) -> None:
        """Adds what a row returned. Raises TypeError for a statement that the server could not run as
        it is meant.
        """
        if statement.incremental_read is not None:
            raise TypeError("a statement with .incremental(...) has to be all of its resolver's body, so that it is seen before it runs")
        if statement.count == "all" and not self._is_rows:
            raise TypeError("the resolver returns values of a row: end its statement with .one() or .one_or_none(), not .all()")
        fields = {column: field_of(feature).fqn for column, feature in statement.fields.items()}
        for column, fqn in fields.items():
            if fqn not in self._outputs:
                raise TypeError(f"fields= has {fqn} for column '{column}', which the resolver does not return")
        names = tuple(statement.args)
        floats = tuple(name for name, value in statement.args.items() if isinstance(value, float))
        key = (statement.source, statement.text, statement.count, names, floats, tuple(fields.items()))
        values: List[Any] = [encode(value) for value in statement.args.values()]
        found = self._found.get(key)
        if found is None:
            found = {
                "source": statement.source,
                "text": statement.text,
                "count": statement.count,
                "names": names,
                "floats": floats,
                "fields": fields,
                "keys": self._keys,
                "rows": [],
                "values": [],
            }
            self._found[key] = found
        found["rows"].append(row)
        found["values"].append(values)

    def add_to(self, result: Dict[str, Any]) -> None:
        """Puts them into a RESULT frame that has any."""
        if self._found:
            result["statements"] = list(self._found.values())
