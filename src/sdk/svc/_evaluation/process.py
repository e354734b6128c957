"""The process of a run of an evaluation: it imports the project, calls the evaluated function for
each row that the server sends, and scores what it returns.

Frames to the server: HELLO and LOG as of a worker, then

READY   no fields: the evaluation is there
SCORED  outputs: texts, null for None; scores: by scorer, a number or null per row; errors: by
        scorer, and by the empty name for the function, a text per row that failed, by its number
        in the frame
FAILED  message: why nothing can be evaluated

Frames from the server:

ROWS    rows: their number; columns: values by column. One is answered before the next is sent
DONE    no fields: the process ends
"""

from __future__ import annotations

import argparse
import inspect
import json
import os
from concurrent.futures import ThreadPoolExecutor
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any, Callable, Dict, List, Mapping, Optional

from .._analysis.evaluation_rules import input_columns, scorer_name
from .._codec.values import decode, untag
from .._loading.load import load_project
from .._model.evaluation import Evaluation, Judge
from .._model.registry import registry
from .._task.task import Output
from .._worker.limits import limit_memory
from .._worker.protocol import Connection, Message
from .._worker.raised import Project
from .._worker.worker import end_with_server
from .scoring import Row, Score, output_text, score_of

#: Longest output that is kept, in characters; the rest is cut off.
OUTPUT_LENGTH = 64 * 1024
ERROR_LENGTH = 1_000
#: Calls of judges at once.
JUDGES = 8
#: Name of the function among what fails.
TASK = ""

_TYPES = {
    "PRIMITIVE_TYPE_DATE": date,
    "PRIMITIVE_TYPE_DATETIME": datetime,
    "PRIMITIVE_TYPE_DECIMAL": Decimal,
    "PRIMITIVE_TYPE_TIMEDELTA": timedelta,
    "PRIMITIVE_TYPE_BYTES": bytes,
    "PRIMITIVE_TYPE_FLOAT64": float,
}


class Loop:
    """An event loop for the coroutines of a project, made when there is one."""

    def __init__(self) -> None:
        self._loop: Any = None

    def result(self, value: Any) -> Any:
        """A value, of a coroutine its result."""
        if not inspect.isawaitable(value):
            return value
        if self._loop is None:
            import asyncio

            self._loop = asyncio.new_event_loop()
        return self._loop.run_until_complete(value)


class Scorers:
    """What scores the rows of an evaluation. Judges are asked for several rows at once."""

    def __init__(self, evaluation: Evaluation, loop: Loop, described: Callable[[BaseException], str]) -> None:
        self._described = described
        self._scores: Dict[str, Score] = {scorer_name(item): score_of(item, loop.result) for item in evaluation.scorers}
        self._judges = {scorer_name(item) for item in evaluation.scorers if isinstance(item, Judge)}
        self._pool = ThreadPoolExecutor(JUDGES, "svc-judge") if self._judges else None

    def score(self, outputs: Mapping[int, Any], rows: List[Row], errors: Dict[str, Dict[int, str]]) -> Dict[str, List[Optional[float]]]:
        """The scores of the rows that have an output, by scorer; what raises goes to `errors`."""
        scored: Dict[str, List[Optional[float]]] = {}
        for name, score in self._scores.items():
            failed: Dict[int, str] = {}

            def one(row: int, score: Score = score, failed: Dict[int, str] = failed) -> Optional[float]:
                try:
                    return score(outputs[row], rows[row])
                except (Exception, SystemExit) as error:
                    failed[row] = self._described(error)
                    return None

            apply = self._pool.map if self._pool is not None and name in self._judges else map
            found = dict(zip(outputs, apply(one, outputs)))
            scored[name] = [found.get(row) for row in range(len(rows))]
            if failed:
                errors[name] = failed
        return scored


class Process:
    """An evaluation and the connection on which its rows come."""

    def __init__(self, connection: Connection, project: Project, evaluation: Evaluation, dtypes: Mapping[str, Any]) -> None:
        self._connection = connection
        self._project = project
        self._task = evaluation.task
        self._inputs = input_columns(evaluation)
        self._dtypes = dtypes
        self._loop = Loop()
        self._scorers = Scorers(evaluation, self._loop, self._described)

    def serve(self) -> None:
        """Answers rows until there are no more."""
        self._connection.send({"type": "READY"})
        while True:
            message = self._connection.receive()
            if message is None:
                end_with_server()
            elif message["type"] == "DONE":
                return
            elif message["type"] == "ROWS":
                self._connection.send(self._evaluated(message))

    def _evaluated(self, message: Message) -> Message:
        columns = {name: [self._value(name, value) for value in values] for name, values in message["columns"].items()}
        rows: List[Row] = [{name: values[row] for name, values in columns.items()} for row in range(message["rows"])]
        errors: Dict[str, Dict[int, str]] = {TASK: {}}
        outputs: Dict[int, Any] = {}
        for number, row in enumerate(rows):
            try:
                outputs[number] = self._loop.result(self._task(**{name: row[column] for name, column in self._inputs.items()}))
            except (Exception, SystemExit) as error:
                errors[TASK][number] = self._described(error)
        scores = self._scorers.score(outputs, rows, errors)
        return {
            "type": "SCORED",
            "outputs": [_kept(output_text(outputs.get(row))) for row in range(len(rows))],
            "scores": scores,
            "errors": {name: {str(row): text for row, text in failed.items()} for name, failed in errors.items() if failed},
        }

    def _value(self, column: str, value: Any) -> Any:
        wanted = _TYPES.get(self._dtypes[column].get("primitive", ""))
        return untag(value) if wanted is None else decode(wanted, value)

    def _described(self, error: BaseException) -> str:
        said = self._project.describe(error, with_stack=False)
        place = f" ({said['file']}:{said['line']})" if said["file"] else ""
        return f"{': '.join(filter(None, (said['kind'], said['message'])))[:ERROR_LENGTH]}{place}"


def _kept(text: Optional[str]) -> Optional[str]:
    if text is None:
        return None
    return text.encode("utf-8", "backslashreplace").decode("utf-8")[:OUTPUT_LENGTH]


def main(argv: List[str]) -> int:
    """Runs the process; ends it itself when all rows are answered, so that threads and exit handlers
    of the project cannot delay it.
    """
    parser = argparse.ArgumentParser(prog="_boot.py evaluation")
    parser.add_argument("--root", required=True, help="folder of the project's source")
    parser.add_argument("--socket", required=True, help="path of the server's Unix socket")
    parser.add_argument("--request", required=True, help="JSON file: name of the evaluation, files to import, dtypes by column")
    parser.add_argument("--memory-limit", type=int, help="cap on the address space in bytes")
    arguments = parser.parse_args(argv)
    if arguments.memory_limit is not None:
        limit_memory(arguments.memory_limit)
    with open(arguments.request, encoding="utf-8") as stream:
        request: Dict[str, Any] = json.load(stream)
    connection = Connection(arguments.socket)
    connection.send({"type": "HELLO", "launcher": os.getppid()})
    output = Output(connection)
    findings = load_project(arguments.root, request["files"])
    evaluation = next((item for item in registry.evaluations if item.name == request["name"]), None)
    if findings or evaluation is None:
        problem = findings[0].message if findings else f"the project was imported, but it defines no evaluation '{request['name']}'"
        connection.send({"type": "FAILED", "message": problem})
        return 1
    Process(connection, Project(arguments.root), evaluation, request["dtypes"]).serve()
    output.flush()
    os._exit(0)
