"""Features that a language model answers.

    import svc.prompts as P
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Callable, NoReturn, Optional, Sequence, Union

from ._model.field import MISSING, Tags
from ._model.model_call import CompletionOptions, Message
from ._model.template import JinjaTemplate
from ._surface.unknown_options import kept

__all__ = ["PromptResponse", "completion", "message"]


@dataclass(frozen=True)
class PromptResponse:
    """What a model answered, as the type of a feature."""

    #: The text; with an `output_structure` it is JSON.
    response: str
    #: The model that the server says it was.
    model: str
    #: "stop" unless the answer was cut.
    finish_reason: str
    #: Tokens that the server counted; 0 where it does not say.
    prompt_tokens: int
    completion_tokens: int


def message(*, role: str, content: Union[str, JinjaTemplate, Callable[[], Any]]) -> Any:
    """A message for a model.

    role: "system", "developer", "user" or "assistant".
    content: a text in which `{{ Review.body }}` stands for a value of the row, a template
        (`F.jinja(...)`), or a function that gives the feature with the text.
    """
    return Message(role, content)


def completion(
    *,
    model: str,
    messages: Sequence[Any],
    output_structure: Optional[type] = None,
    provider: str = "openai",
    integration: Optional[str] = None,
    url: Optional[str] = None,
    temperature: Optional[float] = None,
    max_tokens: Optional[int] = None,
    timeout: Union[str, timedelta] = "60s",
    max_staleness: Union[str, timedelta, None] = None,
    default: Any = MISSING,
    owner: Optional[str] = None,
    tags: Optional[Tags] = None,
    description: Optional[str] = None,
    name: Optional[str] = None,
    store_online: Optional[bool] = None,
    store_offline: Optional[bool] = None,
    offline_ttl: Union[str, timedelta, None] = None,
    **others: NoReturn,
) -> Any:
    """What a language model answers, by the chat completions of OpenAI's protocol:

        mood: str = completion(
            model="m",
            messages=[message(role="user", content="Is this friendly? {{ Review.body }}")],
            max_staleness="infinity",
        )

    A feature of type `str` is the answer's text, a `PromptResponse` has its tokens too, and of a
    @dataclass the model is asked for JSON with its fields.

    model: the name of the model.
    messages: what it is sent, each made by `message`.
    output_structure: a @dataclass that the text of a `PromptResponse` is JSON of.
    provider: "openai", the protocol.
    integration: an integration of kind openai, which has the key and may have an address. Default:
        the only one.
    url: the address in front of `/chat/completions`, instead of the integration's; without an
        integration no key is sent.
    temperature: 0 to 2.
    max_tokens: the most tokens of an answer. One that was cut is an error where it should be JSON.
    timeout: how long one request may take; one that fails for a passing reason is made 4 times.
    default, max_staleness, owner, tags, description, name, store_online, store_offline, offline_ttl:
        as `feature` takes them.
    """
    return CompletionOptions(
        max_staleness=max_staleness,
        default=default,
        owner=owner,
        tags=tags,
        description=description,
        name=name,
        store_online=store_online,
        store_offline=store_offline,
        offline_ttl=offline_ttl,
        model=model,
        provider=provider,
        integration=integration,
        url=url,
        timeout=timeout,
        messages=messages,
        output_structure=output_structure,
        temperature=temperature,
        max_tokens=max_tokens,
        others=kept("completion", others),
    )


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        from ._surface.public_names import no_such_name

        raise no_such_name(__name__, name)
