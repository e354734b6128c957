"""Scaling groups as the server has them: made, replaced, and waited for."""

from __future__ import annotations

import time
from typing import Any, Mapping, Optional

from .errors import ClientError
from .session import Call
from .steps import Pause, Steps

_SERVICE = "/svc.v1.ScalingGroupService"
_READY = ("SCALING_GROUP_STATUS_READY", "SCALING_GROUP_STATUS_IDLE")
_FAILED = "SCALING_GROUP_STATUS_FAILED"
_FIRST_PAUSE = 0.05
_LONGEST_PAUSE = 1.0
#: The last lines of a replica that are told, and the replicas that are asked for some.
_LINES = 20
_REPLICAS = 5


class ScalingGroupNotReady(ClientError):
    """A scaling group whose replicas do not stay, with the reason and the last lines of one.

    `lines`: what the replica printed at last.
    """

    def __init__(self, message: str, lines: tuple[str, ...]) -> None:
        super().__init__(message)
        self.lines = lines


def put_group(call: Call, wanted: Mapping[str, Any]) -> Steps[list[str]]:
    """Makes a group, or replaces the one of its name. Returns what the server warns of. Raises
    ClientError.
    """
    answer = yield from call("POST", f"{_SERVICE}/CreateScalingGroup", wanted)
    return [str(warning) for warning in answer.get("warnings", ())]


def is_deployed(call: Call, wanted: Mapping[str, Any]) -> Steps[bool]:
    """Whether there is a group that was asked for in the same way. Raises ClientError."""
    answer = yield from call("POST", f"{_SERVICE}/ListScalingGroups", {})
    found = next((group for group in answer.get("groups", ()) if group.get("name") == wanted["name"]), None)
    return found is not None and all(_plain(found.get(key)) == _plain(wanted.get(key)) for key in ("spec", "bounds", "tags"))


def find_group(call: Call, name: str) -> Steps[Mapping[str, Any]]:
    """A group with its replicas. Raises ClientError."""
    answer = yield from call("POST", f"{_SERVICE}/GetScalingGroup", {"group": name})
    found: Mapping[str, Any] = answer["group"]
    return found


def wait_until_ready(call: Call, name: str, timeout: Optional[float]) -> Steps[None]:
    """Waits until all replicas answer that there should be. Raises ScalingGroupNotReady, TimeoutError
    and ClientError.
    """
    ends = None if timeout is None else time.monotonic() + timeout
    pause = _FIRST_PAUSE
    while True:
        group = yield from find_group(call, name)
        if group.get("status") in _READY:
            return
        left = None if ends is None else ends - time.monotonic()
        is_failed = group.get("status") == _FAILED
        if is_failed or (left is not None and left <= 0):
            told = group.get("message") or "Its replicas start."
            replica, lines = yield from _last_lines(call, group)
            shown = f" The last lines of the replica {replica}:\n" + "\n".join(f"  {line}" for line in lines) if lines else ""
            if is_failed:
                raise ScalingGroupNotReady(f"the scaling group {name!r} does not become ready. {told}{shown}", lines)
            raise TimeoutError(f"the scaling group {name!r} was not ready within {timeout:g} s; it goes on. {told}{shown}")
        yield Pause(pause if left is None else min(pause, left))
        pause = min(pause * 1.5, _LONGEST_PAUSE)


def _last_lines(call: Call, group: Mapping[str, Any]) -> Steps[tuple[str, tuple[str, ...]]]:
    """The last lines of the newest replica that printed any, and its name."""
    replicas = sorted(group.get("replicas", ()), key=lambda replica: str(replica.get("createdAt", "")), reverse=True)
    for replica in replicas[:_REPLICAS]:
        try:
            answer = yield from call("POST", "/svc.v1.LogService/SearchLogs", {"search": f"operation_id:{replica['id']}", "pageSize": _LINES})
        except ClientError as error:
            return str(replica.get("name")), (f"(they cannot be read: {error})",)
        lines = tuple(_printable(str(line.get("message", ""))) for line in reversed(answer.get("lines", ())))
        if lines:
            return str(replica.get("name")), lines
    return "", ()


def _printable(line: str) -> str:
    return "".join(one if one.isprintable() or one == "\t" else f"\\x{ord(one):02x}" for one in line)


def _plain(value: Any) -> Any:
    """A message without fields that say nothing, which answers leave out."""
    if isinstance(value, Mapping):
        plain = {key: _plain(one) for key, one in value.items()}
        return {key: one for key, one in plain.items() if one not in ("", 0, False, None, [], {})}
    return [_plain(one) for one in value] if isinstance(value, (list, tuple)) else {} if value is None else value
