"""Resolvers that a feature's options define, without a function of the project."""

from __future__ import annotations

import hashlib
import inspect
from typing import Any, Callable, Mapping, Optional

from .._diagnostics.outline import FunctionOutline
from .._diagnostics.source import Origin
from .._types.annotations import Deferred
from .field import Field
from .resolver import ONLINE, ResolverDefinition, ResolverOptions


class FieldResolver(ResolverDefinition):
    """The resolver of a feature by its own options."""

    def __init__(self, field: Field, fn: Callable[..., Any], options: ResolverOptions, parameters: Mapping[str, Any]) -> None:
        """`parameters` are their annotations by name."""
        self.field = field
        owner = field.owner_class
        self.fn = self.inner = fn
        self.kind = ONLINE
        self.options = options
        self.module = owner.cls.__module__
        self.function_name = field.attribute
        self.name = f"{owner.cls.__name__}.{field.attribute}"
        self.scope = owner.scope
        self.origin = Origin(owner.origin.filename, owner.origin.line, self.name)
        self.parameters = {  # type: ignore[assignment]
            name: inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=annotation)
            for name, annotation in parameters.items()
        }
        self.returns = Deferred(lambda: owner.reference(field.attribute))

    #: What computes it, in words.
    what = ""

    @property
    def outline(self) -> Optional[FunctionOutline]:
        """The feature's line as that of a function."""
        place = self.field.place
        if place is None:
            return None
        return FunctionOutline(0, place[0], place[0], place, self.sha256, tuple(self.parameters), ())

    @property
    def sha256(self) -> str:
        """SHA-256, in hex, of the feature's text as it is written, or of its name without one."""
        source, node = self.source, self.field.node
        lines = source.lines[node.lineno - 1 : node.end_lineno] if source and node else [self.fqn]
        return hashlib.sha256("\n".join(lines).encode("utf-8")).hexdigest()

    @property
    def node(self) -> None:
        """None: it has no function."""
        return None
