"""Facts about a Python source file that running it does not show: spans, and comments above
definitions.
"""

from __future__ import annotations

import ast
import io
import os
import re
import tokenize
from dataclasses import dataclass
from typing import Iterable, Iterator, NamedTuple, Optional, TypeVar, Union

from .findings import Span

FunctionNode = Union[ast.FunctionDef, ast.AsyncFunctionDef]
Node = TypeVar("Node", bound=ast.AST)


@dataclass(frozen=True)
class Origin:
    """The position of an object's definition: file, line, and the name of the definition."""

    filename: str
    line: int
    name: str


class Comment(NamedTuple):
    """A comment block above a definition, or a docstring."""

    text: str = ""
    owner: Optional[str] = None
    tags: tuple[str, ...] = ()


_DEFINITION = re.compile(r"(?:class|(?:async\s+)?def)\s+(\w+)")
_DIRECTIVE = re.compile(r"\s*:(owner|tags):\s*(.*?)\s*\Z")


def read_comment(lines: list[str]) -> Comment:
    """Splits ``:owner:`` and ``:tags:`` lines off a text."""
    kept: list[str] = []
    owner: Optional[str] = None
    tags: list[str] = []
    for line in lines:
        match = _DIRECTIVE.match(line)
        if match is None:
            kept.append(line.rstrip())
        elif match.group(1) == "owner":
            owner = match.group(2) or None
        else:
            tags.extend(tag for tag in (part.strip() for part in match.group(2).split(",")) if tag)
    return Comment("\n".join(kept).strip("\n"), owner, tuple(tags))


class Source:
    """A parsed file. Raises SyntaxError or OSError when it cannot be read."""

    def __init__(self, filename: str) -> None:
        with open(filename, "rb") as stream:
            self.raw = stream.read()
        encoding, _ = tokenize.detect_encoding(io.BytesIO(self.raw).readline)
        text = io.StringIO(self.raw.decode(encoding), newline=None).read()
        self.filename = filename
        self.lines = text.split("\n")
        self.text = text
        self.tree = ast.parse(text, filename)
        self._comments: Optional[dict[int, str]] = None
        self._comment_blocks: dict[int, Comment] = {}
        self._lines_of_texts: Optional[set[int]] = None
        self._by_kind: Optional[dict[type, list[ast.AST]]] = None
        self._index: Optional[dict[str, list[ast.AST]]] = None
        self._definitions: dict[tuple[str, int, bool], Union[ast.ClassDef, FunctionNode, None]] = {}
        self._type_imports: Optional[dict[str, tuple[str, int, Optional[str]]]] = None

    def nodes(self, kind: type[Node]) -> list[Node]:
        """The nodes of exactly one class, outer ones first, in the order of `ast.walk`."""
        if self._by_kind is None:
            self._by_kind = {}
            for node in all_nodes(self.tree):
                self._by_kind.setdefault(node.__class__, []).append(node)
        return self._by_kind.get(kind, [])  # type: ignore[return-value]

    def span(self, node: ast.AST, end: Optional[ast.AST] = None) -> Span:
        """The span of a node, or from one node to another."""
        last = end or node
        line, column = node.lineno, node.col_offset  # type: ignore[attr-defined]
        end_line, end_column = last.end_lineno, last.end_col_offset  # type: ignore[attr-defined]
        return Span(
            display_path(self.filename),
            line,
            self._code_points(line, column) + 1,
            end_line,
            self._code_points(end_line, end_column) + 1,
        )

    def _code_points(self, line: int, byte_column: int) -> int:
        text = self.lines[line - 1]
        return min(byte_column, len(text)) if text.isascii() else len(text.encode("utf-8")[:byte_column].decode("utf-8", "replace"))

    def span_of_text(self, line: int, column: int, length: int) -> Span:
        """A span by line (1-based), column (0-based, code points) and length."""
        return Span(display_path(self.filename), line, column + 1, line, column + 1 + length)

    def span_of_line(self, line: int) -> Span:
        """The span of a line without its indentation and comment."""
        text = self.lines[line - 1] if 0 < line <= len(self.lines) else ""
        code = text
        comment = self.comments().get(line)
        if comment is not None and code.rstrip().endswith(comment):
            code = code.rstrip()[: -len(comment)]
        code = code.rstrip()
        start = len(code) - len(code.lstrip())
        return self.span_of_text(line, start, max(1, len(code) - start))

    def span_of_name(self, node: Union[ast.ClassDef, FunctionNode]) -> Span:
        """The name in a class or function definition."""
        start = self._code_points(node.lineno, node.col_offset)
        match = _DEFINITION.match(self.lines[node.lineno - 1], start)
        if match is None or match.group(1) != node.name:
            return self.span_of_line(node.lineno)
        return self.span_of_text(node.lineno, match.start(1), len(node.name))

    def span_between(self, left: ast.AST, right: ast.AST, pattern: str) -> Optional[Span]:
        """The first match of a pattern between two nodes, comments left out."""
        line, column = left.end_lineno or 1, self._code_points(left.end_lineno or 1, left.end_col_offset or 0)  # type: ignore[attr-defined]
        last, end = right.lineno, self._code_points(right.lineno, right.col_offset)  # type: ignore[attr-defined]
        for at in range(line, last + 1):
            text = self.lines[at - 1][: end if at == last else None]
            comment = self.comments().get(at)
            if comment is not None and text.rstrip().endswith(comment):
                text = text.rstrip()[: -len(comment)]
            match = re.compile(pattern).search(text, column if at == line else 0)
            if match is not None:
                return self.span_of_text(at, match.start(), match.end() - match.start())
        return None

    def text_at(self, span: Span) -> str:
        """The text of a span within one line."""
        return self.lines[span.line - 1][span.column - 1 : span.end_column - 1]

    def span_of_token(self, nodes: Iterable[ast.AST], token: str) -> Optional[Span]:
        """The first name, attribute or keyword called `token` among nodes; a dotted token is looked
        for as a whole first.
        """
        found = list(nodes)
        if "." in token:
            for node in found:
                if isinstance(node, (ast.Attribute, ast.Subscript)) and ast.unparse(node).replace("'", '"') == token:
                    return self.span(node)
            token = token.rpartition(".")[2].partition("[")[0]
        for node in found:
            if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and node.slice.value == token:
                return self.span(node.slice)
            if isinstance(node, ast.Name) and node.id == token:
                return self.span(node)
            if isinstance(node, ast.Attribute) and node.attr == token and node.end_lineno and node.end_col_offset is not None:
                end = self._code_points(node.end_lineno, node.end_col_offset)
                return self.span_of_text(node.end_lineno, end - len(token), len(token))
            if isinstance(node, ast.keyword) and node.arg == token:
                return self.span(node)
        return None

    def comments(self) -> dict[int, str]:
        """Comments by line."""
        if self._comments is None:
            self._comments = {}
            try:
                for token in tokenize.generate_tokens(io.StringIO(self.text).readline):
                    if token.type == tokenize.COMMENT:
                        self._comments[token.start[0]] = token.string
            except (tokenize.TokenError, SyntaxError):
                pass
        return self._comments

    def comment_above(self, line: int) -> Comment:
        """The block of comment lines directly above a line."""
        found = self._comment_blocks.get(line)
        if found is None:
            block: list[str] = []
            at = line - 1
            while at >= 1 and (comment := self._comment_of_line(at)) is not None:
                text = comment[1:]
                block.append(text[1:] if text.startswith(" ") else text)
                at -= 1
            found = self._comment_blocks[line] = read_comment(block[::-1])
        return found

    def _comment_of_line(self, line: int) -> Optional[str]:
        """The comment that is all of a line; None for any other line."""
        text = self.lines[line - 1].lstrip()
        if not text.startswith("#"):
            return None
        if self._lines_of_texts is None:
            texts = [node for kind in (ast.Constant, ast.JoinedStr) for node in self.nodes(kind)]
            self._lines_of_texts = {at for node in texts for at in range(node.lineno + 1, (node.end_lineno or 0) + 1)}
        # Only tokens tell comments from the lines of a text, and take ten times as long as parsing.
        return self.comments().get(line) if line in self._lines_of_texts else text

    def class_at(self, origin: Origin) -> Optional[ast.ClassDef]:
        """The class whose definition, decorators included, covers the origin's line with its head.
        """
        found = self._definition_at(origin, True)
        return found if isinstance(found, ast.ClassDef) else None

    def function_at(self, origin: Origin) -> Optional[FunctionNode]:
        """The function whose definition, decorators included, covers the origin's line with its
        head.
        """
        found = self._definition_at(origin, False)
        return None if isinstance(found, ast.ClassDef) else found

    def _definition_at(self, origin: Origin, is_class: bool) -> Union[ast.ClassDef, FunctionNode, None]:
        key = (origin.name, origin.line, is_class)
        if key not in self._definitions:
            kinds = (ast.ClassDef,) if is_class else (ast.FunctionDef, ast.AsyncFunctionDef)
            named = (node for node in self._named(origin.name) if isinstance(node, kinds))
            self._definitions[key] = next((node for node in named if first_line(node) <= origin.line <= node.lineno), None)
        return self._definitions[key]

    def call_at(self, origin: Origin) -> Optional[ast.Call]:
        """The innermost call of the origin's name that covers the origin's line."""
        found: Optional[ast.Call] = None
        for node in self._named(origin.name):
            if isinstance(node, ast.Call) and node.lineno <= origin.line <= (node.end_lineno or 0):
                if found is None or node.lineno > found.lineno:
                    found = node
        return found

    def defined_classes(self) -> set[str]:
        """Names of all classes that the file defines."""
        self._named("")
        return {name for name, nodes in (self._index or {}).items() if any(isinstance(node, ast.ClassDef) for node in nodes)}

    def _named(self, name: str) -> list[ast.AST]:
        if self._index is None:
            self._index = {}
            for definition in (*self.nodes(ast.ClassDef), *self.nodes(ast.FunctionDef), *self.nodes(ast.AsyncFunctionDef)):
                self._index.setdefault(definition.name, []).append(definition)
            for call in self.nodes(ast.Call):
                self._index.setdefault(called_name(call), []).append(call)
        return self._index.get(name, [])

    def text_of(self, node: Union[ast.ClassDef, FunctionNode]) -> str:
        """The lines of a definition with its decorators."""
        return "\n".join(self.lines[first_line(node) - 1 : node.end_lineno])

    def type_checking_imports(self) -> dict[str, tuple[str, int, Optional[str]]]:
        """Names imported under ``if TYPE_CHECKING:``: name -> (module, level of a relative import,
        name in the module or None).
        """
        if self._type_imports is not None:
            return self._type_imports
        names = self._type_imports = {}
        for node in self.nodes(ast.If):
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


def all_nodes(tree: ast.AST) -> list[ast.AST]:
    """The nodes of a tree, itself first, as `ast.walk` gives them but in a fraction of the time;
    nodes that only mark a name as read are left out.
    """
    nodes = [tree]
    for node in nodes:
        kind = node.__class__
        if kind is ast.Constant or kind is ast.Name and node.ctx.__class__ is ast.Load:  # type: ignore[attr-defined]
            continue
        for value in node.__dict__.values():
            if value.__class__ is list:
                nodes.extend([item for item in value if isinstance(item, ast.AST)])
            elif isinstance(value, ast.AST) and value.__class__ is not ast.Load:
                nodes.append(value)
    return nodes


def first_line(node: Union[ast.ClassDef, FunctionNode]) -> int:
    """The line on which a definition begins, decorators included."""
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])


def called_name(node: ast.Call) -> str:
    """The last name of what a call calls: ``f`` for ``f()`` and ``a.f()``."""
    function = node.func
    return function.id if isinstance(function, ast.Name) else function.attr if isinstance(function, ast.Attribute) else ""


def nodes_within(node: ast.AST) -> Iterator[ast.AST]:
    """A node and everything in it; a quoted annotation is parsed, and its nodes get the positions
    that they have in the file.
    """
    for inner in ast.walk(node):
        yield inner
        if isinstance(inner, ast.Constant) and isinstance(inner.value, str):
            yield from _quoted(inner, inner.value)


def _quoted(constant: ast.Constant, text: str) -> Iterator[ast.AST]:
    width = (constant.end_col_offset or 0) - constant.col_offset
    if constant.end_lineno != constant.lineno or width != len(text.encode("utf-8")) + 2:
        return
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except SyntaxError:
        return
    shift = constant.col_offset + 1 + len(text) - len(text.lstrip())
    for inner in ast.walk(tree.body):
        if isinstance(inner, (ast.expr, ast.keyword)):
            inner.lineno = inner.end_lineno = constant.lineno
            inner.col_offset += shift
            inner.end_col_offset = (inner.end_col_offset or 0) + shift
        yield inner


_sources: dict[str, Optional[Source]] = {}


def read_source(filename: str) -> Source:
    """The parsed file, read once. Raises what `Source` raises."""
    found = _sources.get(filename)
    if found is None:
        found = _sources[filename] = Source(filename)
    return found


def source_of(filename: str) -> Optional[Source]:
    """The parsed file, read once; None when it cannot be read or is no Python."""
    if filename not in _sources:
        try:
            return read_source(filename)
        except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
            _sources[filename] = None
    return _sources[filename]


_roots: list[str] = []


def set_project_root(root: str) -> None:
    """Sets the folder that paths in findings are relative to."""
    _roots[:] = [os.path.realpath(root), os.path.abspath(root)]


def project_path(filename: str) -> Optional[str]:
    """The path relative to the project root, with ``/``; None for a file outside of it."""
    if filename.startswith("<") or "site-packages" in filename or "dist-packages" in filename:
        return None  # `<frozen os>` is no path, and would be taken for one in the working directory
    for resolved in (str, os.path.realpath):
        candidate = resolved(filename)
        for root in _roots:
            if candidate.startswith(root + os.sep):
                return candidate[len(root) + 1 :].replace(os.sep, "/")
    return None


def display_path(filename: str) -> str:
    """The path to show to people: relative to the root, else from the installed package's folder
    on, else the file's name.
    """
    inside = project_path(filename)
    if inside is not None:
        return inside
    parts = filename.replace(os.sep, "/").split("/")
    for marker in ("site-packages", "dist-packages"):
        if marker in parts:
            return "/".join(parts[parts.index(marker) :])
    for marker in parts:
        if re.fullmatch(r"python3\.\d+", marker):
            return "/".join(parts[parts.index(marker) :])
    if "svc" in parts[:-1]:
        return "svc/" + parts[-1]
    return parts[-1]
