"""Numbers of a feature's versions."""

from __future__ import annotations

from typing import Any

#: Most versions of a feature.
MOST_VERSIONS = 100


def is_version(number: Any) -> bool:
    """Whether a value numbers a version."""
    return isinstance(number, int) and not isinstance(number, bool) and 1 <= number <= MOST_VERSIONS
