"""What the requests of the conformance table ask for; `oracle.ts` says what it comes to."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any

from svc import DataFrame, NamedQuery, Windowed
from svc.features import FeatureTime, Primary, _, feature, features, windowed


class Kind(Enum):
    SMALL = "s"
    LARGE = "l"


@dataclass
class Point:
    x: float
    y: int | None


@features
class User:
    id: int
    name: str = feature(max_staleness="1h")
    score: float
    fragile: int
    origin: str
    asked_at: datetime
    points: int = feature(max_staleness="infinity")
    doubled: int = _.points * 2
    orders: DataFrame[Order]
    spent: float = _.orders[_.amount].sum()
    large: int = _.orders[_.kind == "l"].count()
    recent: Windowed[float] = windowed("1d", "7d", expression=_.orders[_.amount, _.placed_at > _.svc_window].sum())


@features
class Order:
    id: int
    user_id: User.id
    amount: float
    kind: Kind
    placed_at: FeatureTime


@features
class Team:
    id: int
    lead_id: User.id
    lead: User


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
    a_list: list[int] | None
    a_set: set[str] | None
    a_json: Any | None
    next_int: int | None = _.a_int + 1


@features
class Trouble:
    """What does not come to a value."""

    id: int
    fine: int
    wrong: int
    needs_wrong: int = _.wrong + 1
    slow: int


@features
class Word:
    text: Primary[str]
    length: int


NamedQuery(name="scores", version="1.0.0", input=[User.id], output=[User.score])
NamedQuery(name="scores", version="2.0.0", input=[User.id], output=[User.score, User.name])
