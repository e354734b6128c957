"""Rule 183: the groups of `group_by_windowed(...)`."""

from __future__ import annotations

from typing import Any, Callable, Mapping, Optional

from .._codec.wire import describe
from .._diagnostics import rules
from .._diagnostics.findings import Finding
from .._model.expression import Aggregate, Expression
from .._model.field import Field, GroupedOptions
from .._types.data_type import type_name
from .spans import annotation_span, value_span

Report = Callable[[Finding], None]

#: Most columns that rows are grouped by.
_MOST = 8


def check_grouping(field: Field, report: Report) -> None:
    """Reports groups that the type or the columns do not fit."""
    options = field.options
    if not isinstance(options, GroupedOptions):
        return
    columns = options.columns
    if not 0 < len(columns) <= _MOST or not all(isinstance(column, Expression) for column in columns):
        value = describe(options.group_by) if not isinstance(options.group_by, (list, tuple)) else f"a list of {len(columns)}"
        odd = next((column for column in columns if not isinstance(column, Expression)), None) if columns else None
        report(
            rules.BadGrouping.no_columns(feature=field.fqn, value=value if odd is None else describe(odd), most=_MOST).at(
                value_span(field, "group_by")
            )
        )
        return
    if not isinstance(options.expression, Aggregate):
        example = "_.txns[_.amount, _.at > _.svc_window].sum()"
        report(rules.BadGrouping.no_aggregate(feature=field.fqn, example=example).at(value_span(field, "expression")))
        return
    struct = grouped_struct(field)
    if struct is None:
        report(rules.BadGrouping.no_rows(feature=field.fqn, type=type_name(field.type.dtype)).at(annotation_span(field)))
    elif len(struct["fields"]) != len(columns) + 1:
        wanted = ", ".join((*map(repr, columns), "the aggregate"))
        have = ", ".join(item["name"] for item in struct["fields"]) or "none"
        report(
            rules.BadGrouping.fields(feature=field.fqn, wanted=wanted, struct=struct["name"], have=have).at(annotation_span(field))
        )


def grouped_struct(field: Field) -> Optional[Mapping[str, Any]]:
    """The struct that a feature has a list of; None when its type is another."""
    listed = field.type.dtype.get("list")
    if listed is None or listed.get("set") or listed.get("elementNullable"):
        return None
    found: Optional[Mapping[str, Any]] = listed["element"].get("struct")
    return found
