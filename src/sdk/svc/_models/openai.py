"""Calls of a server of OpenAI's protocol. The key is in the request's header alone: no message here
has it.
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
from dataclasses import dataclass
from typing import Any, Dict, Mapping, Optional
from urllib.parse import urlsplit

from .._client.address import is_loopback

#: Calls for one answer, and the pauses between them in seconds: the first, doubled each time.
TRIES = 4
_FIRST_PAUSE = 0.5
#: Longest pause that a server may ask for, in seconds.
_LONGEST_PAUSE = 30.0
_PASSING = (408, 409, 425, 429, 500, 502, 503, 504)
_KEY = "OPENAI_API_KEY"


class ModelError(Exception):
    """A model gave no answer that can be used."""


class PassingError(ModelError):
    """A failure after which another call may succeed, perhaps after some seconds."""

    def __init__(self, message: str, after: Optional[float] = None) -> None:
        super().__init__(message)
        self.after = after

    def pause(self, attempt: int) -> float:
        """The seconds to wait after an attempt, the first of which is 0."""
        if self.after is None:
            return _FIRST_PAUSE * 2**attempt * random.uniform(0.75, 1.25)
        return min(max(self.after, 0), _LONGEST_PAUSE)


@dataclass(frozen=True)
class Endpoint:
    """A server's address, in front of `/chat/completions` and the like, and the headers for it."""

    base: str
    headers: Mapping[str, str]


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Follows no redirect, which would carry the key elsewhere."""

    def redirect_request(self, *_: Any) -> None:
        return None


def endpoint_of(integration: Optional[str], url: Optional[str]) -> Endpoint:
    """The server of an integration; without one, that at a URL, without a key. Raises ModelError when
    the environment has no such integration.
    """
    headers = {"content-type": "application/json", "accept": "application/json", "user-agent": "svc"}
    if integration is None:
        return Endpoint((url or "").rstrip("/"), headers)
    prefix = re.sub(r"[^A-Z0-9]+", "_", integration.upper())

    def variable(name: str) -> str:
        return os.environ.get(f"{prefix}_{name}", "")

    if not variable(_KEY):
        raise ModelError(f"the environment has no integration '{integration}' of kind openai; make it with `svc integration insert`")
    headers["authorization"] = f"Bearer {variable(_KEY)}"
    for header, name in (("openai-organization", "OPENAI_ORGANIZATION"), ("openai-project", "OPENAI_PROJECT")):
        if variable(name):
            headers[header] = variable(name)
    return Endpoint((url or variable("OPENAI_BASE_URL") or "https://api.openai.com/v1").rstrip("/"), headers)


def only_integration() -> str:
    """The integration of kind openai while it is the only one, as its variables begin. Raises
    ModelError.
    """
    found = sorted(name[: -len(_KEY) - 1] for name, value in os.environ.items() if name.endswith(f"_{_KEY}") and value)
    if len(found) == 1:
        return found[0]
    if not found:
        raise ModelError("the environment has no integration of kind openai; make one with `svc integration insert`")
    raise ModelError(f"the environment has {len(found)} integrations of kind openai: say which one with integration=")


def post(endpoint: Endpoint, path: str, body: Mapping[str, Any], timeout: float, most_bytes: int) -> Any:
    """The JSON of one answer, which takes `timeout` seconds at most. Raises ModelError."""
    address = f"{endpoint.base}/{path}"
    request = urllib.request.Request(address, json.dumps(body).encode("utf-8"), dict(endpoint.headers), method="POST")
    proxies = [urllib.request.ProxyHandler({})] if is_loopback(urlsplit(address).hostname or "") else []
    opener = urllib.request.build_opener(_NoRedirects, *proxies)
    host, until = urlsplit(address).netloc, time.monotonic() + timeout
    try:
        with opener.open(request, timeout=timeout) as answer:
            text = _read(answer, until, host, most_bytes)
    except urllib.error.HTTPError as error:
        with error:
            problem = f"{host} answered {error.code}: {_error_text(error)}"
            if error.code in _PASSING:
                raise PassingError(problem, _retry_after(error.headers.get("retry-after"))) from None
            raise ModelError(problem) from None
    except TimeoutError:
        raise PassingError(f"{host} took longer than {timeout:g} s") from None
    except urllib.error.URLError as error:
        raise PassingError(f"{host} cannot be asked: {error.reason}") from None
    except OSError as error:
        raise PassingError(f"{host} cannot be asked: {error}") from None
    try:
        return json.loads(text)
    except ValueError:
        raise ModelError(f"{host} did not answer with JSON") from None


def _read(answer: Any, until: float, host: str, most_bytes: int) -> bytes:
    parts = []
    size = 0
    while True:
        part = answer.read1(65_536)
        parts.append(part)
        size += len(part)
        if not part:
            return b"".join(parts)
        if size > most_bytes:
            raise ModelError(f"{host} answered with more than {most_bytes} bytes")
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


def content_of(answer: Any) -> str:
    """The text of a chat completion. Raises ModelError."""
    try:
        return str(answer["choices"][0]["message"]["content"])
    except (KeyError, IndexError, TypeError):
        raise ModelError("the model's answer has no choices[0].message.content") from None


def unfenced(text: str) -> str:
    """A text without the Markdown fence around all of it."""
    return re.sub(r"\A```(?:json)?\s*|\s*```\Z", "", text.strip())


def usage_of(answer: Any) -> Dict[str, int]:
    """The tokens that an answer says it took, by `input` and `output`; 0 where it does not say."""
    usage = answer.get("usage") if isinstance(answer, dict) else None
    given = usage if isinstance(usage, dict) else {}
    counts = {"input": given.get("prompt_tokens"), "output": given.get("completion_tokens")}
    return {kind: count if isinstance(count, int) and count > 0 else 0 for kind, count in counts.items()}
