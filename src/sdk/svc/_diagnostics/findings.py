"""Findings: a rule's number, its message and a span. The rules are in `rules.py`."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Iterator, NamedTuple, Optional

ERROR = "SEVERITY_ERROR"
WARNING = "SEVERITY_WARNING"


class Span(NamedTuple):
    """A range in a project file: 1-based lines and columns in code points, end exclusive, file
    relative to the root.
    """

    file: str
    line: int
    column: int
    end_line: int
    end_column: int

    def json(self) -> dict[str, Any]:
        return {
            "file": self.file,
            "line": self.line,
            "column": self.column,
            "endLine": self.end_line,
            "endColumn": self.end_column,
        }


@dataclass(frozen=True)
class Finding:
    """One finding. `str()` of it is its message."""

    code: int
    message: str
    span: Optional[Span] = None
    label: str = ""
    severity: str = ERROR
    related: tuple[tuple[Span, str], ...] = ()
    hint: str = ""
    #: Texts that could replace the span, best first.
    replacements: tuple[str, ...] = ()

    def json(self) -> dict[str, Any]:
        """The finding as proto3 JSON of `svc.v1.Diagnostic`."""
        document: dict[str, Any] = {"code": self.code, "severity": self.severity, "message": well_formed(self.message)}
        if self.span:
            document["span"] = self.span.json()
        if self.label:
            document["label"] = well_formed(self.label)
        if self.related:
            document["related"] = [{"span": span.json(), "message": well_formed(text)} for span, text in self.related]
        if self.hint:
            document["hint"] = well_formed(self.hint)
        if self.replacements:
            document["replacements"] = list(self.replacements)
        return document

    def __str__(self) -> str:
        place = f" ({self.span.file}:{self.span.line}:{self.span.column})" if self.span else ""
        return f"{'Error' if self.severity == ERROR else 'Warning'}[{self.code}]: {self.message}{place}"


def well_formed(text: str) -> str:
    """Text without lone surrogates, which no UTF-8 document can hold."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


class Said(NamedTuple):
    """The text of a finding without its span: the rule's number, message, label under the marker,
    severity.
    """

    code: int
    message: str
    label: str = ""
    severity: str = ERROR

    def at(
        self,
        span: Optional[Span],
        *,
        related: tuple[tuple[Span, str], ...] = (),
        hint: str = "",
        replacements: tuple[str, ...] = (),
    ) -> Finding:
        """The finding at a span."""
        return Finding(self.code, self.message, span, self.label, self.severity, related, hint, replacements)


class Message(NamedTuple):
    """A rule's message and the label under the marker, with `{name}` where a value belongs."""

    code: int
    text: str
    label: str = ""
    severity: str = ERROR

    def __call__(self, **values: object) -> Said:
        """The text with its values filled in. Raises KeyError when one is not given."""
        return Said(self.code, self.text.format(**values), self.label.format(**values), self.severity)


class DefinitionError(TypeError):
    """A definition that makes no sense, with the text of the finding; `token` names the part at
    fault.
    """

    def __init__(self, said: Said, *, token: str = "", hint: str = "") -> None:
        super().__init__(said.message)
        self.said = said
        self.token = token
        self.hint = hint

    @property
    def code(self) -> int:
        """The rule's number."""
        return self.said.code

    @property
    def label(self) -> str:
        """The words under the marker."""
        return self.said.label


class BrokenReference(DefinitionError):
    """A reference to a definition that is broken itself and has a finding already."""


class CircularReference(DefinitionError):
    """A type that refers back to itself."""


@dataclass
class Findings:
    """A collection of findings; the same finding at the same span is kept once."""

    found: list[Finding] = field(default_factory=list)

    def add(self, finding: Finding) -> None:
        if finding not in self.found:
            self.found.append(finding)

    def sorted(self) -> list[Finding]:
        """The findings by file, position and number."""

        def key(finding: Finding) -> tuple[Any, ...]:
            span = finding.span
            return (span.file, span.line, span.column, finding.code) if span else ("", 0, 0, finding.code)

        return sorted(self.found, key=key)


class Json(str):
    """A value as JSON on one line, without lone surrogates, which stands for the value in a
    document that `json_lines` writes.
    """


def to_json(document: Any) -> bytes:
    """A document as `json_lines` writes it."""
    return b"".join(json_lines(document))


def json_lines(document: dict[str, Any]) -> Iterator[bytes]:
    """A document as UTF-8 JSON in pieces of whole lines: one line for each member, and one for each
    item of members that are lists or iterators, so that a reader can parse it line by line, while
    the items of iterators are still being made.

    Lone surrogates in its texts are escaped, as `well_formed` does it.
    """
    yield b"{\n"
    comma = b""
    for name, value in document.items():
        yield comma + json_line(name).encode() + b":"
        comma = b",\n"
        if isinstance(value, (list, Iterator)):
            between = b"[\n"
            for item in value:
                yield between + (item if isinstance(item, Json) else json_line(item)).encode()
                between = b",\n"
            yield b"[]" if between == b"[\n" else b"\n]"
        else:
            yield json_line(value).encode()
    yield b"\n}\n"


def json_line(value: Any) -> Json:
    """A value as JSON on one line."""
    text = _one_line(value)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        text = _one_line(_well_formed_document(value))
    return Json(text)


_one_line = json.JSONEncoder(ensure_ascii=False, allow_nan=False, check_circular=False, separators=(",", ":")).encode


def _well_formed_document(value: Any) -> Any:
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, list):
        return [_well_formed_document(item) for item in value]
    if isinstance(value, dict):
        return {_well_formed_document(key): _well_formed_document(item) for key, item in value.items()}
    return value
