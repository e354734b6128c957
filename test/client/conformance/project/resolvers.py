"""Resolvers of the conformance table."""

import time
from datetime import datetime, timedelta

from features import Kind, Order, Team, Trouble, User, Word
from svc import DataFrame, Now, online, query_context, query_tags


@online
def get_name(id: User.id) -> User.name:
    return f"user-{id}"


@online
def score(id: User.id) -> User.score:
    return id / 2


@online
def fragile(id: User.id) -> User.fragile:
    if id % 100 == 13:
        raise ValueError("unlucky number")
    return id


@online
def fine(id: Trouble.id) -> Trouble.fine:
    return id


@online
def wrong(id: Trouble.id) -> Trouble.wrong:
    return f"{id} as text"


@online
def slow(id: Trouble.id) -> Trouble.slow:
    time.sleep(5)
    return id


@online
def origin(id: User.id) -> User.origin:
    return f"{query_context().get('from', '')}/{','.join(sorted(query_tags()))}"


@online
def asked_at(id: User.id, now: Now) -> User.asked_at:
    return now


@online
def orders(id: User.id) -> User.orders[Order.id, Order.user_id, Order.amount, Order.kind, Order.placed_at]:
    kinds = [Kind.SMALL, Kind.LARGE]
    start = datetime(2024, 1, 1)
    return DataFrame(
        [Order(id=id * 10 + n, user_id=id, amount=n + id / 4, kind=kinds[n % 2], placed_at=start + timedelta(days=n)) for n in range(5)]
    )


@online
def lead(id: Team.id) -> Team.lead_id:
    return id * 10


@online
def length(text: Word.text) -> Word.length:
    return len(text)
