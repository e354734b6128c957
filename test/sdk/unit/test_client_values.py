"""What the client makes of the API's values when it knows the class."""

import json
import unittest
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

from svc import DataFrame
from svc._client.result import query_result
from svc._client.values import classes_in, encode, feature_name, result_name, to_timedelta
from svc.features import feature, features
from svc.streams import Windowed, windowed


@features
class ClientOrder:
    id: int
    user_id: "ClientUser.id"
    placed_at: datetime
    price: Decimal = feature(name="amount")


@features
class ClientUser:
    id: int
    orders: DataFrame[ClientOrder]
    fails: Windowed[int] = windowed("10m", "1d")


def answered(**values: Any) -> Any:
    body = {"data": [{"field": name.replace("__dot__", "."), "value": value, "pkey": 1, "ts": None} for name, value in values.items()]}
    return query_result(body, classes_in([ClientUser]))


class Rows(unittest.TestCase):
    def test_rows_of_a_relation_are_instances(self) -> None:
        at = datetime(2024, 1, 2, tzinfo=timezone.utc)
        for prefix in ("", "client_order."):
            rows = [{f"{prefix}id": 1, f"{prefix}placed_at": "2024-01-02T00:00:00Z", f"{prefix}amount": "1.50"}, {f"{prefix}id": 2}]
            result = answered(client_user__dot__orders=rows)
            self.assertEqual(result[ClientUser.orders], [ClientOrder(id=1, placed_at=at, price=Decimal("1.50")), ClientOrder(id=2)])

    def test_a_column_of_a_relation_is_a_list(self) -> None:
        result = answered(client_user__dot__orders__dot__amount=["1.5", None, "2"])
        self.assertEqual(result[ClientUser.orders.price], [Decimal("1.5"), None, Decimal("2")])

    def test_a_row_that_does_not_fit_stays_as_it_came(self) -> None:
        result = answered(client_user__dot__orders=[{"id": 1, "unheard_of": 2}])
        self.assertEqual(result[ClientUser.orders], [{"id": 1, "unheard_of": 2}])


class Lengths(unittest.TestCase):
    def test_every_length_of_time_is_exact_both_ways(self) -> None:
        for micros in (0, 1, -1, 1_500_000, 2**52 + 1, -(2**53) - 1, 63113904000123457, -315_576_000_000 * 10**6):
            length = timedelta(microseconds=micros)
            self.assertEqual(to_timedelta(json.loads(json.dumps(encode(length)))), length)
        self.assertEqual(encode(timedelta(seconds=1.5)), 1.5)
        self.assertEqual(encode(timedelta(days=-730000, microseconds=7)), "-63071999999.999993s")


class Windows(unittest.TestCase):
    def test_every_spelling_of_a_window_finds_its_value(self) -> None:
        result = answered(client_user__dot__fails__600__=3, client_user__dot__fails__86400__=9)
        self.assertEqual(feature_name(ClientUser.fails["10m"]), "client_user.fails__600__")
        for spelling in (ClientUser.fails["10m"], "client_user.fails[10m]", "client_user.fails[600s]", ".client_user.fails__600__"):
            self.assertEqual(result[spelling], 3)
        self.assertEqual(result["client_user.fails[24h]"], 9)
        self.assertEqual(result_name("client_user.fails[nonsense]"), "client_user.fails[nonsense]")


class WithoutClasses(unittest.TestCase):
    def test_floats_are_floats_by_the_type_that_the_answer_states(self) -> None:
        kinds = {"type": "list", "items": {"type": "struct", "fields": [{"name": "x", "type": "float64"}, {"name": "n", "type": "int64"}]}}
        body = {"data": [{"field": "far.a", "value": 1, "ts": None}, {"field": "far.b", "value": [{"x": 2, "n": 3}], "ts": None}]}
        result = query_result({**body, "meta": {"types": {"far.a": "float64", "far.b": kinds}}}, {})
        self.assertEqual(repr(result.to_dict()), "{'far.a': 1.0, 'far.b': [{'x': 2.0, 'n': 3}]}")
        self.assertEqual(repr(query_result(body, {}).to_dict()), "{'far.a': 1, 'far.b': [{'x': 2, 'n': 3}]}")


if __name__ == "__main__":
    unittest.main()
