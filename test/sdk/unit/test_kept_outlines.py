"""What is kept of files between analyses changes no graph: random projects, of which some files
change each time, are analyzed with everything that was kept so far and with nothing.
"""

import ast
import os
import random
import shutil
import tempfile
import unittest

from svc._analysis.analyze import analyze
from svc._diagnostics import source
from svc._diagnostics.findings import to_json
from svc._loading.code_cache import code_cache, use_code_cache
from svc._model.registry import registry

SEED = int(os.environ.get("SVC_TEST_SEED", "1"))
RUNS = max(50, min(int(os.environ.get("SVC_TEST_RUNS", "0")), 1_000))

HEAD = """
import math
import os
import sys
from math import floor, ceil as up
from typing import TYPE_CHECKING
import svc
from svc import online, offline
from svc.features import Features, features
"""

CONSTANTS = (
    "RATE = 2",
    "RATE = 0.5",
    "RATE = -0.0",
    "RATE = True",
    "RATE: float = 1 / 3",
    "RATE = BASE + 1",
    "RATE = 'é'",
    r"RATE = '\ud800'",
    "RATE = float(os.environ.get('RATE', 1))",
    "RATE = ('a', 2)",
    "RATE = ('b', 2.0)",
    "if os.environ.get('RATE'):\n    RATE = 3\nelse:\n    RATE = 4",
    "RATE = 1\nRATE = 2",
    "RATE = OTHER = 3",
    "(RATE) = 3",
    "from math import pi as RATE",
)
BEFORE = (
    "",
    "float = int",
    "def max(a, b):\n    return a",
    "math = floor",
    "def change():\n    global RATE\n    RATE = 9",
    '"""A text.\n\n# no comment\n"""',
    "exec('pass')",
    "svc.anything = 1",
    "setattr(svc, 'anything', 1)",
    "def touch(item):\n    item.RATE = 7",
    "from svc import online as really\ndef online(fn):\n    return really(fn)",
    "NAMES = sys.modules",
)
BODIES = (
    "return a * RATE",
    "return a * first.RATE",
    "return a * BASE",
    "return a in RATE",
    "return max(a, 1) + floor(a) + up(a)",
    "return math.sqrt(a) + math.pi",
    "return float(a)",
    "if a > 1:\n        return 5\n    return a",
    "b = a\n    b += RATE\n    return b",
    "for _ in (1, 2): pass\n    return a",
    "return Own(value=a, other=1.0)",
    "return Own(value=a + 1)",
    "return (lambda: a)()",
    '"""Says what it does."""\n    return a',
    "return unknown",
)
ABOVE = ("", "# A comment\n", "# :owner: someone@example.com\n# It has é and more\n", "# :tags: one, two\n", "@svc.online\n", "\n\n", "'''text\n# inside\n'''\n")
DECORATORS = ("@online", "@svc.online", "@offline(tags=['x'])", "@online(translate=False)", "@(online)")
TYPES = ("float", "float | None", "'float'", "float = 2", "float = 'x'")
RETURNS = ("Own.value", "Own.other", "Features[Own.value, Own.other]", "'Own.value'")


def module(pick: random.Random, name: str, others: list[str]) -> bytes:
    """A random module of the project."""
    lines = [HEAD]
    imported = [other for other in others if other != name]
    for other in imported:
        lines.append(pick.choice((f"from {other} import BASE", f"import {other}", f"from .{other} import RATE as BASE", f"from {other} import *", "", "")))
    if imported:
        lines.append(pick.choice(("", f"import {imported[0]} as first", f"if TYPE_CHECKING:\n    from {imported[0]} import Own as Theirs")))
    lines += [pick.choice(("BASE = 1", "BASE = 2", "")), pick.choice(CONSTANTS), pick.choice(BEFORE) if pick.random() < 0.2 else ""]
    owner = pick.choice(("Own", "Own", "Other"))
    lines += [
        f"@features(name='{name}_rows'{pick.choice(('', ', tags=[1]', ', owner=5'))})",
        f"class {owner}:",
        *("    " + line for line in pick.choice(ABOVE[:4]).splitlines()),
        "    id: int",
        f"    {pick.choice(('value: float', 'value: int', 'valeur_é: float; value: float'))}",
        *("    " + line for line in pick.choice(ABOVE[:4]).splitlines()),
        f"    other: {pick.choice(TYPES)}",
        pick.choice(("", "    def __init__(self, **values):\n        pass", "    @property\n    def more(self):\n        return 1")),
        pick.choice(("", "Own = Other" if owner == "Other" else "Other = Own")),
    ]
    for number in range(pick.randint(1, 3)):
        resolver = f"{pick.choice(DECORATORS)}\ndef f{number}(a: Own.id) -> {pick.choice(RETURNS)}:\n    {pick.choice(BODIES)}\n"
        lines.append(pick.choice(ABOVE) + resolver)
    text = "\n".join(lines)
    if pick.random() < 0.3:
        text = text.replace("\n", "\r\n")
    kind = pick.random()
    if kind < 0.1:
        return ("# coding: latin-1\n" + text).encode("latin-1")
    if kind < 0.15:
        return ("# coding: latin-1\n" + text).encode("utf-8")
    return text.encode("utf-8-sig" if kind < 0.3 else "utf-8")


class KeptOutlines(unittest.TestCase):
    def setUp(self):
        self.folder = os.path.realpath(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.root = os.path.join(self.folder, "project")
        os.mkdir(self.root)
        self.rate = "0"

    def write(self, name: str, content: bytes) -> None:
        with open(os.path.join(self.root, name), "wb") as stream:
            stream.write(content)

    def analyzed(self, kept: str, files: list[str]) -> tuple[bytes, int]:
        """The graph, or how the analysis failed, and how many files were parsed; each in a process
        of its own.
        """
        out = os.path.join(self.folder, "graph.json")
        child = os.fork()
        if child == 0:
            try:
                os.chdir(self.root)
                os.environ["RATE"] = self.rate
                registry.clear()  # of what other tests define
                os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
                import sys

                sys.path.insert(0, self.root)
                parsed, parse = [0], ast.parse

                def counted(*arguments, **more):
                    parsed[0] += len(arguments) > 1 and str(arguments[1]).startswith(self.root)
                    return parse(*arguments, **more)

                ast.parse = counted
                use_code_cache(kept or None)
                source.use_kept_outlines(f"{kept}.outlines" if kept else None)
                content = to_json(analyze(self.root, files))
                code_cache().save()
                source.save_outlines()
                with open(out, "wb") as stream:
                    stream.write(str(parsed[0]).encode() + b"\n" + content)
                os._exit(0)
            finally:
                os._exit(1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        with open(out, "rb") as stream:
            count, _, content = stream.read().partition(b"\n")
        return content, int(count)

    def test_graphs_are_the_same(self):
        pick = random.Random(SEED)
        names = ["one", "two", "three", "four"]
        kept = os.path.join(self.folder, "kept")
        translated = spared = 0
        for run in range(RUNS):
            if run % 6 == 0:
                for name in names:
                    self.write(f"{name}.py", module(pick, name, names[: names.index(name)]))
            changed = pick.choice(names)
            kind = pick.random()
            if kind < 0.5:
                self.write(f"{changed}.py", module(pick, changed, names[: names.index(changed)]))
            elif kind < 0.7:
                other = pick.choice([name for name in names if name != changed])
                shutil.copyfile(os.path.join(self.root, f"{changed}.py"), os.path.join(self.root, f"{other}.py"))
            elif kind < 0.8:
                self.rate = pick.choice(("", "0", "1"))
            files = [f"{name}.py" for name in names]
            with self.subTest(run=run, seed=SEED):
                fresh, needed = self.analyzed("", files)
                again, parsed = self.analyzed(kept, files)
                self.assertEqual(again.decode(), fresh.decode())
                translated += fresh.count(b'"translated":')
                spared += needed - parsed
        self.assertGreater(translated, RUNS // 10)
        self.assertGreater(spared, RUNS // 10)

    def test_what_is_the_same_is_not_parsed(self):
        self.write("rates.py", b"RATE = 2 * 3\nKINDS = (1, 2)\n")
        text = HEAD + "import rates\nfrom rates import KINDS\n@features\nclass Own:\n    id: int\n    # comment\n    value: float\n"
        text += "@online\ndef f(a: Own.id) -> Own.value:\n    return float(a) * rates.RATE if a in KINDS else 1.0\n"
        self.write("own.py", text.encode())
        kept = os.path.join(self.folder, "kept")
        files = ["own.py", "rates.py"]
        first, parsed = self.analyzed(kept, files)
        self.assertIn(b'"int64Value":"6"', first)
        self.assertEqual(parsed, 2)
        self.assertEqual(self.analyzed(kept, files), (first, 0))
        self.write("rates.py", b"RATE = 3 * 3\nKINDS = (1, 2)\n")
        changed, parsed = self.analyzed(kept, files)
        self.assertIn(b'"int64Value":"9"', changed)
        self.assertEqual(parsed, 2)

    def test_one_function_for_several_classes(self):
        text = HEAD + "for number in (1, 2):\n"
        text += "    @features(name=f'own_{number}')\n    class Own:\n        id: int\n        value: float\n"
        text += "    @online(name=f'make_{number}')\n    def make() -> Own.value:\n        return Own(value=1.5)\n"
        self.write("own.py", text.encode())
        kept = os.path.join(self.folder, "kept")
        fresh, _ = self.analyzed("", ["own.py"])
        self.assertEqual(fresh.count(b'"translated":'), 1)
        for _ in range(3):
            self.assertEqual(self.analyzed(kept, ["own.py"])[0], fresh)

    def test_a_damaged_file_is_not_read(self):
        self.write("own.py", (HEAD + "@features\nclass Own:\n    id: int\n").encode())
        kept = os.path.join(self.folder, "kept")
        first, _ = self.analyzed(kept, ["own.py"])
        with open(f"{kept}.outlines", "rb") as stream:
            content = stream.read()
        pick = random.Random(SEED)
        for _ in range(5):
            at = pick.randrange(len(content))
            with open(f"{kept}.outlines", "wb") as stream:
                stream.write(content[:at] + bytes([content[at] ^ 0x41]) + content[at + 1 : pick.choice((None, -1))])
            self.assertEqual(self.analyzed(kept, ["own.py"]), (first, 1))


if __name__ == "__main__":
    unittest.main()
