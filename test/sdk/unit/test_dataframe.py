"""DataFrame: how it is made, what brackets choose, aggregations, null rules."""

import importlib.util
import math
import unittest
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum

import svc
from svc.features import DataFrame, FeatureTime, after, before, feature, features


class Size(Enum):
    S = 1
    L = 2


@features
class Buyer:
    id: int
    name: str


@features
class Sale:
    id: int
    amount: float
    ok: bool
    kind: "str | None"
    size: Size
    note: str = feature(name="remark", default="none")
    at: FeatureTime
    day: "date | None"
    buyer_id: Buyer.id
    buyer: Buyer


def sales():
    return DataFrame(
        [
            Sale(id=1, amount=5.0, ok=True, kind="a"),
            Sale(id=2, amount=150.0, ok=False, kind=None),
            Sale(id=3, amount=None, ok=None, kind="b"),
            Sale(id=4, amount=20.0, ok=True, kind="a"),
        ]
    )


def ids(df):
    return df.column(Sale.id)


class Making(unittest.TestCase):
    def test_exported(self):
        self.assertIs(svc.DataFrame, DataFrame)

    def test_of_instances(self):
        df = sales()
        self.assertEqual(df.columns, ["sale.id", "sale.amount", "sale.ok", "sale.kind"])
        self.assertEqual((len(df), bool(df), bool(DataFrame())), (4, True, False))

    def test_all_forms_are_equal(self):
        wanted = DataFrame([Sale(id=1, kind="a"), Sale(id=2, kind="b")])
        self.assertEqual(DataFrame([{"sale.id": 1, Sale.kind: "a"}, {Sale.id: 2, "sale.kind": "b"}]), wanted)
        self.assertEqual(DataFrame({Sale.id: [1, 2], "sale.kind": ("a", "b")}), wanted)
        self.assertEqual(DataFrame(wanted), wanted)
        self.assertEqual(DataFrame(row for row in wanted), wanted)
        self.assertEqual(DataFrame[Sale.id, Sale.kind]([{"id": 1, "kind": "a"}, {"id": 2, "kind": "b"}]), wanted)
        self.assertEqual(DataFrame[Sale]({"id": [1, 2], "kind": ["a", "b"]}), wanted)
        self.assertNotEqual(DataFrame({Sale.id: [1, 2]}), wanted)

    def test_what_a_row_lacks_is_null_or_the_default(self):
        df = DataFrame([Sale(id=1), Sale(kind="a"), Sale(note="x")])
        self.assertEqual(df.to_dict(), {"sale.id": [1, None, None], "sale.kind": [None, "a", None], "sale.remark": ["none", "none", "x"]})

    def test_relations_are_columns(self):
        df = DataFrame([Sale(id=1, buyer=Buyer(id=7, name="x")), Sale(id=2)])
        self.assertEqual(df.columns, ["sale.id", "sale.buyer.id", "sale.buyer.name"])
        self.assertEqual(list(df), [Sale(id=1, buyer=Buyer(id=7, name="x")), Sale(id=2, buyer=None)])

    def test_columns_that_are_no_features(self):
        df = DataFrame({"x": [1, 2], "y": [3, 4]})
        self.assertEqual(list(df), [{"x": 1, "y": 3}, {"x": 2, "y": 4}])
        self.assertEqual(DataFrame({"x": [1], Sale.id: [2]})[0], {"x": 1, "sale.id": 2})

    def test_typed_frames_have_no_other_columns(self):
        with self.assertRaisesRegex(TypeError, r"DataFrame\[Sale.id, Sale.amount\] has no column 'sale.kind'; its columns are: sale.id, sale.amount"):
            DataFrame[Sale.id, Sale.amount]([Sale(id=1, kind="a")])
        with self.assertRaisesRegex(TypeError, "'kidn' is no feature: Sale has no 'kidn'; did you mean 'kind'"):
            DataFrame[Sale]([{"kidn": 1}])
        with self.assertRaisesRegex(TypeError, "'sale.remrk' is no feature"):
            DataFrame({"sale.remrk": [1]})
        with self.assertRaisesRegex(TypeError, "without quotes"):
            DataFrame["Sale"]([{"id": 1}])
        self.assertEqual(DataFrame[Sale.id, Sale.note]([{"id": 1}]).to_dict(), {"sale.id": [1], "sale.remark": ["none"]})

    def test_refused(self):
        for data in ("text", 5, [1], [Sale], {"sale.id": 5}, {"sale.id": "text"}):
            with self.assertRaises(TypeError):
                DataFrame(data)
        with self.assertRaisesRegex(ValueError, "the columns differ in length: 'sale.id' has 2, 'sale.kind' has 1"):
            DataFrame({Sale.id: [1, 2], Sale.kind: ["a"]})
        with self.assertRaisesRegex(ValueError, "twice"):
            DataFrame({Sale.id: [1], "sale.id": [2]})

    def test_empty(self):
        for df in (DataFrame(), DataFrame([]), DataFrame({})):
            self.assertEqual((len(df), df.columns, list(df), df.count()), (0, [], [], 0))
        self.assertEqual(len(DataFrame({Sale.id: []})[Sale.id > 1]), 0)


class Brackets(unittest.TestCase):
    def test_rows(self):
        df = sales()
        self.assertEqual(df[0], Sale(id=1, amount=5.0, ok=True, kind="a"))
        self.assertEqual(df[-1].id, 4)
        self.assertEqual([row.id for row in df], [1, 2, 3, 4])
        self.assertEqual((ids(df[1:3]), ids(df[::-1]), ids(df[:0])), ([2, 3], [4, 3, 2, 1], []))
        with self.assertRaises(IndexError):
            df[4]

    def test_columns(self):
        df = sales()
        self.assertEqual(df[Sale.kind, Sale.id].columns, ["sale.kind", "sale.id"])
        self.assertEqual(df["sale.amount"].to_dict(), {"sale.amount": [5.0, 150.0, None, 20.0]})
        self.assertEqual(df["amount"], df[Sale.amount])
        self.assertEqual(df[Sale].columns, df.columns)
        with self.assertRaisesRegex(KeyError, "has no column 'sale.amuont'; did you mean 'sale.amount'"):
            df["sale.amuont"]
        with self.assertRaisesRegex(TypeError, "no row, column or filter"):
            df[1.5]

    def test_words_that_no_hook_saw(self):
        for words in (lambda: Sale.amount > 1 and Sale.ok == True, lambda: (Sale.amount > 1) & (Sale.id == 1) or Sale.ok == True):  # noqa: E712
            with self.assertRaisesRegex(TypeError, "has no truth value: join conditions with & .*; in tests, `pytest -p svc._pytest_plugin`"):
                sales()[words()]

    def test_filters(self):
        df = sales()
        cases = [
            (Sale.amount > 5, [2, 4]),
            (Sale.amount >= 5, [1, 2, 4]),
            (Sale.amount < 20, [1]),
            (20 >= Sale.amount, [1, 4]),
            (Sale.kind == "a", [1, 4]),
            (Sale.kind != "a", [3]),
            ((Sale.amount > 5) & (Sale.kind == "a"), [4]),
            ((Sale.amount > 100) | (Sale.kind == "b"), [2, 3]),
            (~(Sale.amount > 100), [1, 4]),
            (Sale.kind.isin(["b", None]), [3]),
            (~Sale.kind.isin(["b", None]), [1, 4]),
            (Sale.kind.is_null(), [2]),
            (~Sale.kind.is_null(), [1, 3, 4]),
            (Sale.kind == None, [2]),  # noqa: E711
            (Sale.kind != None, [1, 3, 4]),  # noqa: E711
            (Sale.ok & (Sale.amount < 10), [1]),
            (~Sale.ok, [2]),
            (Sale.ok == True, [1, 4]),  # noqa: E712
            (Sale.amount == Sale.id, []),
            (Sale.amount > Sale.id, [1, 2, 4]),
        ]
        for condition, wanted in cases:
            self.assertEqual(ids(df[condition]), wanted, repr(condition))

    def test_filters_and_columns_in_any_order(self):
        df = sales()
        for chosen in (df[Sale.amount > 5, Sale.id], df[Sale.id, Sale.amount > 5], df[[Sale.id, Sale.amount > 5]]):
            self.assertEqual(chosen.to_dict(), {"sale.id": [2, 4]})
        self.assertEqual(df[Sale.id, Sale.amount > 1, :2].to_dict(), {"sale.id": [1, 2]})
        self.assertEqual(ids(df[Sale.amount > 1, Sale.kind == "a"]), [1, 4])

    def test_three_valued_logic(self):
        values = {None: None, True: True, False: False}
        df = DataFrame({"x": [a for a in values for _ in values], "y": [b for _ in values for b in values]})
        x, y = DataFrame({Sale.ok: df.column("x")}), df.column("y")
        both = DataFrame({Sale.ok: x.column(Sale.ok), Buyer.id: y}).with_column(Buyer.id, y)
        got_and = (Sale.ok & (Buyer.id == True)).evaluate(both)  # noqa: E712
        got_or = (Sale.ok | (Buyer.id == True)).evaluate(both)  # noqa: E712
        for a, b, conjunction, disjunction in zip(both.column(Sale.ok), y, got_and, got_or):
            self.assertIs(conjunction, False if a is False or b is False else None if a is None or b is None else True)
            self.assertIs(disjunction, True if a is True or b is True else None if a is None or b is None else False)

    def test_conditions_have_no_truth_value(self):
        for condition in (Sale.amount > 5, Sale.kind.isin(["a"]), ~Sale.ok, (Sale.amount > 5) | (Sale.amount < 1)):
            with self.assertRaises(TypeError):
                bool(condition)
            with self.assertRaises(TypeError):
                condition and 1

    def test_wrong_types(self):
        with self.assertRaisesRegex(TypeError, "the filter Sale.kind > 5 cannot be evaluated"):
            sales()[Sale.kind > 5]
        with self.assertRaisesRegex(TypeError, "Sale.amount is float, not bool"):
            sales()[~Sale.amount]
        with self.assertRaises(TypeError):
            Sale.kind.isin("ab")

    def test_enums_and_times(self):
        times = [datetime(2024, 1, 1), datetime(2024, 1, 2, tzinfo=timezone.utc), None]
        df = DataFrame({Sale.id: [1, 2, 3], Sale.size: [Size.S, Size.L, None], Sale.at: times})
        self.assertEqual((ids(df[Sale.size == Size.L]), ids(df[Sale.size == 1]), ids(df[Sale.size.isin([Size.S])])), ([2], [1], [1]))
        self.assertEqual(ids(df[Sale.at > datetime(2024, 1, 1, 12)]), [2])
        self.assertEqual(ids(df.before(datetime(2024, 1, 1))), [1])

    def test_before_and_after(self):
        now = datetime(2024, 5, 1, tzinfo=timezone.utc)
        df = DataFrame({Sale.id: [1, 2, 3], Sale.at: [now - timedelta(days=1), now - timedelta(hours=23), None]}, now=now)
        self.assertEqual((ids(df.before(days_ago=1)), ids(df.after(days_ago=1))), ([1], [2]))
        self.assertEqual((ids(df[before(hours_ago=24)]), ids(df[after(minutes_ago=24 * 60), Sale.id])), ([1], [2]))
        self.assertEqual(ids(df[Sale.id, Sale.at][1:].after(weeks_ago=1)), [2])
        self.assertEqual(len(DataFrame({Sale.at: [datetime.now(timezone.utc)]}).after(seconds_ago=100)), 1)
        for arguments, named in (((), {}), ((now,), {"days_ago": 1}), ((5,), {}), ((), {"years_ago": 1})):
            with self.assertRaises(TypeError):
                before(*arguments, **named)
        with self.assertRaisesRegex(KeyError, "needs the feature time"):
            df[Sale.id].after(days_ago=1)


class Aggregations(unittest.TestCase):
    def test_of_a_column(self):
        df = sales()
        column = df[Sale.amount]
        self.assertEqual((df.count(), column.count(), column.sum(), column.min(), column.max()), (4, 3, 175.0, 5.0, 150.0))
        self.assertAlmostEqual(column.mean(), 175 / 3)
        self.assertAlmostEqual(column.var(), ((5 - 175 / 3) ** 2 + (150 - 175 / 3) ** 2 + (20 - 175 / 3) ** 2) / 2)
        self.assertAlmostEqual(column.std() ** 2, column.var())
        self.assertEqual((df[Sale.ok].any(), df[Sale.ok].all(), df.all("ok"), df.sum(Sale.id)), (True, False, False, 10))

    def test_of_nothing(self):
        for values in ([], [None, None]):
            column = DataFrame({Sale.amount: values})
            found = (column.sum(), column.count(), column.mean(), column.min(), column.max(), column.std(), column.var(), column.any(), column.all())
            self.assertEqual(found, (0, 0, None, None, None, None, None, False, True))
        one = DataFrame({Sale.amount: [3.0]})
        self.assertEqual((one.std(), one.var(), one.mean()), (None, None, 3.0))

    def test_of_other_types(self):
        self.assertEqual(DataFrame({"x": [timedelta(1), timedelta(2)]}).sum(), timedelta(3))
        self.assertEqual(DataFrame({"x": [Decimal("0.1"), Decimal("0.2")]}).sum(), Decimal("0.3"))
        self.assertEqual(DataFrame({"x": [Decimal(1), Decimal(3)]}).var(), Decimal(2))
        self.assertEqual(DataFrame({"x": [date(2024, 1, 2), date(2024, 1, 1)]}).min(), date(2024, 1, 1))
        self.assertEqual(DataFrame({"x": ["b", "a"]}).max(), "b")
        self.assertEqual(DataFrame({"x": [2**62, 2**62]}).sum(), 2**63)
        self.assertEqual(DataFrame({"x": [0.1] * 10}).sum(), 1.0)
        for found in (DataFrame({"x": [math.nan, 1.0]}), DataFrame({"x": [1.0, math.nan]})):
            self.assertTrue(all(math.isnan(value) for value in (found.min(), found.max(), found.sum(), found.mean())))
        self.assertEqual(DataFrame({"x": [math.inf, 1.0]}).sum(), math.inf)

    def test_approximate_ones_are_exact_here(self):
        df = DataFrame({"v": ["b", "a", None, "b", "c", "a"], "k": [3.0, 3.0, 9.0, 1.0, None, math.nan]})
        self.assertEqual((df["v"].approx_count_distinct(), df.approx_top_k(2, "v"), df.approx_top_k(9, "v")), (3, ["a", "b"], ["a", "b", "c"]))
        self.assertEqual((df.max_by_n("v", "k", 3), df.min_by_n("v", "k", 9)), (["a", "a", "b"], ["b", "a", "b", "a"]))
        self.assertEqual((df.max_by("v", "k"), df.min_by("v", "k"), DataFrame({"v": [], "k": []}).max_by("v", "k")), ("a", "b", None))
        hundred = DataFrame({"x": list(range(100, 0, -1))})
        self.assertEqual([hundred.approx_percentile(share) for share in (0, 0.07, 0.5, 0.999, 1)], [1.0, 7.0, 50.0, 100.0, 100.0])
        self.assertEqual((DataFrame({"x": [None]}).approx_percentile(0.5), DataFrame({"x": [timedelta(2), timedelta(1)]}).approx_percentile(1)), (None, timedelta(2)))
        self.assertTrue(math.isnan(DataFrame({"x": [1.0, math.nan]}).approx_percentile(0)))
        self.assertEqual(DataFrame({"x": [math.nan, math.nan, [1], [1], {}]}).approx_count_distinct(), 3)
        for wrong in (lambda: hundred.approx_percentile(2), lambda: hundred.approx_top_k(0), lambda: df.max_by_n("v", "k", 1001)):
            with self.assertRaisesRegex(ValueError, "must be a"):
                wrong()

    def test_group_by_with_arguments(self):
        grouped = sales().group_by("ok").agg(
            top=(Sale.kind, "approx_top_k", 1),
            half=(Sale.amount, "approx_percentile", 0.5),
            best=(Sale.id, "max_by", Sale.amount),
            two=(Sale.id, "min_by_n", Sale.amount, 2),
            kinds=(Sale.kind, "approx_count_distinct"),
        )
        rows = {row["sale.ok"]: row for row in grouped.to_dicts()}
        for ok, row in rows.items():
            own = sales()[Sale.ok == ok] if ok is not None else DataFrame([sale for sale in sales() if sale.ok is None])
            self.assertEqual((row["best"], row["two"], row["kinds"]), (own.max_by("id", "amount"), own.min_by_n("id", "amount", 2), own.approx_count_distinct("kind")))
            self.assertEqual((row["top"], row["half"]), (own.approx_top_k(1, "kind"), own.approx_percentile(0.5, "amount")))
        for wrong in ((Sale.id, "max_by"), (Sale.id, "max_by_n", Sale.amount), (Sale.id, "sum", 3)):
            with self.assertRaisesRegex(TypeError, "is no aggregation"):
                sales().group_by("ok").agg(x=wrong)

    def test_one_column_is_meant(self):
        with self.assertRaisesRegex(TypeError, r"sum\(\) is of one column"):
            sales().sum()

    def test_group_by(self):
        named = {"rows": "count", "known": ("amount", "count"), "most": lambda df: df.max("id")}
        grouped = sales().group_by(Sale.kind).agg({Sale.amount: (Sale.amount, "sum")}, **named)
        self.assertEqual(
            grouped.to_dict(),
            {"sale.kind": ["a", None, "b"], "sale.amount": [25.0, 150.0, 0], "rows": [2, 1, 1], "known": [2, 1, 0], "most": [4, 2, 3]},
        )
        self.assertEqual(sales().group_by(Sale.kind, "ok").count().column("count"), [2, 1, 1])
        self.assertEqual([(key, len(rows)) for key, rows in sales().group_by("kind")], [(("a",), 2), ((None,), 1), (("b",), 1)])
        with self.assertRaisesRegex(TypeError, "'summ' is no aggregation; did you mean 'sum'"):
            sales().group_by(Sale.kind).agg(x=(Sale.amount, "summ"))
        with self.assertRaises(TypeError):
            sales().group_by(Sale.kind).agg(x="sum")


class Changing(unittest.TestCase):
    def test_with_columns(self):
        df = sales()
        added = {"big": Sale.amount > 100, "twice": lambda row: row.id * 2, "same": Sale.id, "one": 1, Sale.kind: ["w", "x", "y", "z"]}
        more = df.with_columns(added)
        self.assertEqual(more.column("big"), [False, True, None, False])
        self.assertEqual((more.column("twice"), more.column("same"), more.column("one")), ([2, 4, 6, 8], [1, 2, 3, 4], [1, 1, 1, 1]))
        self.assertEqual((more.column(Sale.kind), df.column(Sale.kind)), (["w", "x", "y", "z"], ["a", None, "b", "a"]))
        self.assertEqual(more.columns[:4], df.columns)
        self.assertEqual(df.with_column(Sale.id, 0).column("id"), [0, 0, 0, 0])
        with self.assertRaisesRegex(ValueError, "has 1 values for 4 rows"):
            df.with_column("x", [1])

    def test_sort_and_head(self):
        df = sales()
        self.assertEqual((ids(df.sort(Sale.amount)), ids(df.sort("amount", descending=True))), ([1, 4, 2, 3], [2, 4, 1, 3]))
        self.assertEqual(ids(df.sort(Sale.kind, Sale.id)), [1, 4, 3, 2])
        self.assertEqual((ids(df.head(2)), len(df.head()), len(df.head(0)), len(df.head(-1))), ([1, 2], 4, 0, 0))
        self.assertEqual(DataFrame({"x": [math.nan, 2.0, None, 1.0]}).sort("x").column("x")[:2], [1.0, 2.0])

    def test_what_is_given_out_is_a_copy(self):
        df = sales()
        df.column(Sale.id).append(5)
        df.to_dict()["sale.id"].clear()
        self.assertEqual(ids(df), [1, 2, 3, 4])

    def test_shown(self):
        self.assertEqual(
            repr(sales()[Sale.id, Sale.kind]),
            "DataFrame of 4 rows\nsale.id  sale.kind\n1        'a'\n2        null\n3        'b'\n4        'a'",
        )
        self.assertEqual(repr(DataFrame()), "DataFrame of 0 rows, no columns")
        self.assertTrue(repr(DataFrame({"x": list(range(50))})).endswith("9\n..."))
        self.assertEqual(repr(DataFrame[Sale.id, Buyer]), "DataFrame[Sale.id, Buyer]")

    def test_from_columns_and_rows(self):
        wanted = DataFrame([Sale(id=1, amount=5.0), Sale(id=2, amount=7.5)])
        self.assertEqual(DataFrame.from_dict({Sale.id: [1, 2], "sale.amount": (5.0, 7.5)}), wanted)
        self.assertEqual(DataFrame([{Sale.id: 1, "sale.amount": 5.0}, {Sale.id: 2, "sale.amount": 7.5}]), wanted)
        self.assertEqual(DataFrame[Sale.id, Sale.amount]([(1, 5.0), [2, 7.5]]), wanted)
        at = datetime(2024, 1, 1, tzinfo=timezone.utc)
        self.assertEqual(DataFrame.from_dict({Sale.id: [1]}, now=at).now, at)
        for data, said in (
            ([(1, 5.0)], "row 0 is tuple, whose columns have no names: write DataFrame\\[Txn.id, Txn.amount\\]\\(rows\\)"),
            (Sale(id=1), "made of rows or columns, not of Sale"),
            ({Sale.id: {0: 1}}, "column 'sale.id' is dict"),
            ({Sale.id: {1, 2}}, "column 'sale.id' is set"),
        ):
            with self.assertRaisesRegex(TypeError, said):
                DataFrame(data)
        with self.assertRaisesRegex(TypeError, "from_dict takes lists of values by column"):
            DataFrame.from_dict([{Sale.id: 1}])
        with self.assertRaisesRegex(ValueError, "row 1 has 1 values for 2 columns: sale.id, sale.amount"):
            DataFrame[Sale.id, Sale.amount]([(1, 5.0), (2,)])

    def test_dicts(self):
        self.assertEqual(sales()[Sale.id, Sale.kind][:1].to_dicts(), [{"sale.id": 1, "sale.kind": "a"}])
        with self.assertRaises(TypeError):
            hash(sales())


class OtherLibraries(unittest.TestCase):
    def test_absent_libraries_say_so(self):
        for name, method in (("pandas", "to_pandas"), ("polars", "to_polars"), ("pyarrow", "to_arrow")):
            if importlib.util.find_spec(name) is None:
                with self.assertRaisesRegex(ImportError, f"{name} is not installed here: add '{name}' to the project's requirements"):
                    getattr(sales(), method)()

    def round_trip(self, method):
        df = sales()[Sale.id, Sale.amount, Sale.kind]
        self.assertEqual(DataFrame(getattr(df, method)()), df)

    @unittest.skipUnless(importlib.util.find_spec("pandas"), "pandas is not installed")
    def test_pandas(self):
        self.round_trip("to_pandas")

    @unittest.skipUnless(importlib.util.find_spec("pandas"), "pandas is not installed")
    def test_pandas_columns_are_named_by_features_names_and_index(self):
        import pandas

        wanted = DataFrame({Sale.id: [1, 2], Sale.kind: ["a", None]})
        for table in (
            pandas.DataFrame({Sale.id: [1, 2], Sale.kind: ["a", None]}),
            pandas.DataFrame([[1, "a"], [2, None]], columns=[Sale.id, Sale.kind]),
            pandas.DataFrame({"sale.id": [1, 2], Sale.kind: pandas.Categorical(["a", None])}),
            pandas.DataFrame({"sale.id": [1, 2], "sale.kind": ["a", None]}).set_index("sale.id"),
            pandas.DataFrame({"sale.id": [1, 2], "sale.kind": ["a", None]}, index=[7, 9]),
            {Sale.id: pandas.Series([1, 2]), Sale.kind: pandas.Series(["a", None])},
        ):
            self.assertEqual(DataFrame(table).to_dict(), wanted.to_dict())
        self.assertEqual(DataFrame[Sale.id, Sale.kind](pandas.DataFrame({"id": [1, 2], "kind": ["a", None]})), wanted)
        with self.assertRaisesRegex(ValueError, "'sale.id' stands there twice"):
            DataFrame(pandas.DataFrame([[1, 2]], columns=["sale.id", Sale.id]))
        with self.assertRaisesRegex(TypeError, "pandas's Series: name its column"):
            DataFrame(pandas.Series([1, 2], name="sale.id"))

    @unittest.skipUnless(importlib.util.find_spec("pandas"), "pandas is not installed")
    def test_pandas_values_are_those_of_the_features(self):
        import pandas

        at = pandas.to_datetime(["2024-01-02T03:04:05Z", None])
        table = pandas.DataFrame({Sale.id: [1, None], Sale.amount: [1.5, float("nan")], Sale.at: at, Sale.day: at})
        self.assertEqual(str(table.dtypes.iloc[0]), "float64")
        found = DataFrame(table).to_dict()
        self.assertEqual(found["sale.id"], [1, None])
        self.assertIs(type(found["sale.id"][0]), int)
        self.assertEqual(found["sale.amount"], [1.5, None])
        self.assertEqual(found["sale.at"], [datetime(2024, 1, 2, 3, 4, 5, tzinfo=timezone.utc), None])
        self.assertEqual(found["sale.day"], [date(2024, 1, 2), None])
        self.assertIs(type(found["sale.day"][0]), date)

    @unittest.skipUnless(importlib.util.find_spec("polars"), "polars is not installed")
    def test_polars(self):
        self.round_trip("to_polars")
        import polars

        table = polars.DataFrame({"sale.id": [1, 2], "sale.kind": ["a", None]})
        wanted = {"sale.id": [1, 2], "sale.kind": ["a", None]}
        for data in (table, table.lazy(), {Sale.id: table["sale.id"], Sale.kind: table["sale.kind"]}):
            self.assertEqual(DataFrame(data).to_dict(), wanted)
        with self.assertRaisesRegex(TypeError, "polars's Series: name its column"):
            DataFrame(table["sale.id"])

    @unittest.skipUnless(importlib.util.find_spec("pyarrow"), "pyarrow is not installed")
    def test_arrow(self):
        self.round_trip("to_arrow")


if __name__ == "__main__":
    unittest.main()
