"""The reading of annotations: quoted ones, names imported for type checkers only, optional and
marked types.
"""

from __future__ import annotations

import importlib.util
import sys
import types
import typing
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Annotated, Any, Callable, Mapping, NamedTuple, Optional, TypeVar

from .._diagnostics import rules
from .._diagnostics.findings import DefinitionError
from .._diagnostics.source import source_of
from .._loading.hook import compile_rewritten
from .._model.reference import FeatureReference, no_such_feature
from .._model.registry import registry
from .._surface.names import did_you_mean
from .._surface.public_names import modules as public_modules


class Marker:
    """A mark of an annotation beside its type, such as `Primary`."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


PRIMARY = Marker("Primary")
FEATURE_TIME = Marker("FeatureTime")
NOW = Marker("Now")
WINDOWED = Marker("Windowed")

_T = TypeVar("_T")

Primary = Annotated[_T, PRIMARY]
"""`Primary[str]`: the feature that identifies a row of its class. Without one, the feature called
`id` does.
"""

FeatureTime = Annotated[datetime, FEATURE_TIME]
"""The time at which a row was observed. Without one, a datetime feature called `ts` is taken."""

Windowed = Annotated[_T, WINDOWED]
"""`fails: Windowed[int] = windowed("10m", "1d")`: one value per window of time."""

Now = Annotated[datetime, NOW]
"""A resolver's parameter that is given the time of the query, in UTC."""


class Deferred:
    """An annotation that a function gives once all classes are defined: `lambda: Doc.text`."""

    def __init__(self, give: Callable[[], Any]) -> None:
        self._give = give

    def __repr__(self) -> str:
        return "a function"

    def given(self) -> Any:
        """The annotation. Raises DefinitionError."""
        try:
            return self._give()
        except DefinitionError:
            raise
        except NameError as error:
            name = error.name or str(error)
            raise DefinitionError(rules.UndefinedName.in_annotation(name=name, near=""), token=name) from None
        except AttributeError as error:
            raise attribute_error(error) from None
        except Exception as error:
            raise unreadable(error) from None


class Reading(NamedTuple):
    """An annotation's core type and its marks."""

    core: Any
    nullable: bool = False
    primary: bool = False
    feature_time: bool = False
    now: bool = False
    windowed: bool = False


@dataclass(frozen=True)
class Scope:
    """The scope in which the names of a quoted annotation are looked up."""

    module: str
    filename: str
    globals: Mapping[str, Any]
    locals: Mapping[str, Any]

    def lookup(self, name: str) -> Any:
        """A name's value: from the surrounding code, from an import for type checkers, else the
        feature class of that name. Raises KeyError when there is none.
        """
        for names in (self.locals, self.globals):
            if name in names:
                return names[name]
        builtins = self.globals.get("__builtins__", {})
        builtins = builtins if isinstance(builtins, dict) else vars(builtins)
        if name in builtins:
            return builtins[name]
        found = self._type_checking_import(name)
        if found is not None:
            return found
        item = registry.class_named(name, self.module)
        if item is None:
            raise KeyError(name)
        return item.cls

    def _type_checking_import(self, name: str) -> Any:
        source = source_of(self.filename)
        wanted = source.outline.type_imports.get(name) if source else None
        if wanted is None:
            return None
        module, level, attribute = wanted
        package = self.globals.get("__package__") or ""
        try:
            absolute = importlib.util.resolve_name("." * level + module, package) if level else module
        except ImportError:
            return None
        loaded = sys.modules.get(absolute)
        if loaded is None or attribute is None:
            return loaded
        return getattr(loaded, attribute, sys.modules.get(f"{absolute}.{attribute}"))

    def known_names(self) -> set[str]:
        """The names to suggest for an unknown one."""
        classes = {item.cls.__name__ for item in registry.classes}
        return classes | {name for name, value in self.globals.items() if isinstance(value, type)} | set(_BUILTIN_TYPES)


_BUILTIN_TYPES = ("int", "float", "str", "bool", "bytes", "list", "set", "dict")


class _Names(dict):  # type: ignore[type-arg]
    """The globals for `eval`, visible also to functions within the text."""

    def __init__(self, scope: Scope) -> None:
        super().__init__({"__builtins__": {}})
        self._scope = scope

    def __missing__(self, name: str) -> Any:
        return self._scope.lookup(name)


@lru_cache(maxsize=4096)
def _annotation_code(text: str) -> types.CodeType:
    return compile_rewritten(text, "<annotation>", "eval")


def evaluate(text: str, scope: Scope) -> Any:
    """The value of a quoted annotation. Raises DefinitionError 124 for an unknown name, 142 for an
    unknown feature, else 114.
    """
    try:
        return eval(_annotation_code(text.strip()), _Names(scope))
    except DefinitionError:
        raise
    except NameError as error:
        name = error.name or str(error)
        near = did_you_mean(name, scope.known_names())
        raise DefinitionError(rules.UndefinedName.in_annotation(name=name, near=near), token=name) from None
    except AttributeError as error:
        raise attribute_error(error) from None
    except Exception as error:
        raise DefinitionError(rules.UnsupportedType.raises(annotation=text, kind=type(error).__name__, error=error)) from None


def attribute_error(error: AttributeError) -> DefinitionError:
    """An AttributeError as a finding: 142 when a feature class or a relation lacks the feature, 133
    for an unknown function, 105 for a name that a module of the SDK lacks, else 114.
    """
    name = error.name or ""
    if isinstance(error.obj, type) and "__svc_features__" in error.obj.__dict__:
        return no_such_feature(error.obj.__svc_features__, name)  # type: ignore[attr-defined]
    if isinstance(error.obj, FeatureReference):
        label = "no such window" if "has no window" in str(error) else "no such feature"
        return DefinitionError(rules.UnknownFeature.raised(problem=str(error), label=label), token=name)
    if isinstance(error.obj, types.ModuleType) and error.obj.__name__ == "svc.functions":
        near = did_you_mean(name, error.obj.__all__)
        return DefinitionError(rules.UnknownFunction.function(what="function", name=name, near=near), token=name)
    if isinstance(error.obj, types.ModuleType) and error.obj.__name__ in public_modules():
        return DefinitionError(rules.UnknownSdkName.no_name(problem=str(error)), token=name)
    return DefinitionError(rules.UnsupportedType.no_attribute(problem=str(error)), token=name)


def read_annotation(annotation: Any, scope: Scope) -> Reading:
    """The parts of an annotation, whose core is a type, a feature reference or a feature class.
    Raises DefinitionError.
    """
    try:
        return _take_apart(annotation, scope)
    except DefinitionError:
        raise
    except Exception as error:
        raise unreadable(error) from None


def unreadable(error: Exception) -> DefinitionError:
    """Finding 114 for an annotation whose own code fails when it is inspected."""
    return DefinitionError(rules.UnsupportedType.unreadable(kind=type(error).__name__))


def _take_apart(annotation: Any, scope: Scope) -> Reading:
    kind = type(annotation)
    if kind is FeatureReference or kind is type and annotation is not type(None):
        return Reading(annotation)
    nullable = primary = feature_time = now = windowed = False
    core = annotation
    while True:
        if isinstance(core, str):
            core = evaluate(core, scope)
        elif isinstance(core, Deferred):
            core = core.given()
        elif isinstance(core, typing.ForwardRef):
            core = evaluate(core.__forward_arg__, scope)
        elif typing.get_origin(core) is Annotated:
            marks = {id(mark) for mark in core.__metadata__}
            primary = primary or id(PRIMARY) in marks
            feature_time = feature_time or id(FEATURE_TIME) in marks
            now = now or id(NOW) in marks
            windowed = windowed or id(WINDOWED) in marks
            core = core.__origin__
        elif not isinstance(core, type) and hasattr(core, "__supertype__"):
            core = core.__supertype__
        elif type(core).__name__ == "TypeAliasType":
            core = core.__value__
        elif is_union(core):
            rest = [item for item in typing.get_args(core) if item is not type(None)]
            if len(rest) != 1:
                raise DefinitionError(rules.UnsupportedType.several_types(type=annotation_text(core)))
            nullable, core = True, rest[0]
        elif core is None or core is type(None):
            raise DefinitionError(rules.UnsupportedType.none())
        else:
            return Reading(core, nullable, primary, feature_time, now, windowed)


def is_union(annotation: Any) -> bool:
    """Whether an annotation is `A | B`, `Union[A, B]` or `Optional[A]`."""
    return typing.get_origin(annotation) in (typing.Union, types.UnionType)


def annotation_text(annotation: Any) -> str:
    """An annotation as text, as a user writes it."""
    if isinstance(annotation, typing.ForwardRef):
        return annotation.__forward_arg__
    if is_union(annotation):
        return " | ".join(annotation_text(item) for item in typing.get_args(annotation))
    if isinstance(annotation, type) and typing.get_origin(annotation) is None:
        return "None" if annotation is type(None) else annotation.__qualname__.rpartition("<locals>.")[2]
    try:
        text = annotation if isinstance(annotation, str) else repr(annotation)
    except Exception:
        text = type(annotation).__name__
    return text.replace("typing.", "").replace("datetime.", "")


def scope_of_frame(frame: types.FrameType, module: Optional[str] = None) -> Scope:
    """The scope of code that runs in a frame."""
    inside_function = frame.f_locals is not frame.f_globals and frame.f_code.co_name != "<module>"
    return Scope(
        module or frame.f_globals.get("__name__", ""),
        frame.f_code.co_filename,
        frame.f_globals,
        dict(frame.f_locals) if inside_function else {},
    )
