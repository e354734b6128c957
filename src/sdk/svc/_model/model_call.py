"""Features that a model computes: their options, and the resolvers that ask the model for them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Mapping, Optional, Union

from .._types.annotations import Deferred, Scope
from .field import Field, FeatureOptions
from .field_resolver import FieldResolver
from .resolver import ResolverOptions
from .template import JinjaTemplate

#: Names of features in the texts of messages: `{{ Review.body }}`.
PLACEHOLDER = re.compile(r"\{\{\s*([^{}]*?)\s*\}\}")
#: The time for the rows of one call, after which no more of them are asked for.
CALL_TIME = "10m"


@dataclass(frozen=True)
class ModelOptions(FeatureOptions):
    """The options of `embed(...)` and `completion(...)`."""

    model: Any = None
    provider: Any = "openai"
    integration: Any = None
    url: Any = None
    timeout: Union[str, timedelta, None] = None

    @property
    def taker(self) -> str:
        """The function that took them."""
        raise NotImplementedError

    def parameters(self, scope: Scope) -> dict[str, Any]:
        """The annotations of what the model is asked with, by parameter."""
        raise NotImplementedError


@dataclass(frozen=True)
class EmbedOptions(ModelOptions):
    """The options of `embed(...)`."""

    input: Any = None
    dimensions: Any = None
    taker = "embed"

    def parameters(self, scope: Scope) -> dict[str, Any]:
        return {"input": Deferred(self.input) if callable(self.input) else self.input}


@dataclass(frozen=True)
class Message:
    """What `message` makes."""

    role: Any
    content: Any


@dataclass(frozen=True)
class CompletionOptions(ModelOptions):
    """The options of `completion(...)`."""

    messages: Any = None
    output_structure: Any = None
    temperature: Any = None
    max_tokens: Any = None
    taker = "completion"

    def parameters(self, scope: Scope) -> dict[str, Any]:
        """One for each feature that a text or a template names, and for each message that is one."""
        found: dict[str, Any] = {name: path for path, name in self._named().items()}
        deferred = {f"message_{at}": Deferred(item.content) for at, item in enumerate(self._listed()) if callable(item.content)}
        rendered = {name: given for at, template in self._templates().items() for name, given in template.parameters(scope, _prefix(at)).items()}
        return {**found, **deferred, **rendered}

    def is_of_template(self, parameter: str) -> bool:
        """Whether a template takes a parameter, whose values are then what resolvers are given."""
        return parameter.startswith(_TEMPLATE)

    def _templates(self) -> dict[int, JinjaTemplate]:
        return {at: item.content for at, item in enumerate(self._listed()) if isinstance(item.content, JinjaTemplate)}

    def _listed(self) -> list[Message]:
        given = self.messages if isinstance(self.messages, (list, tuple)) else ()
        return [item for item in given if isinstance(item, Message)]

    def _named(self) -> dict[str, str]:
        """The parameters of the features that texts name, by path."""
        texts = [item.content for item in self._listed() if isinstance(item.content, str)]
        paths = dict.fromkeys(path for text in texts for path in PLACEHOLDER.findall(text))
        return {path: f"value_{at}" for at, path in enumerate(paths)}

    def filled(self, values: Mapping[str, Any], scope: Scope) -> list[dict[str, str]]:
        """The messages as a model is sent them, with the texts of parameters, and the values of those
        of templates. Raises what templates raise.
        """
        return [{"role": item.role, "content": self._content(at, item.content, values, scope)} for at, item in enumerate(self._listed())]

    def _content(self, at: int, content: Any, values: Mapping[str, Any], scope: Scope) -> str:
        if isinstance(content, JinjaTemplate):
            own = f"{_prefix(at)}_"
            return content.render([value for name, value in values.items() if name.startswith(own)], scope)
        if isinstance(content, str):
            named = self._named()
            return PLACEHOLDER.sub(lambda match: values[named[match.group(1)]], content)
        return str(values[f"message_{at}"])


#: What the names of parameters of templates begin with.
_TEMPLATE = "template_"


def _prefix(at: int) -> str:
    return f"{_TEMPLATE}{at}"


class ModelDefinition(FieldResolver):
    """The resolver of a feature that a model computes."""

    what = "a model computes it"

    def __init__(self, field: Field) -> None:
        assert isinstance(field.options, ModelOptions)
        self.call: ModelOptions = field.options
        super().__init__(field, _asked, ResolverOptions(timeout=CALL_TIME), self.call.parameters(field.owner_class.scope))

    @property
    def description(self) -> str:
        what = "Embeds a text" if isinstance(self.call, EmbedOptions) else "Asks a language model"
        return f"{what} with {self.call.model}."


async def _asked(*_: Any) -> Any:
    raise RuntimeError("a model is asked by the server's workers alone: give this feature a value in tests")
