"""Rule 146 about templates of Jinja that make features."""

from __future__ import annotations

from typing import Callable

from .._diagnostics import rules
from .._diagnostics.findings import DefinitionError, Finding
from .._model.field import Field
from .._model.template import JinjaTemplate
from .._types.data_type import primitive, type_name
from .spans import value_span

Report = Callable[[Finding], None]


def check_template(field: Field, template: JinjaTemplate, report: Report) -> bool:
    """Reports a template that cannot be rendered, or not into its feature; whether it can."""
    problem = template.problem()
    try:
        kind = field.type
    except DefinitionError:
        return False
    if kind.target is not None:
        return False
    if problem is None and (kind.windowed or field.version_count):
        problem = f"'{field.fqn}' is {'windowed' if kind.windowed else 'a feature with versions'}, which a template does not make"
    if problem is None and kind.dtype != primitive("STRING"):
        problem = f"a template makes a str, and '{field.fqn}' is {type_name(kind.dtype)}"
    if problem is not None:
        report(rules.BadValue.option(problem=problem).at(value_span(field, "expression")))
    return problem is None
