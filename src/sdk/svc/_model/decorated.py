"""Functions of a project that a decorator of the SDK was applied to."""

from __future__ import annotations

import inspect
from typing import Any, Callable, Optional

from .._diagnostics.outline import FunctionNode, FunctionOutline
from .._diagnostics.source import Origin, Source, source_of


class DecoratedFunction:
    """A decorated function, and its position in the source."""

    def __init__(self, fn: Callable[..., Any], refusal: str) -> None:
        """Raises TypeError with `refusal` when what was decorated is no function."""
        self.fn = fn
        #: The function itself, without other decorators' wrappers.
        self.inner: Any = inspect.unwrap(fn)
        code = getattr(self.inner, "__code__", None)
        if code is None:
            raise TypeError(refusal)
        self.origin = Origin(code.co_filename, code.co_firstlineno, self.inner.__name__)
        self.parameters = inspect.signature(fn).parameters

    @property
    def is_async(self) -> bool:
        return inspect.iscoroutinefunction(self.fn)

    @property
    def source(self) -> Optional[Source]:
        return source_of(self.origin.filename)

    @property
    def outline(self) -> Optional[FunctionOutline]:
        """The function as its text defines it, when its source can be read."""
        source = self.source
        return source.function_outline(self.origin) if source else None

    @property
    def node(self) -> Optional[FunctionNode]:
        """The function's definition, when its source can be read."""
        source = self.source
        return source.function_at(self.origin) if source else None
