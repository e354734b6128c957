"""Templates of Jinja, `F.jinja(...)`: texts made of features of the row.

They are rendered in a worker, by the package `jinja2` of the project's environment, in its sandbox and
within bounds of steps and of characters.
"""

from __future__ import annotations

from functools import lru_cache
from types import SimpleNamespace
from typing import Any, NamedTuple, Optional, Sequence

from .._types.annotations import Deferred, Scope, evaluate
from .reference import FeatureReference, field_of, type_of

#: Most characters of a template, and of what it is rendered to.
MAX_TEXT = 100_000
#: Most rounds of loops and calls of macros of one rendering.
MAX_STEPS = 100_000
#: Most features that a template names.
_MOST_FEATURES = 100

Chain = tuple[str, ...]


class TemplateTooLarge(Exception):
    """A rendering that takes too many steps, or gives too long a text."""


class _Program(NamedTuple):
    """A template as jinja2 has compiled it."""

    template: Any
    #: What it reads, such as ("User", "account", "name"), each once.
    chains: tuple[Chain, ...]


class JinjaTemplate:
    """A template, and what it reads."""

    def __init__(self, text: str) -> None:
        if not isinstance(text, str):
            raise TypeError(f"jinja takes the text of a template, not {type(text).__name__}")
        self.text = text

    def __repr__(self) -> str:
        return f"F.jinja({self.text if len(self.text) <= 40 else self.text[:37] + '...'!r})"

    def problem(self) -> Optional[str]:
        """The reason why it cannot be rendered; None when it can."""
        if len(self.text) > MAX_TEXT:
            return f"the template has {len(self.text):,} characters: write up to {MAX_TEXT:,}"
        try:
            import jinja2
        except ImportError:
            return "the package jinja2 is not installed: add 'jinja2' to the project's requirements"
        try:
            chains = _compiled(self.text).chains
        except jinja2.TemplateSyntaxError as error:
            return f"line {error.lineno} of the template: {error.message}"
        except RecursionError:
            return "the template is nested too deeply"
        bare = next((chain[0] for chain in chains if len(chain) < 2), None)
        if bare is not None:
            return f"the template reads '{bare}', which is no feature: write one such as {{{{ User.name }}}}"
        if not chains or len(chains) > _MOST_FEATURES:
            return f"the template reads {len(chains)} features: name 1 to {_MOST_FEATURES}, such as {{{{ User.name }}}}"
        return None

    def parameters(self, scope: Scope, prefix: str = "value") -> dict[str, Deferred]:
        """A parameter for each feature that it reads; none when it has a problem."""
        if self.problem() is not None:
            return {}
        return {f"{prefix}_{at}": Deferred(lambda chain=chain: _annotation(chain, scope)) for at, chain in enumerate(_compiled(self.text).chains)}  # type: ignore[misc]

    def render(self, values: Sequence[Any], scope: Scope) -> str:
        """The text for values of the parameters, in their order. Raises TemplateTooLarge, and what
        jinja2 and the values' own code raise.
        """
        program = _compiled(self.text)
        rows: dict[str, Any] = {}
        for chain, value in zip(program.chains, values):
            _put(rows, chain[: _depth(chain, scope)], value)
        steps = 0

        def step() -> str:
            nonlocal steps
            steps += 1
            if steps > MAX_STEPS:
                raise TemplateTooLarge(f"the template takes more than {MAX_STEPS:,} steps")
            return ""

        size = 0
        parts: list[str] = []
        for part in program.template.generate({**rows, _STEP: step}):
            size += len(part)
            if size > MAX_TEXT:
                raise TemplateTooLarge(f"the template gives more than {MAX_TEXT:,} characters")
            parts.append(part)
        return "".join(parts)


#: The name of the function that counts steps; a template that spells it is refused.
_STEP = "__svc_step__"


@lru_cache(maxsize=1024)
def _compiled(text: str) -> _Program:
    """The template of a text. Raises jinja2's TemplateSyntaxError."""
    from jinja2 import StrictUndefined, Template, meta, nodes
    from jinja2.sandbox import ImmutableSandboxedEnvironment, SecurityError

    class Environment(ImmutableSandboxedEnvironment):
        """The sandbox, without products and powers that grow beyond a text."""

        intercepted_binops = frozenset(("*", "**"))

        def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
            if operator == "**" and isinstance(right, int) and abs(right) > 1_000:
                raise SecurityError("a power of a template has an exponent of at most 1,000")
            for repeated, times in ((left, right), (right, left)):
                if operator == "*" and hasattr(repeated, "__len__") and isinstance(times, int) and len(repeated) * times > MAX_TEXT:
                    raise SecurityError(f"a product of a template has at most {MAX_TEXT:,} items")
            return super().call_binop(context, operator, left, right)

    environment = Environment(undefined=StrictUndefined, keep_trailing_newline=True)
    environment.globals = {name: environment.globals[name] for name in ("range", "namespace", "dict", "joiner", "cycler")}
    tree = environment.parse(text)
    roots = meta.find_undeclared_variables(tree) - environment.globals.keys()
    chains = tuple(dict.fromkeys(_chains(tree, roots, nodes)))
    for looped in (*tree.find_all(nodes.For), *tree.find_all(nodes.Macro)):
        counted = nodes.Output([nodes.Call(nodes.Name(_STEP, "load"), [], [], None, None)])
        looped.body.insert(0, counted.set_lineno(looped.lineno).set_environment(environment))
    code = environment.compile(tree)
    return _Program(Template.from_code(environment, code, dict(environment.globals)), chains)


def _chains(node: Any, roots: Any, nodes: Any) -> list[Chain]:
    """What is read of the names that nothing in the template defines."""
    names: list[str] = []
    at = node
    while isinstance(at, nodes.Getattr):
        names.append(at.attr)
        at = at.node
    if isinstance(at, nodes.Name) and at.name in roots and at.ctx == "load":
        return [(at.name, *reversed(names))]
    return [chain for child in node.iter_child_nodes() for chain in _chains(child, roots, nodes)]


def _annotation(chain: Chain, scope: Scope) -> Any:
    """The feature that a chain begins with, with `| None` where it may be null. Raises
    DefinitionError, NameError and AttributeError.
    """
    reference = evaluate(".".join(chain[: _depth(chain, scope)]), scope)
    nullable = isinstance(reference, FeatureReference) and field_of(reference).type.target is None and field_of(reference).type.nullable
    return Optional[reference] if nullable else reference


def _depth(chain: Chain, scope: Scope) -> int:
    """How many names of a chain lead to a value; those behind are read of the value."""
    for depth in range(2, len(chain)):
        reference = evaluate(".".join(chain[:depth]), scope)
        if not isinstance(reference, FeatureReference) or type_of(field_of(reference)).target is None:
            return depth
    return len(chain)


def _put(rows: dict[str, Any], path: Chain, value: Any) -> None:
    first, *between, last = path
    at = rows.setdefault(first, SimpleNamespace())
    for name in between:
        if not hasattr(at, name):
            setattr(at, name, SimpleNamespace())
        at = getattr(at, name)
    setattr(at, last, value)
