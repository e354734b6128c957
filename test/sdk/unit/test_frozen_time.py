"""The time that `freeze_time` holds still."""

import asyncio
import unittest
from datetime import datetime, timedelta, timezone

from svc import Now, freeze_time, online
from svc.features import DataFrame, FeatureTime, after, features

AT = datetime(2026, 1, 31, 12, tzinfo=timezone.utc)


@features
class Visitor:
    id: int
    name: str
    born: datetime
    age: int
    recent: int
    visits: "DataFrame[Visit]"


@features
class Visit:
    id: int
    at: FeatureTime
    visitor_id: Visitor.id
    visitor: Visitor


@online
def age(born: Visitor.born, now: Now) -> Visitor.age:
    return (now - born).days // 365


@online
async def age_later(now: Now, born: Visitor.born) -> Visitor.age:
    return (now - born).days // 365


@online
def recent(visits: Visitor.visits[after(days_ago=7)]) -> Visitor.recent:
    return len(visits)


class FrozenTime(unittest.TestCase):
    def test_resolvers_are_given_it(self):
        born = datetime(2000, 1, 1, tzinfo=timezone.utc)
        with freeze_time("2026-01-31T12:00:00Z") as at:
            self.assertEqual(at, AT)
            self.assertEqual(age(born), 26)
            self.assertEqual(age(born=born), 26)
            self.assertEqual(age(born, AT - timedelta(days=3660)), 16)
            self.assertEqual(asyncio.run(age_later(born=born)), 26)
            with self.assertRaisesRegex(TypeError, "born"):
                age()
        with self.assertRaisesRegex(TypeError, "now"):
            age(born)

    def test_rows_are_chosen_by_it(self):
        visits = [Visit(id=day, at=AT - timedelta(days=day)) for day in range(20)]
        with freeze_time(AT):
            self.assertEqual(recent(visits), 7)
            self.assertEqual(DataFrame(visits).now, AT)
            self.assertEqual(DataFrame(visits, now=AT - timedelta(days=1)).now, AT - timedelta(days=1))
        self.assertGreater(DataFrame(visits).now, AT)

    def test_it_nests_and_decorates(self):
        @freeze_time(AT)
        def inner():
            with freeze_time(datetime(2020, 1, 1)):
                first = DataFrame().now
            return first, DataFrame().now

        held = freeze_time(AT)
        with held, held:
            pass
        for _ in range(2):
            self.assertEqual(inner(), (datetime(2020, 1, 1, tzinfo=timezone.utc), AT))
        self.assertNotEqual(DataFrame().now, AT)

    def test_other_values_are_refused(self):
        for at, error in [("noon", ValueError), (5, TypeError), (None, TypeError)]:
            with self.assertRaisesRegex(error, "2026-01-31T12:00:00Z"):
                freeze_time(at)


if __name__ == "__main__":
    unittest.main()
