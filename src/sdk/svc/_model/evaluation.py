"""Evaluations: functions that are called for each row of a dataset, and scored."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Callable, Mapping, NoReturn, Optional, Sequence, Union

from .._diagnostics.source import Origin
from .._surface.unknown_options import kept
from .registry import registry


@dataclass(frozen=True)
class ExactMatch:
    """What `exact_match` makes."""

    column: Any
    name: Any


@dataclass(frozen=True)
class Contains:
    """What `contains` makes."""

    column: Any
    ignore_case: Any
    name: Any


@dataclass(frozen=True)
class Numeric:
    """What `numeric` makes."""

    column: Any
    tolerance: Any
    relative: Any
    name: Any


@dataclass(frozen=True)
class Judge:
    """What `judge` makes."""

    prompt: Any
    model: Any
    integration: Any
    url: Any
    timeout: Any
    name: Any


#: A scorer of this package, or a function of the output and, if it takes a second argument, the
#: row as a dict by column.
Scorer = Union[ExactMatch, Contains, Numeric, Judge, Callable[..., Any]]


def exact_match(column: str, *, name: str = "exact_match") -> ExactMatch:
    """1 when the output equals the value of a column, else 0.

    column: the column with the expected value. A null is expected to be None.
    name: the scorer's name, unique in its evaluation.
    """
    return ExactMatch(column, name)


def contains(column: str, *, ignore_case: bool = False, name: str = "contains") -> Contains:
    """1 when the output, as text, contains the text of a column, else 0; no score where that is
    null.

    column: the column with the expected text.
    ignore_case: whether upper and lower case are the same.
    name: the scorer's name, unique in its evaluation.
    """
    return Contains(column, ignore_case, name)


def numeric(column: str, *, tolerance: float = 0, relative: float = 0, name: str = "numeric") -> Numeric:
    """1 when the output is a number, or the text of one, near that of a column, else 0; no score
    where that is null.

    column: the column with the expected number.
    tolerance: the greatest difference.
    relative: the greatest difference as a share of the expected number; the larger one counts.
    name: the scorer's name, unique in its evaluation.
    """
    return Numeric(column, tolerance, relative, name)


def judge(
    prompt: str,
    *,
    model: str,
    integration: Optional[str] = None,
    url: Optional[str] = None,
    timeout: Union[str, timedelta] = "60s",
    name: str = "judge",
) -> Judge:
    """The score from 0 to 1 that a language model gives, asked by the chat completions of OpenAI's
    protocol.

    prompt: what to ask, in which `{output}` stands for the output and `{column}` for a value of the
        row; `{{` is a brace.
    model: the name of the model.
    integration: an integration of kind openai, which has the key and may have an address.
    url: the address in front of `/chat/completions`, instead of the integration's.
    timeout: how long one call may take; a call that fails for a passing reason is tried 4 times.
    name: the scorer's name, unique in its evaluation.
    """
    return Judge(prompt, model, integration, url, timeout, name)


class Evaluation:
    """A function that is called for each row of a dataset, and scored, when somebody asks for it by
    `svc eval trigger`.

        Evaluation("answers", dataset="tickets", task=answer, scorers=[exact_match("expected")])

    name: unique among the evaluations.
    dataset: a dataset by name, of which a run takes the revision that is the newest when it is
        triggered; or "name@rev_...", a revision that all runs take.
    task: the function. What it returns for a row is the row's output; what it raises is the row's
        error, and the run goes on.
    scorers: what scores an output: exact_match(...), contains(...), numeric(...), judge(...), or
        functions of the output, or of the output and the row as a dict, that return a number, or
        None for no score.
    inputs: the columns that the function is given: a list in the order of its parameters, or a dict
        of columns by parameter; default: the columns that its parameters are named after.
    key: the column that tells rows apart, by which runs over different revisions are compared.
    owner, description, tags: metadata.
    venv: the name under `venvs` of svc.yaml of the requirements that it runs with; its process
        imports the module of the evaluation alone.
    """

    def __init__(
        self,
        name: str,
        *,
        dataset: str,
        task: Callable[..., Any],
        scorers: Sequence[Scorer],
        inputs: Union[Sequence[str], Mapping[str, str], None] = None,
        key: Optional[str] = None,
        owner: Optional[str] = None,
        description: Optional[str] = None,
        tags: Union[str, Sequence[str], None] = None,
        venv: Optional[str] = None,
        **others: NoReturn,
    ) -> None:
        frame = sys._getframe(1)
        self.name = name
        self.dataset = dataset
        self.task = task
        self.scorers = scorers
        self.inputs = inputs
        self.key = key
        self.owner = owner
        self.description = description
        self.tags = tags
        self.venv = venv
        self.others = kept("Evaluation", others)
        self.origin = Origin(frame.f_code.co_filename, frame.f_lineno, type(self).__name__)
        registry.add_evaluation(self)

    def __repr__(self) -> str:
        return f"Evaluation(name={self.name!r}, dataset={self.dataset!r})"
