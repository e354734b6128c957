"""Scalars of YAML on one line, which the client reads without a parser of YAML."""

from __future__ import annotations

import re
from typing import Optional

_ESCAPE = re.compile(r"\\(x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.)", re.DOTALL)
_ESCAPES = {
    "0": "\0",
    "a": "\a",
    "b": "\b",
    "t": "\t",
    "n": "\n",
    "v": "\v",
    "f": "\f",
    "r": "\r",
    "e": "\x1b",
    " ": " ",
    '"': '"',
    "/": "/",
    "\\": "\\",
    "N": "\x85",
    "_": "\xa0",
    "L": "\u2028",
    "P": "\u2029",
}


def scalar_of(text: str) -> Optional[str]:
    """The text that a scalar on one line stands for; None for another form."""
    quoted = re.match(r"""("(?:[^"\\]|\\.)*"|'(?:[^']|'')*')\s*(?:#.*)?\Z""", text)
    if quoted:
        body = quoted.group(1)
        if body[0] == "'":
            return body[1:-1].replace("''", "'")
        codes = _ESCAPE.findall(body)
        if any(code not in _ESCAPES and not (code[0] in "xuU" and len(code) > 1) for code in codes):
            return None
        return _ESCAPE.sub(lambda match: _unescaped(match.group(1)), body[1:-1])
    if re.match(r"""["'&*!|>%@`{\[]""", text) or ": " in text:
        return None
    return re.split(r"\s#", text)[0].strip()


def _unescaped(code: str) -> str:
    return chr(int(code[1:], 16)) if code[0] in "xuU" and len(code) > 1 else _ESCAPES[code]
