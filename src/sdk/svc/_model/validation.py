"""Validations: what a feature asks of its values beside their type."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Iterator, NamedTuple, NoReturn, Optional, Union

from .._surface.unknown_options import kept

Number = Union[int, float, Decimal]

#: The rules that a validation can have, in the order in which they are checked.
RULES = ("min", "max", "min_length", "max_length", "contains")


class Validation:
    """A rule, or several, that values of a feature keep to:

        limit: int = feature(validations=[Validation(min=0, strict=True), Validation(max=100)])

    min, max: bounds of numbers, which belong to what is allowed.
    min_length, max_length: bounds of the characters of a text, of bytes, or of the items of a list.
    contains: a text within a text, or an item of a list.
    strict: True fails a value that breaks a rule; else it is answered, and counted in the metric
        `feature.validation_failures`. Default: the feature's `strict`.
    """

    def __init__(
        self,
        *,
        min: Optional[Number] = None,
        max: Optional[Number] = None,
        min_length: Optional[int] = None,
        max_length: Optional[int] = None,
        contains: Any = None,
        strict: Optional[bool] = None,
        **others: NoReturn,
    ) -> None:
        self.min = min
        self.max = max
        self.min_length = min_length
        self.max_length = max_length
        self.contains = contains
        self.strict = strict
        self.others = kept("Validation", others)

    @property
    def rules(self) -> dict[str, Any]:
        """The rules that it has, by name."""
        return {rule: getattr(self, rule) for rule in RULES if getattr(self, rule) is not None}

    def __repr__(self) -> str:
        given = {**self.rules, **({} if self.strict is None else {"strict": self.strict})}
        return f"Validation({', '.join(f'{name}={value!r}' for name, value in given.items())})"


class OwnValidation(NamedTuple):
    """A validation of a feature, with the option that states it: `min`, or `validations`."""

    option: str
    validation: Validation
    strict: bool


def validations_of(options: Any) -> Iterator[OwnValidation]:
    """The validations of a feature's options: one of `min=`, `max=` and so on, then the others."""
    strict = options.strict is True
    own = {rule: bound for rule in RULES if (bound := getattr(options, rule)) is not None}
    if own:
        yield OwnValidation(next(iter(own)), Validation(**own), strict)
    listed = options.validations
    for item in listed if isinstance(listed, (list, tuple)) else ():
        if isinstance(item, Validation):
            yield OwnValidation("validations", item, strict if item.strict is None else item.strict is True)


def broken_rule(rules: dict[str, Any], value: Any) -> Optional[str]:
    """The first rule that a value breaks, as it is written: `min=0`. The rules fit the value's type."""
    for rule, bound in rules.items():
        if rule == "min":
            keeps = value >= bound
        elif rule == "max":
            keeps = value <= bound
        elif rule == "min_length":
            keeps = len(value) >= bound
        elif rule == "max_length":
            keeps = len(value) <= bound
        else:
            keeps = bound in value
        if not keeps:
            return f"{rule}={bound!r}"
    return None
