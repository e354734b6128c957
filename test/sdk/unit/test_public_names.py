"""The names that users import: one table, the modules that offer them, and what is said about those
that are not there.
"""

import importlib
import os
import subprocess
import sys
import unittest
from datetime import timedelta

import svc
from svc._surface import public_names as names
from svc import unwrap_feature
from svc._diagnostics.findings import DefinitionError
from svc._surface.unknown_options import ABSENT_OPTIONS, options_of
from svc.features import DataFrame, FeatureTime, Primary, Windowed, feature, features, has_one, windowed


@features(owner="crm", tags=["a"])
class Shop:
    key: Primary[str] = feature(name="code")
    at: FeatureTime
    # How much
    size: "int | None" = feature(default=3, max_staleness="1h", tags="b")
    visits: Windowed[int] = windowed("1d", "7d", default=0)
    items: "DataFrame[Item]"


@features
class Item:
    id: int
    shop_key: "Shop.key"
    shop: "Shop | None" = has_one(lambda: Item.shop_key == Shop.key)


class Table(unittest.TestCase):
    def test_every_module_offers_what_the_table_says_and_nothing_else(self):
        for module in names.modules():
            if module == "svc.functions":
                continue
            loaded = importlib.import_module(module)
            self.assertEqual(sorted(loaded.__all__), names.names_of(module), module)
            for name in loaded.__all__:
                self.assertTrue(hasattr(loaded, name), f"{module}.{name}")

    def test_a_name_is_the_same_thing_wherever_it_is_found(self):
        for name, modules in names.PUBLIC_NAMES.items():
            found = [getattr(importlib.import_module(module), name) for module in modules]
            self.assertTrue(all(item is found[0] for item in found), name)

    def test_all_names_but_the_modules_are_in_svc(self):
        self.assertEqual([name for name, modules in names.PUBLIC_NAMES.items() if "svc" not in modules], ["features"])
        self.assertIs(svc.features, sys.modules["svc.features"])

    def test_type_checkers_see_every_name(self):
        """The modules import their names in plain sight, and the function that answers for missing
        ones hides from type checkers.
        """
        import ast

        for module in names.modules():
            path = importlib.import_module(module).__file__
            with open(path, encoding="utf-8") as file:
                tree = ast.parse(file.read())
            bound = set()
            for node in ast.walk(tree):
                if isinstance(node, ast.ImportFrom):
                    bound |= {alias.asname or alias.name for alias in node.names}
                elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                    bound.add(node.name)
                elif isinstance(node, (ast.Assign, ast.AnnAssign)):
                    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                    bound |= {target.id for target in targets if isinstance(target, ast.Name)}
            self.assertEqual(set(names.names_of(module)) - bound, set(), module)
            self.assertFalse([node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "__getattr__"], module)

    def test_absent_names_are_absent_and_advise_what_exists(self):
        for name, instead in names.ABSENT_NAMES.items():
            self.assertNotIn(name, names.PUBLIC_NAMES)
            self.assertFalse(instead.endswith("."), name)
        for module in names.ABSENT_MODULES:
            with self.assertRaises(ModuleNotFoundError):
                importlib.import_module(module)

    def test_the_client_is_loaded_when_it_is_asked_for(self):
        code = "import sys, svc, svc.features; assert 'svc.client' not in sys.modules; svc.SvcClient; assert 'svc.client' in sys.modules"
        subprocess.run([sys.executable, "-B", "-c", code], check=True, env=dict(os.environ))


class Missing(unittest.TestCase):
    def said(self, statement):
        with self.assertRaises((ImportError, AttributeError)) as raised:
            exec(statement, {})
        return type(raised.exception).__name__, str(raised.exception)

    def test_a_name_of_another_module(self):
        text = "svc.streams has no 'has_many': it is in svc.features; write 'from svc.features import has_many'"
        self.assertEqual(self.said("from svc.streams import has_many"), ("ImportError", text))
        self.assertEqual(self.said("import svc.streams as s; s.has_many"), ("AttributeError", text))

    def test_a_name_that_this_version_does_not_have(self):
        for module in names.modules():
            if module != "svc.functions":
                kind, text = self.said(f"from {module} import Sink")
                self.assertEqual((kind, text), ("ImportError", "this version of svc has no 'Sink': a sink is the function that @sink stands above"))

    def test_a_slip(self):
        self.assertEqual(self.said("from svc import onlin")[1], "this version of svc has no 'onlin'; did you mean 'online'?")
        self.assertEqual(self.said("from svc.streams import windwed")[1], "this version of svc has no 'windwed'; did you mean 'windowed'?")
        self.assertEqual(self.said("from svc.features import featurs")[1], "this version of svc has no 'featurs'; did you mean 'feature' or 'features'?")

    def test_what_only_sounds_alike_is_not_suggested(self):
        for name in ("xyzzy", "stage", "owned_by", "HasOneToMany", "FeatureStore", "query", "run", "db", "Frame"):
            for module in ("svc", "svc.features", "svc.client"):
                self.assertNotIn("did you mean", self.said(f"from {module} import {name}")[1], (module, name))
        self.assertEqual(
            self.said("from svc.sql import xyzzy")[1],
            "this version of svc has no 'xyzzy'; svc.sql has BigQuerySource, ClickhouseSource, DataSource, DuckDBSource, MySQLSource, PostgreSQLSource, SQLSourceGroup, SQLStatement, SQLiteInMemorySource, SQLiteSource, SnowflakeSource",
        )

    def test_attributes_can_be_asked_for_without_harm(self):
        self.assertFalse(hasattr(svc, "Sink"))
        self.assertFalse(hasattr(svc.features, "__wrapped__"))
        self.assertIsNone(getattr(svc, "Tensor", None))

    def test_star_imports(self):
        scope = {}
        exec("from svc.features import *", scope)
        self.assertIs(scope["features"], features)


class Options(unittest.TestCase):
    def test_absent_options_are_not_taken(self):
        for taker, absent in ABSENT_OPTIONS.items():
            self.assertEqual(set(absent) & set(options_of(taker)), set(), taker)

    def test_outside_of_a_project_an_unknown_option_is_a_type_error(self):
        from svc import NamedQuery, PostgreSQLSource, before_all, has_many, offline, online

        for call, said in (
            (lambda: online(cache=True), "this version of svc has no option 'cache' of online"),
            (lambda: offline(tmeout="1s"), "offline has no option 'tmeout'; did you mean 'timeout'?"),
            (lambda: feature(max_stalenes="1h"), "feature has no option 'max_stalenes'; did you mean 'max_staleness'?"),
            (lambda: features(ownr="x"), "features has no option 'ownr'; did you mean 'owner'?"),
            (lambda: windowed("1d", days=1), "no option 'days' of windowed"),
            (lambda: has_many(lambda: None, maxstaleness="1h"), "did you mean 'max_staleness'?"),
            (lambda: has_one(lambda: None, max_staleness="1h"), "no option 'max_staleness' of has_one"),
            (lambda: before_all(where="x"), "before_all has no option 'where'; its options are: environment, venv"),
            (lambda: NamedQuery("q", vesion="1"), "did you mean 'version'?"),
            (lambda: svc.Cron("1d", filtr=None), "did you mean 'filter'?"),
            (lambda: PostgreSQLSource("pg", password="x"), "as <NAME>_PGPASSWORD"),
        ):
            with self.assertRaises(TypeError) as raised:
                call()
            self.assertIsInstance(raised.exception, DefinitionError)
            self.assertEqual(raised.exception.code, 106)
            self.assertIn(said, str(raised.exception))


class Facts(unittest.TestCase):
    def test_a_value(self):
        found = unwrap_feature(Shop.size)
        self.assertEqual((found.fqn, found.name, found.namespace, found.path, found.attribute), ("shop.size", "size", "shop", "shop.size", "size"))
        self.assertEqual((found.python_type, found.nullable, found.has_default, found.default), (int, True, True, 3))
        self.assertEqual((found.owner, found.tags, found.description, found.max_staleness), ("crm", ("b", "a"), "How much", "1h"))
        self.assertEqual((found.is_primary, found.is_feature_time, found.is_has_one, found.is_has_many), (False, False, False, False))
        self.assertIs(found.features_class, Shop)
        self.assertEqual(str(found), "shop.size")

    def test_keys_and_times(self):
        self.assertTrue(unwrap_feature(Shop.key).is_primary)
        self.assertEqual(unwrap_feature(Shop.key).fqn, "shop.code")
        self.assertTrue(unwrap_feature(Shop.at).is_feature_time)
        self.assertTrue(svc.is_feature_time(Shop.at))
        self.assertFalse(svc.is_feature_time(Shop.size))

    def test_relations_and_paths(self):
        self.assertTrue(unwrap_feature(Shop.items).is_has_many)
        self.assertIs(unwrap_feature(Shop.items).python_type, Item)
        self.assertTrue(unwrap_feature(Item.shop).is_has_one)
        through = unwrap_feature(Item.shop.size)
        self.assertEqual((through.fqn, through.path), ("shop.size", "item.shop.size"))

    def test_windows(self):
        self.assertEqual(unwrap_feature(Shop.visits).windows, (timedelta(days=1), timedelta(days=7)))
        one = unwrap_feature(Shop.visits["7d"])
        self.assertEqual((one.window, one.windows, one.default), (timedelta(days=7), (), 0))

    def test_what_is_no_feature(self):
        for wrong, said in ((Shop, "Shop is a feature class"), ("shop.size", "'shop.size' is no feature"), (None, "None is no feature")):
            with self.assertRaisesRegex(TypeError, said):
                unwrap_feature(wrong)


if __name__ == "__main__":
    unittest.main()
