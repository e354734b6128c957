"""A class with a feature of every type, and two that are related."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any

from svc import DataFrame, NamedQuery
from svc.features import feature, features


class Kind(Enum):
    SMALL = "s"
    LARGE = "l"


@dataclass
class Point:
    x: float
    y: int | None
    at: datetime | None = None


@features(max_staleness="1h")
class User:
    id: int
    name: str
    score: float = feature(max_staleness="0s")
    fragile: int = feature(max_staleness="0s")
    origin: str = feature(max_staleness="0s")
    asked_at: datetime = feature(max_staleness="0s")
    orders: DataFrame[Order]


@features
class Echo:
    """Every type, in and out."""

    id: int
    a_int: int | None
    a_float: float | None
    a_str: str | None
    a_bool: bool | None
    a_bytes: bytes | None
    a_date: date | None
    a_datetime: datetime | None
    a_timedelta: timedelta | None
    a_decimal: Decimal | None
    a_kind: Kind | None
    a_point: Point | None
    a_list: list[float] | None
    a_set: set[str] | None
    a_json: Any | None
    renamed: datetime | None = feature(name="other")


@features
class Order:
    id: int
    user_id: User.id
    placed_at: datetime
    kind: Kind


@features
class Team:
    id: int
    lead_id: User.id
    lead: User


@features
class Paper:
    """Its points are uploaded, and runs of resolvers make the rest."""

    id: int
    points: int = feature(max_staleness="infinity")
    grade: str
    hope: str


NamedQuery(name="scores", version="1.0.0", input=[User.id], output=[User.score])
