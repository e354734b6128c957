"""Runners of features that a model computes: requests are made side by side, for the rows of a call
together.
"""

from __future__ import annotations

import asyncio
import json
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Awaitable, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

from .._codec.values import encode_any, plain_type
from .._model.model_call import CALL_TIME, CompletionOptions, EmbedOptions, ModelDefinition, ModelOptions
from .._model.resolver import ResolverSpec
from .._models.openai import TRIES, Endpoint, ModelError, PassingError, content_of, endpoint_of, only_integration, post, unfenced, usage_of
from .._models.structure import json_schema
from .._surface.names import parse_duration
from .._types.annotations import Scope
from .._types.dtypes import value_type
from ..prompts import PromptResponse
from .frame_runner import FrameRunner
from .raised import Project
from .runner import Errors, Row, Unreadable

#: Requests of a worker at once.
CONCURRENCY = 8
#: Texts and characters of one request for embeddings.
MOST_TEXTS = 128
MOST_CHARACTERS = 200_000
#: Longest answers that are read, in bytes: of a chat, and of each vector.
_CHAT_BYTES = 4_000_000
_VECTOR_BYTES = 2_000_000
#: Seconds before the end of a call's time after which no request begins, so that what was paid for
#: is answered.
_MARGIN = 15.0

_pool = ThreadPoolExecutor(CONCURRENCY, "svc-model")


class _NotAsked(ModelError):
    """A request that was not made, because the time of its call was over."""


class Usage:
    """What a model was asked for during a call, and the tokens that it said that took."""

    def __init__(self, model: str) -> None:
        self.model = model
        self.requests = 0
        self.failures = 0
        self.input = 0
        self.output = 0

    def add(self, answer: Any) -> None:
        """Counts the tokens of an answer."""
        tokens = usage_of(answer)
        self.input += tokens["input"]
        self.output += tokens["output"]

    def json(self) -> Dict[str, Any]:
        """As the RESULT frame has it."""
        return {
            "model": self.model,
            "requests": self.requests,
            "failures": self.failures,
            "inputTokens": self.input,
            "outputTokens": self.output,
        }


class ModelRunner(FrameRunner):
    """The runner of a feature that a model computes."""

    def __init__(self, spec: ResolverSpec, project: Project) -> None:
        super().__init__(spec, project)
        assert isinstance(spec.definition, ModelDefinition)
        self._call: ModelOptions = spec.definition.call
        self._endpoint: Optional[Endpoint] = None
        self._timeout = _seconds(self._call.timeout)
        self._parameters = [item.name for item in spec.inputs]
        is_raw = self._call.is_of_template if isinstance(self._call, CompletionOptions) else lambda _: False
        self._raw = [is_raw(name) for name in self._parameters]
        self._ask = _asks(spec, spec.definition, self._request)

    async def run_async(self, message: Dict[str, Any]) -> Dict[str, Any]:
        """Asks for the values of all rows. A row whose texts have a None in them has None; templates see it."""
        started = time.perf_counter()
        rows: List[Row] = list(self._prepare(message)[1])
        returned: List[Any] = [None] * len(rows)
        errors: Errors = []
        usage = Usage(self._call.model)
        until = time.monotonic() + _seconds(CALL_TIME) - _MARGIN
        asked: List[Tuple[int, Dict[str, Any]]] = []
        for index, row in enumerate(rows):
            unreadable = next((value for value in row if isinstance(value, Unreadable)), None)
            if unreadable is not None:
                self._failed(errors, index, unreadable.error)
            elif not any(value is None and not is_raw for value, is_raw in zip(row, self._raw)):
                values = [value if is_raw else _text(value) for value, is_raw in zip(row, self._raw)]
                asked.append((index, dict(zip(self._parameters, values))))

        async def answer(part: Sequence[int]) -> None:
            try:
                answers = await self._ask([asked[at][1] for at in part], usage, until)
            except Exception as error:
                for at in part:
                    self._failed(errors, asked[at][0], error)
                return
            for at, given in zip(part, answers):
                if isinstance(given, ModelError):
                    self._failed(errors, asked[at][0], given)
                else:
                    returned[asked[at][0]] = given

        texts = [values for _, values in asked]
        await asyncio.gather(*map(answer, _together(texts) if isinstance(self._call, EmbedOptions) else [[at] for at in range(len(texts))]))
        result = self._result(message, returned, errors, started)
        return {**result, "usage": usage.json()}

    async def _request(self, path: str, body: Mapping[str, Any], most_bytes: int, usage: Usage, until: float) -> Any:
        """The JSON of an answer, after as many tries as it takes. Raises ModelError."""
        loop = asyncio.get_running_loop()
        if self._endpoint is None:
            call = self._call
            named = call.integration if call.integration is not None or call.url is not None else only_integration()
            self._endpoint = endpoint_of(named, call.url)
        endpoint = self._endpoint

        def once() -> Any:
            if time.monotonic() > until:
                raise _NotAsked("it was not asked: the rows of one call have 10 minutes; ask for fewer rows at once")
            return post(endpoint, path, body, self._timeout, most_bytes)

        for attempt in range(TRIES):
            try:
                answer = await loop.run_in_executor(_pool, once)
            except _NotAsked:
                raise
            except ModelError as failure:
                usage.requests += 1
                usage.failures += 1
                if not isinstance(failure, PassingError):
                    raise
                if attempt == TRIES - 1:
                    raise ModelError(f"{failure} (asked {TRIES} times)") from None
                await asyncio.sleep(failure.pause(attempt))
            else:
                usage.requests += 1
                usage.add(answer)
                return answer
        raise AssertionError


Request = Callable[[str, Mapping[str, Any], int, Usage, float], Awaitable[Any]]
#: Gives a value, or the reason why there is none, for the texts of each row.
Ask = Callable[[Sequence[Mapping[str, Any]], Usage, float], Awaitable[Sequence[Any]]]


def _asks(spec: ResolverSpec, definition: ModelDefinition, request: Request) -> Ask:
    call = definition.call
    if isinstance(call, EmbedOptions):
        return _embeds(call, request)
    assert isinstance(call, CompletionOptions)
    return _completes(call, spec, definition.scope, request)


def _embeds(call: EmbedOptions, request: Request) -> Ask:
    async def ask(rows: Sequence[Mapping[str, Any]], usage: Usage, until: float) -> Sequence[Any]:
        body: Dict[str, Any] = {"model": call.model, "input": [row["input"] for row in rows], "encoding_format": "float"}
        if call.dimensions is not None:
            body["dimensions"] = call.dimensions
        answer = await request("embeddings", body, _VECTOR_BYTES * len(rows), usage, until)
        found: Dict[int, Any] = {}
        try:
            for item in answer["data"]:
                found[int(item["index"])] = item["embedding"]
            return [found[at] for at in range(len(rows))]
        except (KeyError, TypeError, ValueError):
            raise ModelError(f"the model's answer has no data[].embedding for each of {len(rows)} texts") from None

    return ask


def _completes(call: CompletionOptions, spec: ResolverSpec, scope: Scope, request: Request) -> Ask:
    [output] = spec.outputs
    options: Dict[str, Any] = {"model": call.model}
    for name in ("temperature", "max_tokens"):
        if getattr(call, name) is not None:
            options[name] = getattr(call, name)
    is_response = plain_type(output.python_type) is PromptResponse
    structure = value_type(call.output_structure, scope).dtype if call.output_structure is not None else None
    if structure is None and "struct" in output.dtype and not is_response:
        structure = output.dtype
    if structure is not None:
        schema = {"name": structure["struct"]["name"], "strict": True, "schema": json_schema(structure)}
        options["response_format"] = {"type": "json_schema", "json_schema": schema}

    async def ask(rows: Sequence[Mapping[str, Any]], usage: Usage, until: float) -> Sequence[Any]:
        [row] = rows
        answer = await request("chat/completions", {**options, "messages": call.filled(row, scope)}, _CHAT_BYTES, usage, until)
        text = content_of(answer)
        reason = str(answer["choices"][0].get("finish_reason") or "")
        value = _json_of(text, reason) if structure is not None else None
        if not is_response:
            return [text if structure is None else value]
        tokens = usage_of(answer)
        return [
            {
                "response": text if structure is None else json.dumps(value, ensure_ascii=False),
                "model": str(answer.get("model") or call.model),
                "finish_reason": reason,
                "prompt_tokens": tokens["input"],
                "completion_tokens": tokens["output"],
            }
        ]

    return ask


def _json_of(text: str, reason: str) -> Any:
    try:
        return json.loads(unfenced(text))
    except ValueError:
        cut = "was cut before its end" if reason == "length" else "is no JSON"
        raise ModelError(f"the model's answer {cut}: {text[:200]!r}") from None


def _together(rows: Sequence[Mapping[str, Any]]) -> List[List[int]]:
    """The positions of rows whose texts go into one request."""
    parts: List[List[int]] = []
    size = 0
    for at, row in enumerate(rows):
        length = len(row["input"])
        if not parts or len(parts[-1]) == MOST_TEXTS or size + length > MOST_CHARACTERS:
            parts.append([])
            size = 0
        parts[-1].append(at)
        size += length
    return parts


def _text(value: Any) -> Any:
    """A value in a message: a text as it is, others as JSON has them."""
    if isinstance(value, str):
        return str(value)
    return json.dumps(encode_any(value), ensure_ascii=False)


def _seconds(duration: Any) -> float:
    return (parse_duration(duration) or 0) / 1_000_000
