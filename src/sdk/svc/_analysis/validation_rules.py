"""Rules about the validations of a feature: 146 for one that makes no sense or does not fit the
type, 115 for a default that breaks one; and the validations as proto3 JSON.
"""

from __future__ import annotations

import inspect
import math
from decimal import Decimal
from typing import Any, Callable, Optional

from .._codec.coded import CodedType
from .._codec.wire import describe, stored_json, value_json
from .._diagnostics import rules
from .._diagnostics.findings import DefinitionError, Finding
from .._model.field import MISSING, NO_OPTIONS, Field, FieldType
from .._model.validation import RULES, Check, Validation, broken_rule, check_name, validations_of
from .._types.data_type import DataType, type_name
from .spans import value_span

Report = Callable[[Finding], None]

#: Most validations of a feature.
_MOST = 20
#: Most characters of a text that another must contain.
_MOST_CHARACTERS = 1000
_NUMBERS = ("INT64", "FLOAT64", "DECIMAL")


def check_validations(field: Field, report: Report) -> None:
    """Reports findings about the validations of a feature that has values, or of a relation."""

    def wrong(option: str, problem: str) -> None:
        report(rules.BadValue.option(problem=problem).at(value_span(field, option)))

    options = field.options
    if options is NO_OPTIONS:
        return
    given = [option for option in (*RULES, "strict", "validations") if getattr(options, option) is not None]
    if not given:
        return
    if field.type.target is not None:
        wrong(given[0], f"'{field.fqn}' is a relation and takes no {given[0]}: give it to the features of {field.type.target.cls.__name__}")
        return
    listed = options.validations
    if listed is not None and (not isinstance(listed, (list, tuple)) or not listed or len(listed) > _MOST):
        wrong("validations", f"validations is {listed if isinstance(listed, Validation) else describe(listed)}: write a list of 1 to {_MOST} such as [Validation(min=0)]")
        return
    for item in listed or ():
        if not isinstance(item, Validation):
            name = getattr(item, "__name__", None) if callable(item) else None
            advice = f"write Validation(check={name if name.isidentifier() else '...'})" if name else "write one such as Validation(min=0)"
            wrong("validations", f"validations holds {f'the function {name}' if name else describe(item)}: {advice}")
            return
        problem = None if item.check is None else _check_problem(item.check, field)
        if problem:
            written = check_name(item.check) if callable(item.check) else describe(item.check)
            wrong("validations", f"check of '{field.fqn}' is {written}: {problem}")
            return
        if not item.rules and item.check is None:
            wrong("validations", f"{item!r} states no rule: its rules are {', '.join((*RULES, 'check'))}")
        if item.strict is not None and not isinstance(item.strict, bool):
            wrong("validations", f"strict is {describe(item.strict)}: write True or False")
    if options.strict is not None and not any(own.validation.rules or own.validation.check for own in validations_of(options)):
        wrong("strict", f"strict says what becomes of values that break a rule, and '{field.fqn}' has none: add one such as min=0")
    for own in validations_of(options):
        for rule, bound in own.validation.rules.items():
            problem = _problem(rule, bound, field.type)
            if problem:
                wrong(rule if own.option != "validations" else own.option, f"{rule} of '{field.fqn}' is {describe(bound)}: {problem}")
                return
        problem = _contradiction(own.validation)
        if problem:
            wrong(own.option, f"nothing keeps to the validation of '{field.fqn}': {problem}")
            return
    _check_default(field, report)


def _check_problem(check: Any, field: Field) -> Optional[str]:
    """The reason why something cannot be asked about values of a feature."""
    if not callable(check) or isinstance(check, type):
        return "write a function of the value"
    if field in field.owner_class.primary_keys:
        return "a primary key is no value that a function checks; write min= and its like"
    if inspect.iscoroutinefunction(check):
        return "write it without async"
    try:
        inspect.signature(check).bind(None)
    except TypeError:
        return "it is called with the value alone"
    except ValueError:  # what is built in may not tell its parameters
        pass
    return None


def _problem(rule: str, bound: Any, kind: FieldType) -> Optional[str]:
    """The reason why a rule makes no sense for values of a type."""
    if isinstance(kind.python_type, CodedType):
        return "its values are of a class of their own: write Validation(check=...)"
    return _unfit(rule, bound, kind.dtype)


def _unfit(rule: str, bound: Any, dtype: DataType) -> Optional[str]:
    base = dtype["enum"]["base"] if "enum" in dtype else dtype.get("primitive", "")
    kind = base[len("PRIMITIVE_TYPE_") :]
    if rule in ("min", "max"):
        if kind not in _NUMBERS:
            return f"{rule} is a rule about numbers, and the type is {type_name(dtype)}"
        if isinstance(bound, bool) or not isinstance(bound, (int, float, Decimal)) or not _is_finite(bound):
            return "write a number"
        return None if Decimal(float(bound)) == bound or kind != "INT64" else "it is too large to be compared exactly"
    if rule in ("min_length", "max_length"):
        if kind not in ("STRING", "BYTES") and "list" not in dtype:
            return f"{rule} is a rule about texts, bytes and lists, and the type is {type_name(dtype)}"
        is_length = isinstance(bound, int) and not isinstance(bound, bool) and 0 <= bound < 2**31
        return None if is_length else "write a number of characters or items, at least 0"
    if kind == "STRING":
        is_text = isinstance(bound, str) and 0 < len(bound) <= _MOST_CHARACTERS
        return None if is_text else f"write a text of 1 to {_MOST_CHARACTERS} characters"
    if "list" not in dtype:
        return f"contains is a rule about texts and lists, and the type is {type_name(dtype)}"
    if "primitive" not in dtype["list"]["element"]:
        return f"contains is a rule about lists of plain values, and the type is {type_name(dtype)}"
    try:
        value_json(bound, dtype["list"]["element"])
    except DefinitionError as error:
        return str(error)
    return None


def _is_finite(number: Any) -> bool:
    try:
        return math.isfinite(number)
    except OverflowError:
        return False


def _contradiction(validation: Validation) -> Optional[str]:
    for least, most in (("min", "max"), ("min_length", "max_length")):
        low, high = getattr(validation, least), getattr(validation, most)
        if low is not None and high is not None and low > high:
            return f"{least}={low!r} is greater than {most}={high!r}"
    return None


def _check_default(field: Field, report: Report) -> None:
    """Reports a default that breaks a rule; what does not fit the type is another finding."""
    value = field.options.default
    if value is MISSING or value is None:
        return
    try:
        stored_json(value, field.type.python_type, field.type.dtype)
    except DefinitionError:
        return
    plain = getattr(value, "value", value)
    for own in validations_of(field.options):
        broken = broken_rule(own.validation.rules, plain)
        if not broken and own.validation.check is not None:
            broken = Check(own.validation.check, own.strict).broken(value)
        if broken:
            report(rules.BadDefault.breaks_rule(feature=field.fqn, value=describe(value), rule=broken).at(value_span(field, "default")))
            return


def validations_json(field: Field) -> list[dict[str, Any]]:
    """The validations of a feature as proto3 JSON of `svc.v1.Validation`; those that make sense."""
    found: list[dict[str, Any]] = []
    if field.options is NO_OPTIONS:
        return found
    for own in validations_of(field.options):
        given, check = own.validation.rules, own.validation.check
        if not (given or check) or any(_problem(rule, bound, field.type) for rule, bound in given.items()):
            continue
        document: dict[str, Any] = {name: float(given[rule]) for rule, name in (("min", "min"), ("max", "max")) if rule in given}
        for rule, name in (("min_length", "minLength"), ("max_length", "maxLength")):
            if rule in given:
                document[name] = str(given[rule])
        if "contains" in given:
            dtype = field.type.dtype
            document["contains"] = value_json(given["contains"], dtype["list"]["element"] if "list" in dtype else _TEXT)
        if check is not None:
            document["check"] = check_name(check)
        if own.strict:
            document["strict"] = True
        found.append(document)
    return found


_TEXT: DataType = {"primitive": "PRIMITIVE_TYPE_STRING"}
