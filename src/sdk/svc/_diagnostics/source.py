"""Facts about a Python source file that running it does not show: spans, and comments above
definitions.
"""

from __future__ import annotations

import ast
import io
import marshal
import os
import re
import tokenize
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Callable, Iterable, Iterator, Mapping, NamedTuple, Optional, TypeVar, Union

from .._loading.kept_file import KeptFile
from .findings import Span
from .outline import ClassOutline, FunctionNode, FunctionOutline, Outline, Place, outline_of

Node = TypeVar("Node", bound=ast.AST)
Outlined = TypeVar("Outlined", ClassOutline, FunctionOutline)
#: Encodings that mean the same to every process, as no codec of a project does.
_PLAIN_ENCODINGS = ("utf-8", "utf-8-sig", "iso-8859-1", "ascii")


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


_NO_COMMENT = Comment()
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
    """A Python file, and what its text says. Raises SyntaxError or OSError when it cannot be read.

    A file whose outline was kept is parsed when its syntax is needed and not before.
    """

    def __init__(self, filename: str) -> None:
        with open(filename, "rb") as stream:
            self.raw = stream.read()
        self.filename = filename
        self._comments: Optional[dict[int, str]] = None
        self._comment_blocks: dict[int, Comment] = {}
        self._by_kind: Optional[dict[type, list[ast.AST]]] = None
        self._calls: Optional[dict[str, list[ast.Call]]] = None
        #: What was derived from the text by earlier processes, and what this one used or derived.
        self._known: Mapping[Any, Any] = {}
        self._derived: dict[Any, Any] = {}
        self._is_kept = False
        kept = _kept.find(self.raw)
        if kept is None:
            self.tree  # raises SyntaxError
        else:
            self._is_kept = True
            self.outline, self._known = Outline(kept[0]), kept[1]

    @cached_property
    def text(self) -> str:
        """The text, its lines ended by a newline alone."""
        return io.StringIO(self.raw.decode(self._encoding), newline=None).read()

    @cached_property
    def _encoding(self) -> str:
        return tokenize.detect_encoding(io.BytesIO(self.raw).readline)[0]

    @cached_property
    def lines(self) -> list[str]:
        """The lines of the text without their ends."""
        return self.text.split("\n")

    @cached_property
    def tree(self) -> ast.Module:
        """The syntax of the file."""
        return ast.parse(self.text, self.filename)

    @cached_property
    def outline(self) -> Outline:
        """What the text says of definitions and names."""
        return Outline(outline_of(self))

    def derive(self, key: Any, is_current: Callable[[Any], bool], compute: Callable[[], Any]) -> Any:
        """What follows from the text by `compute`, unless this process or an earlier one did it for
        an equal key and the result is still current. Keys and results are plain values, as
        `marshal` keeps them.
        """
        found = self._derived.get(key) or self._known.get(key)
        self._derived[key] = result = found if found and is_current(found) else compute()
        return result

    def kept(self) -> Optional[tuple[dict[str, Any], dict[Any, Any]]]:
        """What another process can use; None when that is what was kept before, or when what the
        text means is not a matter of its bytes alone.
        """
        if self._derived == self._known if self._is_kept else self._encoding not in _PLAIN_ENCODINGS:
            return None
        return self.outline.values, self._derived

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
        comments = self.outline.comments
        if line - 1 not in comments:
            return _NO_COMMENT
        found = self._comment_blocks.get(line)
        if found is None:
            first = line - 1
            while first - 1 in comments:
                first -= 1
            texts = (comments[at][1:] for at in range(first, line))
            found = self._comment_blocks[line] = read_comment([text[1:] if text.startswith(" ") else text for text in texts])
        return found

    def comment_lines(self) -> dict[int, str]:
        """The comments that are all of a line, from the `#` on, by line."""
        found = {at: text for at, text in enumerate(map(str.lstrip, self.lines), 1) if text.startswith("#")}
        texts = [node for kind in (ast.Constant, ast.JoinedStr) for node in self.nodes(kind)]
        inside = {at for node in texts for at in range(node.lineno + 1, (node.end_lineno or 0) + 1)}
        # Only tokens tell comments from the lines of a text, and take ten times as long as parsing.
        for at in inside.intersection(found):
            comment = self.comments().get(at)
            if comment is None:
                del found[at]
            else:
                found[at] = comment
        return found

    def class_outline(self, origin: Origin) -> Optional[ClassOutline]:
        """The class whose definition, decorators included, covers the origin's line with its head.
        """
        return _covering(self.outline.classes.get(origin.name, ()), origin.line)

    def function_outline(self, origin: Origin) -> Optional[FunctionOutline]:
        """The function whose definition, decorators included, covers the origin's line with its
        head.
        """
        return _covering(self.outline.functions.get(origin.name, ()), origin.line)

    def class_at(self, origin: Origin) -> Optional[ast.ClassDef]:
        """The syntax of `class_outline`."""
        found = self.class_outline(origin)
        return self.nodes(ast.ClassDef)[found.index] if found else None

    def function_at(self, origin: Origin) -> Optional[FunctionNode]:
        """The syntax of `function_outline`."""
        found = self.function_outline(origin)
        return self.functions()[found.index] if found else None

    def functions(self) -> list[FunctionNode]:
        """All functions of the file, as `FunctionOutline.index` numbers them."""
        return [*self.nodes(ast.FunctionDef), *self.nodes(ast.AsyncFunctionDef)]

    def place(self, place: Place) -> Span:
        """The span of a place of the outline."""
        return Span(display_path(self.filename), *place)

    def call_at(self, origin: Origin) -> Optional[ast.Call]:
        """The innermost call of the origin's name that covers the origin's line."""
        if self._calls is None:
            self._calls = {}
            for call in self.nodes(ast.Call):
                self._calls.setdefault(called_name(call), []).append(call)
        found: Optional[ast.Call] = None
        for node in self._calls.get(origin.name, ()):
            if node.lineno <= origin.line <= (node.end_lineno or 0):
                if found is None or node.lineno > found.lineno:
                    found = node
        return found

    def defined_classes(self) -> set[str]:
        """Names of all classes that the file defines."""
        return set(self.outline.classes)


def _covering(found: Iterable[Outlined], line: int) -> Optional[Outlined]:
    return next((item for item in found if item.first_line <= line <= item.line), None)


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


class _KeptOutlines:
    """Outlines of files, and what was derived from them, kept in a file between processes."""

    def __init__(self, path: Optional[str] = None) -> None:
        self._file = KeptFile(path)

    def find(self, raw: bytes) -> Optional[tuple[dict[str, Any], dict[Any, Any]]]:
        """What was kept of a file's bytes; None when it is not known."""
        found = self._file.find(raw)
        return None if found is None else marshal.loads(found)

    def save(self, sources: Iterable[Source]) -> None:
        """Keeps what processes of these sources can use again."""
        if not self._file.keeps:
            return
        for source in sources:
            value = source.kept()
            if value is not None:
                self._file.keep(source.raw, marshal.dumps(value))
        self._file.save()


_kept = _KeptOutlines()
_sources: dict[str, Optional[Source]] = {}


def use_kept_outlines(path: Optional[str]) -> None:
    """Has files read from now on by what a file keeps of their outlines."""
    global _kept
    _kept = _KeptOutlines(path)


def save_outlines() -> None:
    """Keeps the outlines of the files that this process read."""
    _kept.save([source for source in _sources.values() if source is not None])


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
