"""The pytest plugin: the project's modules, and the tests themselves, may use `and`, `or`, `not`,
`in` and `is` in filters.

    pytest -p svc._pytest_plugin

or, in pyproject.toml:

    [tool.pytest.ini_options]
    addopts = "-p svc._pytest_plugin"
"""

from __future__ import annotations

import ast
from typing import Any

from ._loading.hook import install, offer_operations
from ._loading.rewrite import rewrite


def pytest_load_initial_conftests(early_config: Any) -> None:
    """Installs the import hook before any module of the project, conftest files included, is
    imported.
    """
    install(str(early_config.rootpath))
    _rewrite_tests()


def pytest_configure(config: Any) -> None:
    """Installs the import hook when the plugin is loaded later, by a conftest file."""
    install(str(config.rootpath))
    _rewrite_tests()


def _rewrite_tests() -> None:
    """Makes pytest, which compiles test modules to rewrite their asserts, rewrite the operators as
    well and cache those files separately.
    """
    try:
        from _pytest.assertion import rewrite as asserts
    except ImportError:
        return
    original = getattr(asserts, "rewrite_asserts", None)
    tail = getattr(asserts, "PYC_TAIL", None)
    if original is None or tail is None or getattr(original, "__svc__", False):
        return

    def rewrite_asserts(mod: ast.Module, *arguments: Any, **options: Any) -> None:
        offer_operations()
        rewrite(mod)
        original(mod, *arguments, **options)

    rewrite_asserts.__svc__ = True  # type: ignore[attr-defined]
    setattr(asserts, "rewrite_asserts", rewrite_asserts)
    setattr(asserts, "PYC_TAIL", f".svc{tail}")
