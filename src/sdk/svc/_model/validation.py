"""Validations: what a feature asks of its values beside their type."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Callable, Iterator, NamedTuple, NoReturn, Optional, Union

from .._surface.unknown_options import kept

Number = Union[int, float, Decimal]

#: The rules about bounds that a validation can have, in the order in which they are checked.
RULES = ("min", "max", "min_length", "max_length", "contains")


class Validation:
    """A rule, or several, that values of a feature keep to:

        limit: int = feature(validations=[Validation(min=0, strict=True), Validation(max=100)])

    min, max: bounds of numbers, which belong to what is allowed.
    min_length, max_length: bounds of the characters of a text, of bytes, or of the items of a list.
    contains: a text within a text, or an item of a list.
    check: a function of the value that returns whether it keeps to the rule; what it raises breaks it
        too. It is asked, by the deployment's workers, about values that Python resolvers compute and
        about uploaded ones, never about those given with a query.
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
        check: Optional[Callable[[Any], bool]] = None,
        strict: Optional[bool] = None,
        **others: NoReturn,
    ) -> None:
        self.min = min
        self.max = max
        self.min_length = min_length
        self.max_length = max_length
        self.contains = contains
        self.check = check
        self.strict = strict
        self.others = kept("Validation", others)

    @property
    def rules(self) -> dict[str, Any]:
        """The rules about bounds that it has, by name."""
        return {rule: getattr(self, rule) for rule in RULES if getattr(self, rule) is not None}

    def __repr__(self) -> str:
        given = [f"{name}={value!r}" for name, value in self.rules.items()]
        given += [f"check={check_name(self.check)}"] if self.check is not None else []
        given += [f"strict={self.strict!r}"] if self.strict is not None else []
        return f"Validation({', '.join(given)})"


def check_name(check: Any) -> str:
    """The name by which people are told of a function that checks values."""
    return getattr(check, "__name__", None) or type(check).__name__


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


class Check(NamedTuple):
    """A function that is asked about the values of a feature."""

    function: Callable[[Any], Any]
    strict: bool

    def broken(self, value: Any) -> Optional[str]:
        """What a value breaks, as it is written: `check=is_even`; None = it keeps to it. What the
        function raises is told, but for what ends a call.
        """
        name = f"check={check_name(self.function)}"
        try:
            answer = self.function(value)
            if answer is None:
                return f"{name} (it returned None, not True or False)"
            return None if answer else name
        except Exception as error:
            said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
            return f"{name} ({said[:_SAID].encode('utf-8', 'backslashreplace').decode('utf-8')})"


#: Most characters that are told of what a check raised.
_SAID = 200


def checks_of(options: Any) -> tuple[Check, ...]:
    """The functions that are asked about values of a feature, by its options."""
    if not options.validations:
        return ()
    return tuple(Check(own.validation.check, own.strict) for own in validations_of(options) if callable(own.validation.check))
