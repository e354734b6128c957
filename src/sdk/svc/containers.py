"""Programs that the platform's container engine runs, defined in Python.

    from svc.containers import Image, ScalingGroup

    group = ScalingGroup(image=Image("docker.io/library/busybox"), name="site", port=8080, entrypoint=["httpd", "-f", "-p", "8080"])
    group.deploy()
    group.wait_ready()
    print(group.web_url)
"""

from __future__ import annotations

import re
import warnings
from typing import TYPE_CHECKING, Any, Mapping, Optional, Sequence, Union

from ._client.container_image import Image
from ._client.errors import ClientError
from ._client.image_builds import build_image
from ._client.scaling_groups import ScalingGroupNotReady, find_group, is_deployed, put_group, wait_until_ready
from ._client.session import Call
from .client import SvcClient

__all__ = ["Image", "ScalingGroup", "ScalingGroupNotReady"]

_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\Z")
_SECRET = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,199}\Z")
_MOST_REPLICAS = 100
#: Seconds for a call that makes a replica, whose image the engine may have to fetch.
_CALL_TIME = 900.0


class ScalingGroup:
    """Containers of one image behind one address, as many as their load asks for. Nothing is sent
    before `deploy`.

    image: an `Image`, or the name of one.
    name: of a-z, 0-9 and ``-``; the group of this name in the environment is the one that is meant.
    port: the port of the replicas that answers HTTP; without it they have no address.
    min_replicas: fewest replicas; with 0 there are none while nobody asks, and a request starts one.
    max_replicas: most replicas; default: as many as `min_replicas`, at least one.
    secrets: names of secrets of the environment. Each is given to the replicas as the variable of its
        name; values are never in a definition.
    volumes: pairs of a volume's name and the absolute path where it is in the replicas.
    entrypoint: program and arguments; default: those of the image.
    cpu, memory: what a replica is given at most, such as ``"500m"`` and ``"256Mi"``.
    target_cpu: percent of a replica's processors at which another is started.
    grpc: whether the port speaks gRPC.
    private: whether only clients on the server's machine reach the address.
    authenticated: whether the address wants a token of the platform with the permission
        ``query.online``.
    tags: what the group is marked with.
    client: the client that makes the calls; default: one with the credentials that ``SvcClient()``
        finds.
    environment: the environment; default: the client's.

    Raises TypeError and ValueError for a definition that makes no sense.
    """

    def __init__(
        self,
        image: Union[Image, str],
        name: str,
        *,
        port: Optional[int] = None,
        min_replicas: int = 1,
        max_replicas: Optional[int] = None,
        secrets: Sequence[str] = (),
        volumes: Sequence[tuple[str, str]] = (),
        entrypoint: Sequence[str] = (),
        cpu: Optional[str] = None,
        memory: Optional[str] = None,
        target_cpu: int = 80,
        grpc: bool = False,
        private: bool = False,
        authenticated: bool = False,
        tags: Optional[Mapping[str, str]] = None,
        client: Optional[SvcClient] = None,
        environment: Optional[str] = None,
    ) -> None:
        self.image = image if isinstance(image, Image) else Image(image)
        if not isinstance(name, str) or not _NAME.match(name):
            raise ValueError(f"the name of a scaling group has at most 63 of a-z, 0-9 and '-', with no '-' at its ends, not {name!r}")
        self.name = name
        most = max(min_replicas, 1) if max_replicas is None and isinstance(min_replicas, int) else max_replicas
        if port is not None:
            _check_number("port", port, 1, 65_535)
        _check_number("min_replicas", min_replicas, 0, _MOST_REPLICAS)
        _check_number("max_replicas", most, max(min_replicas, 1), _MOST_REPLICAS)
        _check_number("target_cpu", target_cpu, 1, 100)
        if port is None and (min_replicas == 0 or grpc or private or authenticated):
            raise ValueError("min_replicas=0, grpc=, private= and authenticated= need port=, by which requests reach the replicas")
        self._wanted: dict[str, Any] = {
            "name": name,
            "spec": {
                "entrypoint": _words("entrypoint", entrypoint, "['python3', '-m', 'http.server']"),
                "environment": [{"name": secret, "secret": secret} for secret in _secrets(secrets)],
                "resources": {"cpu": cpu or "", "memory": memory or ""},
                "volumes": [{"volume": volume, "path": path} for volume, path in _volumes(volumes)],
                **{"port": port or 0, "grpc": grpc, "private": private, "authenticated": authenticated},
            },
            "tags": dict(tags or {}),
            "bounds": {"minReplicas": min_replicas, "maxReplicas": most, "targetCpu": target_cpu},
        }
        self._client = client
        self._environment = environment

    def deploy(self) -> bool:
        """Makes the group, or replaces the one of its name where that was defined otherwise: new
        replicas answer before the old ones go. The same definition again does nothing. Returns whether
        it did something; `wait_ready` waits for the replicas.

        A secret that is given another value reaches replicas that start from then on.

        Raises ClientError for what the server refuses, such as a secret or volume that is not there;
        then everything is as before.
        """
        client = self._used()
        image = client._run(build_image(self._call(client), self.image))
        wanted = {**self._wanted, "spec": {"image": image, **self._wanted["spec"]}}
        if client._run(is_deployed(self._call(client), wanted)):
            return False
        for warning in client._run(put_group(client._calls.platform(self._environment, idempotent=False), wanted)):
            warnings.warn(warning, stacklevel=2)
        return True

    def wait_ready(self, timeout: Optional[float] = 300.0) -> None:
        """Waits until all replicas answer that there should be; a group that may have none is ready
        without.

        timeout: seconds; None for no limit. Raises TimeoutError, and ScalingGroupNotReady when
        replicas do not stay: both say why, with the last lines that one of them printed. Raises
        ClientError when there is no such group.
        """
        client = self._used()
        client._run(wait_until_ready(self._call(client), self.name, timeout))

    @property
    def web_url(self) -> str:
        """Its address, as the server says it now. Raises ClientError when it has no port, or is not
        deployed.
        """
        client = self._used()
        url = str(client._run(find_group(self._call(client), self.name)).get("url", ""))
        if not url:
            raise ClientError(f"the scaling group {self.name!r} has no address: it was deployed without port=")
        return url

    def _used(self) -> SvcClient:
        if self._client is None:
            self._client = SvcClient(timeout=_CALL_TIME)
        return self._client

    def _call(self, client: SvcClient) -> Call:
        return client._calls.platform(self._environment)

    def __repr__(self) -> str:
        return f"ScalingGroup({self.image.base!r}, {self.name!r})"


def _check_number(what: str, value: Any, least: int, most: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise ValueError(f"{what} is a number from {least} to {most}, not {value!r}")


def _words(what: str, words: Any, example: str) -> list[str]:
    if isinstance(words, (str, bytes)) or not isinstance(words, Sequence) or not all(isinstance(word, str) for word in words):
        raise TypeError(f"{what} is a list of texts such as {example}, not {type(words).__name__}")
    return list(words)


def _secrets(names: Any) -> list[str]:
    """Names of secrets. What is none could be a secret's value, so it is not shown."""
    secrets = _words("secrets", names, "['API_KEY']")
    if not all(_SECRET.match(name) for name in secrets):
        raise ValueError("secrets= takes names of secrets of the environment, of letters, digits and '_', and no values; `svc secret list` shows them")
    if len(set(secrets)) < len(secrets):
        raise ValueError("secrets= names a secret twice")
    return secrets


def _volumes(volumes: Any) -> list[tuple[str, str]]:
    is_list = isinstance(volumes, Sequence) and not isinstance(volumes, (str, bytes))
    pairs = [tuple(pair) if isinstance(pair, (tuple, list)) else () for pair in volumes] if is_list else [()]
    if any(len(pair) != 2 or not all(isinstance(part, str) for part in pair) for pair in pairs):
        raise TypeError(f"volumes is a list of pairs such as [('data', '/data')], a volume's name and its path, not {volumes!r}")
    return [(pair[0], pair[1]) for pair in pairs]


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        from ._surface.public_names import no_such_name

        raise no_such_name(__name__, name)
