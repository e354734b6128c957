"""The decorator `features`, and the feature classes that it makes."""

from __future__ import annotations

import ast
import inspect
import sys
import types
import typing
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Callable, Iterator, Literal, Mapping, NoReturn, Optional, Union, overload

from .._diagnostics.findings import DefinitionError
from .._diagnostics.outline import ClassOutline
from .._diagnostics.source import Comment, Origin, Source, read_comment, source_of
from .._surface.names import did_you_mean, namespace_of
from .._surface.unknown_options import Others, kept
from .._types.annotations import Scope, scope_of_frame
from .field import MISSING, FeatureOptions, Field, RelationOptions, Tags, tag_list, text_of
from .reference import FeatureReference, type_of
from .registry import registry
from .template import JinjaTemplate
from .windows import format_window, split_windowed_name, window_seconds


@dataclass(frozen=True)
class ClassOptions:
    """The options of `features(...)`."""

    name: Optional[str] = None
    owner: Optional[str] = None
    tags: Optional[Tags] = None
    max_staleness: Union[str, timedelta, None] = None
    store_online: Optional[bool] = None
    store_offline: Optional[bool] = None
    cache_nulls: Union[bool, str, None] = None
    cache_defaults: Union[bool, str, None] = None
    offline_ttl: Union[str, timedelta, None] = None
    etl_offline_to_online: Optional[bool] = None
    others: Others = ()


class FeatureClass:
    """A feature class: its namespace and its features. Found at the class's `__svc_features__`."""

    def __init__(self, cls: type, options: ClassOptions, scope: Scope, line: int) -> None:
        self.cls = cls
        self.options = options
        self.scope = scope
        self.origin = Origin(scope.filename, line, cls.__name__)
        self.namespace = text_of(options.name) or namespace_of(cls.__name__)
        self.fields: dict[str, Field] = {}
        self.unannotated: list[str] = []
        self._references: dict[str, FeatureReference] = {}
        self._marked: Optional[tuple[list[Field], list[Field]]] = None
        #: The definition that was last read, and its annotated assignments.
        self._field_nodes: Optional[tuple[Optional[ast.ClassDef], dict[str, ast.AnnAssign]]] = None
        for attribute, annotation in inspect.get_annotations(cls).items():
            if not attribute.startswith("_") and not _is_class_variable(annotation):
                self.fields[attribute] = Field(self, attribute, annotation, cls.__dict__.get(attribute, MISSING))
        for attribute, value in cls.__dict__.items():
            if isinstance(value, (FeatureOptions, RelationOptions)) and attribute not in self.fields:
                self.unannotated.append(attribute)

    def reference(self, attribute: str) -> FeatureReference:
        """The one reference of a feature."""
        found = self._references.get(attribute)
        if found is None:
            found = self._references[attribute] = FeatureReference(self, attribute)
        return found

    def field(self, attribute: str) -> Optional[Field]:
        """A feature by its attribute (one with versions by its default), one window of a feature by
        an attribute such as `fails__600__`, or one version by `code@2`; None when there is none.
        """
        found = self.fields.get(attribute)
        if found is not None and found.version_count:
            return found.version(found.default_version)
        if found is None and "@" in attribute:
            name, _, number = attribute.partition("@")
            versioned = self.fields.get(name)
            known = versioned is not None and number.isascii() and number.isdigit() and 1 <= int(number) <= versioned.version_count
            return versioned.version(int(number)) if versioned is not None and known else None
        if found is None:
            base, seconds = split_windowed_name(attribute)
            windowed = self.fields.get(base)
            if windowed is not None and seconds is not None and seconds in windowed.windows:
                return windowed.window(seconds)
        return found

    def members(self) -> list[Field]:
        """The features in the order of definition: one per window, and one per version."""
        return [value for field in self.fields.values() for value in field.values()]

    def values(self) -> list[Field]:
        """The features that hold a value, in the order of definition. Raises BrokenReference when
        one of them is broken.
        """
        return [field for field in self.members() if type_of(field).target is None]

    def by_name(self) -> dict[str, Field]:
        """The features by the last part of their FQN, windowed ones as a whole and one per window,
        the default of versions also by its number.
        """
        defaults = {f"{field.name}@{field.default_version}": field.version(field.default_version) for field in self.fields.values() if field.version_count}
        return {**{field.name: field for field in (*self.fields.values(), *self.members())}, **defaults}

    def _marked_fields(self) -> tuple[list[Field], list[Field]]:
        """The primary keys and the feature times. They are cached once the types of all features
        could be read; types do not change after that.
        """
        if self._marked is not None:
            return self._marked
        sound: list[tuple[Field, FieldType]] = []
        for field in self.fields.values():
            try:
                sound.append((field, field.type))
            except DefinitionError:
                continue
        values = [(field, kind) for field, kind in sound if kind.target is None]
        keys = [field for field, kind in values if kind.marked_primary] or [field for field, _ in values if field.attribute == "id"]
        times = [field for field, kind in values if kind.marked_time]
        found = keys, times or [field for field, kind in values if field.attribute == "ts" and kind.python_type is datetime]
        if len(sound) == len(self.fields):
            self._marked = found
        return found

    @property
    def primary_keys(self) -> list[Field]:
        """The features marked as primary key, else the one called `id`. A sound class has exactly
        one.
        """
        return self._marked_fields()[0]

    @property
    def feature_times(self) -> list[Field]:
        """The features marked as feature time, else a datetime called `ts`. A class has at most
        one.
        """
        return self._marked_fields()[1]

    @property
    def source(self) -> Optional[Source]:
        return source_of(self.origin.filename)

    @property
    def outline(self) -> Optional[ClassOutline]:
        """The class as its text defines it, when the source can be read."""
        source = self.source
        return source.class_outline(self.origin) if source else None

    @property
    def node(self) -> Optional[ast.ClassDef]:
        """The class's definition, when its source can be read."""
        source = self.source
        return source.class_at(self.origin) if source else None

    def field_nodes(self) -> dict[str, ast.AnnAssign]:
        """The annotated assignments by attribute; the last one counts."""
        node = self.node
        if self._field_nodes is None or self._field_nodes[0] is not node:
            found = {
                statement.target.id: statement
                for statement in (node.body if node else [])
                if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name)
            }
            self._field_nodes = (node, found)
        return self._field_nodes[1]

    @property
    def docstring(self) -> Comment:
        text = self.cls.__dict__.get("__doc__")
        return read_comment(inspect.cleandoc(text).split("\n")) if isinstance(text, str) else Comment()

    @property
    def owner(self) -> Optional[str]:
        return text_of(self.options.owner) or self.docstring.owner

    @property
    def tags(self) -> list[str]:
        return list(dict.fromkeys([*tag_list(self.options.tags), *self.docstring.tags]))


def _is_class_variable(annotation: Any) -> bool:
    if isinstance(annotation, str):
        return annotation.startswith(("ClassVar", "typing.ClassVar", "t.ClassVar"))
    return annotation is typing.ClassVar or typing.get_origin(annotation) is typing.ClassVar


class FeatureAttribute:
    """The descriptor of a feature: the class gives the reference, an instance the value or the
    default.
    """

    def __init__(self, field: Field) -> None:
        self._field = field

    def __get__(self, instance: Optional[object], owner: type) -> Any:
        if instance is None:
            return self._field.owner_class.reference(self._field.attribute)
        if self._field.windows:
            windows = [(format_window(window), self._field.window(window).attribute) for window in self._field.windows]
            return {window: getattr(instance, attribute) for window, attribute in windows if hasattr(instance, attribute)}
        default = self._field.default
        if default is MISSING:
            raise AttributeError(f"'{self._field.fqn}' was not set on this {owner.__name__}", name=self._field.attribute, obj=instance)
        return default


def _init(self: Any, /, **values: Any) -> None:
    definition: FeatureClass = type(self).__svc_features__
    own, fields = vars(self), definition.fields
    for attribute, value in values.items():
        field = fields.get(attribute) or definition.field(attribute)
        if field is None:
            near = did_you_mean(attribute, definition.fields)
            raise TypeError(f"{type(self).__name__} has no feature '{attribute}'{near}")
        if field.windows:
            own.update(_by_window(field, value))
        else:
            own[attribute] = value


def _by_window(field: Field, value: Any) -> dict[str, Any]:
    """The values of a windowed feature, given as `{"10m": 3}`, by the attributes of its windows."""
    listed = ", ".join(format_window(window) for window in field.windows)
    if not isinstance(value, Mapping):
        raise TypeError(f"'{field.fqn}' has one value per window: give a dict with the keys {listed}")
    found = {}
    for window, item in value.items():
        seconds = window_seconds(window)
        if seconds is None or seconds not in field.windows:
            raise TypeError(f"'{field.fqn}' has no window {window!r}; its windows are: {listed}")
        found[field.window(seconds).attribute] = item
    return found


def _given(instance: Any) -> dict[str, Any]:
    """The values set on an instance by attribute, in the order of definition."""
    values = vars(instance)
    return {field.attribute: values[field.attribute] for field in type(instance).__svc_features__.members() if field.attribute in values}


def _iter(self: Any) -> Iterator[tuple[str, Any]]:
    definition: FeatureClass = type(self).__svc_features__
    for attribute, value in _given(self).items():
        field = definition.field(attribute)
        if field is not None:
            yield field.fqn, value


def _eq(self: Any, other: object) -> Any:
    return _given(self) == _given(other) if type(other) is type(self) else NotImplemented


def _repr(self: Any) -> str:
    return f"{type(self).__name__}({', '.join(f'{attribute}={value!r}' for attribute, value in _given(self).items())})"


def _define(cls: type, options: ClassOptions, frame: types.FrameType) -> type:
    if not isinstance(cls, type):
        raise TypeError("@features stands above a class")
    for base in cls.__mro__[1:]:
        if "__svc_features__" in base.__dict__:
            raise TypeError(f"{cls.__name__} inherits from the feature class {base.__name__}: repeat the fields, or relate the two classes")
    scope = scope_of_frame(frame, cls.__module__)
    definition = FeatureClass(cls, options, scope, frame.f_lineno)
    for field in (*definition.fields.values(), *definition.members()):
        setattr(cls, field.attribute, FeatureAttribute(field))
    own = cls.__dict__
    cls.__svc_features__ = definition  # type: ignore[attr-defined]
    for name, method in (("__init__", _init), ("__iter__", _iter), ("__eq__", _eq), ("__repr__", _repr)):
        if name not in own:
            setattr(cls, name, method)
    cls.__hash__ = None  # type: ignore[assignment]
    registry.add_class(definition)
    _define_resolvers(definition)
    return cls


def _define_resolvers(definition: FeatureClass) -> None:
    for field in definition.fields.values():
        if "model" in vars(field.options):
            from .model_call import ModelDefinition

            registry.add_resolver(ModelDefinition(field))
        elif isinstance(field.options.expression, JinjaTemplate):
            from .template_resolver import TemplateDefinition

            registry.add_resolver(TemplateDefinition(field, field.options.expression))


# The decorated class is Any to type checkers: `name: User.name` is legal to them in no other way.
@overload
def features(cls: type, /) -> Any: ...


@overload
def features(
    *,
    owner: Optional[str] = None,
    tags: Optional[Tags] = None,
    max_staleness: Union[str, timedelta, None] = None,
    name: Optional[str] = None,
    store_online: Optional[bool] = None,
    store_offline: Optional[bool] = None,
    cache_nulls: Union[bool, Literal["evict_nulls"], None] = None,
    cache_defaults: Union[bool, Literal["evict_defaults"], None] = None,
    offline_ttl: Union[str, timedelta, None] = None,
    etl_offline_to_online: Optional[bool] = None,
) -> Callable[[type], Any]: ...


def features(
    cls: Optional[type] = None,
    /,
    *,
    owner: Optional[str] = None,
    tags: Optional[Tags] = None,
    max_staleness: Union[str, timedelta, None] = None,
    name: Optional[str] = None,
    store_online: Optional[bool] = None,
    store_offline: Optional[bool] = None,
    cache_nulls: Union[bool, Literal["evict_nulls"], None] = None,
    cache_defaults: Union[bool, Literal["evict_defaults"], None] = None,
    offline_ttl: Union[str, timedelta, None] = None,
    etl_offline_to_online: Optional[bool] = None,
    **others: NoReturn,
) -> Any:
    """Makes a class a feature class: every annotated attribute is a feature, but for those that
    begin with `_` and ClassVars.

    The namespace is the class's name in snake_case, or `name`. `owner`, `tags` and `max_staleness`,
    and `store_online`, `store_offline`, `cache_nulls`, `cache_defaults`, `offline_ttl` and
    `etl_offline_to_online` as `feature` takes them, hold for every feature that does not say
    otherwise, relations aside. Instances take any of the features by keyword, compare by value, and
    iterate as (FQN, value).

        @features(owner="a@example.com", max_staleness="1d")
        class User:
            id: int
            # What we call the user
            name: str | None
    """
    unknown = kept("features", others)
    options = ClassOptions(
        name, owner, tags, max_staleness, store_online, store_offline, cache_nulls, cache_defaults, offline_ttl, etl_offline_to_online, unknown
    )
    if cls is not None:
        return _define(cls, options, sys._getframe(1))
    return lambda decorated: _define(decorated, options, sys._getframe(1))
