"""Random filters and rows: for each filter the expression that the server is sent, and the rows
that the SDK chooses.

    python generate.py <seed> <number>
"""

import json
import random
import sys
from types import SimpleNamespace
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal

from model import Holder, Row, Size
from svc._frames.conditions import after, as_condition, before
from svc._frames.spec import rows_spec
from svc._loading.hook import compile_rewritten
from svc._frames.unit_call import chosen
from svc._codec.values import encode
from svc.features import DataFrame

NOW = datetime(2024, 1, 5, 12, tzinfo=timezone.utc)


NAMES = {item.__name__: item for item in (Row, Size, date, timedelta, datetime, Decimal, before, after)}


class Box:
    """Gives back what stands in the brackets."""

    def __getitem__(self, item):
        return item


class Generator:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def pick(self, *items):
        return self.random.choice(items)

    def operator(self) -> str:
        return self.pick("==", "!=", "<", "<=", ">", ">=")

    def number(self) -> str:
        return self.pick("-1", "0", "1", "2", "0.5", "-2.5", "9007199254740993")

    def atom(self) -> str:
        return self.pick(
            lambda: f"Row.{self.pick('count', 'amount')} {self.operator()} {self.number()}",
            lambda: f"{self.number()} {self.operator()} Row.{self.pick('count', 'amount')}",
            lambda: f"Row.count {self.operator()} Row.{self.pick('count', 'amount')}",
            lambda: f"{self.number()} < Row.amount {self.pick('<', '<=')} {self.number()}",
            lambda: f"Row.kind {self.pick('in', 'not in')} {self.pick(repr(('a', 'b')), repr(['é']), '{None, chr(98)}')}",
            lambda: f"Row.kind.isin([{self.pick(repr('a'), repr('b'), '')}])",
            lambda: f"Row.kind.contains({self.pick(repr('a'), repr('é'), repr(''), 'Row.kind')})",
            lambda: f"Row.count {self.pick('in', 'not in')} {self.pick('range(2)', '(1, 2, 9007199254740993)')}",
            lambda: f"Row.kind {self.operator()} {self.pick(repr('a'), repr('é'), repr(''))}",
            lambda: f"Row.ok {self.pick('is', 'is not', '==', '!=')} {self.pick('True', 'False', 'None')}",
            lambda: f"Row.{self.pick('kind', 'at', 'amount')} {self.pick('is None', 'is not None', '== None', '!= None')}",
            lambda: "Row.ok",
            lambda: f"Row.size {self.pick('==', '!=')} Size.{self.pick('S', 'L')}",
            lambda: "Row.size.isin([Size.S])",
            lambda: f"Row.day {self.operator()} date(2024, 1, {self.pick(1, 2, 3)})",
            lambda: f"Row.wait {self.operator()} timedelta(hours={self.pick(0, 1, -1)})",
            lambda: f"Row.price {self.operator()} Decimal('{self.pick('0', '1.5', '1.50', '-3')}')",
            lambda: f"Row.at {self.operator()} datetime(2024, 1, {self.pick(1, 3, 5)})",
            lambda: f"{self.pick('before', 'after')}({self.pick('days_ago', 'hours_ago')}={self.pick(1, 2, 36)})",
        )()

    def condition(self, depth: int) -> str:
        if depth == 0 or self.random.random() < 0.2:
            return f"({self.atom()})"
        left, right = self.condition(depth - 1), self.condition(depth - 1)
        return self.pick(f"({left} and {right})", f"({left} or {right})", f"(not {left})", f"({left} & {right})", f"({left} | {right})", f"(~{left})")

    def identity(self, depth: int) -> str:
        """A condition of `is` alone, which Python can tell of any row: it never compares with null.
        """
        if depth == 0 or self.random.random() < 0.2:
            name, value = self.pick(("ok", "True"), ("ok", "False"), ("ok", "None"), ("kind", "None"), ("amount", "None"))
            return f"(Row.{name} {self.pick('is', 'is not')} {value})"
        left, right = self.identity(depth - 1), self.identity(depth - 1)
        return self.pick(f"({left} and {right})", f"({left} or {right})", f"(not {left})")

    def row(self, number: int):
        day = self.pick(1, 2, 3, 4, 5)
        values = {
            "count": self.pick(-1, 0, 1, 2, 9007199254740993, -(2**63)),
            "amount": self.pick(-2.5, -0.0, 0.5, 1.0, 2.0, float("nan"), float("inf")),
            "ok": self.pick(True, False),
            "kind": self.pick("a", "b", "é", "", "😀"),
            "size": self.pick(Size.S, Size.L),
            "day": date(2024, 1, day),
            "wait": timedelta(hours=self.pick(-1, 0, 1, 2)),
            "price": self.pick(Decimal("1.5"), Decimal("1.50"), Decimal("-3"), Decimal("2e1")),
            "at": NOW - timedelta(hours=self.pick(0, 12, 24, 36, 48, 72), microseconds=self.pick(0, 1)),
        }
        return Row(id=number, **{name: None if self.random.random() < 0.2 else value for name, value in values.items()})


def main(seed: int, number: int) -> None:
    made = Generator(seed)
    rows = DataFrame([made.row(n) for n in range(60)], now=NOW)
    cases = []
    plain = [SimpleNamespace(id=row.id, ok=row.ok, kind=row.kind, amount=row.amount) for row in rows]
    for at in range(number):
        is_plain = at % 4 == 0
        text = made.identity(4) if is_plain else made.condition(3)
        condition = as_condition(eval(compile_rewritten(f"BOX[{text}]", "<filter>", "eval"), {**NAMES, "BOX": Box()}))
        spec = rows_spec(Holder.rows, Row.__svc_features__, [condition])
        kept = chosen(spec, rows).column(Row.id)
        case = {"text": text, "filter": spec.json()["filters"][0], "kept": kept}
        if is_plain:
            case["python"] = [row.id for row in plain if eval(text, {"Row": row})]
        cases.append(case)
    columns = {name.partition(".")[2]: [encode(value) for value in values] for name, values in rows.to_dict().items()}
    print(json.dumps({"now": NOW.isoformat(), "columns": columns, "cases": cases}))


main(int(sys.argv[1]), int(sys.argv[2]))
