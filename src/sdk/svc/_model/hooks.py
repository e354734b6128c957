"""Hooks: functions that a worker process runs before its first resolver call and after its last."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, NoReturn, Optional, Sequence, TypeVar, Union, overload

from .._surface.unknown_options import Others, kept
from .decorated import DecoratedFunction
from .registry import registry

F = TypeVar("F", bound=Callable[..., Any])

BEFORE = "before_all"
AFTER = "after_all"


@dataclass(frozen=True)
class HookOptions:
    """The options of a hook's decorator."""

    environment: Union[str, Sequence[str], None] = None
    venv: Union[str, Sequence[str], None] = None
    others: Others = ()


class HookDefinition(DecoratedFunction):
    """A hook."""

    def __init__(self, fn: Callable[..., Any], kind: str, options: HookOptions) -> None:
        super().__init__(fn, f"@{kind} stands above a function")
        #: `before_all` or `after_all`.
        self.kind = kind
        self.options = options
        self.name = f"{self.inner.__module__}.{self.inner.__name__}"

    def runs_in(self, environment: str, venv: str) -> bool:
        """Whether it runs in an environment of that name, in the workers of a venv; empty = those of
        the environment's own requirements.
        """
        wanted, venvs = self.options.environment, self.venvs
        return (wanted is None or environment in _listed(wanted)) and (not venvs or venv in venvs)

    @property
    def venvs(self) -> list[str]:
        """The venvs that it is limited to; empty = none."""
        return _listed(self.options.venv)


def _listed(names: Union[str, Sequence[str], None]) -> list[str]:
    return [names] if isinstance(names, str) else list(names or ())


def _hook(kind: str, fn: Optional[F], environment: Any, venv: Any, others: dict[str, Any]) -> Any:
    options = HookOptions(environment, venv, kept(kind, others))

    def decorate(decorated: F) -> F:
        registry.add_hook(HookDefinition(decorated, kind, options))
        return decorated

    return decorate if fn is None else decorate(fn)


@overload
def before_all(fn: F, /) -> F: ...


@overload
def before_all(
    *, environment: Union[str, Sequence[str], None] = None, venv: Union[str, Sequence[str], None] = None
) -> Callable[[F], F]: ...


def before_all(
    fn: Optional[F] = None,
    /,
    *,
    environment: Union[str, Sequence[str], None] = None,
    venv: Union[str, Sequence[str], None] = None,
    **others: NoReturn,
) -> Any:
    """Makes a function without parameters one that every worker process runs once, before its first
    resolver call:

        @before_all
        def connect() -> None:
            global model
            model = load_model()

    environment: the environments that it runs in; default: all.
    venv: the names under `venvs` of svc.yaml whose workers run it; default: all workers that import
        its module.

    Hooks run in the order of definition. One that raises fails the deployment.
    """
    return _hook(BEFORE, fn, environment, venv, others)


@overload
def after_all(fn: F, /) -> F: ...


@overload
def after_all(
    *, environment: Union[str, Sequence[str], None] = None, venv: Union[str, Sequence[str], None] = None
) -> Callable[[F], F]: ...


def after_all(
    fn: Optional[F] = None,
    /,
    *,
    environment: Union[str, Sequence[str], None] = None,
    venv: Union[str, Sequence[str], None] = None,
    **others: NoReturn,
) -> Any:
    """Makes a function without parameters one that every worker process runs once, after its last
    resolver call.

    environment: the environments that it runs in; default: all.
    venv: the names under `venvs` of svc.yaml whose workers run it; default: all workers that import
        its module.

    Hooks run in the reverse order of definition, for as long as the server waits for workers that
    it lets go: half a minute at a deployment. What one raises is logged. A process that is killed
    runs none.
    """
    return _hook(AFTER, fn, environment, venv, others)
