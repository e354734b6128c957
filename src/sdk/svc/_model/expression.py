"""Expressions such as `_.total - _.tax` in a feature class.

An expression is a tree that the server computes by columns. Its paths are resolved to features
later, against the class that contains it (`_analysis.expression_reader`).
"""

from __future__ import annotations

from typing import Any, Optional

from .operand import LITERALS, METHODS, Call, Computed, Expression, Literal, Operand, as_operand, call, cast_call, is_in, shown

__all__ = [
    "AGGREGATION_ARGUMENTS",
    "LITERALS",
    "NOW",
    "WINDOW_START",
    "Aggregate",
    "Bracketed",
    "Call",
    "Expression",
    "Literal",
    "Operand",
    "Path",
    "Special",
    "as_operand",
    "call",
    "cast_call",
    "is_in",
    "underscore",
]


class Special(Computed):
    """`_.svc_now`, the time of the query, or `_.svc_window`, the start of the window that is
    computed.
    """

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"_.{self.name}"


NOW = Special("svc_now")
WINDOW_START = Special("svc_window")
_SPECIALS = {special.name: special for special in (NOW, WINDOW_START)}


class Path(Expression):
    """A path: `_`, `_.account.name`, or one that follows brackets: `_.txns[...].amount`."""

    __slots__ = ("_svc_base", "_svc_names")

    def __init__(self, names: tuple[str, ...] = (), base: Optional[Bracketed] = None) -> None:
        self._svc_names = names
        self._svc_base = base

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"{self!r} has no attribute '{name}'", name=name, obj=self)
        if not self._svc_names and self._svc_base is None and name in _SPECIALS:
            return _SPECIALS[name]
        return Path((*self._svc_names, name), self._svc_base)

    def __matmul__(self, number: Any) -> Path:
        """One version of a feature: `_.code @ 2`."""
        if not self._svc_names:
            raise TypeError("_ stands for a row, which has no versions")
        return Path((*self._svc_names[:-1], f"{self._svc_names[-1].partition('@')[0]}@{number}"), self._svc_base)

    def __getitem__(self, items: Any) -> Bracketed:
        return Bracketed(self, items if isinstance(items, tuple) else (items,))

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        if not self._svc_names:
            raise TypeError("_ stands for a row and cannot be called")
        *before, method = self._svc_names
        return _method(Path(tuple(before), self._svc_base), method, arguments, options)

    def __repr__(self) -> str:
        return ".".join((repr(self._svc_base) if self._svc_base is not None else "_", *self._svc_names))


class Bracketed(Expression):
    """`_.txns[_.amount, _.amount > 10]`, or one window: `_.spend["1d"]`."""

    __slots__ = ("_svc_path", "_svc_items")

    def __init__(self, path: Path, items: tuple[Any, ...]) -> None:
        self._svc_path = path
        self._svc_items = items

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"{self!r} has no attribute '{name}'", name=name, obj=self)
        return Path((name,), self)

    def __getitem__(self, items: Any) -> Bracketed:
        return Bracketed(self._svc_path, (*self._svc_items, *(items if isinstance(items, tuple) else (items,))))

    def __repr__(self) -> str:
        return f"{self._svc_path!r}[{', '.join(map(shown, self._svc_items))}]"


class Aggregate(Computed):
    """A method call such as `_.txns[...].sum()` on what may be a has-many relation."""

    __slots__ = ("receiver", "method", "arguments")

    def __init__(self, receiver: Path, method: str, arguments: tuple[Any, ...]) -> None:
        self.receiver = receiver
        self.method = method
        self.arguments = arguments

    def __repr__(self) -> str:
        return f"{self.receiver!r}.{self.method}({', '.join(map(shown, self.arguments))})"


#: Names of the arguments of aggregations, in the order of the function table.
AGGREGATION_ARGUMENTS: dict[str, tuple[str, ...]] = {
    "approx_percentile": ("quantile",),
    "approx_top_k": ("k",),
    "min_by": ("key",),
    "max_by": ("key",),
    "min_by_n": ("key", "n"),
    "max_by_n": ("key", "n"),
}


def _by_position(shown_call: str, method: str, arguments: tuple[Any, ...], options: dict[str, Any]) -> tuple[Any, ...]:
    """The arguments of a method in their order, those that are given by name too."""
    names = AGGREGATION_ARGUMENTS.get(method)
    if names is None:
        raise TypeError(f"{shown_call} takes its arguments by position")
    rest = names[len(arguments) :]
    unknown = next((name for name in options if name not in rest), None)
    if unknown is not None:
        raise TypeError(f"{shown_call} takes {' and '.join(names)}, and '{unknown}' is none of them, or is given twice")
    missing = next((name for name in rest[: len(options)] if name not in options), None)
    if missing is not None:
        raise TypeError(f"{shown_call} is not given its {missing}")
    return (*arguments, *(options[name] for name in rest[: len(options)]))


def _method(receiver: Path, method: str, arguments: tuple[Any, ...], options: dict[str, Any]) -> Any:
    if options:
        arguments = _by_position(f"{receiver!r}.{method}()", method, arguments, options)
    inner = receiver if receiver._svc_names or receiver._svc_base is None else receiver._svc_base
    if method in METHODS and len(arguments) == 1:
        return METHODS[method](inner, arguments[0])
    return Aggregate(receiver, method, arguments)


#: The row of the class that is being defined; in the brackets of a has-many relation the row of the
#: other class.
underscore: Any = Path()
