"""What a translation asks about the names of a module. Questions and answers are plain values, so
that a translation can be kept between processes with those that it follows from.
"""

from __future__ import annotations

import ast
import types
from typing import Any, Callable, Mapping, Optional

from .._diagnostics.source import source_of
from .._model.feature_class import _init
from .bindings import ProjectCode, file_of
from .translate_expression import Expressions, Untranslatable, literal

#: The name of a question, and what it is about.
Question = tuple[str, ...]
#: The questions that something follows from, in the order in which they were asked, and the
#: answers.
Asked = dict[Question, Any]

#: Constants of which one names the next, at most: so many are followed in every process alike.
_DEEPEST = 20
_UNKNOWN = object()


class Meanings:
    """The meanings of names in a module, for a function that produces features of a class.

    A constant is answered as the members of a `Node`; with a text that says why it is none.
    """

    def __init__(self, code: ProjectCode, module: types.ModuleType, output_class: Optional[type] = None) -> None:
        self.code = code
        self.module = module
        self.output_class = output_class

    def answer(self, question: Question) -> Any:
        """The answer to a question. Raises RecursionError when constants name each other for too
        long.
        """
        kind, about = question[0], question[1:]
        if kind in _ABOUT_OUTPUT:
            return _ABOUT_OUTPUT[kind](self, *about)
        known = self.code.answers.setdefault(self.module.__name__, {})
        found = known.get(question, _UNKNOWN)
        if found is _UNKNOWN:
            found = known[question] = _ABOUT_MODULE[kind](self, *about)
        return found

    def agree(self, kept: tuple[Any, ...]) -> bool:
        """Whether all answers that something kept follows from, its first member, are the same."""
        asked: Asked = kept[0]
        return all(self.answer(question) == answer for question, answer in asked.items())

    def _builtin(self, name: str) -> str:
        """Why a name may be something else than Python's builtin; empty when it cannot."""
        if self.code.builtin(self.module, name) is not None:
            return ""
        return self.code.obstacle(name) or "the module gives it a meaning of its own"

    def _math(self, holder: str, name: str) -> str:
        """The name in `math` that `holder.name`, or `name`, means; empty when it may be another."""
        return self.code.math_name(self.module, holder, name)

    def _is_module(self, name: str) -> bool:
        """Whether a name always means one module."""
        return isinstance(vars(self.module).get(name), types.ModuleType) and self.code.only_binding(self.module, name) is not None

    def _constant(self, holder: str, name: str) -> Any:
        """The constant `holder.name`, or `name`: a name that is bound once, to an expression whose
        value is always the same.
        """
        module = vars(self.module)[holder] if holder else self.module
        found = self.code.constant(module, name)
        if found is None:
            reason = self.code.obstacle(name) or "not a constant given once at the top of a module"
        else:
            reason = _why_not_constant(self.code, *found)
        if reason:
            return f"it reads '{name}', which may change: {reason}"
        return _literal(vars(module)[name])

    def _members(self, name: str) -> Optional[tuple[Any, ...]]:
        """The constants of a tuple that a name always means; None for anything else."""
        found = self.code.constant(self.module, name)
        if found is None:
            return None
        module, statement = found
        source = source_of(file_of(module))
        if source is None:
            return None
        kept: tuple[Optional[tuple[Any, ...]]] = source.derive(
            ("members", statement), lambda _: True, lambda: (_members_of(_value(module, statement)),)
        )
        return kept[0]

    def _makes_output(self, name: str) -> bool:
        """Whether a name always means the class whose features the function produces."""
        if vars(self.module).get(name) is not self.output_class:
            return False
        binding = self.code.only_binding(self.module, name)
        return binding is not None and binding.kind in ("class", "from")

    def _plain_output(self) -> bool:
        """Whether instances of that class hold just the values that they are made with."""
        made: Any = self.output_class
        own = {"__new__", "__getattribute__", "__setattr__", "__slots__", "__del__"}
        is_plain = type(made) is type and made.__init__ is _init
        return is_plain and not any(own & vars(base).keys() for base in made.__mro__[:-1]) and not self.code.obstacle("__init__")


_ABOUT_OUTPUT: Mapping[str, Callable[..., Any]] = {"makes output": Meanings._makes_output, "plain output": Meanings._plain_output}
_ABOUT_MODULE: Mapping[str, Callable[..., Any]] = {
    "builtin": Meanings._builtin,
    "math": Meanings._math,
    "is module": Meanings._is_module,
    "constant": Meanings._constant,
    "members": Meanings._members,
}


class Asking:
    """Asks for one translation, and remembers what it asked."""

    def __init__(self, meanings: Meanings) -> None:
        self._meanings = meanings
        self.asked: Asked = {}

    def __call__(self, *question: str) -> Any:
        answer = self.asked[question] = self._meanings.answer(question)
        return answer


def _members_of(value: Optional[ast.expr]) -> Optional[tuple[Any, ...]]:
    if not isinstance(value, ast.Tuple) or not all(isinstance(item, ast.Constant) for item in value.elts):
        return None
    return tuple(_literal(item.value) for item in value.elts if isinstance(item, ast.Constant))


def _literal(value: object) -> Any:
    try:
        return tuple(literal(value))
    except Untranslatable as error:
        return str(error)


def _value(module: types.ModuleType, statement: int) -> Optional[ast.expr]:
    """What a statement at the top of a module gives a name as value."""
    source = source_of(file_of(module))
    node = source.tree.body[statement] if source else None
    return node.value if isinstance(node, (ast.Assign, ast.AnnAssign)) else None


def _why_not_constant(code: ProjectCode, module: types.ModuleType, statement: int) -> str:
    """Why the value of a statement at the top of a module may be another each time; empty when it
    cannot.
    """
    source = source_of(file_of(module))
    if source is None:
        return "its source cannot be read"
    meanings = Meanings(code, module)

    def compute() -> tuple[Asked, str]:
        asking, value = Asking(meanings), _value(module, statement)
        try:
            if value is not None:
                Expressions(asking, set()).translate(value, {})
        except Untranslatable as error:
            return asking.asked, str(error)
        return asking.asked, ""

    if code.depth >= _DEEPEST:
        raise RecursionError("constants name each other for too long")
    code.depth += 1
    try:
        reason: str = source.derive(("constant", statement), meanings.agree, compute)[1]
    finally:
        code.depth -= 1
    return reason
