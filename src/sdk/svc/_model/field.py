"""A feature of a class, read from its annotation, its options and the comment above it."""

from __future__ import annotations

import ast
import copy
import dataclasses
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Callable, Mapping, NamedTuple, Optional, Union

from .._diagnostics import rules
from .._diagnostics.findings import CircularReference, DefinitionError
from .._diagnostics.outline import Place
from .._diagnostics.source import Comment
from .._frames.selection import table_columns
from .._surface.unknown_options import Others
from .._types.annotations import read_annotation
from .._types.data_type import DataType
from .._types.dtypes import value_type
from .coding import coded_type, is_coded
from .expression import Expression
from .template import JinjaTemplate
from .versions import is_version
from .windows import window_seconds, windowed_name

if TYPE_CHECKING:
    from .feature_class import FeatureClass
    from .reference import FeatureReference

Tags = Union[str, list[str], tuple[str, ...], set[str]]


class Missing:
    """The type of `MISSING`: nothing was given, where None would be a value."""

    def __repr__(self) -> str:
        return "MISSING"

    def __bool__(self) -> bool:
        return False


MISSING = Missing()


@dataclass(frozen=True)
class FeatureOptions:
    """The options of `feature(...)`."""

    max_staleness: Union[str, timedelta, None] = None
    default: Any = MISSING
    owner: Optional[str] = None
    tags: Optional[Tags] = None
    description: Optional[str] = None
    primary: bool = False
    name: Optional[str] = None
    expression: Any = None
    store_online: Optional[bool] = None
    store_offline: Optional[bool] = None
    cache_nulls: Union[bool, str, None] = None
    deprecated: bool = False
    min: Any = None
    max: Any = None
    min_length: Optional[int] = None
    max_length: Optional[int] = None
    contains: Any = None
    strict: Optional[bool] = None
    validations: Any = None
    version: Optional[int] = None
    default_version: Optional[int] = None
    versions: Any = None
    cache_defaults: Union[bool, str, None] = None
    offline_ttl: Union[str, timedelta, None] = None
    offline_expression: Any = None
    etl_offline_to_online: Optional[bool] = None
    encoder: Any = None
    decoder: Any = None
    others: Others = ()


#: The options of a feature that is only annotated.
NO_OPTIONS = FeatureOptions()


@dataclass(frozen=True)
class WindowedOptions(FeatureOptions):
    """The arguments of `windowed(...)`."""

    windows: tuple[Any, ...] = ()
    materialization: Any = None


@dataclass(frozen=True)
class GroupedOptions(WindowedOptions):
    """The arguments of `group_by_windowed(...)`."""

    group_by: Any = None

    @property
    def columns(self) -> tuple[Any, ...]:
        """The columns by which rows are grouped, as they are written."""
        return tuple(self.group_by) if isinstance(self.group_by, (list, tuple)) else (self.group_by,)


@dataclass(frozen=True)
class RelationOptions:
    """The arguments of `has_one(...)` or `has_many(...)`."""

    join: Callable[[], Any]
    many: bool = False
    max_staleness: Union[str, timedelta, None] = None
    others: Others = ()


class FieldType(NamedTuple):
    """The type of a field. A relation has a `target` and, when it leads to any number of rows,
    `many`; a value has the other members.
    """

    nullable: bool
    target: Optional[FeatureClass] = None
    dtype: DataType = None  # type: ignore[assignment]
    python_type: Any = None
    references: Optional[FeatureReference] = None
    marked_primary: bool = False
    marked_time: bool = False
    #: Whether there is one value per window; the field itself then stands for all of them.
    windowed: bool = False
    many: bool = False


class Field:
    """A feature as its class defines it."""

    def __init__(self, owner: FeatureClass, attribute: str, annotation: Any, value: Any) -> None:
        self.owner_class = owner
        self.attribute = attribute
        self.annotation = annotation
        self.relation = value if isinstance(value, RelationOptions) else None
        self.options = _options_of(value)
        self.name = text_of(self.options.name) or attribute
        #: The windows in seconds, in the order of definition; empty unless it is windowed.
        self.windows = _lengths(self.options)
        self._windows: dict[int, WindowField] = {}
        #: The number of its versions; 0 unless it has several.
        self.version_count = version_count(self.options)
        self._versions: dict[int, VersionField] = {}
        self._type: Optional[FieldType] = None
        self._resolving = False

    @property
    def fqn(self) -> str:
        return f"{self.owner_class.namespace}.{self.name}"

    @property
    def type(self) -> FieldType:
        """The type that the annotation means. Raises DefinitionError when it makes no sense, or
        names a class that is not defined yet.
        """
        if self._type is None:
            if self._resolving:
                raise CircularReference(rules.UnsupportedType.refers_to_itself(feature=self.fqn))
            self._resolving = True
            try:
                self._type = self._read()
            finally:
                self._resolving = False
        return self._type

    def _read(self) -> FieldType:
        scope = self.owner_class.scope
        reading = read_annotation(self.annotation, scope)
        core = reading.core
        columns = table_columns(core)
        is_class = isinstance(core, type) and "__svc_features__" in core.__dict__
        if reading.windowed and (is_class or columns is not None):
            raise DefinitionError(rules.UnsupportedType.windowed_relation(feature=self.fqn))
        if is_class:
            return FieldType(reading.nullable, target=core.__svc_features__)
        if columns is not None:
            return FieldType(False, self._rows_of(columns, reading.nullable), many=True)
        value = coded_type(core, scope, self.options, self.fqn) if is_coded(self.options) else value_type(core, scope)
        return FieldType(
            reading.nullable,
            None,
            value.dtype,
            value.python_type,
            value.references,
            reading.primary or self.options.primary is True,
            reading.feature_time,
            reading.windowed,
        )

    def _rows_of(self, columns: tuple[Any, ...], nullable: bool) -> FeatureClass:
        """The class that a has-many relation leads to."""
        cores = [read_annotation(column, self.owner_class.scope).core for column in columns]
        if len(cores) != 1 or not isinstance(cores[0], type) or "__svc_features__" not in cores[0].__dict__:
            raise DefinitionError(rules.UnsupportedType.no_rows_of_class(feature=self.fqn))
        found: FeatureClass = cores[0].__svc_features__  # type: ignore[attr-defined]
        if nullable:
            raise DefinitionError(rules.UnsupportedType.nullable_rows(feature=self.fqn, target=found.cls.__name__))
        return found

    def window(self, seconds: int) -> WindowField:
        """The feature of one of its windows."""
        found = self._windows.get(seconds)
        if found is None:
            found = self._windows[seconds] = WindowField(self, seconds)
        return found

    @property
    def default_version(self) -> int:
        """The version that the bare name means."""
        chosen = self.options.default_version
        return chosen if is_version(chosen) and chosen <= self.version_count else 1

    def version(self, number: int) -> VersionField:
        """One of its versions, from 1."""
        found = self._versions.get(number)
        if found is None:
            found = self._versions[number] = VersionField(self, number)
        return found

    def values(self) -> list[Field]:
        """The features that hold its values: one per window or version, else itself."""
        if self.version_count:
            return [self.version(number) for number in range(1, self.version_count + 1)]
        return [self.window(seconds) for seconds in self.windows] if isinstance(self.options, WindowedOptions) else [self]

    @property
    def default(self) -> Any:
        """A fresh copy of the default; MISSING when there is none."""
        value = self.options.default
        if value is MISSING:
            return MISSING
        try:
            dtype = None if is_coded(self.options) else self.type.dtype
        except DefinitionError:
            dtype = None
        if isinstance(value, (tuple, frozenset)) and dtype is not None and "list" in dtype:
            return (set if dtype["list"].get("set") else list)(value)
        return copy.deepcopy(value)

    @property
    def node(self) -> Optional[ast.AnnAssign]:
        """The annotated assignment that defines it, when the source can be read."""
        return self.owner_class.field_nodes().get(self.attribute)

    @property
    def place(self) -> Optional[Place]:
        """The place of its name in the source, when that can be read."""
        outline = self.owner_class.outline
        return outline.fields.get(self.attribute) if outline else None

    @property
    def comment(self) -> Comment:
        """The comment block above the definition."""
        source, place = self.owner_class.source, self.place
        return source.comment_above(place[0]) if source and place else Comment()

    @property
    def description(self) -> str:
        own = text_of(self.options.description)
        return self.comment.text if own is None else own

    @property
    def owner(self) -> Optional[str]:
        """Its own owner, else its class's."""
        return text_of(self.options.owner) or self.comment.owner or self.owner_class.owner

    @property
    def tags(self) -> list[str]:
        """Its own tags, then its class's."""
        return list(dict.fromkeys([*tag_list(self.options.tags), *self.comment.tags, *self.owner_class.tags]))

    @property
    def max_staleness(self) -> Union[str, timedelta, None]:
        """Its own staleness as written, else its class's."""
        own = self.options.max_staleness
        return own if own is not None else self.owner_class.options.max_staleness

    def storing(self, option: str) -> Any:
        """An option that says which fresh values are stored: its own, else its class's."""
        own = getattr(self.options, option)
        return own if own is not None else getattr(self.owner_class.options, option)

    @property
    def expression(self) -> Optional[Expression]:
        """The expression that computes it; None when there is none."""
        return self.computed_by("expression")

    def computed_by(self, option: str) -> Optional[Expression]:
        """The expression of an option, `expression` or `offline_expression`; None when it has none.
        """
        given = getattr(self.options, option)
        return given if isinstance(given, Expression) else None


class WindowField(Field):
    """One window of a windowed feature."""

    def __init__(self, base: Field, seconds: int) -> None:
        super().__init__(base.owner_class, windowed_name(base.attribute, seconds), base.annotation, base.options)
        self.base = base
        self.seconds = seconds
        self.name = windowed_name(base.name, seconds)
        self.windows = ()

    def values(self) -> list[Field]:
        return [self]

    def _read(self) -> FieldType:
        return self.base.type._replace(windowed=False)

    @property
    def node(self) -> Optional[ast.AnnAssign]:
        return self.base.node

    @property
    def place(self) -> Optional[Place]:
        return self.base.place


class VersionField(Field):
    """One version of a feature. The default one has the feature's own name."""

    def __init__(self, base: Field, number: int) -> None:
        mark = "" if number == base.default_version else f"@{number}"
        super().__init__(base.owner_class, base.attribute + mark, base.annotation, _options_of_version(base.options, number))
        self.base = base
        self.number = number
        self.name = base.name + mark

    def _read(self) -> FieldType:
        return self.base.type

    @property
    def node(self) -> Optional[ast.AnnAssign]:
        return self.base.node

    @property
    def place(self) -> Optional[Place]:
        return self.base.place


def version_count(options: FeatureOptions) -> int:
    """The number of versions that options state; 0 when they state none, or make no sense (118)."""
    if options is NO_OPTIONS:
        return 0
    listed = [number for number in options.versions if is_version(number)] if isinstance(options.versions, Mapping) else []
    if options.version is not None:
        return options.version if is_version(options.version) else 0
    return max(listed, default=0)


def _options_of_version(options: FeatureOptions, number: int) -> FeatureOptions:
    """A feature's options with those that a version has of its own."""
    own = options.versions.get(number) if isinstance(options.versions, Mapping) else None
    shared = dataclasses.replace(options, version=None, default_version=None, versions=None)
    if isinstance(own, Expression):
        return dataclasses.replace(shared, expression=own)
    if not isinstance(own, FeatureOptions):
        return shared
    given = {item.name: getattr(own, item.name) for item in dataclasses.fields(FeatureOptions)}
    return dataclasses.replace(shared, **{name: value for name, value in given.items() if value is not getattr(NO_OPTIONS, name)})


def _lengths(options: FeatureOptions) -> tuple[int, ...]:
    written = options.windows if isinstance(options, WindowedOptions) else ()
    return tuple(dict.fromkeys(seconds for seconds in map(window_seconds, written) if seconds is not None))


def _options_of(value: Any) -> FeatureOptions:
    if isinstance(value, FeatureOptions):
        return value
    if isinstance(value, (Expression, JinjaTemplate)):
        return FeatureOptions(expression=value)
    return NO_OPTIONS if value is MISSING or isinstance(value, RelationOptions) else FeatureOptions(default=value)


def text_of(value: Any) -> Optional[str]:
    """An option's text; None when it is not given or no text (finding 146)."""
    return value if isinstance(value, str) else None


def tag_list(tags: Any) -> list[str]:
    """Tags as a list; one text is one tag."""
    if isinstance(tags, str):
        return [tags]
    if isinstance(tags, (list, tuple, set, frozenset)):
        return [tag for tag in (sorted(tags, key=str) if isinstance(tags, (set, frozenset)) else tags) if isinstance(tag, str)]
    return []
