"""Errors of the client's calls."""

from __future__ import annotations

from typing import Any, Optional


class ClientError(Exception):
    """A call that failed; subclasses say how."""


class ConfigError(ValueError):
    """A setting that is missing or makes no sense; the message says where it came from and what to
    do.
    """


class AuthenticationError(ClientError):
    """The server did not take the client ID and secret."""


class ServerUnreachable(ClientError):
    """No answer came: the server is not there, or took too long.

    `sent`: whether the server may have received the request. `passing`: whether another attempt may
    have more success.
    """

    def __init__(self, message: str, *, sent: bool = False, passing: bool = False) -> None:
        super().__init__(message)
        self.sent = sent
        self.passing = passing


class UnexpectedAnswer(ClientError):
    """A response that is not from an svc server, or the server's own failure."""


def with_hint(message: str, hint: Optional[str]) -> str:
    """A message, with the hint when there is one."""
    return f"{message} {hint}" if hint else message


def message_of(body: Any) -> str:
    """The error message of a response body."""
    if isinstance(body, dict):
        for key in ("error_description", "message", "error"):
            if isinstance(body.get(key), str):
                return with_hint(body[key], body.get("hint"))
    return "no reason given"
