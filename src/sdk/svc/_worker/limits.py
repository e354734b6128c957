"""Bounds of the processes that run a project's code."""

from __future__ import annotations


def limit_memory(limit: int) -> None:
    """Caps the address space of this process, in bytes."""
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
