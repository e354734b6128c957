"""One feature of a class: what its annotation, its options and the comment above it say."""

from __future__ import annotations

import ast
import copy
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Callable, Optional, Union

from ._annotations import read_annotation
from ._dtypes import DataType, value_type
from ._findings import CircularReference, DefinitionError
from ._source import Comment

if TYPE_CHECKING:
    from ._feature_class import FeatureClass
    from ._reference import FeatureReference

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
    """What `feature(...)` was given."""

    max_staleness: Union[str, timedelta, None] = None
    default: Any = MISSING
    owner: Optional[str] = None
    tags: Optional[Tags] = None
    description: Optional[str] = None
    primary: bool = False
    name: Optional[str] = None


@dataclass(frozen=True)
class HasOneOptions:
    """What `has_one(...)` was given."""

    join: Callable[[], Any]


@dataclass(frozen=True)
class FieldType:
    """A field's annotation, understood. A relation has a `target`; a value has the rest."""

    nullable: bool
    target: Optional[FeatureClass] = None
    dtype: DataType = None  # type: ignore[assignment]
    python_type: Any = None
    references: Optional[FeatureReference] = None
    marked_primary: bool = False
    marked_time: bool = False


class Field:
    """A feature as its class defines it."""

    def __init__(self, owner: FeatureClass, attribute: str, annotation: Any, value: Any) -> None:
        self.owner_class = owner
        self.attribute = attribute
        self.annotation = annotation
        self.has_one = value if isinstance(value, HasOneOptions) else None
        self.options = value if isinstance(value, FeatureOptions) else FeatureOptions(default=MISSING if self.has_one else value)
        self.name = text_of(self.options.name) or attribute
        self._type: Optional[FieldType] = None
        self._resolving = False

    @property
    def fqn(self) -> str:
        return f"{self.owner_class.namespace}.{self.name}"

    @property
    def type(self) -> FieldType:
        """The annotation, understood. Raises DefinitionError when it makes no sense, or not yet (a class further down)."""
        if self._type is None:
            if self._resolving:
                text = f"the type of '{self.fqn}' refers back to itself: write the type of the values in one place"
                raise CircularReference(114, text, "refers to itself")
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
        if isinstance(core, type) and "__svc_features__" in core.__dict__:
            return FieldType(reading.nullable, target=core.__svc_features__)  # type: ignore[attr-defined]
        value = value_type(core, scope)
        return FieldType(
            reading.nullable,
            None,
            value.dtype,
            value.python_type,
            value.references,
            reading.primary or self.options.primary is True,
            reading.feature_time,
        )

    @property
    def default(self) -> Any:
        """A fresh copy of the default; MISSING when there is none."""
        value = self.options.default
        if value is MISSING:
            return MISSING
        try:
            dtype = self.type.dtype
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
    def comment(self) -> Comment:
        """The comment block above the definition."""
        source, node = self.owner_class.source, self.node
        return source.comment_above(node.lineno) if source and node else Comment()

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
