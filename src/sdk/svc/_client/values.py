"""Values between Python and the JSON query API.

The API's form is plain JSON: integers are numbers with all their digits, as the client asks for
them, NaN and the infinities ``{"$float": "NaN"}``, times RFC 3339 texts, lengths of time numbers of
seconds, bytes base64.
"""

from __future__ import annotations

import base64
import math
import re
import typing
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum
from functools import lru_cache, partial
from typing import Any, Callable, Mapping, Optional

from .._codec.coded import CodedType
from .._codec.structs import is_struct_value, struct_hints
from .._codec.values import decoder_of, plain_type
from .._diagnostics.findings import DefinitionError
from .._model.feature_class import FeatureClass
from .._model.field import Field
from .._model.reference import FeatureReference, fields_of
from .._model.registry import registry
from .._model.windows import window_seconds, windowed_name

Decoder = Callable[[Any], Any]
_WINDOW = re.compile(r"(.+)\[([^\[\]]+)\]\Z")


def feature_name(item: Any) -> str:
    """The name by which a query asks for a feature, a feature class or a text. Raises TypeError for
    anything else.
    """
    if isinstance(item, str):
        return item
    if isinstance(item, type) and "__svc_features__" in item.__dict__:
        return str(item.__svc_features__.namespace)  # type: ignore[attr-defined]
    if isinstance(item, FeatureReference):
        return str(item)
    raise TypeError(f"expected a feature such as User.id, a feature class, or a name such as 'user.id', got {item!r}")


def result_name(item: Any) -> str:
    """The name of a feature in answers: fully qualified, with its window in raw form."""
    name = feature_name(item).lstrip(".")
    match = _WINDOW.match(name)
    seconds = window_seconds(match.group(2)) if match else None
    return name if match is None or seconds is None else windowed_name(match.group(1), seconds)


def fields_along(name: str, known: Mapping[str, FeatureClass]) -> Optional[list[Field]]:
    """The fields along a name's path, when this process knows its class; classes in ``known`` come
    before all imported ones.
    """
    namespace, _, rest = name.partition(".")
    owner = known.get(namespace) or next((item for item in reversed(registry.classes) if item.namespace == namespace), None)
    found: list[Field] = []
    for step in rest.split("."):
        field = owner.by_name().get(step) if owner is not None else None
        if field is None:
            return None
        found.append(field)
        try:
            owner = field.type.target
        except DefinitionError:
            owner = None
    return found


def classes_in(items: typing.Iterable[Any]) -> dict[str, FeatureClass]:
    """The feature classes that features and classes lead to, by namespace."""
    found: dict[str, FeatureClass] = {}
    for item in items:
        if isinstance(item, FeatureReference):
            found[item._svc_root.namespace] = item._svc_root
            try:
                owners = [field.owner_class for field in fields_of(item)]
            except DefinitionError:
                owners = []
            for owner in owners:
                found.setdefault(owner.namespace, owner)
        elif isinstance(item, type) and "__svc_features__" in item.__dict__:
            definition: FeatureClass = item.__svc_features__  # type: ignore[attr-defined]
            found[definition.namespace] = definition
    return found


def decode_field(value: Any, fields: Optional[list[Field]], kind: Any = None) -> Any:
    """The Python value of a feature; a row of a relation is an instance of its class. Without the
    class, or when the value does not fit the class here, plain JSON's own.

    kind: the type that the answer states, as `QueryMeta.types` has it.
    """
    if value is None or fields is None:
        return plain(value, kind)
    try:
        declared = fields[-1].type
        convert = decoder(declared.python_type) if declared.target is None else partial(_decode_row, declared.target)
        is_list = declared.many or any(field.type.many for field in fields[:-1])
        return [convert(item) for item in value] if is_list else convert(value)
    except Exception:  # a decoder of the project may raise anything
        return plain(value, kind)


def _decode_row(target: FeatureClass, row: Mapping[str, Any]) -> Any:
    """A row of a relation: its values by name or by path."""
    if row is None:
        return None
    fields = target.by_name()
    found = {name.rpartition(".")[2]: value for name, value in row.items()}
    return target.cls(**{fields[name].attribute: decode_field(value, [fields[name]]) for name, value in found.items()})


def plain(value: Any, kind: Any = None) -> Any:
    """A JSON value with its tagged floats as floats, and whole numbers too where the type of the
    answer says that they are.
    """
    if kind == "float64" and type(value) is int:
        return float(value)
    parts = kind if isinstance(kind, Mapping) else {}
    if isinstance(value, list):
        return [plain(item, parts.get("items")) for item in value]
    if isinstance(value, dict):
        if len(value) == 1 and "$float" in value:
            return float(value["$float"])
        kinds = {field["name"]: field["type"] for field in parts.get("fields", ())}
        return {name: plain(item, kinds.get(name)) for name, item in value.items()}
    return value


@lru_cache(maxsize=4096)
def decoder(python_type: Any) -> Decoder:
    """The function that takes the API's form to a declared type. None stays None."""
    convert = decoder_of(plain_type(python_type), _DECODERS, decoder, plain)
    return lambda value: None if value is None else convert(value)


def to_datetime(text: str) -> datetime:
    """An RFC 3339 text as an instant of UTC."""
    base, _, fraction = text.rstrip("Zz").partition(".")
    if fraction.isdigit():
        parsed = datetime.fromisoformat(f"{base}.{fraction[:6]:0<6}")
    else:
        parsed = datetime.fromisoformat(text[:-1] if text[-1:] in "Zz" else text)
    return parsed.replace(tzinfo=timezone.utc) if parsed.tzinfo is None else parsed.astimezone(timezone.utc)


def to_timedelta(value: Any) -> timedelta:
    """A length of time from the API's form: a number of seconds, or text such as
    ``63113904000.123456s`` where no float says it exactly.
    """
    if isinstance(value, str):
        return timedelta(microseconds=int(Decimal(value.removesuffix("s")).scaleb(6)))
    return timedelta(microseconds=round(float(value) * 1e6))


_DECODERS: dict[Any, Decoder] = {
    int: int,
    float: lambda value: float(plain(value)),
    str: lambda value: value if isinstance(value, str) else str(value),
    bool: lambda value: value,
    bytes: base64.b64decode,
    date: date.fromisoformat,
    datetime: to_datetime,
    timedelta: to_timedelta,
    Decimal: lambda value: Decimal(str(value)),
}


def encode_of(feature: Any, value: Any) -> Any:
    """The API's form of a value of a feature, or of a list of such values: encoded by the feature's
    encoder where it has one and this process knows its class. Raises what `encode` and encoders do.
    """
    fields = fields_along(result_name(feature), classes_in([feature]))
    return encode(value if fields is None else _stored(value, fields[-1]))


def _stored(value: Any, field: Field) -> Any:
    try:
        coded = field.type.python_type
    except DefinitionError:
        return value
    if not isinstance(coded, CodedType) or value is None:
        return value
    if coded.holds(value):
        return coded.encode(value)
    return [_stored(item, field) for item in value] if isinstance(value, (list, tuple)) else value


def encode(value: Any) -> Any:
    """The API's form of a Python value. Raises TypeError for a value that no feature can hold."""
    if value is None or value is True or value is False or type(value) in (str, int):
        return value
    if isinstance(value, Enum):
        return encode(value.value)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        if math.isfinite(value):
            return float(value)
        return {"$float": "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"}
    if isinstance(value, (bytes, bytearray, memoryview)):
        return base64.b64encode(bytes(value)).decode("ascii")
    if isinstance(value, datetime):
        return instant_text(value)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, timedelta):
        seconds = value / timedelta(seconds=1)
        return seconds if abs(seconds) < 2**32 else _seconds_text(value)
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, (list, tuple)):
        return [encode(item) for item in value]
    if isinstance(value, (set, frozenset)):
        return [encode(item) for item in sorted(value, key=repr)]
    if isinstance(value, dict):
        return {str(name): encode(item) for name, item in value.items()}
    if is_struct_value(value):
        return {name: encode(getattr(value, name)) for name, _ in struct_hints(type(value))}
    definition: Optional[FeatureClass] = getattr(type(value), "__svc_features__", None)
    if definition is not None:
        known = [(definition.field(name), item) for name, item in vars(value).items()]
        return {field.name: encode(_stored(item, field)) for field, item in known if field is not None}
    to_list = getattr(value, "tolist", None)
    if to_list is not None and type(value).__module__.partition(".")[0] == "numpy":
        return encode(to_list())
    raise TypeError(f"a value of type {type(value).__qualname__} cannot be a feature's value")


def _seconds_text(value: timedelta) -> str:
    micros = value // timedelta(microseconds=1)
    return f"{'-' if micros < 0 else ''}{abs(micros) // 10**6}.{abs(micros) % 10**6:06}s"


def instant_text(value: datetime) -> str:
    """RFC 3339 of an instant; naive means UTC."""
    utc = value.astimezone(timezone.utc) if value.tzinfo is not None else value
    return utc.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"
