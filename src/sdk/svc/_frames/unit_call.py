"""Resolvers called in tests: a DataFrame parameter takes a list of rows as well, and its declared
filters and columns are applied.
"""

from __future__ import annotations

import functools
import inspect
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, Callable, Optional

from .._diagnostics import rules
from .._diagnostics.findings import DefinitionError
from .._model.frozen_time import frozen_time
from .._model.reference import FeatureReference, RowSelection, crosses_many, field_of
from .._model.statement import SQLStatement
from .._types.annotations import Now, is_union
from .columns import columns_of
from .conditions import references_in
from .dataframe import DataFrame, project, refuse_others
from .decided import refuse_decided_parameters
from .selection import TableType
from .spec import RowsSpec

if TYPE_CHECKING:
    from .._model.feature_class import FeatureClass
    from .._model.resolver import InputSpec, ResolverDefinition, ResolverSpec


def callable_in_tests(definition: ResolverDefinition) -> Callable[..., Any]:
    """The function as it is, or one that makes its DataFrames first, and gives it the time that
    `freeze_time` holds.
    """
    fn = definition.fn
    annotations = [parameter.annotation for parameter in definition.parameters.values()] + [definition.returns]
    if not any(annotation is Now or _may_be_frame(annotation) for annotation in annotations):
        return fn
    signature = inspect.signature(fn)

    @functools.wraps(fn)
    def call(*values: Any, **named: Any) -> Any:
        spec = _spec_of(definition)
        frozen = frozen_time()
        if spec is None or (frozen is None and not spec.has_frames):
            return fn(*values, **named)
        bound = signature.bind(*values, **named) if frozen is None else signature.bind_partial(*values, **named)
        for item in spec.inputs:
            if item.is_now and frozen is not None:
                bound.arguments.setdefault(item.name, frozen)
        now = next((bound.arguments[item.name] for item in spec.inputs if item.is_now and item.name in bound.arguments), None)
        for item in spec.inputs:
            if item.is_frame and item.name in bound.arguments:
                bound.arguments[item.name] = frame_for(item, bound.arguments[item.name], now)
        return check_result(spec, fn(*bound.args, **bound.kwargs))

    if not inspect.iscoroutinefunction(fn):
        return call

    @functools.wraps(fn)
    async def call_async(*values: Any, **named: Any) -> Any:
        return await call(*values, **named)

    return call_async


def _may_be_frame(annotation: Any) -> bool:
    """Whether an annotation may be rows or a table; of quoted ones that is known only once they are
    evaluated.
    """
    if type(annotation) is type:
        return False
    if isinstance(annotation, FeatureReference):
        try:
            return field_of(annotation).type.many or crosses_many(annotation)
        except DefinitionError:
            return True
    if isinstance(annotation, str) or hasattr(annotation, "__forward_arg__"):
        return True
    if is_union(annotation):
        return any(_may_be_frame(item) for item in annotation.__args__)
    return isinstance(annotation, (RowSelection, TableType))


def _spec_of(definition: ResolverDefinition) -> Optional[ResolverSpec]:
    # a process that defines resolvers and calls none does without the rules of signatures
    from .._model.signature import compile_resolver

    found = getattr(definition, "unit_spec", None)
    if found is None:
        refuse_decided_parameters(definition)
        found, problems = compile_resolver(definition)
        for problem in problems:
            if problem.error.code == rules.DecidedAtOnce.code:
                raise TypeError(f"{definition.fqn}: {problem.error}")
        definition.unit_spec = found  # type: ignore[attr-defined]
    return found


def frame_for(item: InputSpec, given: Any, now: Optional[datetime] = None) -> Any:
    """The DataFrame that a parameter gets from rows or a DataFrame; for a parameter that is a list,
    the list of their values. `now` is the time of the query.
    """
    if given is None and item.optional:
        given = ()
    if item.table is not None:
        references = [column.reference for column in item.table.columns]
        return project(_frame(given, references[0]._svc_root, now), references)
    assert item.rows is not None
    if item.rows.is_list:
        if not isinstance(given, DataFrame) and not all(isinstance(row, item.rows.child.cls) for row in given):
            return list(given)
        frame = project(_frame(given, item.rows.child, now), [item.rows.columns[0].reference])
        return list(next(iter(frame._columns.values()), ()))
    return chosen(item.rows, _frame(given, item.rows.child, now))


def _frame(given: Any, owner: FeatureClass, now: Optional[datetime]) -> DataFrame:
    own = given._now if isinstance(given, DataFrame) else None
    at = own or now
    columns, size = columns_of(given, owner)
    for key in columns:
        if key.reference is not None and key.reference._svc_root is not owner:
            raise TypeError(f"these are rows of {owner.cls.__name__}, and '{key.name}' is a feature of {key.reference._svc_root.cls.__name__}")
    return DataFrame._of(columns, size, at.replace(tzinfo=timezone.utc) if at is not None and at.tzinfo is None else at)


def chosen(rows: RowsSpec, frame: DataFrame) -> DataFrame:
    """The rows and columns that a parameter declares."""
    needed = [reference for item in rows.filters for reference in references_in(item)]
    known = {str(reference): reference for reference in (*(key.reference for key in frame._columns), *needed) if reference is not None}
    full = project(frame, list(known.values())) if needed and any(str(item) not in frame.columns for item in needed) else frame
    for condition in rows.filters:
        full = full[condition]
    if rows.limit and len(full) > rows.limit:
        times = rows.child.feature_times
        newest = [key.name for key in full._columns if times and key.name == times[0].fqn]
        full = full.sort(*newest, descending=True).head(rows.limit)
    wanted = rows.columns or (() if len(full) else rows.known_columns().values())
    return project(full, [column.reference for column in wanted]) if wanted else full


def check_result(spec: ResolverSpec, result: Any) -> Any:
    """The result of a resolver, unchanged. Raises TypeError when it has columns that are not
    declared; those of a statement are known to its database.
    """
    if spec.shape and not inspect.isawaitable(result) and not isinstance(result, SQLStatement):
        frame = rows_returned(spec, result)
        refuse_others(frame, [item.fqn for item in spec.outputs], f"what {spec.fqn} returns")
    return result


def rows_returned(spec: ResolverSpec, result: Any) -> DataFrame:
    """The rows that a resolver returned, in any of the forms that it may return. Raises TypeError.
    """
    owner: FeatureClass = spec.output_class.__svc_features__  # type: ignore[attr-defined]
    if result is None:
        return DataFrame()
    if isinstance(result, spec.output_class):
        result = [result]
    try:
        return DataFrame._of(*columns_of(result, owner))
    except (TypeError, ValueError) as error:
        text = f"{spec.fqn} returned {type(result).__name__} for rows of {owner.cls.__name__}: {error}"
        raise TypeError(text) from None
