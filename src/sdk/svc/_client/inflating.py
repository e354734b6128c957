"""Bodies of answers that come compressed: gzip, which every Python has."""

from __future__ import annotations

import zlib

#: What is asked for, and the most that a body may come to, in bytes.
ACCEPTED = "gzip"
LONGEST = 1 << 30

_GZIP = 16 + zlib.MAX_WBITS


def inflated(content: bytes, encoding: str) -> bytes:
    """The body that came in an encoding, which is empty for none. Raises ValueError, which says what
    is wrong with it.
    """
    if encoding.strip().lower() in ("", "identity"):
        return content
    if encoding.strip().lower() != ACCEPTED:
        raise ValueError(f"is encoded as {encoding!r}, which was not asked for")
    inflater = zlib.decompressobj(_GZIP)
    try:
        body = inflater.decompress(content, LONGEST + 1)
    except zlib.error as error:
        raise ValueError(f"cannot be inflated: {error}") from None
    if len(body) > LONGEST:
        raise ValueError(f"comes to more than {LONGEST >> 20} MiB when it is inflated")
    if not inflater.eof or inflater.unused_data:
        raise ValueError("cannot be inflated: it is cut off, or followed by something else")
    return body
