"""The outline of a Python file: what its text says of its definitions and names, without the
syntax.

An outline is a function of the text alone and made of plain values, so that `marshal` can keep it
between processes (`source.py`). Places are (line, column, end line, end column) as in `Span`.
"""

from __future__ import annotations

import ast
import hashlib
from typing import TYPE_CHECKING, Any, Iterable, Iterator, Mapping, NamedTuple, Optional, Union

if TYPE_CHECKING:
    from .source import Source

Place = tuple[int, int, int, int]
FunctionNode = Union[ast.FunctionDef, ast.AsyncFunctionDef]

#: Names whose use can change other modules or builtins in ways that the code does not show.
_HIDDEN_NAMES = {"exec", "eval", "globals", "locals", "vars", "builtins", "__builtins__", "__import__"}
_HIDDEN_ATTRIBUTES = {"__dict__", "__globals__", "__code__", "__builtins__", "__setattr__", "__delattr__"}
_SETTERS = {"setattr", "delattr"}


class ClassOutline(NamedTuple):
    """A class as its text defines it."""

    #: Its number among the classes of the file.
    index: int
    #: The line on which it begins, decorators included, and that of `class`.
    first_line: int
    line: int
    #: The place of its name.
    name_at: Place
    #: The place of the name of each annotated attribute; the last one of a name counts.
    fields: Mapping[str, Place]


class FunctionOutline(NamedTuple):
    """A function as its text defines it."""

    #: Its number among the functions of the file.
    index: int
    #: The line on which it begins, decorators included, and that of `def`.
    first_line: int
    line: int
    #: The place of its name.
    name_at: Place
    #: SHA-256, in hex, of its lines.
    text_sha256: str
    #: Names of its parameters, `*` and `**` aside.
    parameters: tuple[str, ...]
    #: Its decorators: the line of each, and what it is called, `("svc", "online")`; None for
    #: anything but names with dots between them.
    decorators: tuple[tuple[int, Optional[tuple[str, ...]]], ...]


class Binding(NamedTuple):
    """One of the places in a file that bind a name of its module."""

    #: `class`, `import`, `from`, `value` for a name that is assigned alone, and `other`.
    kind: str
    #: The number of the statement among those at the top of the file; -1 for any other.
    statement: int
    #: Of `from`: the module as written, the level of a relative import, and the names there that
    #: are bound to this one.
    module: str = ""
    level: int = 0
    names: tuple[str, ...] = ()


class Outline:
    """The outline of a file, from the plain values that `outline_of` gives."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values = values
        self.classes: dict[str, list[ClassOutline]] = {
            name: [ClassOutline(*item) for item in found] for name, found in values["classes"].items()
        }
        self.functions: dict[str, list[FunctionOutline]] = {
            name: [FunctionOutline(*item) for item in found] for name, found in values["functions"].items()
        }
        #: What binds each name of the module; `*` is what an import of all names binds.
        self.bindings: dict[str, list[Binding]] = {
            name: [Binding(*item) for item in found] for name, found in values["bindings"].items()
        }
        #: Comments that are all of a line, from the `#` on, by line.
        self.comments: Mapping[int, str] = values["comments"]
        #: Attributes that the code assigns, of whatever objects.
        self.assigned: tuple[str, ...] = values["assigned"]
        #: The first name whose use can change any binding; empty when there is none.
        self.rebinding: str = values["rebinding"]
        #: Names imported under ``if TYPE_CHECKING:``: name -> (module, level of a relative import,
        #: name in the module or None).
        self.type_imports: Mapping[str, tuple[str, int, Optional[str]]] = values["type_imports"]


def outline_of(source: Source) -> dict[str, Any]:
    """The outline of a file as plain values."""
    classes: dict[str, list[tuple[Any, ...]]] = {}
    for index, item in enumerate(source.nodes(ast.ClassDef)):
        fields = {
            statement.target.id: tuple(source.span(statement.target)[1:])
            for statement in item.body
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name)
        }
        outline = (index, first_line(item), item.lineno, tuple(source.span_of_name(item)[1:]), fields)
        classes.setdefault(item.name, []).append(outline)
    functions: dict[str, list[tuple[Any, ...]]] = {}
    for index, node in enumerate(source.functions()):
        functions.setdefault(node.name, []).append(_function(source, index, node))
    return {
        "classes": classes,
        "functions": functions,
        "bindings": _bindings(source),
        "comments": source.comment_lines(),
        "assigned": _assigned(source),
        "rebinding": _rebinding_name(source),
        "type_imports": _type_imports(source),
    }


def _function(source: Source, index: int, node: FunctionNode) -> tuple[Any, ...]:
    arguments = node.args
    names = [item.arg for item in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    text = "\n".join(source.lines[first_line(node) - 1 : node.end_lineno])
    return (
        index,
        first_line(node),
        node.lineno,
        tuple(source.span_of_name(node)[1:]),
        hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest(),
        tuple(names),
        tuple((item.lineno, _dotted(item.func if isinstance(item, ast.Call) else item)) for item in node.decorator_list),
    )


def _dotted(node: ast.expr) -> Optional[tuple[str, ...]]:
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.insert(0, node.attr)
        node = node.value
    return (node.id, *names) if isinstance(node, ast.Name) else None


def first_line(node: Union[ast.ClassDef, FunctionNode]) -> int:
    """The line on which a definition begins, decorators included."""
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])


def _type_imports(source: Source) -> dict[str, tuple[str, int, Optional[str]]]:
    names: dict[str, tuple[str, int, Optional[str]]] = {}
    for node in source.nodes(ast.If):
        if not _is_type_checking(node.test):
            continue
        for statement in node.body:
            if isinstance(statement, ast.ImportFrom):
                for alias in statement.names:
                    names[alias.asname or alias.name] = (statement.module or "", statement.level, alias.name)
            elif isinstance(statement, ast.Import):
                for alias in statement.names:
                    target = alias.name if alias.asname else alias.name.partition(".")[0]
                    names[alias.asname or target] = (target, 0, None)
    return names


def _is_type_checking(test: ast.expr) -> bool:
    return (isinstance(test, ast.Name) and test.id == "TYPE_CHECKING") or (isinstance(test, ast.Attribute) and test.attr == "TYPE_CHECKING")


def _assigned(source: Source) -> tuple[str, ...]:
    written = {node.attr for node in source.nodes(ast.Attribute) if not isinstance(node.ctx, ast.Load)}
    return tuple(sorted(written.union(_set_attributes(source).values())))


def _set_attributes(source: Source) -> dict[int, str]:
    """The attributes that `setattr` and `delattr` are called with as a text, by the id of the node
    that names the function.
    """
    found: dict[int, str] = {}
    for node in source.nodes(ast.Call):
        if isinstance(node.func, ast.Name) and node.func.id in _SETTERS and len(node.args) > 1:
            target = node.args[1]
            if isinstance(target, ast.Constant) and isinstance(target.value, str):
                found[id(node.func)] = target.value
    return found


def _rebinding_name(source: Source) -> str:
    plain = _set_attributes(source)
    systems = {alias.asname or "sys" for item in source.nodes(ast.Import) for alias in item.names if alias.name == "sys"}
    for node in source.nodes(ast.Attribute):
        if node.attr in _HIDDEN_ATTRIBUTES:
            return node.attr
        if node.attr == "modules" and isinstance(node.value, ast.Name) and node.value.id in systems:
            return "sys.modules"
    for name in source.nodes(ast.Name):
        if name.id in _HIDDEN_NAMES or (name.id in _SETTERS and id(name) not in plain):
            return name.id
    for imported in source.nodes(ast.ImportFrom):
        for alias in imported.names:
            if alias.name in _HIDDEN_NAMES or alias.name in _SETTERS or alias.name in _HIDDEN_ATTRIBUTES:
                return alias.name
            if imported.module == "sys" and alias.name in ("modules", "*"):
                return "sys.modules"
    for item in source.nodes(ast.alias):
        if item.name in _HIDDEN_NAMES:
            return item.name
    texts = (node.value for node in source.nodes(ast.Constant))
    return next((text for text in texts if isinstance(text, str) and text in _HIDDEN_ATTRIBUTES), "")


def _bindings(source: Source) -> dict[str, list[tuple[Any, ...]]]:
    found: dict[str, list[tuple[Any, ...]]] = {}
    top = {id(statement): index for index, statement in enumerate(source.tree.body)}
    for name, node in _bound(source.tree.body):
        found.setdefault(name, []).append(_binding(name, node, top.get(id(node), -1)))
    for declared in source.nodes(ast.Global):
        for name in declared.names:
            found.setdefault(name, []).append(("other", -1))
    return found


def _binding(name: str, node: ast.AST, statement: int) -> tuple[Any, ...]:
    if isinstance(node, ast.ImportFrom):
        names = tuple(alias.name for alias in node.names if (alias.asname or alias.name) == name)
        return ("from", statement, node.module or "", node.level, names)
    if isinstance(node, ast.ClassDef):
        return ("class", statement)
    if isinstance(node, ast.Import):
        return ("import", statement)
    is_value = isinstance(node, ast.AnnAssign) and node.value is not None
    if is_value or (isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name)):
        return ("value", statement)
    return ("other", statement)


def _bound(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, ast.AST]]:
    """The names that code binds in its own scope, each with its syntax; those that functions
    declare global are not among them.
    """
    left = list(nodes)
    while left:
        node = left.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield node.name, node
            left.extend(node.decorator_list)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias in node.names:
                yield alias.asname or (alias.name if isinstance(node, ast.ImportFrom) else alias.name.partition(".")[0]), node
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                for inner in ast.walk(target):
                    if isinstance(inner, ast.Name) and not isinstance(inner.ctx, ast.Load):
                        yield inner.id, node
            if node.value is not None:
                left.append(node.value)
        elif not isinstance(node, ast.Lambda):
            if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
                yield node.id, node
            for name in (getattr(node, field, None) for field in ("name", "rest")):
                if isinstance(name, str):
                    yield name, node
            left.extend(ast.iter_child_nodes(node))
