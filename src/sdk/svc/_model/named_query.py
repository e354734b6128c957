"""Queries that are stored with the code under a name."""

from __future__ import annotations

import sys
from datetime import timedelta
from typing import Any, Mapping, NoReturn, Optional, Sequence, Union

from .._diagnostics.source import Origin
from .._surface.unknown_options import kept
from .._types.annotations import scope_of_frame
from .field import Tags
from .registry import registry


class NamedQuery:
    """A query that clients ask for by name and version.

        NamedQuery(name="signup", version="2.0.0", input=[User.id], output=[User.score],
            staleness={User.score: "1h"})

    input, output: features; a feature class among the outputs means all of its values.
    tags: tags that the query carries.
    staleness: how old stored values may be, per feature.
    planner_options: texts by name.
    owner, description: metadata; the description defaults to nothing.
    """

    def __init__(
        self,
        name: str,
        *,
        version: Optional[str] = None,
        input: Optional[Sequence[Any]] = None,
        output: Optional[Sequence[Any]] = None,
        tags: Optional[Tags] = None,
        staleness: Optional[Mapping[Any, Union[str, timedelta]]] = None,
        planner_options: Optional[Mapping[str, str]] = None,
        owner: Optional[str] = None,
        description: Optional[str] = None,
        **others: NoReturn,
    ) -> None:
        frame = sys._getframe(1)
        self.name = name
        self.version = version
        self.input = list(input or ())
        self.output = list(output or ())
        self.tags = tags
        self.staleness = dict(staleness or {})
        self.planner_options = dict(planner_options or {})
        self.owner = owner
        self.description = description
        self.others = kept("NamedQuery", others)
        self.scope = scope_of_frame(frame)
        self.origin = Origin(frame.f_code.co_filename, frame.f_lineno, type(self).__name__)
        registry.add_named_query(self)

    def __repr__(self) -> str:
        return f"NamedQuery(name={self.name!r}, version={self.version!r})"
