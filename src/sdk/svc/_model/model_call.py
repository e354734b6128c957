"""Features that a model computes: their options, and the resolvers that ask the model for them."""

from __future__ import annotations

import hashlib
import inspect
import re
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Mapping, Optional, Union

from .._diagnostics.outline import FunctionOutline
from .._diagnostics.source import Origin
from .._types.annotations import Deferred
from .field import Field, FeatureOptions
from .resolver import ONLINE, ResolverDefinition, ResolverOptions

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

    def parameters(self) -> dict[str, Any]:
        """The annotations of what the model is asked with, by parameter."""
        raise NotImplementedError


@dataclass(frozen=True)
class EmbedOptions(ModelOptions):
    """The options of `embed(...)`."""

    input: Any = None
    dimensions: Any = None
    taker = "embed"

    def parameters(self) -> dict[str, Any]:
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

    def parameters(self) -> dict[str, Any]:
        """One for each feature that a text names, and for each message that is one."""
        found: dict[str, Any] = {name: path for path, name in self._named().items()}
        deferred = {f"message_{at}": Deferred(item.content) for at, item in enumerate(self._listed()) if callable(item.content)}
        return {**found, **deferred}

    def _listed(self) -> list[Message]:
        given = self.messages if isinstance(self.messages, (list, tuple)) else ()
        return [item for item in given if isinstance(item, Message)]

    def _named(self) -> dict[str, str]:
        """The parameters of the features that texts name, by path."""
        texts = [item.content for item in self._listed() if isinstance(item.content, str)]
        paths = dict.fromkeys(path for text in texts for path in PLACEHOLDER.findall(text))
        return {path: f"value_{at}" for at, path in enumerate(paths)}

    def filled(self, values: Mapping[str, str]) -> list[dict[str, str]]:
        """The messages as a model is sent them, with the texts of parameters."""
        named = self._named()
        return [
            {
                "role": item.role,
                "content": PLACEHOLDER.sub(lambda match: values[named[match.group(1)]], item.content)
                if isinstance(item.content, str)
                else values[f"message_{at}"],
            }
            for at, item in enumerate(self._listed())
        ]


class ModelDefinition(ResolverDefinition):
    """The resolver of a feature that a model computes."""

    def __init__(self, field: Field) -> None:
        assert isinstance(field.options, ModelOptions)
        self.field = field
        self.call: ModelOptions = field.options
        owner = field.owner_class
        self.fn = self.inner = _asked
        self.kind = ONLINE
        self.options = ResolverOptions(timeout=CALL_TIME)
        self.module = owner.cls.__module__
        self.function_name = field.attribute
        self.name = f"{owner.cls.__name__}.{field.attribute}"
        self.scope = owner.scope
        self.origin = Origin(owner.origin.filename, owner.origin.line, self.name)
        self.parameters = {  # type: ignore[assignment]
            name: inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=annotation)
            for name, annotation in self.call.parameters().items()
        }
        self.returns = Deferred(lambda: owner.reference(field.attribute))

    @property
    def description(self) -> str:
        what = "Embeds a text" if isinstance(self.call, EmbedOptions) else "Asks a language model"
        return f"{what} with {self.call.model}."

    @property
    def outline(self) -> Optional[FunctionOutline]:
        """The feature's line as that of a function."""
        place = self.field.place
        if place is None:
            return None
        return FunctionOutline(0, place[0], place[0], place, self.sha256, tuple(self.parameters), ())

    @property
    def sha256(self) -> str:
        """SHA-256, in hex, of the feature's text as it is written, or of its name without one."""
        source, node = self.source, self.field.node
        lines = source.lines[node.lineno - 1 : node.end_lineno] if source and node else [self.fqn]
        return hashlib.sha256("\n".join(lines).encode("utf-8")).hexdigest()

    @property
    def node(self) -> None:
        """None: it has no function."""
        return None


async def _asked(*_: Any) -> Any:
    raise RuntimeError("a model is asked by the server's workers alone: give this feature a value in tests")
