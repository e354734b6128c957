"""Features that an embedding model computes.

    from svc.embedding import embed
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, Callable, NoReturn, Optional, Union

from ._model.field import MISSING, Tags
from ._model.model_call import EmbedOptions
from ._surface.unknown_options import kept

__all__ = ["embed"]


def embed(
    *,
    input: Callable[[], Any],
    model: str,
    provider: str = "openai",
    integration: Optional[str] = None,
    url: Optional[str] = None,
    dimensions: Optional[int] = None,
    timeout: Union[str, timedelta] = "30s",
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
    """The vector that a model makes of a text:

        emb: Vector[768] = embed(input=lambda: Doc.text, model="m", max_staleness="infinity")

    The model is asked when a query needs a vector that is not stored: texts of many rows together,
    over the embeddings of OpenAI's protocol. What is stored is asked for again when it is older than
    `max_staleness`, and not because the text changes.

    input: a function that gives the feature with the text, or the feature.
    model: the name of the model.
    provider: "openai", the protocol.
    integration: an integration of kind openai, which has the key and may have an address. Default:
        the only one.
    url: the address in front of `/embeddings`, instead of the integration's; without an integration
        no key is sent.
    dimensions: the number of dimensions that the model is asked for, where it can make several.
    timeout: how long one request may take; one that fails for a passing reason is made 4 times.
    default, max_staleness, owner, tags, description, name, store_online, store_offline, offline_ttl:
        as `feature` takes them.
    """
    return EmbedOptions(
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
        input=input,
        dimensions=dimensions,
        others=kept("embed", others),
    )


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        from ._surface.public_names import no_such_name

        raise no_such_name(__name__, name)
