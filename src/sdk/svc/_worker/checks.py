"""Checks of values by functions of the project, in the process that computes them.

A RESULT frame tells, by feature, what broke a check: `broken` has pairs of a row and the rule as it
is written where the check is strict, `counted` the number of values where it is not.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Mapping, Sequence, Tuple

from .._codec.values import decoder
from .._model.feature_class import FeatureClass
from .._model.registry import registry
from .._model.resolver import OutputSpec
from .._model.signature import output_spec
from .blocks import Column
from .column_codec import Unreadable, attempt, column_decoder

#: What the name of a call begins with that has values of a feature checked.
PREFIX = "validations of "


class Checks:
    """The checks of the features that a call gives. They see values as resolvers are given them."""

    def __init__(self, outputs: Sequence[OutputSpec]) -> None:
        self._checked = [(item.fqn, item.checks, _reader(item.python_type)) for item in outputs if item.checks]

    def add_to(self, result: Dict[str, Any], columns: Mapping[str, Column]) -> None:
        """Adds to a RESULT frame what encoded values broke."""
        for fqn, checks, read in self._checked:
            broken: List[Tuple[int, str]] = []
            counted = 0
            for row, value in enumerate(read(columns.get(fqn, []))):
                if value is None or type(value) is Unreadable:
                    continue
                for check in checks:
                    rule = check.broken(value)
                    if rule is None:
                        continue
                    if check.strict:
                        broken.append((row, rule))
                        break
                    counted += 1
            if broken:
                result.setdefault("broken", {})[fqn] = broken
            if counted:
                result.setdefault("counted", {})[fqn] = counted


def _reader(python_type: Any) -> Callable[[Column], List[Any]]:
    """A decoder of columns that leaves what has another type, which the server refuses, unread."""
    decode, slow = column_decoder(python_type), decoder(python_type)

    def read(column: Column) -> List[Any]:
        try:
            return decode(column)
        except Exception:
            return [attempt(slow, value) for value in column]

    return read


class CheckRunner:
    """The answer to a call that has values of one feature checked: its column `value`."""

    def __init__(self, name: str) -> None:
        self.fqn = name
        self._output = _output(name[len(PREFIX) :])
        self._checks = Checks([self._output])

    def run(self, message: Dict[str, Any]) -> Dict[str, Any]:
        """Checks the values."""
        result: Dict[str, Any] = {"type": "RESULT", "id": message["id"], "columns": {}, "ranMs": 0}
        self._checks.add_to(result, {self._output.fqn: message["columns"]["value"]})
        return result


def _output(fqn: str) -> OutputSpec:
    owner: FeatureClass = next(item for item in registry.classes if fqn.startswith(f"{item.namespace}."))
    field = next(value for item in owner.fields.values() for value in item.values() if value.fqn == fqn)
    return output_spec(owner.reference(field.attribute))
