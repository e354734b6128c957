"""Language models as scorers, asked by the chat completions of OpenAI's protocol. The key is in the
request's header alone: no message here has it.
"""

from __future__ import annotations

import json
import math
import os
import random
import re
import time
import urllib.error
import urllib.request
from string import Formatter
from typing import Any, Dict, Mapping, Optional, Tuple
from urllib.parse import urlsplit

from .._client.address import is_loopback
from .._model.evaluation import Judge
from .._surface.names import parse_duration

#: Calls for one score, and the pauses between them in seconds: the first, doubled each time.
TRIES = 4
_FIRST_PAUSE = 0.5
#: Longest pause that a server may ask for, in seconds.
_LONGEST_PAUSE = 30.0
#: Longest answer that is read, in bytes.
_ANSWER_BYTES = 1_000_000
_PASSING = (408, 409, 425, 429, 500, 502, 503, 504)
_INSTRUCTION = (
    "You judge an answer. Reply with a JSON object and nothing else: "
    '{"score": <a number from 0, the worst, to 1, the best>, "reason": "<one sentence>"}'
)


class JudgeError(Exception):
    """A judge gave no score."""


class _Passing(JudgeError):
    """A failure after which another call may succeed, perhaps after some seconds."""

    def __init__(self, message: str, after: Optional[float] = None) -> None:
        super().__init__(message)
        self.after = after


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Follows no redirect, which would carry the key elsewhere."""

    def redirect_request(self, *_: Any) -> None:
        return None


def judge_score(judge: Judge, output: str, row: Mapping[str, Any]) -> float:
    """The score of an output. Raises JudgeError."""
    address, headers = _endpoint(judge)
    body = {
        "model": judge.model,
        "messages": [{"role": "system", "content": _INSTRUCTION}, {"role": "user", "content": filled(judge.prompt, output, row)}],
    }
    timeout = (parse_duration(judge.timeout) or 0) / 1_000_000
    for attempt in range(TRIES):
        try:
            return _score_in(_call(address, headers, body, timeout))
        except _Passing as failure:
            if attempt == TRIES - 1:
                raise JudgeError(f"{failure} (asked {TRIES} times)") from None
            pause = _FIRST_PAUSE * 2**attempt * random.uniform(0.75, 1.25)
            time.sleep(pause if failure.after is None else min(max(failure.after, 0), _LONGEST_PAUSE))
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


def _endpoint(judge: Judge) -> Tuple[str, Dict[str, str]]:
    """The address of the chat completions, and the headers. Raises JudgeError."""
    headers = {"content-type": "application/json", "accept": "application/json", "user-agent": "svc"}
    base = judge.url
    if judge.integration is not None:
        prefix = re.sub(r"[^A-Z0-9]+", "_", judge.integration.upper())

        def variable(name: str) -> str:
            return os.environ.get(f"{prefix}_{name}", "")

        if not variable("OPENAI_API_KEY"):
            raise JudgeError(f"the environment has no integration '{judge.integration}' of kind openai; make it with `svc integration insert`")
        headers["authorization"] = f"Bearer {variable('OPENAI_API_KEY')}"
        for header, name in (("openai-organization", "OPENAI_ORGANIZATION"), ("openai-project", "OPENAI_PROJECT")):
            if variable(name):
                headers[header] = variable(name)
        base = base or variable("OPENAI_BASE_URL") or "https://api.openai.com/v1"
    return f"{(base or '').rstrip('/')}/chat/completions", headers


def _call(address: str, headers: Mapping[str, str], body: Mapping[str, Any], timeout: float) -> Any:
    """The JSON of an answer. Raises JudgeError."""
    request = urllib.request.Request(address, json.dumps(body).encode("utf-8"), dict(headers), method="POST")
    proxies = [urllib.request.ProxyHandler({})] if is_loopback(urlsplit(address).hostname or "") else []
    opener = urllib.request.build_opener(_NoRedirects, *proxies)
    host, until = urlsplit(address).netloc, time.monotonic() + timeout
    try:
        with opener.open(request, timeout=timeout) as answer:
            text = _read(answer, until)
    except urllib.error.HTTPError as error:
        with error:
            problem = f"{host} answered {error.code}: {_error_text(error)}"
            if error.code in _PASSING:
                raise _Passing(problem, _retry_after(error.headers.get("retry-after"))) from None
            raise JudgeError(problem) from None
    except TimeoutError:
        raise _Passing(f"{host} took longer than {timeout:g} s") from None
    except urllib.error.URLError as error:
        raise _Passing(f"{host} cannot be asked: {error.reason}") from None
    except OSError as error:
        raise _Passing(f"{host} cannot be asked: {error}") from None
    try:
        return json.loads(text)
    except ValueError:
        raise JudgeError(f"{host} did not answer with JSON") from None


def _read(answer: Any, until: float) -> bytes:
    text = b""
    while True:
        part = answer.read1(65_536)
        text += part
        if not part:
            return text
        if len(text) > _ANSWER_BYTES:
            raise JudgeError(f"the judge answered with more than {_ANSWER_BYTES} bytes")
        if time.monotonic() > until:
            raise TimeoutError


def _error_text(error: urllib.error.HTTPError) -> str:
    try:
        said = json.loads(error.read(65_536))["error"]["message"]
    except (OSError, ValueError, KeyError, TypeError):
        said = error.reason
    return str(said)[:300]


def _retry_after(text: Optional[str]) -> Optional[float]:
    try:
        seconds = float(text or "")
    except ValueError:
        return None
    return seconds if math.isfinite(seconds) else None


def _score_in(answer: Any) -> float:
    """The score in an answer: of the JSON object that was asked for, or of a number alone."""
    try:
        content = answer["choices"][0]["message"]["content"]
    except (KeyError, IndexError, TypeError):
        raise JudgeError("the judge's answer has no choices[0].message.content") from None
    text = re.sub(r"\A```(?:json)?\s*|\s*```\Z", "", str(content).strip())
    try:
        said = json.loads(text)
    except ValueError:
        said = None
    score = said.get("score") if isinstance(said, dict) else said
    if isinstance(score, bool) or not isinstance(score, (int, float)) or not 0 <= score <= 1:
        raise JudgeError(f"the judge gave no score from 0 to 1 but {text[:200]!r}")
    return float(score)
