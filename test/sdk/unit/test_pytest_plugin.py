"""The pytest plugin, with a real pytest where one is installed."""

import importlib.util
import os
import subprocess
import sys
import tempfile
import textwrap
import unittest

MODEL = '''
from svc import online
from svc.features import DataFrame, features


@features
class User:
    id: int
    count: int
    txns: "DataFrame[Txn]"


@features
class Txn:
    id: int
    ok: bool
    kind: str
    user_id: User.id


@online
def count(txns: User.txns[Txn.ok is True and Txn.kind in ("a", "b")]) -> User.count:
    return len(txns[not Txn.kind == "b"])
'''

TESTS = '''
from model import Txn, count
from svc.features import DataFrame

ROWS = [Txn(id=1, ok=True, kind="a"), Txn(id=2, ok=True, kind="b"), Txn(id=3, ok=False, kind="a")]


def test_resolver():
    assert count(ROWS) == 1


def test_filter_in_the_test_itself():
    assert len(DataFrame(ROWS)[Txn.ok and Txn.kind in ["a"]]) == 1


def test_asserts_are_explained():
    try:
        assert len(ROWS) == 4
    except AssertionError as error:
        assert "where 3 = len(" in str(error)
'''


@unittest.skipUnless(importlib.util.find_spec("pytest"), "pytest is not installed")
class Plugin(unittest.TestCase):
    def run_pytest(self, folder, *arguments):
        env = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        env.pop("PYTHONDONTWRITEBYTECODE", None)
        command = [sys.executable, "-X", f"pycache_prefix={folder}/cache", "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments, folder]
        return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=60)

    def test_filters_work_in_modules_and_in_tests(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in (("model.py", MODEL), ("test_model.py", TESTS), ("pytest.ini", "[pytest]\npythonpath = .\n")):
                with open(os.path.join(folder, name), "w", encoding="utf-8") as stream:
                    stream.write(textwrap.dedent(text))
            without = self.run_pytest(folder)
            self.assertEqual(without.returncode, 1, without.stdout + without.stderr)
            for _time in range(2):
                with_it = self.run_pytest(folder, "-p", "svc._pytest_plugin")
                self.assertEqual(with_it.returncode, 0, with_it.stdout + with_it.stderr)
                self.assertIn("3 passed", with_it.stdout)
            again = self.run_pytest(folder)
            self.assertEqual(again.returncode, 1, again.stdout + again.stderr)


if __name__ == "__main__":
    unittest.main()
