"""Language models as scorers, asked by the chat completions of OpenAI's protocol."""

from __future__ import annotations

import json
import time
from string import Formatter
from typing import Any, Mapping

from .._model.evaluation import Judge
from .._models.openai import TRIES, ModelError, PassingError, content_of, endpoint_of, post, unfenced
from .._surface.names import parse_duration

#: Longest answer that is read, in bytes.
_ANSWER_BYTES = 1_000_000
_INSTRUCTION = (
    "You judge an answer. Reply with a JSON object and nothing else: "
    '{"score": <a number from 0, the worst, to 1, the best>, "reason": "<one sentence>"}'
)


class JudgeError(Exception):
    """A judge gave no score."""


def judge_score(judge: Judge, output: str, row: Mapping[str, Any]) -> float:
    """The score of an output. Raises JudgeError."""
    body = {
        "model": judge.model,
        "messages": [{"role": "system", "content": _INSTRUCTION}, {"role": "user", "content": filled(judge.prompt, output, row)}],
    }
    timeout = (parse_duration(judge.timeout) or 0) / 1_000_000
    try:
        endpoint = endpoint_of(judge.integration, judge.url)
        for attempt in range(TRIES):
            try:
                return _score_in(post(endpoint, "chat/completions", body, timeout, _ANSWER_BYTES))
            except PassingError as failure:
                if attempt == TRIES - 1:
                    raise JudgeError(f"{failure} (asked {TRIES} times)") from None
                time.sleep(failure.pause(attempt))
    except ModelError as error:
        raise JudgeError(str(error)) from None
    raise AssertionError


def filled(prompt: str, output: str, row: Mapping[str, Any]) -> str:
    """A prompt with the values of a row."""
    from .scoring import output_text

    parts = []
    for literal, name, _, _ in Formatter().parse(prompt):
        parts.append(literal)
        if name is not None:
            parts.append(output if name == "output" else output_text(row[name]) or "")
    return "".join(parts)


def _score_in(answer: Any) -> float:
    """The score in an answer: of the JSON object that was asked for, or of a number alone."""
    text = unfenced(content_of(answer))
    try:
        said = json.loads(text)
    except ValueError:
        said = None
    score = said.get("score") if isinstance(said, dict) else said
    if isinstance(score, bool) or not isinstance(score, (int, float)) or not 0 <= score <= 1:
        raise JudgeError(f"the judge gave no score from 0 to 1 but {text[:200]!r}")
    return float(score)
