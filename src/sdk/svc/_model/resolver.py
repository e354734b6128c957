"""Resolvers: the options and the definition, and the specification for the worker."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Callable, NamedTuple, Optional, Sequence, Union

from .._frames.conditions import Condition
from .._frames.spec import RowsSpec, TableSpec
from .._loading import is_rewritten
from .._surface.unknown_options import Others
from .._types.annotations import Scope, scope_of_frame
from .._types.data_type import DataType
from .cron import Cron
from .decorated import DecoratedFunction
from .field import MISSING, Tags
from .validation import Check
from .windows import format_window, split_windowed_name, window_seconds

ONLINE = "RESOLVER_KIND_ONLINE"
OFFLINE = "RESOLVER_KIND_OFFLINE"


@dataclass(frozen=True)
class ResolverOptions:
    """The options of a resolver's decorator."""

    tags: Optional[Tags] = None
    environment: Union[str, Sequence[str], None] = None
    timeout: Union[str, timedelta, None] = None
    cron: Union[str, timedelta, Cron, None] = None
    owner: Optional[str] = None
    name: Optional[str] = None
    total: Optional[bool] = None
    translate: Optional[bool] = None
    when: Any = None
    resource_hint: Optional[str] = None
    venv: Optional[str] = None
    unique_on: Any = None
    partitioned_by: Any = None
    max_staleness: Union[str, timedelta, None] = None
    others: Others = ()


@dataclass(frozen=True)
class InputSpec:
    """A parameter of a resolver: a feature, the query's time (`is_now`), rows of a has-many
    relation (`rows`), or a table of features (`table`).
    """

    name: str
    is_now: bool
    #: Path from the root class, for example "flight.origin.latitude"; empty for the query's time.
    path: str = ""
    #: The type to decode a value to.
    python_type: Any = None
    dtype: Optional[DataType] = None
    #: Whether None may be passed.
    optional: bool = False
    #: Passed instead of None; None when the parameter has no default.
    default: Any = None
    #: The parameter that takes all windows of a feature in a dict, and the key of this window in
    #: it; empty for any other.
    windows_of: str = ""
    window: str = ""
    rows: Optional[RowsSpec] = None
    table: Optional[TableSpec] = None

    @property
    def parameter(self) -> str:
        """The name of the function's parameter."""
        return self.windows_of or self.name

    @property
    def is_frame(self) -> bool:
        """Whether a DataFrame is passed."""
        return self.rows is not None or self.table is not None


class OutputSpec(NamedTuple):
    """A feature that a resolver produces."""

    fqn: str
    #: Name of the attribute on an instance of the class.
    attribute: str
    #: The type to encode a value by.
    python_type: Any
    dtype: DataType
    nullable: bool
    #: The window's seconds, for one window of a feature.
    window: Optional[int] = None
    #: The functions that are asked about its values.
    checks: tuple[Check, ...] = ()


@dataclass(frozen=True)
class ResolverSpec:
    """A resolver, ready to be called."""

    fqn: str
    #: Takes one value per input by position. What an `async def` gives back is awaitable.
    fn: Callable[..., Any]
    kind: str
    inputs: tuple[InputSpec, ...]
    outputs: tuple[OutputSpec, ...]
    is_async: bool
    #: Whether the function returns an instance or a tuple instead of the one value.
    returns_several: bool
    #: The class whose features it produces.
    output_class: type
    #: Longest run of one call in seconds; None = the engine's default.
    timeout: Optional[float]
    definition: ResolverDefinition
    #: `ROWS` for a DataFrame of its class, `RELATION` for the rows of a has-many relation; empty
    #: for values of the requested row.
    shape: str = ""
    #: The has-many relation that it fills, for example "user.txns".
    relation: str = ""
    #: What must be true of a row for it to be computed; None = nothing.
    when: Optional[Condition] = None
    #: FQNs of outputs of which no two rows of one result have the same values.
    unique_on: tuple[str, ...] = ()
    #: FQNs of columns of its table: rows with the same values of them are in one call.
    partitioned_by: tuple[str, ...] = ()

    @property
    def is_threaded(self) -> bool:
        """Whether its calls run beside each other on threads."""
        return self.definition.options.resource_hint == "io" and not self.is_async

    @property
    def takes_table(self) -> bool:
        """Whether it runs once for the whole batch."""
        return any(item.table is not None for item in self.inputs)

    @property
    def has_frames(self) -> bool:
        """Whether it takes or returns DataFrames."""
        return bool(self.shape) or any(item.is_frame for item in self.inputs)

    def unpack(self, result: Any) -> tuple[Any, ...]:
        """One value per output from the function's result. Raises TypeError when the result is not
        what the function declares.
        """
        if isinstance(result, self.output_class):
            return self._unpack_instance(result)
        if not self.returns_several:
            return (result,)
        if result is None:
            return (None,) * len(self.outputs)
        if isinstance(result, dict) and len({split_windowed_name(item.attribute)[0] for item in self.outputs}) == 1:
            return self._unpack_windows(result)
        if isinstance(result, tuple):
            if len(result) != len(self.outputs):
                raise TypeError(f"{self.fqn} returned {len(result)} values for {len(self.outputs)} features")
            return result
        name = self.output_class.__name__
        if all(item.window is not None for item in self.outputs):
            windows = ", ".join(f'"{format_window(item.window)}": ...' for item in self.outputs[:3] if item.window is not None)
            raise TypeError(f"{self.fqn} returned {type(result).__name__} for the windows of a feature: return {{{windows}}}")
        raise TypeError(
            f"{self.fqn} returned {type(result).__name__} for {len(self.outputs)} features: "
            f"return {name}({', '.join(f'{item.attribute}=...' for item in self.outputs[:3])}) or a tuple"
        )

    def _unpack_windows(self, values: dict[Any, Any]) -> tuple[Any, ...]:
        """The values of a windowed feature, given as `{"10m": 3}`."""
        found = {window_seconds(window): value for window, value in values.items()}
        windows = [item.window for item in self.outputs]
        for seconds, window in zip(found, values):
            if seconds is None or seconds not in windows:
                listed = ", ".join(format_window(known) for known in windows if known is not None)
                raise TypeError(f"{self.fqn} returned a value for {window!r}, which is not among its windows: {listed}")
        return tuple(found.get(window) for window in windows)

    def _unpack_instance(self, instance: Any) -> tuple[Any, ...]:
        values = vars(instance)
        declared = {item.attribute for item in self.outputs}
        keys = {field.attribute for field in type(instance).__svc_features__.primary_keys}
        for attribute in values:
            if attribute not in declared and attribute not in keys:
                raise TypeError(f"{self.fqn} set '{attribute}', which is not among its outputs: add it to Features[...]")
        return tuple(values.get(item.attribute) for item in self.outputs)


class ResolverDefinition(DecoratedFunction):
    """A resolver."""

    def __init__(self, fn: Callable[..., Any], kind: str, options: ResolverOptions, frame: Any) -> None:
        super().__init__(fn, "@online and @offline stand above a function")
        inner = self.inner
        self.kind = kind
        self.options = options
        self.module: str = inner.__module__
        self.name: str = options.name if isinstance(options.name, str) else inner.__name__
        self.function_name: str = inner.__name__
        self.scope = Scope(self.module, self.origin.filename, inner.__globals__, scope_of_frame(frame).locals)
        #: Whether the operators in the brackets of its annotations were made visible.
        self.is_rewritten = is_rewritten(frame.f_code)
        self.returns = getattr(inner, "__annotations__", {}).get("return", MISSING)

    @property
    def fqn(self) -> str:
        return f"{self.module}.{self.name}"

    @property
    def description(self) -> str:
        """The docstring, else the comment block above."""
        fn = inspect.unwrap(self.fn)
        # Only a method inherits a docstring, and looking for one takes longer than all the rest.
        text = inspect.getdoc(fn) if fn.__doc__ or "." in getattr(fn, "__qualname__", ".") else None
        if text:
            return text
        source = self.source
        return source.comment_above(self.origin.line).text if source else ""
