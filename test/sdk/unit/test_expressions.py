"""Expressions: operators, paths, brackets, what they refuse; windows of features; has-many
references.
"""

import copy
import math
import unittest
from datetime import timedelta

import svc
import svc.functions as F
from svc import online
from svc.features import DataFrame, Features, _, feature, features, has_many, has_one
from svc.streams import Windowed, windowed
from svc._model.expression import Aggregate, Bracketed, Call, Expression, Literal, Path
from svc._analysis.expression_reader import resolve_expressions
from svc._codec.literal import literal_json
from svc._analysis.joins import resolve_joins
from svc._worker.raised import Project
from svc._model.registry import registry
from svc._worker.runner import Runner


@features
class Txn:
    id: int
    user_id: "User.id"
    user: "User"
    amount: float
    seller: str


@features
class User:
    id: int
    name: str
    txns: "DataFrame[Txn]"
    fails: Windowed[int] = windowed("10m", "1d", "all", default=0)
    late: Windowed[float] = windowed(timedelta(hours=2), "7d", name="delays")
    n_big: int = _.txns[_.amount > 1000].count()


class Operators(unittest.TestCase):
    def test_every_operator(self):
        made = {
            "add": _.a + 1,
            "sub": _.a - 1,
            "mul": _.a * 1,
            "div": _.a / 1,
            "floordiv": _.a // 1,
            "mod": _.a % 1,
            "pow": _.a**1,
            "eq": _.a == 1,
            "ne": _.a != 1,
            "lt": _.a < 1,
            "le": _.a <= 1,
            "gt": _.a > 1,
            "ge": _.a >= 1,
            "and": _.a & True,
            "or": _.a | True,
            "xor": _.a ^ True,
        }
        for name, expression in made.items():
            self.assertIsInstance(expression, Call)
            self.assertEqual((expression.function, repr(expression.arguments[0])), (name, "_.a"))
            self.assertIsInstance(expression.arguments[1], Literal)
        self.assertEqual([(-_.a).function, (~_.a).function, abs(_.a).function], ["neg", "not", "abs"])
        self.assertEqual([repr(round(_.a)), repr(round(_.a, 2))], ["F.round(_.a)", "F.round(_.a, 2)"])
        self.assertEqual([repr(math.floor(_.a)), repr(math.ceil(_.a + 1))], ["F.floor(_.a)", "F.ceil(_.a + 1)"])

    def test_casts(self):
        self.assertEqual(repr(_.a.cast(int)), "F.to_int(_.a)")
        self.assertEqual(repr((_.a + 1).cast(str)), "F.to_string(_.a + 1)")
        self.assertEqual(repr(_.txns[_.b].sum().cast(float)), "F.to_float(_.txns[_.b].sum())")
        for wrong in (bytes, "int", None):
            with self.assertRaisesRegex(TypeError, "a value is cast to int, float, str, date, datetime"):
                _.a.cast(wrong)

    def test_reflected_operators_keep_the_order(self):
        for expression, text in (
            (1 - _.a, "1 - _.a"),
            (2 / _.a, "2 / _.a"),
            (2 // _.a, "2 // _.a"),
            (2**_.a, "2 ** _.a"),
            (2 % _.a, "2 % _.a"),
            (True & _.a, "True & _.a"),
            (3 < _.a, "_.a > 3"),
        ):
            self.assertEqual(repr(expression), text)

    def test_shown_as_written(self):
        for expression, text in (
            ((_.a + 1) * 2 > _.b, "((_.a + 1) * 2) > _.b"),
            (~((_.a > 1) & (_.b == "x")), "~((_.a > 1) & (_.b == 'x'))"),
            (-(_.a + _.b), "-(_.a + _.b)"),
            (_.txns[_.amount, _.amount > 3].sum(), "_.txns[_.amount, _.amount > 3].sum()"),
            (_.txns[_.a > 1].amount.mean(), "_.txns[_.a > 1].amount.mean()"),
            (_.txns[_.kind].max_by_n(_.a, n=3), "_.txns[_.kind].max_by_n(_.a, 3)"),
            (_.txns[_.kind].min_by_n(n=3, key=_.a), "_.txns[_.kind].min_by_n(_.a, 3)"),
            (F.lower(_.name), "F.lower(_.name)"),
            (_.kind.isin(["a"]), "F.is_in(_.kind, ['a'])"),
            (_.at > _.svc_window, "_.at > _.svc_window"),
            (_.spend["1d"] / 2, "_.spend['1d'] / 2"),
        ):
            self.assertEqual(repr(expression), text)

    def test_kinds(self):
        self.assertIsInstance(_.a.b, Path)
        self.assertIsInstance(_.txns[_.a > 1], Bracketed)
        self.assertIsInstance(_.txns.count(), Aggregate)
        self.assertIs(_, svc._)
        self.assertEqual(_.txns[_.a][_.b > 1]._svc_items[0]._svc_names, ("a",))

    def test_features_named_like_special_names_are_features_further_down(self):
        self.assertIsInstance(_.user.svc_now, Path)
        self.assertEqual(repr(_.user.svc_now), "_.user.svc_now")

    def test_no_truth_value_and_no_items(self):
        for expression in (_.a, _.a > 1, _.txns[_.a > 1], _.txns.count(), _.svc_now, F.lower(_.a), _):
            with self.assertRaisesRegex(TypeError, "neither true nor false here: write & for 'and'"):
                bool(expression)
            with self.assertRaisesRegex(TypeError, "no items here"):
                list(expression)
            with self.assertRaisesRegex(TypeError, "'in' has no answer here: write F.contains"):
                "x" in expression
        with self.assertRaises(TypeError):
            _.a and _.b
        with self.assertRaises(TypeError):
            1 < _.a < 3
        with self.assertRaises(TypeError):
            _.a in [1, 2]
        for convert in (int, float, len, str.upper):
            with self.assertRaises(TypeError):
                convert(_.a)

    def test_what_is_no_part_of_an_expression(self):
        with self.assertRaises(TypeError):
            _.a + object()
        with self.assertRaisesRegex(TypeError, "User.name names a feature by its class: in expressions _ is the row, such as _.name"):
            _.name == User.name
        with self.assertRaisesRegex(TypeError, "User.name names a feature by its class"):
            F.lower(User.name)
        with self.assertRaisesRegex(TypeError, "isin takes a list of values"):
            _.a.isin("abc")
        with self.assertRaisesRegex(TypeError, "_ stands for a row"):
            _()
        with self.assertRaisesRegex(TypeError, r"approx_percentile\(\) takes quantile, and 'q' is none of them"):
            _.txns[_.amount].approx_percentile(q=0.5)
        with self.assertRaisesRegex(TypeError, "takes key and n, and 'key' is none of them, or is given twice"):
            _.txns[_.amount].max_by_n(_.at, key=_.at)
        with self.assertRaisesRegex(TypeError, "is not given its key"):
            _.txns[_.amount].max_by_n(n=2)
        with self.assertRaisesRegex(TypeError, "by position"):
            _.txns.count(distinct=True)
        self.assertFalse(_.a == object)

    def test_protocols_that_look_for_attributes(self):
        self.assertIs(copy.deepcopy(_.a).__class__, Path)
        expression = _.a > 1
        self.assertIs(copy.deepcopy(expression), expression)
        self.assertFalse(hasattr(_, "__len__"))
        self.assertFalse(hasattr(_.a, "__array__"))
        self.assertEqual(len({_.a: 1, expression: 2}), 2)

    def test_what_cannot_be_shown(self):
        class Silent:
            def __repr__(self):
                raise RuntimeError

        self.assertEqual(repr(_.txns[Silent()].count(Silent())), "_.txns[Silent].count(Silent)")

    def test_constants(self):
        self.assertEqual(literal_json(2**53 + 1), {"int64Value": "9007199254740993"})
        self.assertEqual(literal_json(float("nan")), {"doubleValue": "NaN"})
        self.assertEqual(literal_json(None), {"nullValue": "NULL_VALUE_UNSPECIFIED"})
        self.assertEqual(literal_json(timedelta(minutes=1)), {"durationValue": "60s"})
        self.assertEqual(literal_json(["a", True]), {"listValue": {"values": [{"stringValue": "a"}, {"boolValue": True}]}})
        with self.assertRaisesRegex(TypeError, "does not fit into 64 bits"):
            literal_json(2**63)


def read(cls, *others):
    found = []
    expressions = resolve_expressions([cls.__svc_features__, *(other.__svc_features__ for other in others)], found.append)
    return {field.fqn: members["expression"] for field, members in expressions.items()}, [(item.code, item.message) for item in found]


class Reading(unittest.TestCase):
    def test_an_expression_made_elsewhere(self):
        condition = (_.amount > 10) & (_.amount < 100)

        def share(whole):
            return _.amount / whole

        @features
        class Basket:
            id: int
            rows: "DataFrame[Row]"
            some: int = _.rows[condition].count()

        @features
        class Row:
            id: int
            basket_id: Basket.id
            amount: float
            part: float = share(_.amount + 1)

        documents, found = read(Basket, Row)
        self.assertEqual(found, [])
        filters = documents["basket.some"]["aggregation"]["filters"]
        self.assertEqual([filters[0]["call"]["function"], len(filters)], ["and", 1])
        self.assertEqual(documents["row.part"]["call"]["function"], "div")

    def test_an_aggregation_in_brackets(self):
        @features
        class Line:
            id: int
            cost: float
            bill_id: "Bill.id"

        @features
        class Bill:
            id: int
            payer_id: "Payer.id"
            lines: DataFrame[Line]

        @features
        class Payer:
            id: int
            bills: DataFrame[Bill]
            large: int = _.bills[_.lines[_.cost].sum() > 100].count()
            paid: float = _.bills[_.lines[_.cost].sum()].sum()

        documents, found = read(Payer, Bill, Line)
        self.assertEqual(found, [])
        large = documents["payer.large"]["aggregation"]
        self.assertEqual(large["filters"][0]["call"]["arguments"][0]["aggregation"]["path"], ["lines"])
        self.assertEqual(documents["payer.paid"]["aggregation"]["column"]["aggregation"]["function"], "sum")

    def test_how_deep(self):
        def sum_of(count):
            total = _.x
            for number in range(count - 1):
                total = total + number
            return total

        @features
        class Deep:
            id: int
            x: int
            much: int = sum_of(40)
            more: int = sum_of(41)
            most: int = sum_of(5_000)
            rows: "DataFrame[Deeper]"
            uncalled: int = _.rows[sum_of(5_000)]

        @features
        class Deeper:
            id: int
            deep_id: Deep.id

        documents, found = read(Deep)
        self.assertEqual(list(documents), ["deep.much"])
        self.assertEqual([code for code, text in found], [130, 130, 130])
        self.assertIn("'deep.more' is nested more than 40 deep", found[0][1])

    def test_a_broken_relation_is_told_once(self):
        @features
        class Lost:
            id: int
            rows: "DataFrame[Nowhere]"
            n: int = _.rows[_.x > 1].count()

        self.assertEqual(read(Lost), ({}, []))


class HasMany(unittest.TestCase):
    def test_paths(self):
        self.assertEqual(str(User.txns.amount), "user.txns.amount")
        self.assertEqual(repr(User.txns[Txn.amount > 100, Txn.amount]), "User.txns[Txn.amount > 100, Txn.amount]")
        self.assertIs(User.txns.amount, User.txns.amount)
        self.assertEqual(str(Txn.user.txns.user.name), "txn.user.txns.user.name")
        with self.assertRaisesRegex(AttributeError, "Txn has no feature 'amuont'; did you mean 'amount'"):
            User.txns.amuont

    def test_joins_of_a_class_with_itself(self):
        @features
        class Branch:
            id: int
            parent_id: "Branch.id | None"
            parent: "Branch | None"
            children: "DataFrame[Branch]"

        joins = resolve_joins([Branch.__svc_features__], lambda finding: self.fail(finding.message))
        pairs = {field.fqn: [(local.fqn, foreign.fqn) for local, foreign in join.pairs] for field, join in joins.items()}
        self.assertEqual(pairs["branch.children"], [("branch.id", "branch.parent_id")])
        self.assertEqual(pairs["branch.parent"], [("branch.parent_id", "branch.id")])

    def test_mirrors_of_explicit_joins(self):
        @features
        class Person:
            id: int
            town: str
            clubs: "DataFrame[Club]" = has_many(lambda: Club.town == Person.town)
            pets: "DataFrame[Pet]"

        @features
        class Club:
            id: int
            town: str
            members: DataFrame[Person]

        @features
        class Pet:
            id: int
            keeper: int
            person: Person = has_one(lambda: Pet.keeper == Person.id)

        joins = resolve_joins([item.__svc_features__ for item in (Person, Club, Pet)], lambda finding: self.fail(finding.message))
        pairs = {field.attribute: [(local.fqn, foreign.fqn) for local, foreign in join.pairs] for field, join in joins.items()}
        self.assertEqual(pairs["members"], [("club.town", "person.town")])
        self.assertEqual(pairs["pets"], [("person.id", "pet.keeper")])

    def test_of_several_keys_the_one_named_for_the_class_then_the_primary_key(self):
        @features
        class Shop:
            id: int
            sales: "DataFrame[Sale]"
            goods: "DataFrame[Good]"

        @features
        class Sale:
            id: int
            shop_id: Shop.id
            rival: Shop.id

        @features
        class Good:
            key: Shop.id = feature(primary=True)
            other: Shop.id

        joins = resolve_joins([item.__svc_features__ for item in (Shop, Sale, Good)], lambda finding: self.fail(finding.message))
        pairs = {field.attribute: [(local.fqn, foreign.fqn) for local, foreign in join.pairs] for field, join in joins.items()}
        self.assertEqual(pairs, {"sales": [("shop.id", "sale.shop_id")], "goods": [("shop.id", "good.key")]})

    def test_takes_a_function(self):
        with self.assertRaisesRegex(TypeError, "has_many takes a function"):
            has_many(Txn.user_id == User.id)
        with self.assertRaisesRegex(TypeError, "has_many takes a function"):
            has_many(_.user_id == 1)


class Windows(unittest.TestCase):
    def test_equal_spellings_are_one_feature(self):
        self.assertIs(User.fails["10m"], User.fails["600s"])
        self.assertIs(User.fails["10m"], User.fails[timedelta(minutes=10)])
        self.assertIs(User.fails["1d"], User.fails["24h"])
        self.assertIs(User.late["7d"], User.late["1w"])
        self.assertIs(User.fails["all"], User.fails["36500d"])
        self.assertIs(User.fails["10m"], User.fails__600__)
        self.assertIs(Txn.user.fails["10m"], Txn.user.fails["600s"])

    def test_names(self):
        self.assertEqual(str(User.fails["10m"]), "user.fails__600__")
        self.assertEqual(str(Txn.user.late["2h"]), "txn.user.delays__7200__")
        self.assertEqual(repr(Txn.user.late["120m"]), 'Txn.user.late["2h"]')
        self.assertEqual(repr(User.fails["all"]), 'User.fails["all"]')

    def test_unknown_windows(self):
        for window in ("2d", "soon", "infinity", "500ms", timedelta(0)):
            with self.assertRaisesRegex(AttributeError, "User.fails has no window '.+'; its windows are: 10m, 1d, all"):
                User.fails[window]

    def test_instances(self):
        user = User(id=1, fails={"10m": 3, "24h": 4}, late__7200__=1.5)
        self.assertEqual(user, User(id=1, fails__600__=3, fails__86400__=4, late={"2h": 1.5}))
        self.assertEqual(dict(user), {"user.id": 1, "user.fails__600__": 3, "user.fails__86400__": 4, "user.delays__7200__": 1.5})
        self.assertEqual(user.fails, {"10m": 3, "1d": 4, "all": 0})
        self.assertEqual(user.late, {"2h": 1.5})
        with self.assertRaisesRegex(TypeError, "one value per window: give a dict with the keys 10m, 1d, all"):
            User(fails=3)
        with self.assertRaisesRegex(TypeError, "has no window '2d'; its windows are: 10m, 1d, all"):
            User(fails={"2d": 3})
        with self.assertRaisesRegex(TypeError, "has no feature 'fails__60__'"):
            User(fails__60__=3)

    def test_resolvers(self):
        @online
        def both(fails: User.fails, one: User.late["2h"]) -> Features[User.name, User.late["7d"]]:
            return f"{sorted(fails.items())}", one + 1

        @online
        def whole(id: User.id) -> User.late:
            if id == 1:
                return {"2h": 1.0}
            return User(late={"1w": 2.0}) if id == 2 else (3.0, 4.0) if id == 3 else {"3h": 1.0} if id == 4 else 5.0

        specs = {spec.definition.function_name: spec for spec in registry.resolvers.values() if spec.definition.module == __name__}
        self.assertEqual([item.name for item in specs["both"].inputs], ["fails__600__", "fails__86400__", "fails__3153600000__", "one"])
        context = {"queryId": "", "traceId": "", "tags": [], "queryContext": None}
        call = {"type": "CALL", "id": 1, "now": None, "context": context, "groups": {}, "tables": {}}
        columns = {"fails__600__": [1], "fails__86400__": [2], "fails__3153600000__": [None], "one": [0.5]}
        result = Runner(specs["both"], Project(".")).run({**call, "resolver": "both", "rows": 1, "columns": columns})
        self.assertEqual(result["columns"], {"user.name": ["[('10m', 1), ('1d', 2), ('all', None)]"], "user.delays__604800__": [1.5]})
        result = Runner(specs["whole"], Project(".")).run({**call, "resolver": "whole", "rows": 5, "columns": {"id": [1, 2, 3, 4, 5]}})
        self.assertEqual(
            result["columns"], {"user.delays__7200__": [1.0, None, 3.0, None, None], "user.delays__604800__": [None, 2.0, 4.0, None, None]}
        )
        self.assertEqual([error["row"] for error in result["errors"]], [3, 4])
        self.assertIn("'3h', which is not among its windows: 2h, 7d", result["errors"][0]["message"])
        self.assertIn('return {"2h": ..., "7d": ...}', result["errors"][1]["message"])

    def test_all_values_of_a_class_have_its_windows(self):
        @online
        def all_of_it(id: User.id) -> Features[User] - User.fails - User.late["2h"]:
            return None

        spec = next(spec for spec in registry.resolvers.values() if spec.definition.function_name == "all_of_it")
        self.assertEqual([item.fqn for item in spec.outputs], ["user.name", "user.delays__604800__", "user.n_big"])


if __name__ == "__main__":
    unittest.main()
