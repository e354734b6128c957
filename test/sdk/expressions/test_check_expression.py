"""`check_expression` against a real server: random expressions whose values plain Python computes, and
what it says of mistakes.
"""

from __future__ import annotations

import asyncio
import importlib
import os
import random
import sys
import tempfile
import unittest
from datetime import datetime, timedelta, timezone
from typing import Any, Callable

from svc import AsyncSvcClient, ConfigError, QueryError, ServerUnreachable, SvcClient, check_expression, freeze_time
from svc.features import _

RUNS = int(os.environ.get("TEST_EXPRESSIONS", "60"))
NOW = datetime(2026, 1, 31, 12, tzinfo=timezone.utc)

HEAD = '''
from typing import Optional
from svc.features import DataFrame, FeatureTime, Windowed, _, feature, features, has_one, windowed
import svc.functions as F

@features
class Visit:
    id: int
    case_id: "Case.id"
    at: FeatureTime
    amount: float
    kind: str
    pages: Optional[int]
    weight: float = _.amount * 2

@features
class Owner:
    id: int
    name: str

@features
class Case:
    id: int
    a: int
    b: int
    x: float
    y: float
    s: str
    t: str
    maybe: Optional[int]
    owner_id: Owner.id
    owner: Owner
    visits: DataFrame[Visit]
'''


def imported(text: str, name: str, folder: str) -> Any:
    with open(os.path.join(folder, f"{name}.py"), "w", encoding="utf-8") as file:
        file.write(text)
    importlib.invalidate_caches()
    return importlib.import_module(name)


class Pair:
    """The text of an expression, and the function of a row that plain Python computes in its place."""

    def __init__(self, text: str, compute: Callable[[dict[str, Any]], Any]) -> None:
        self.text = text
        self.compute = compute


def nulls(compute: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *values: None if any(value is None for value in values) else compute(*values)


class Expressions:
    """Random expressions of a type."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def one_of(self, *makers: Callable[[int], Pair]) -> Callable[[int], Pair]:
        return self.random.choice(makers)

    def of(self, name: str) -> Pair:
        return Pair(f"_.{name}", lambda row: row[name])

    def applied(self, form: str, compute: Callable[..., Any], *parts: Pair) -> Pair:
        worked = nulls(compute)
        return Pair(form.format(*(part.text for part in parts)), lambda row: worked(*(part.compute(row) for part in parts)))

    def integer(self, depth: int) -> Pair:
        if depth == 0:
            name = self.random.choice(["a", "b", "maybe"])
            number = self.random.randint(1, 9)
            return self.random.choice([self.of(name), self.of(name), Pair(str(number), lambda _row: number)])
        operator, compute = self.random.choice(
            [("+", lambda p, q: p + q), ("-", lambda p, q: p - q), ("*", lambda p, q: p * q)]
        )
        return self.one_of(
            lambda d: self.applied(f"({{0}} {operator} {{1}})", compute, self.integer(d), self.integer(d)),
            lambda d: self.applied("F.abs({0})", abs, self.integer(d)),
            lambda d: self.applied("F.length({0})", len, self.text(d)),
            lambda d: self.coalesced(self.integer(d)),
            lambda d: self.counted(),
        )(depth - 1)

    def coalesced(self, part: Pair) -> Pair:
        return Pair(f"F.coalesce({part.text}, 7)", lambda row: 7 if part.compute(row) is None else part.compute(row))

    def number(self, depth: int) -> Pair:
        if depth == 0:
            return self.of(self.random.choice(["x", "y"]))
        return self.one_of(
            lambda d: self.applied("({0} + {1})", lambda p, q: p + q, self.number(d), self.integer(d)),
            lambda d: self.applied("({0} * {1})", lambda p, q: p * q, self.number(d), self.number(d)),
            lambda d: self.applied("({0} / 4)", lambda p: p / 4, self.integer(d)),
            lambda d: self.applied("-{0}", lambda p: -p, self.number(d)),
            lambda d: self.chosen(self.truth(d), self.number(d), self.number(d)),
            lambda d: self.aggregated(),
        )(depth - 1)

    def chosen(self, condition: Pair, left: Pair, right: Pair) -> Pair:
        return Pair(
            f"F.when({condition.text}).then({left.text}).otherwise({right.text})",
            lambda row: left.compute(row) if condition.compute(row) is True else right.compute(row),
        )

    def truth(self, depth: int) -> Pair:
        operator, compute = self.random.choice(
            [("<", lambda p, q: p < q), (">=", lambda p, q: p >= q), ("==", lambda p, q: p == q), ("!=", lambda p, q: p != q)]
        )
        return self.one_of(
            lambda d: self.applied(f"({{0}} {operator} {{1}})", compute, self.integer(d), self.integer(d)),
            lambda d: self.applied(f"({{0}} {operator} {{1}})", compute, self.text(d), self.text(d)),
        )(max(depth - 1, 0))

    def text(self, depth: int) -> Pair:
        if depth == 0:
            return self.random.choice([self.of("s"), self.of("t"), Pair("_.owner.name", lambda row: row["owner"])])
        return self.one_of(
            lambda d: self.applied("F.upper({0})", str.upper, self.text(d)),
            lambda d: self.applied("F.lower({0})", str.lower, self.text(d)),
            lambda d: self.applied("F.concat({0}, {1})", lambda p, q: p + q, self.text(d), self.text(d)),
        )(depth - 1)

    def chosen_rows(self) -> tuple[str, Callable[[dict[str, Any]], bool]]:
        bound = self.random.randint(-3, 6)
        return self.random.choice(
            [
                ("", lambda visit: True),
                (f"_.amount > {bound}", lambda visit: visit["amount"] > bound),
                ('_.kind == "web"', lambda visit: visit["kind"] == "web"),
                (f'(_.kind == "web") | (_.amount <= {bound})', lambda visit: visit["kind"] == "web" or visit["amount"] <= bound),
            ]
        )

    def counted(self) -> Pair:
        condition, keeps = self.chosen_rows()
        rows = f"[{condition}]" if condition else ""
        return Pair(f"_.visits{rows}.count()", lambda row: sum(keeps(visit) for visit in row["visits"]))

    def aggregated(self) -> Pair:
        condition, keeps = self.chosen_rows()
        column = self.random.choice(["amount", "weight"])
        name, compute = self.random.choice([("sum", sum), ("min", min), ("max", max), ("mean", lambda found: sum(found) / len(found))])

        def computed(row: dict[str, Any]) -> Any:
            found = [visit["amount"] * (2 if column == "weight" else 1) for visit in row["visits"] if keeps(visit)]
            return compute(found) if found or name == "sum" else None

        return Pair(f"_.visits[{', '.join(['_.' + column, *([condition] if condition else [])])}].{name}()", computed)


class CheckExpressionTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        sys.path.insert(0, folder.name)
        cls.addClassCleanup(sys.path.remove, folder.name)

    def test_random_expressions_are_what_python_computes(self) -> None:
        seed = int(os.environ.get("TEST_SEED", "1"))
        made = Expressions(seed)
        pairs: list[tuple[str, Pair]] = []
        while len(pairs) < RUNS:
            kind, maker = made.random.choice([("int", made.integer), ("float", made.number), ("bool", made.truth), ("str", made.text)])
            pair = maker(made.random.randint(1, 4))
            pairs += [(kind, pair)] if "_." in pair.text else []  # a number alone is no expression
        lines = [f"    e{at}: Optional[{kind}] = {pair.text}" for at, (kind, pair) in enumerate(pairs)]
        module = imported(HEAD + "\n".join(lines) + "\n", "random_cases", self.folder)
        for at, (kind, pair) in enumerate(pairs):
            row = self.random_row(made.random)
            visits = [module.Visit(id=n, at=NOW, pages=None, **visit) for n, visit in enumerate(row["visits"])]
            given = {getattr(module.Case, name): row[name] for name in ("a", "b", "x", "y", "s", "t", "maybe")}
            given.update({module.Case.id: at, module.Case.visits: visits, module.Case.owner: module.Owner(id=1, name=row["owner"])})
            wanted = pair.compute(row)
            if kind == "float" and wanted is not None:
                wanted = float(wanted)
            with self.subTest(seed=seed, expression=pair.text, row=row):
                check_expression(getattr(module.Case, f"e{at}"), given, expected=wanted, float_absolute_tolerance=1e-9)
                bare = eval(pair.text, {"_": _, "F": module.F})
                check_expression(bare, given, expected=wanted, float_absolute_tolerance=1e-9, on=module.Case, offline=at % 2 == 1)

    def random_row(self, chance: random.Random) -> dict[str, Any]:
        def number() -> float:
            return chance.randint(-40, 40) / 8

        return {
            "a": chance.randint(-20, 20),
            "b": chance.randint(-20, 20),
            "x": number(),
            "y": number(),
            "s": chance.choice(["", "Ann", "bob", "ÉTÉ", "x y"]),
            "t": chance.choice(["Ann", "zoë", "42"]),
            "maybe": chance.choice([None, 0, 5]),
            "owner": chance.choice(["Grace", "linus"]),
            "visits": [
                {"amount": number(), "kind": chance.choice(["web", "app"])} for _at in range(chance.choice([0, 1, 4]))
            ],
        }

    def test_windows_count_from_the_time_that_is_given(self) -> None:
        module = imported(
            HEAD
            + '    spent: Windowed[float] = windowed("1d", "7d", expression=_.visits[_.amount, _.at > _.svc_window].sum(), max_staleness="1d",\n'
            + '        materialization={"bucket_duration": "1h"})\n'
            + '    share: float = _.spent["1d"] / _.spent["7d"]\n'
            + "    age_s: float = F.total_seconds(_.svc_now - _.visits[_.at].max())\n",
            "windows",
            self.folder,
        )
        at = [NOW - timedelta(microseconds=1), NOW - timedelta(days=1) + timedelta(microseconds=1), NOW - timedelta(days=1), NOW - timedelta(days=8)]
        rows = [module.Visit(id=n, at=time, amount=2.0**n) for n, time in enumerate(at)]
        given = {module.Case.visits: rows}
        check_expression(module.Case.spent["1d"], given, expected=3.0, now=NOW)
        check_expression(module.Case.spent["7d"], given, expected=7.0, now="2026-01-31T12:00:00Z")
        with freeze_time(NOW):
            self.assertAlmostEqual(check_expression(module.Case.share, given, expected=3 / 7), 3 / 7)
        check_expression(module.Case.age_s, given, expected=60.000001, now=NOW + timedelta(minutes=1))
        with self.assertRaisesRegex(TypeError, r'name one of them, such as Case.spent\["1d"\]'):
            check_expression(module.Case.spent, given, expected=3.0)

    def test_a_value_that_differs_is_told(self) -> None:
        module = imported(HEAD + "    total: int = _.a + _.b\n    ratio: float = _.x / _.y\n", "differing", self.folder)
        with self.assertRaisesRegex(AssertionError, r"case.total\n    expected: 4\n    got:      3"):
            check_expression(module.Case.total, {module.Case.a: 1, module.Case.b: 2}, expected=4)
        self.assertEqual(check_expression(module.Case.total, module.Case(a=1, b=2), expected=3), 3)
        self.assertEqual(asyncio.run(self.asked_of_the_other_client(module)), 3)

    async def asked_of_the_other_client(self, module: Any) -> Any:
        client = AsyncSvcClient()
        try:
            return await client.check_expression(module.Case.total, {module.Case.a: 1, module.Case.b: 2}, expected=3)
        finally:
            await client.close()

    def test_mistakes_in_classes_are_told_with_their_place(self) -> None:
        for name, line, told in (
            ("no_feature", "score: float = _.x + _.nmae", r"Error\[130\]: Case has no feature 'nmae'.*no_feature.py:34:28"),
            ("no_function", "score: float = _.x + _.s", r"Error\[131\]: .*no_function.py:34:20"),
            ("no_type", "score: int = _.s", r"Error\[131\]: .*no_type.py:34:18"),
            ("no_column", "score: float = _.visits.sum()", r"Error\[132\]: .*no_column.py:34:29"),
        ):
            with self.subTest(name):
                module = imported(f"{HEAD}    {line}\n", name, self.folder)
                with self.assertRaisesRegex(QueryError, told):
                    check_expression(module.Case.score, {module.Case.x: 1.0}, expected=1)

    def test_inputs_that_do_not_do_are_told(self) -> None:
        module = imported(HEAD + "    total: int = _.a + _.b\n", "inputs", self.folder)
        case = module.Case
        for given, error, told in (
            ({case.a: 1}, QueryError, "it needs case.b, which was not given"),
            ({case.a: 1, case.b: "two"}, QueryError, 'case.b: expected int, got str "two"'),
            ({case.a: 1, "case.c": 2}, QueryError, "unknown feature 'case.c'"),
            (3, TypeError, "give values by feature"),
        ):
            with self.subTest(told), self.assertRaisesRegex(error, told):
                check_expression(case.total, given, expected=3)
        for asked, told in ((case.a, "Case.a has no expression"), ("case.total", "takes a feature")):
            with self.subTest(told), self.assertRaisesRegex(TypeError, told):
                check_expression(asked, {}, expected=3)

    def test_an_expression_by_itself_is_of_the_class_that_is_named_or_given(self) -> None:
        module = imported(HEAD + "    expression: int = _.a + 1\n", "bare", self.folder)
        case, given = module.Case, {module.Case.a: 2, module.Case.b: 3}
        self.assertEqual(check_expression(_.a * _.b > 5, given, expected=True), True)
        self.assertEqual(check_expression(_.expression + _.b, given, expected=6), 6)
        check_expression(_.owner.name, module.Case(a=1, owner=module.Owner(id=1, name="Ann")), expected="Ann")
        check_expression(_.svc_now, {}, expected=NOW, now=NOW, on=case)
        check_expression(_.visits[_.at].max(), {case.visits: [module.Visit(id=1, at=NOW, amount=1.0)]}, expected=NOW)
        self.assertEqual(asyncio.run(self.bare_of_the_other_client(case)), 3)
        with self.assertRaisesRegex(AssertionError, r"case.expression_2\n    expected: 6\n    got:      5"):
            check_expression(_.a + _.b, given, expected=6)
        both = {case.a: 1, module.Owner.name: "Ann"}
        for asked, values, on, told in (
            (_.a + 1, {}, None, r"`_` in .* is the row of a class, and the input names no class: name it, such as .*on=User"),
            (_.a + 1, {"case.a": 1}, None, "the input names no class"),
            (_.a + 1, both, None, "the input is of Case and Owner"),
            (_.a + 1, both, str, "on= is the feature class whose row `_` is, not <class 'str'>"),
            (case.expression, given, case, "on= is the class of an expression"),
            (case.a > 1, given, None, "takes an expression of `_`, not a filter of a class"),
            (case.a, given, None, "Case.a has no expression"),
            (3, given, None, "takes a feature that an expression computes"),
        ):
            with self.subTest(told), self.assertRaisesRegex(TypeError, told):
                check_expression(asked, values, expected=3, on=on)

    async def bare_of_the_other_client(self, case: Any) -> Any:
        client = AsyncSvcClient()
        try:
            return await client.check_expression(_.a + 1, {case.a: 2}, expected=3)
        finally:
            await client.close()

    def test_a_mistake_in_an_expression_by_itself_is_told_where_it_stands(self) -> None:
        module = imported(HEAD, "stands", self.folder)
        text = """
from svc import check_expression
from svc.features import _
import svc.functions as F
from stands import Case

def unknown_feature():
    check_expression(_.a + _.nmae, {Case.a: 1}, expected=1)

def unfit_types():
    check_expression(
        feature=F.upper(_.a),
        input={Case.a: 1}, expected=1)

def no_column():
    check_expression(_.visits.sum(), {Case.a: 1}, expected=1, offline=True)

def no_window():
    check_expression(_.visits[_.at > _.svc_window].count(), {Case.a: 1}, expected=1)

def elsewhere(asked=_.a.upper()):
    check_expression(asked, {Case.a: 1}, expected=1)

def null():
    check_expression(F.coalesce(None, None), {Case.a: 1}, expected=1)
"""
        calls = imported(text, "calls", self.folder)
        for call, told in (
            (calls.unknown_feature, r"Error\[130\]: Case has no feature 'nmae'.*calls.py:8:30"),
            (calls.unfit_types, r"Error\[131\]: upper cannot take .*calls.py:12:17"),
            (calls.no_column, r"Error\[132\]: .*calls.py:16:31"),
            (calls.no_window, r"Error\[13\d\]: .*_.svc_window.*calls.py:19:38"),
            (calls.elsewhere, r"Error\[13\d\]: .*upper.*calls.py:22:22"),
            (calls.null, r"Error\[131\]: the expression of case.expression is null.*calls.py:25:22"),
        ):
            with self.subTest(call.__name__), self.assertRaisesRegex(QueryError, told):
                call()
        with self.assertRaisesRegex(QueryError, r"Error\[130\]: Case has no feature 'nmae'.*<string>:1:1"):
            exec("check_expression(_.nmae, {}, expected=1, on=case)", {"check_expression": check_expression, "_": _, "case": module.Case})

    def test_offline_expressions_are_computed_where_it_is_asked_for(self) -> None:
        module = imported(
            HEAD
            + "    both: int = feature(expression=_.a + 1, offline_expression=_.a * 10)\n"
            + "    late: int = feature(offline_expression=_.both + _.b)\n"
            + "    plain: int = _.both * 2\n",
            "offline",
            self.folder,
        )
        case, given = module.Case, {module.Case.a: 2, module.Case.b: 1}
        check_expression(case.both, given, expected=3)
        check_expression(case.both, given, expected=20, offline=True)
        check_expression(case.late, given, expected=21, offline=True)
        check_expression(case.plain, given, expected=6)
        check_expression(case.plain, given, expected=40, offline=True)
        check_expression(_.late + _.plain, given, expected=61, offline=True)
        with self.assertRaisesRegex(TypeError, "Case.late has an expression for offline queries alone: give offline=True"):
            check_expression(case.late, given, expected=21)
        with self.assertRaisesRegex(QueryError, "case.late"):
            check_expression(_.late + 1, given, expected=21)
        with self.assertRaisesRegex(AssertionError, r"case.both\n    expected: 3\n    got:      20"):
            check_expression(case.both, given, expected=3, offline=True)
        wrong = imported(HEAD + "    both: int = feature(expression=_.a + 1, offline_expression=_.x / 2)\n", "offline_wrong", self.folder)
        with self.assertRaisesRegex(QueryError, r"Error\[131\]: .*case.both is float.*offline_wrong.py:34:\d+"):
            check_expression(wrong.Case.both, {wrong.Case.x: 2.0}, expected=1, offline=True)

    def test_without_a_server_the_next_step_is_told(self) -> None:
        module = imported(HEAD + "    total: int = _.a + _.b\n", "alone", self.folder)
        absent = SvcClient(api_server="http://127.0.0.1:9", max_retries=0)
        with self.assertRaisesRegex(ServerUnreachable, "`svc server start` starts one here"):
            absent.check_expression(module.Case.total, {module.Case.a: 1, module.Case.b: 2}, expected=3)
        known = {name: os.environ.pop(name) for name in ("SVC_CLIENT_ID", "HOME") if name in os.environ}
        try:
            with self.assertRaisesRegex(ConfigError, "run `svc login`"):
                SvcClient().check_expression(module.Case.total, {module.Case.a: 1}, expected=3)
        finally:
            os.environ.update(known)


if __name__ == "__main__":
    unittest.main()
