"""The kernel of Jupyter in a project's environment: ipykernel, with the project's modules and cells
compiled by the import hook's rewriting.

``svc notebook kernel install`` writes the kernel spec that starts it:

    TARGET_ROOT=<folder of the project> PYTHONPATH=<sdk> python -m svc._notebook.jupyter -f <connection file>
"""

from __future__ import annotations

import ast
import os
import sys

from .._loading.hook import install, offer_operations
from .._loading.rewrite import rewrite


class Rewriting:
    """The rewriting as a transformer of IPython's cells."""

    def visit(self, tree: ast.AST) -> ast.AST:
        """Rewrites a cell, which may be one of its statements."""
        if isinstance(tree, (ast.Module, ast.Expression)) and rewrite(tree):
            offer_operations()
        return tree


def main() -> None:
    """Runs the kernel until Jupyter ends it."""
    from ipykernel.kernelapp import IPKernelApp  # type: ignore[import-not-found]

    root = os.environ["TARGET_ROOT"]
    if root not in sys.path:
        sys.path.insert(0, root)
    install(root)
    kernel = IPKernelApp.instance()
    kernel.initialize()
    kernel.shell.ast_transformers.append(Rewriting())
    kernel.start()


if __name__ == "__main__":
    main()
