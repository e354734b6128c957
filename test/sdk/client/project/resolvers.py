"""Resolvers of the client's tests."""

from datetime import datetime

from features import Kind, Order, Paper, Team, User
from svc import DataFrame, Now, online, query_context, query_tags


@online
def get_name(id: User.id) -> User.name:
    return f"user-{id}"


@online
def score(id: User.id) -> User.score:
    return id / 2


@online
def fragile(id: User.id) -> User.fragile:
    if id == 13:
        raise ValueError("unlucky number")
    return id


@online
def origin(id: User.id) -> User.origin:
    return f"{query_context().get('from', '')}/{','.join(query_tags())}"


@online
def asked_at(id: User.id, now: Now) -> User.asked_at:
    return now


@online
def lead(id: Team.id) -> Team.lead_id:
    return id * 10


@online
def orders(id: User.id) -> User.orders[Order.id, Order.user_id, Order.placed_at, Order.kind]:
    return DataFrame([Order(id=id * 10 + n, user_id=id, placed_at=datetime(2024, 1, 1 + n), kind=Kind.SMALL) for n in range(2)])


@online
def grade(points: Paper.points) -> Paper.grade:
    if points == 13:
        raise ValueError("unlucky number")
    return str(points)


@online
def hopeless(points: Paper.points) -> Paper.hope:
    raise ValueError("no hope")
