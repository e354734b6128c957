"""Evaluations of functions over datasets, which are deployed with the code.

    from svc.evaluations import Evaluation, contains, exact_match, judge, numeric
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._model.evaluation import Evaluation, contains, exact_match, judge, numeric

__all__ = ["Evaluation", "contains", "exact_match", "judge", "numeric"]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        from ._surface.public_names import no_such_name

        raise no_such_name(__name__, name)
