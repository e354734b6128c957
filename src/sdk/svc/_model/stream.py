"""Resolvers of streams: the options and definitions, and the specification for the worker."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Callable, Mapping, Optional, Sequence, Union

from .._diagnostics.source import Origin
from .._surface.unknown_options import Others
from .._types.annotations import Scope, scope_of_frame
from .field import Tags
from .resolver import ResolverDefinition, ResolverOptions, ResolverSpec

STREAM = "STREAM"
#: The source of a stream that was written as `@stream`, without parentheses.
BARE: Any = object()


@dataclass(frozen=True)
class StreamOptions(ResolverOptions):
    """The options of `stream(...)` and `make_stream_resolver(...)`."""

    source: Any = None
    parse: Any = None
    lateness: Union[str, timedelta, None] = None


class TableName:
    """The table of a stream's messages, as a statement names it: what the function is called with
    for its text.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def __str__(self) -> str:
        return f'"{self.name}"'

    def __format__(self, spec: str) -> str:
        if spec:
            raise TypeError(f"{{{self.name}:{spec}}} has a format: a table has a name alone")
        return str(self)

    def __getattr__(self, attribute: str) -> Any:
        raise AttributeError(f"{self.name} has no {attribute!r}: it is the name of a table here")


@dataclass(frozen=True)
class Statement:
    """The statement of a stream."""

    text: str
    #: The parameter: the name of its table.
    table: str
    #: The expression whose value it is, when the source can be read.
    node: Optional[ast.expr]


@dataclass(frozen=True)
class StreamSpec(ResolverSpec):
    """A resolver of a stream, ready to be called with one message."""

    #: The type of a message, resolved.
    message_type: Any = None
    #: Makes the message of its bytes, or returns None to leave it out; None = its type says how.
    parse: Optional[Callable[[bytes], Any]] = None
    #: Whether it takes the messages that came together as a DataFrame, and returns rows.
    batches: bool = False
    #: The statement over the messages that came together; None = the function computes the rows.
    statement: Optional[Statement] = None


class StreamDefinition(ResolverDefinition):
    """A function of one message, or of those that came together."""

    options: StreamOptions

    def __init__(self, fn: Callable[..., Any], options: StreamOptions, frame: Any) -> None:
        super().__init__(fn, STREAM, options, frame)


class StreamCall:
    """A call of `make_stream_resolver`: outputs as expressions of a message's fields."""

    def __init__(
        self,
        options: StreamOptions,
        message_type: Any,
        output_features: Mapping[Any, Any],
        description: Optional[str],
        frame: Any,
    ) -> None:
        self.options = options
        self.others: Others = options.others
        self.message_type = message_type
        self.output_features = output_features
        self.description = description
        self.scope: Scope = scope_of_frame(frame)
        self.module: str = self.scope.module
        self.name: Any = options.name
        self.origin = Origin(frame.f_code.co_filename, frame.f_lineno, "make_stream_resolver")

    @property
    def fqn(self) -> str:
        return f"{self.module}.{self.name}"

    def __repr__(self) -> str:
        return f"make_stream_resolver(name={self.name!r})"


def environments_of(options: ResolverOptions) -> Sequence[str]:
    """The environments that a definition exists in; empty = all."""
    return [options.environment] if isinstance(options.environment, str) else list(options.environment or ())
