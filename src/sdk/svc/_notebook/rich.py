"""The forms of a value that a notebook can show, by MIME type, as values offer them with the
methods of IPython (``_repr_html_`` and its kin).
"""

from __future__ import annotations

import base64
import io
import json
import pprint
import sys
from typing import Any, Callable, Dict

#: Longest text and longest image in characters; a longer text is cut off, a longer image left out.
TEXT_LENGTH = 256 * 1024
IMAGE_LENGTH = 3 * 1024 * 1024

_METHODS = {
    "text/html": "_repr_html_",
    "text/markdown": "_repr_markdown_",
    "text/latex": "_repr_latex_",
    "image/svg+xml": "_repr_svg_",
    "image/png": "_repr_png_",
    "image/jpeg": "_repr_jpeg_",
    "application/json": "_repr_json_",
}
_CONTAINERS = (dict, list, tuple, set, frozenset)


def bundle(value: Any) -> Dict[str, str]:
    """The forms of a value; always with ``text/plain``. Raises what its ``__repr__`` raises; what
    other methods raise means that it has no such form.
    """
    found: Dict[str, Any] = {}
    offered = _called(value, "_repr_mimebundle_")
    if isinstance(offered, tuple) and offered:
        offered = offered[0]
    if isinstance(offered, dict):
        found.update(offered)
    for kind, method in _METHODS.items():
        if kind not in found:
            form = _called(value, method)
            if isinstance(form, tuple) and form:
                form = form[0]
            if form is not None:
                found[kind] = form
    if "image/png" not in found and _is_figure(value):
        found["image/png"] = _figure_png(value)
    if "text/plain" not in found:
        found["text/plain"] = plain(value)
    shown: Dict[str, str] = {}
    for kind, form in found.items():
        text = _text(str(kind), form)
        if text is None:
            continue
        if str(kind).startswith("image/") and len(text) > IMAGE_LENGTH:
            shown["text/plain"] = f"[{kind} of {len(text)} characters is too large to be kept: {IMAGE_LENGTH} are the most]"
        else:
            shown.setdefault(str(kind)[:100], text)
    return shown


def plain(value: Any) -> str:
    """A value as text, containers over several lines."""
    return pprint.pformat(value, sort_dicts=False) if type(value) in _CONTAINERS else repr(value)


def well_formed(text: str) -> str:
    """A text without halves of surrogate pairs, which no JSON of others takes."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _called(value: Any, name: str) -> Any:
    """What a method of the value's class returns; None when there is none, or it fails."""
    if isinstance(value, type) or not hasattr(type(value), name):
        return None
    try:
        method: Callable[[], Any] = getattr(value, name)
        return method()
    except KeyboardInterrupt:
        raise
    except BaseException:
        return None


def _text(kind: str, form: Any) -> str | None:
    if isinstance(form, (bytes, bytearray, memoryview)):
        return base64.b64encode(form).decode("ascii")
    if isinstance(form, str):
        return well_formed(form) if kind.startswith("image/") else _cut(well_formed(form))
    try:
        text = json.dumps(form, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return None
    return text if len(text) <= TEXT_LENGTH else None


def _cut(text: str) -> str:
    left = len(text) - TEXT_LENGTH
    return text if left <= 0 else f"{text[:TEXT_LENGTH]}\n[{left} more characters were left out]"


def _is_figure(value: Any) -> bool:
    figures = sys.modules.get("matplotlib.figure")
    return figures is not None and isinstance(value, figures.Figure)


def _figure_png(figure: Any) -> bytes:
    image = io.BytesIO()
    figure.savefig(image, format="png", bbox_inches="tight")
    return image.getvalue()
