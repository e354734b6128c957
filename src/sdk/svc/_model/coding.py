"""The encoder and the decoder of a feature: functions between values of a class that the engine does
not know and values of a type that it knows.
"""

from __future__ import annotations

import inspect
import sys
from typing import Any, Callable, Optional

from .._codec.coded import CodedType
from .._diagnostics import rules
from .._diagnostics.findings import DefinitionError
from .._types.annotations import Scope, read_annotation
from .._types.dtypes import ValueType, value_type
from .reference import FeatureReference

_OPTIONS = ("encoder", "decoder")


def is_coded(options: Any) -> bool:
    """Whether a feature's options have an encoder or a decoder."""
    return options.encoder is not None or options.decoder is not None


def coded_type(core: Any, scope: Scope, options: Any, feature: str) -> ValueType:
    """The type of a feature whose values are encoded: that of what its encoder returns. Raises
    DefinitionError 128, with the option as its token.
    """

    def wrong(option: str, problem: str) -> DefinitionError:
        return DefinitionError(rules.BadCoding.option(option=option, feature=feature, problem=problem), token=option)

    for option in _OPTIONS:
        problem = _problem(option, getattr(options, option))
        if problem:
            raise wrong(option, problem)
    if isinstance(core, FeatureReference):
        raise wrong("encoder", f"the feature has the values of {core!r}, as they are: take encoder= and decoder= out")
    try:
        stored = _stored(options.encoder, scope)
    except _Unstorable as error:
        raise wrong("encoder", str(error)) from None
    return ValueType(stored.dtype, CodedType(core, stored.python_type, options.encoder, options.decoder))


class _Unstorable(Exception):
    """The reason why what an encoder returns cannot be stored."""


def _problem(option: str, function: Any) -> Optional[str]:
    """The reason why something cannot encode or decode values."""
    other = _OPTIONS[1 - _OPTIONS.index(option)]
    if function is None:
        return f"it is missing beside {other}=: what is stored has to be read again"
    if not callable(function):
        return "it is no function of a value"
    if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function):
        return "it is async or a generator: write a plain function"
    try:
        inspect.signature(function).bind(None)
    except TypeError:
        return "it is called with the value alone, which its parameters do not allow"
    except ValueError:  # what is built in may not tell its parameters
        pass
    return None


def _stored(encoder: Callable[[Any], Any], scope: Scope) -> ValueType:
    """The type of what an encoder returns, which its annotation says. Raises _Unstorable."""
    function: Any = inspect.unwrap(encoder)
    function = getattr(function, "__func__", function)
    written = getattr(function, "__annotations__", {}).get("return", inspect.Parameter.empty)
    if written is inspect.Parameter.empty:
        raise _Unstorable("it does not say what it returns: write a function with a return annotation, such as '-> str'")
    module = sys.modules.get(getattr(function, "__module__", ""))
    own = scope if module is None else Scope(module.__name__, getattr(module, "__file__", None) or scope.filename, vars(module), {})
    try:
        reading = read_annotation(written, own)
        found = value_type(reading.core, own)
    except DefinitionError as error:
        raise _Unstorable(f"what it returns cannot be stored: {error}") from None
    if reading.nullable or found.references is not None:
        raise _Unstorable("it is never given None: annotate it with the type of what it returns for a value")
    return found
