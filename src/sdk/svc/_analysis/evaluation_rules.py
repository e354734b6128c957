"""Rules about evaluations: 146, 177, 178 and 179. What a dataset holds is known to the server alone,
when a run is triggered.
"""

from __future__ import annotations

import inspect
import math
from dataclasses import dataclass
from string import Formatter
from typing import Any, Callable, Mapping, Optional

from .._codec.wire import describe
from .._diagnostics import rules
from .._diagnostics.findings import Finding, Message
from .._model.evaluation import Contains, Evaluation, ExactMatch, Judge, Numeric
from .._surface.names import parse_duration
from .._surface.options import Check, check_options, check_tags, check_text, check_venv
from .spans import call_span

Report = Callable[[Finding], None]

#: Longest name of an evaluation or a scorer, in characters.
_MAX_NAME = 100
#: Longest name of a dataset, in characters.
_MAX_DATASET = 200
_MAX_EVALUATIONS = 200
_MAX_SCORERS = 20
_MAX_INPUTS = 100
#: Longest prompt of a judge, in characters.
_MAX_PROMPT = 20_000
_MAX_TIMEOUT_MICROS = 600_000_000


@dataclass(frozen=True)
class ResolvedEvaluation:
    """An evaluation that makes sense."""

    evaluation: Evaluation
    #: Name of the dataset, and id of a revision; one of them may be empty.
    dataset: str
    revision: str
    #: The function, for people.
    task: str
    #: Columns by parameter, in order.
    inputs: dict[str, str]
    #: As `svc.v1.Scorer`.
    scorers: list[dict[str, Any]]


class _Wrong(Exception):
    """What is wrong with an evaluation, and at which of its options."""

    def __init__(self, said: Message, option: str, index: Optional[int] = None) -> None:
        super().__init__()
        self.said = said
        self.option = option
        self.index = index


def _check_name(option: str, value: Any) -> Optional[str]:
    problem = check_text(option, value)
    if problem is None and (len(value) > _MAX_NAME or value != value.strip() or not value.isprintable()):
        return f"{option} is {describe(value)}: write up to {_MAX_NAME} characters on one line"
    return problem


_CHECKS: dict[str, Check] = {
    "name": _check_name,
    "key": check_text,
    "owner": check_text,
    "description": check_text,
    "tags": check_tags,
    "venv": check_venv,
}


def check_evaluations(evaluations: list[Evaluation], report: Report) -> list[ResolvedEvaluation]:
    """The evaluations that make sense; findings for the others."""
    seen: dict[str, Evaluation] = {}
    resolved = []
    for evaluation in evaluations:
        problems = check_options(_CHECKS, evaluation)
        if evaluation.name is None:
            problems["name"] = "name is None: write a text"
        for option, text in problems.items():
            report(rules.BadValue.option(problem=text).at(call_span(evaluation, option)))
        if problems:
            continue
        first = seen.setdefault(evaluation.name, evaluation)
        if first is not evaluation:
            related = ((call_span(first, "name"), "first defined here"),)
            report(rules.BadEvaluation.twice(evaluation=evaluation.name).at(call_span(evaluation, "name"), related=related))
            continue
        try:
            resolved.append(_resolved(evaluation))
        except _Wrong as wrong:
            report(wrong.said.at(call_span(evaluation, wrong.option, wrong.index)))
    if len(evaluations) > _MAX_EVALUATIONS:
        beyond = evaluations[_MAX_EVALUATIONS]
        report(rules.BadEvaluation.too_many(count=len(evaluations), most=_MAX_EVALUATIONS).at(call_span(beyond, "name")))
    return resolved


def _resolved(evaluation: Evaluation) -> ResolvedEvaluation:
    dataset, revision = _dataset(evaluation)
    if not callable(evaluation.task) or inspect.isclass(evaluation.task):
        raise _Wrong(rules.BadEvaluation.task(evaluation=evaluation.name, given=describe(evaluation.task)), "task")
    return ResolvedEvaluation(
        evaluation,
        dataset=dataset,
        revision=revision,
        task=_function_name(evaluation.task),
        inputs=input_columns(evaluation),
        scorers=_scorers(evaluation),
    )


def _dataset(evaluation: Evaluation) -> tuple[str, str]:
    given = evaluation.dataset

    def wrong(problem: str) -> _Wrong:
        return _Wrong(rules.BadEvaluation.dataset(evaluation=evaluation.name, problem=problem), "dataset")

    if not isinstance(given, str) or not given.strip():
        raise wrong(f"dataset is {describe(given)}; write its name, such as 'tickets'")
    name, at, revision = given.rpartition("@")
    if not at or not revision.startswith("rev_"):
        name, revision = ("", given) if given.startswith("rev_") else (given, "")
    if len(name) > _MAX_DATASET or name != name.strip() or (name and not name.isprintable()) or name.startswith("dst_"):
        raise wrong(f"dataset is {describe(given)}; write its name, such as 'tickets' or 'tickets@rev_...'")
    if revision and not revision[4:].isalnum():
        raise wrong(f"{describe(revision)} is no id of a revision; `svc dataset get {name or '<dataset>'}` shows them")
    return name, revision


def _function_name(function: Any) -> str:
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", None) or type(function).__qualname__
    return f"{module}.{name}" if module else name


def input_columns(evaluation: Evaluation) -> dict[str, str]:
    """The columns of an evaluation's inputs, by parameter of its function."""

    def wrong(problem: str) -> _Wrong:
        return _Wrong(
            rules.BadEvaluationInputs.not_taken(evaluation=evaluation.name, problem=problem), "task" if evaluation.inputs is None else "inputs"
        )

    given = evaluation.inputs
    try:
        signature = inspect.signature(evaluation.task)
    except (TypeError, ValueError):
        raise wrong("its parameters are not known; write a function of the project that calls it") from None
    named = [item for item in signature.parameters.values() if item.kind in (item.POSITIONAL_OR_KEYWORD, item.KEYWORD_ONLY)]
    if given is None:
        columns = {item.name: item.name for item in named if item.default is item.empty}
    elif isinstance(given, Mapping):
        columns = dict(given)
    elif isinstance(given, (list, tuple)):
        if len(given) > len(named):
            raise wrong(f"it has {len(named)} parameters with names, and inputs has {len(given)} columns")
        columns = dict(zip((item.name for item in named), given))
    else:
        raise wrong(f"inputs is {describe(given)}; write a list of columns, or a dict of columns by parameter")
    for parameter, column in columns.items():
        if not isinstance(parameter, str) or not isinstance(column, str) or not column:
            raise wrong(f"inputs holds {describe(column)} for {describe(parameter)}; write the name of a column")
    if not columns:
        raise wrong("it is given no column; name one in inputs=")
    if len(columns) > _MAX_INPUTS:
        raise wrong(f"it is given {len(columns)} columns, and {_MAX_INPUTS} are the most")
    try:
        signature.bind(**columns)
    except TypeError as error:
        raise wrong(str(error)) from None
    return columns


def scorer_name(scorer: Any) -> Any:
    """The name of a scorer, as it was given; that of a function is its own."""
    if isinstance(scorer, (ExactMatch, Contains, Numeric, Judge)):
        return scorer.name
    return getattr(scorer, "__name__", None) or type(scorer).__name__


def _scorers(evaluation: Evaluation) -> list[dict[str, Any]]:
    given = evaluation.scorers
    if not isinstance(given, (list, tuple)):
        raise _Wrong(rules.BadScorer.not_a_scorer(evaluation=evaluation.name, given=describe(given)), "scorers")
    if not 0 < len(given) <= _MAX_SCORERS:
        label = "too many" if given else "no scorer"
        said = rules.BadScorer.count(evaluation=evaluation.name, count=len(given), most=_MAX_SCORERS, label=label)
        raise _Wrong(said, "scorers")
    seen: set[str] = set()
    documents = []
    for index, scorer in enumerate(given):
        documents.append(_scorer(evaluation, scorer, index))
        name = scorer_name(scorer)
        if name.lower() in seen:
            raise _Wrong(rules.BadScorer.twice(evaluation=evaluation.name, scorer=name), "scorers", index)
        seen.add(name.lower())
    return documents


def _scorer(evaluation: Evaluation, scorer: Any, index: int) -> dict[str, Any]:
    if not isinstance(scorer, (ExactMatch, Contains, Numeric, Judge)):
        if not callable(scorer) or inspect.isclass(scorer):
            raise _Wrong(rules.BadScorer.not_a_scorer(evaluation=evaluation.name, given=describe(scorer)), "scorers", index)
        if takes_row(scorer) is None:
            raise _Wrong(rules.BadScorer.arguments(evaluation=evaluation.name, scorer=scorer_name(scorer)), "scorers", index)
        return {"name": scorer_name(scorer), "function": _function_name(scorer)}
    problem = _check_name("name", scorer.name) or _SCORER_CHECKS[type(scorer)](scorer)
    if problem:
        raise _Wrong(rules.BadScorer.option(evaluation=evaluation.name, problem=problem), "scorers", index)
    return {"name": scorer.name, **_scorer_kind(scorer)}


def takes_row(scorer: Any) -> Optional[bool]:
    """Whether a function is given the row after the output; None when it takes neither."""
    try:
        signature = inspect.signature(scorer)
    except (TypeError, ValueError):
        return False
    for count in (2, 1):
        try:
            signature.bind(*range(count))
            return count == 2
        except TypeError:
            continue
    return None


def _check_numeric(scorer: Numeric) -> Optional[str]:
    for option, value in (("tolerance", scorer.tolerance), ("relative", scorer.relative)):
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value) or value < 0:
            return f"{option} is {describe(value)}; write a number of at least 0"
    return check_text("column", scorer.column)


def _check_contains(scorer: Contains) -> Optional[str]:
    if not isinstance(scorer.ignore_case, bool):
        return f"ignore_case is {describe(scorer.ignore_case)}; write True or False"
    return check_text("column", scorer.column)


def _check_judge(scorer: Judge) -> Optional[str]:
    problem = check_text("prompt", scorer.prompt) or check_text("model", scorer.model)
    if problem:
        return problem
    if len(scorer.prompt) > _MAX_PROMPT:
        return f"prompt has {len(scorer.prompt)} characters; write up to {_MAX_PROMPT}"
    try:
        if "output" not in prompt_columns(scorer.prompt):
            return "prompt has no {output}, so the judge would not see what it judges"
    except ValueError as error:
        return f"prompt cannot be read: {error}; write {{{{ for a brace"
    if scorer.integration is None and scorer.url is None:
        return "judge has neither integration= nor url=, so nobody can be asked"
    if scorer.integration is not None and check_text("integration", scorer.integration):
        return check_text("integration", scorer.integration)
    if scorer.url is not None and (not isinstance(scorer.url, str) or not scorer.url.startswith(("http://", "https://"))):
        return f"url is {describe(scorer.url)}; write one such as 'https://api.example.com/v1'"
    micros = parse_duration(scorer.timeout)
    if micros is None or not 0 < micros <= _MAX_TIMEOUT_MICROS:
        return f"timeout is {describe(scorer.timeout)}; write a duration of at most 10m, such as '60s'"
    return None


_SCORER_CHECKS: dict[type, Callable[[Any], Optional[str]]] = {
    ExactMatch: lambda scorer: check_text("column", scorer.column),
    Contains: _check_contains,
    Numeric: _check_numeric,
    Judge: _check_judge,
}


def prompt_columns(prompt: str) -> list[str]:
    """The names in braces of a prompt. Raises ValueError when a brace stands alone."""
    return list(dict.fromkeys(name for _, name, _, _ in Formatter().parse(prompt) if name is not None))


def _scorer_kind(scorer: Any) -> dict[str, Any]:
    if isinstance(scorer, ExactMatch):
        return {"exactMatch": {"column": scorer.column}}
    if isinstance(scorer, Contains):
        return {"contains": {"column": scorer.column, "ignoreCase": scorer.ignore_case}}
    if isinstance(scorer, Numeric):
        return {"numeric": {"column": scorer.column, "tolerance": float(scorer.tolerance), "relative": float(scorer.relative)}}
    judge = {"model": scorer.model, "prompt": scorer.prompt, "url": scorer.url, "integration": scorer.integration}
    return {"judge": {name: value for name, value in judge.items() if value is not None}}
