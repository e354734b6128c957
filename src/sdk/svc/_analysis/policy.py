"""The project's rules about metadata (`validation:` in svc.yaml): finding 192."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Iterator, Mapping, Optional

from .._diagnostics.findings import ERROR, WARNING, Finding, Span

_ADVICE = {
    ("feature", "owner"): "write '# :owner: name@example.com' above it, or owner= at the class",
    ("feature", "description"): "write a comment above it",
    ("feature", "tags"): "write '# :tags: a, b' above it, or tags= at the class",
    ("resolver", "owner"): "write owner= in its decorator",
    ("resolver", "description"): "write a docstring",
    ("resolver", "tags"): "write tags= in its decorator",
}


@dataclass(frozen=True)
class Policy:
    """Which metadata features and resolvers must have, and how bad it is when they have not."""

    rules: Mapping[str, tuple[tuple[str, str], ...]]

    @classmethod
    def from_json(cls, document: Any) -> Policy:
        """Reads `{"feature": [{"name": "owner", "missing": "error"}], "resolver": [...]}`."""
        rules = {}
        for kind in ("feature", "resolver"):
            listed = (document or {}).get(kind) or ()
            rules[kind] = tuple((rule["name"], WARNING if rule["missing"] == "warn" else ERROR) for rule in listed)
        return cls(rules)

    def check(self, kind: str, fqn: str, metadata: Mapping[str, Any], span: Optional[Span]) -> Iterator[Finding]:
        """Findings for what is missing of the metadata (`owner`, `description`, `tags`)."""
        for name, severity in self.rules.get(kind, ()):
            if not metadata.get(name):
                article = "an" if name == "owner" else "a"
                what = "has no tags" if name == "tags" else f"has no {name}"
                text = f"'{fqn}' {what}, which this project asks of every {kind}: {_ADVICE[kind, name]}"
                label = "no tags" if name == "tags" else f"needs {article} {name}"
                yield Finding(192, text, span, label, severity)
