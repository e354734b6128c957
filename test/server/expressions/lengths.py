"""Random arithmetic on lengths of time, and deviations of ints, as Python has them.

    python lengths.py <seed> <number>
"""

import json
import random
import statistics
import sys
from datetime import date, datetime, timedelta, timezone

from svc._codec.values import encode

DECADES = timedelta(seconds=315_576_000_000)
EDGES = [
    datetime(1, 1, 1, tzinfo=timezone.utc),
    datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=timezone.utc),
    datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=timezone.utc),
]


class Cases:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def instant(self) -> datetime:
        if self.random.random() < 0.2:
            return self.random.choice(EDGES)
        return EDGES[0] + timedelta(microseconds=self.random.randrange((EDGES[1] - EDGES[0]) // timedelta(microseconds=1)))

    def length(self) -> timedelta:
        size = self.random.choice([1, 10**6, 86400 * 10**6, 2**53 + 3, 10**17, 315_576_000_000 * 10**6])
        return timedelta(microseconds=self.random.randint(-size, size))

    def factor(self) -> float:
        return self.random.choice([0.5, -1.5, 1e-6, 3.0, 0.1, 1e9, self.random.uniform(-10, 10)])

    def integer(self) -> int:
        size = self.random.choice([10, 2**53 + 5, 2**62])
        return self.random.randint(-size, size)

    def case(self):
        day = self.instant().date
        return self.random.choice(
            [
                ("sub", "datetime, datetime -> timedelta", [self.instant(), self.instant()], lambda a, b: a - b),
                ("add", "datetime, timedelta -> datetime", [self.instant(), self.length()], lambda a, b: a + b),
                ("sub", "datetime, timedelta -> datetime", [self.instant(), self.length()], lambda a, b: a - b),
                ("sub", "date, date -> timedelta", [day(), self.instant().date()], lambda a, b: a - b),
                ("add", "date, timedelta -> date", [day(), self.length()], lambda a, b: a + b),
                ("sub", "date, timedelta -> date", [day(), self.length()], lambda a, b: a - b),
                ("add", "timedelta, timedelta -> timedelta", [self.length(), self.length()], lambda a, b: a + b),
                ("sub", "timedelta, timedelta -> timedelta", [self.length(), self.length()], lambda a, b: a - b),
                ("mul", "timedelta, int -> timedelta", [self.length(), self.random.randint(-9, 9)], lambda a, b: a * b),
                ("mul", "timedelta, float -> timedelta", [self.length(), self.factor()], lambda a, b: a * b),
                ("div", "timedelta, float -> timedelta", [self.length(), self.factor()], lambda a, b: a / b),
                ("div", "timedelta, timedelta -> float", [self.length(), self.length()], lambda a, b: a / b),
                ("neg", "timedelta -> timedelta", [self.length()], lambda a: -a),
                ("abs", "timedelta -> timedelta", [self.length()], abs),
                ("lt", "timedelta, timedelta -> bool", [self.length(), self.length()], lambda a, b: a < b),
                ("total_seconds", "timedelta -> float", [self.length()], lambda a: a.total_seconds()),
                ("seconds", "float -> timedelta", [self.factor() * self.random.choice([1, 1e3, 1e9])], lambda a: timedelta(seconds=a)),
            ]
        )


def told(function, arguments):
    try:
        value = function(*arguments)
    except (OverflowError, ZeroDivisionError):
        return {"$error": ""}
    if isinstance(value, timedelta):
        return {"$error": ""} if abs(value) > DECADES else micros(value)
    return encode(value)


def micros(value: timedelta):
    """As the engine keeps a length of time: an int."""
    return encode(value // timedelta(microseconds=1))


def given(value):
    return micros(value) if isinstance(value, timedelta) else encode(value)


def main(seed: int, number: int) -> None:
    cases = Cases(seed)
    calls = []
    for _ in range(number):
        name, signature, arguments, function = cases.case()
        calls.append([name, signature, [given(argument) for argument in arguments], told(function, arguments)])
    folds = []
    for _ in range(number // 4):
        base = cases.random.choice([0, 2**53, -(2**62)])
        values = [max(-(2**63), min(2**63 - 1, base + cases.integer())) for _ in range(cases.random.randint(2, 6))]
        lengths = [cases.length() / 10 for _ in values]
        folds.append(
            {
                "ints": [encode(value) for value in values],
                "lengths": [micros(length) for length in lengths],
                "std": statistics.stdev(values),
                "var": float(statistics.variance(values)),
                "mean": sum(values) / len(values),
                "sum": micros(sum(lengths, timedelta())),
                "average": micros(sum(lengths, timedelta()) / len(lengths)),
            }
        )
    print(json.dumps({"calls": calls, "folds": folds}))


main(int(sys.argv[1]), int(sys.argv[2]))
