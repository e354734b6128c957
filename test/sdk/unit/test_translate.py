"""Which functions are translated to expressions, to which, and why others stay Python."""

import importlib
import itertools
import json
import os
import shutil
import sys
import tempfile
import textwrap
import unittest
import warnings

from svc._model.registry import registry
from svc._model.signature import compile_resolver
from svc._diagnostics.source import _roots, set_project_root
from svc._analysis.bindings import ProjectCode
from svc._analysis.translate import translate
from svc._analysis.translate_expression import Untranslatable

HEAD = """
import math
import os
import datetime as dt
from enum import Enum
from math import floor
from typing import Optional
import svc
from svc import Now, online, svc_logger
from svc.features import DataFrame, Features, features
from svc.streams import Windowed, windowed

class Kind(Enum):
    A = "a"

@features
class User:
    id: int
    a: int
    b: float | None
    s: str
    at: dt.datetime
    kind: Kind
    x: float
    y: str | None
    day: dt.date
    n: Windowed[int] = windowed("1d", "7d")

"""

_numbers = itertools.count()


def shown(expression):
    """An expression as text: `add(a, 1)`."""
    if "literal" in expression:
        ((kind, value),) = expression["literal"].items()
        return "None" if kind == "nullValue" else repr(value)
    if "feature" in expression:
        return ".".join(expression["feature"]["path"])
    call = expression["call"]
    return f"{call['function']}({', '.join(shown(item) for item in call['arguments'])})"


class TranslateTest(unittest.TestCase):
    def setUp(self):
        self.root = os.path.realpath(tempfile.mkdtemp())
        self.roots = list(_roots)
        set_project_root(self.root)
        sys.path.insert(0, self.root)
        self.definitions = set(map(id, registry.definitions))

    def tearDown(self):
        sys.path.remove(self.root)
        _roots[:] = self.roots
        shutil.rmtree(self.root)

    def translated(self, text, before="", **others):
        """Translates the one resolver of a module. `others` are further modules of the project by
        name.
        """
        name = f"translated_{next(_numbers)}"
        files = {**others, name: HEAD + textwrap.dedent(before) + "\n" + textwrap.dedent(text)}
        for module, source in files.items():
            with open(os.path.join(self.root, f"{module}.py"), "w", encoding="utf-8") as stream:
                stream.write(source if module == name else textwrap.dedent(source))
            sys.modules.pop(module, None)
        importlib.invalidate_caches()
        importlib.import_module(name)
        definition = next(item for item in registry.definitions if item.module == name)
        spec, problems = compile_resolver(definition)
        self.assertIsNotNone(spec, [str(problem.error) for problem in problems])
        found = translate(spec, ProjectCode([os.path.join(self.root, f"{module}.py") for module in files]))
        return {fqn: json.loads(expression) for fqn, expression in found.items()}

    def body(self, body, parameters="a: User.a, b: User.b, s: User.s", returns="User.x", **more):
        """Translates a function by its body; an expression is returned."""
        lines = textwrap.dedent(body).strip("\n")
        if "return" not in lines and "\n" not in lines:
            lines = f"return {lines}"
        found = self.translated(f"@online\ndef f({parameters}) -> {returns}:\n" + textwrap.indent(lines, "    "), **more)
        texts = {fqn.removeprefix("user."): shown(expression) for fqn, expression in found.items()}
        return texts["x"] if list(texts) == ["x"] else texts

    def refused(self, *arguments, **more):
        with self.assertRaises(Untranslatable) as raised:
            (self.body if "def f" not in arguments[0] else self.translated)(*arguments, **more)
        return str(raised.exception)

    def test_expressions(self):
        for text, wanted in {
            "a + 1": "add(a, '1')",
            "a // 2 % 3 ** 2 - -b / 4": "sub(mod(floordiv(a, '2'), pow('3', '2')), truediv(neg(b), '4'))",
            "a < b <= 3": "and(lt(a, b), le(b, '3'))",
            "not a and b or s": "or(and(not(a), b), s)",
            "1.5 if b is not None else 0": "if(not(is(b, None)), 1.5, '0')",
            "b is True": "is(b, True)",
            "a in (1, 2)": "among(a, '1', '2')",
            "s not in {'a'}": "not(among(s, 'a'))",
            "'x' in s": "contains('x', s)",
            "s.lower().strip('x').replace('a', 'b')": "replace(strip(lower(s), 'x'), 'a', 'b')",
            "s.startswith('a')": "startswith(s, 'a')",
            "s[0] + s[1:] + s[:-1]": "add(add(item(s, '0'), slice(s, '1', None)), slice(s, None, neg('1')))",
            "len(s) + abs(a) + round(b, 2)": "add(add(len(s), abs(a)), round(b, '2'))",
            "max(a, 0, b)": "max(a, '0', b)",
            "float(int(str(bool(a))))": "float(int(str(bool(a))))",
            "f'{a}-{s!s}'": "text(a, '-', s)",
            "math.sqrt(a) + floor(b) + math.pi": "add(add(math.sqrt(a), math.floor(b)), 3.141592653589793)",
        }.items():
            with self.subTest(text):
                self.assertEqual(self.body(text), wanted)

    def test_datetimes(self):
        self.assertEqual(self.body("at.year", parameters="at: User.at"), "year(at)")
        self.assertEqual(
            self.body("(at - at).total_seconds() > 5", parameters="at: User.at"),
            "gt(total_seconds(sub(at, at)), '5')",
        )

    def test_statements(self):
        for text, wanted in {
            '"""Says what it does."""\nreturn a': "a",
            "pass\npass": "None",
            "t = a * 2\nreturn t + t": "after(mul(a, '2'), add(mul(a, '2'), mul(a, '2')))",
            "t = a\nt += 1\nreturn t": "after(add(a, '1'), add(a, '1'))",
            "t: int = a\nreturn 5": "'5'",
            "unused = 1 / a\nreturn 5": "after(truediv('1', a), '5')",
            "if a:\n    return 1\nelif b:\n    return 2\nreturn 3": "if(a, '1', if(b, '2', '3'))",
            "t = 0\nif a:\n    t = 1\nreturn t": "if(a, '1', '0')",
            "if a:\n    pass\nelse:\n    return": "if(a, None, None)",
            "if a < 0:\n    raise ValueError(unknown(a))\nreturn 1": "if(lt(a, '0'), python(), '1')",
            "assert a, unknown\nreturn 1": "if(a, '1', python())",
        }.items():
            with self.subTest(text):
                self.assertEqual(self.body(text), wanted)

    def test_several_outputs(self):
        several = "Features[User.x, User.y]"
        self.assertEqual(self.body("User(y=s)", returns=several), {"x": "None", "y": "s"})
        self.assertEqual(self.body("User(x=a, y=s, id=a + 1)", returns=several), {"x": "after(add(a, '1'), a)", "y": "s"})
        self.assertEqual(self.body("a, s", returns=several), {"x": "a", "y": "s"})
        self.assertEqual(self.body("None", returns=several), {"x": "None", "y": "None"})
        self.assertEqual(
            self.body("User(x=1) if a else User(y='n')", returns=several), {"x": "if(a, '1', None)", "y": "if(a, None, 'n')"}
        )
        self.assertEqual(self.body("User(x=a)"), "a")

    def test_constants(self):
        self.assertEqual(self.body("a * RATE", before="RATE = 2 * 1.5"), "mul(a, 3.0)")
        self.assertEqual(self.body("a * RATE", before="RATE: float = -0.0"), "mul(a, neg(0.0))")
        self.assertEqual(self.body("a in KINDS", before="KINDS = (1, 'b')"), "among(a, '1', 'b')")
        self.assertEqual(self.body("a * RATE", before="BASE = 2\nRATE = BASE + 1"), "mul(a, '3')")
        self.assertEqual(self.body("a * R", before="from rates import RATE as R", rates="RATE = 7"), "mul(a, '7')")
        self.assertEqual(self.body("a * rates.RATE", before="import rates", rates="RATE = 7"), "mul(a, '7')")

    def test_constants_that_may_change(self):
        for before in (
            "RATE = 1\nRATE = 2",
            "RATE = 1\nif os.sep:\n    RATE = 2",
            "if os.sep:\n    RATE = 1",
            "RATE = 1\ndef change():\n    global RATE\n    RATE = 2",
            "RATE = 1\nfor RATE in (1, 2): pass",
            "RATE = 1\nRATE += 1",
            "RATE = float(os.environ.get('RATE', 1))",
            "RATE = 1\nglobals()['RATE'] = 2",
            "RATE = [1][0]",
            "RATE = 1\nfrom string import *",
            "RATE = 1\ntry:\n    pass\nexcept OSError as RATE:\n    pass",
            "RATE = 1\nif (RATE := 2): pass",
            "RATE, OTHER = 1, 2",
            "def make():\n    global RATE\n    RATE = 1\nmake()",
        ):
            with self.subTest(before):
                self.assertIn("it reads 'RATE', which may change", self.refused("a * RATE", before=before))
        self.assertIn("called 'RATE'", self.refused("a * RATE", before="RATE = 1", other="import sys\nsys.RATE = 5"))
        self.assertIn("'exec'", self.refused("a * RATE", before="RATE = 1", executing="exec('pass')"))
        self.assertIn("'setattr'", self.refused("a * RATE", before="RATE = 1", setting="def f(m, n):\n    setattr(m, n, 1)"))
        self.assertIn("called 'RATE'", self.refused("a * RATE", before="RATE = 1", naming="def f(m):\n    setattr(m, 'RATE', 1)"))
        for setting in (
            "from builtins import setattr as put\ndef f(m, n):\n    put(m, n, 1)",
            "from builtins import delattr as drop\ndef f(m, n):\n    drop(m, n)",
            "import sys as system\ndef f(n):\n    return system.modules[n]",
            "from sys import modules as loaded",
            "def f(m):\n    return getattr(m, '__dict__')",
            "from builtins import vars as names",
        ):
            with self.subTest(setting):
                self.assertIn("which can change any name", self.refused("a * RATE", before="RATE = 1", setting=setting))
        self.assertIn("may change", self.refused("len(NAMES)", before="NAMES = ['a']"))
        self.assertIn("may change", self.refused("a in NAMES", before="NAMES = {'a'}"))

    def test_builtins_that_are_not(self):
        for before in ("def len(x):\n    return 1", "from os.path import getsize as len", "def f2():\n    global len\n    len = 1"):
            with self.subTest(before):
                self.assertIn("'len'", self.refused("len(s)", before=before))
        self.assertIn("'len'", self.refused("len(s)", other="import os\nos.len = 1\n"))
        self.assertIn("'builtins'", self.refused("len(s)", importing="import builtins\n"))
        self.assertEqual(self.refused("len(s)", parameters="len: User.a, s: User.s"), "it calls 'len'")
        self.assertEqual(self.refused("math.floor(a)", parameters="math: User.a, a: User.a"), "it calls 'math.floor'")
        self.assertEqual(self.refused("floor(a)", before="def floor(x):\n    return 1"), "it calls 'floor'")

    def test_refused(self):
        for text, reason in {
            "for i in (1, 2):\n    pass\nreturn a": "it loops",
            "while a:\n    pass\nreturn a": "it loops",
            "sum([a for a in (1,)])": "it calls 'sum'",
            "try:\n    return a\nexcept Exception:\n    return 1": "it handles exceptions",
            "with open(s) as f:\n    return 1": "it uses 'with'",
            "import json\nreturn a": "it imports",
            "def g(): pass\nreturn a": "it defines a function",
            "a()": "it calls 'a'",
            "print(a)\nreturn a": "it has a statement whose value is dropped, which may have an effect",
            "svc_logger.info('x')\nreturn a": "it has a statement whose value is dropped, which may have an effect",
            "svc.query_tags()": "it calls 'svc.query_tags'",
            "a.bit_length()": "it calls 'a.bit_length'",
            "os.getpid()": "it calls 'os.getpid'",
            "math.sin(b)": "it calls 'math.sin'",
            "math.exp(b)": "it calls 'math.exp'",
            "s.split(',')[0]": "it calls 's.split'",
            "s.title()": "it calls 's.title'",
            "s.replace('a', 'b', 1)": "it calls 's.replace'",
            "s.strip(*s)": "it calls 's.strip' with keywords or stars",
            "max(a, b, key=abs)": "it calls 'max' with keywords or stars",
            "max(s)": "it calls 'max'",
            "int(s, 16)": "it calls 'int'",
            "f'{b:.2f}'": "it formats values with a specification",
            "f'{s!r}'": "it formats values with a specification",
            "s[::2]": "it slices with a step",
            "a is b": "it compares identities with 'is'",
            "a is 5 or 1": "it compares identities with 'is'",
            "[a][0]": "it makes a list",
            "{'a': 1}[s]": "it makes a dict",
            "(a, b)[0]": "it makes a tuple",
            "(t := a) + t": "it assigns within an expression",
            "a | 1": "it has an expression of kind BinOp",
            "~a": "it has an expression of kind UnaryOp",
            "x = y = a\nreturn x": "it assigns to something else than one local name",
            "x, y = a, b\nreturn x": "it assigns to something else than one local name",
            "if a:\n    t = 1\nreturn t": "'t' may have no value when it is read",
            "return t\nt = 1": "'t' may have no value when it is read",
            "global t\nt = 1\nreturn t": "it names global variables",
            "del a\nreturn 1": "it deletes a name",
            "a + 9223372036854775808": "it has the constant int 9223372036854775808, which the server does not compute with",
            "b'x'": "it has the constant bytes b'x', which the server does not compute with",
            "a.real": "it reads the attribute 'real'",
            "undefined + 1": "it reads 'undefined', which may change: not a constant given once at the top of a module",
            "User(kind=Kind.A)": "it sets 'kind', which is not among its outputs",
            "User(**{})": "it sets '**', which is not among its outputs",
            " + ".join("a" for _ in range(60)): "it is too long",
            "\n".join(["t = a", *["t = t + t" for _ in range(30)], "return t"]): "it is too long",
        }.items():
            with self.subTest(text):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", SyntaxWarning)
                    self.assertEqual(self.refused(text), reason)

    def test_refused_signatures(self):
        for text, reason in {
            "@online\nasync def f(a: User.a) -> User.x:\n    return a": "it is async",
            "@online(translate=False)\ndef f(a: User.a) -> User.x:\n    return a": "its decorator says translate=False",
            "@online\ndef f(now: Now) -> User.x:\n    return 1": "its parameter 'now' is the query's time",
            "@online\ndef f(a: User.a = 3) -> User.x:\n    return a": "its parameter 'a' has a default",
            "@online\ndef f(n: User.n) -> User.x:\n    return 1": "its parameter 'n' is a dict of windows",
            "@online\ndef f(k: User.kind) -> User.x:\n    return 1": "its parameter 'k' is of a type that the server does not compute with",
            "@online\ndef f(d: User.day) -> User.x:\n    return 1": "its parameter 'd' is of a type that the server does not compute with",
            "@online\ndef f(a: User.a) -> User.n['1d']:\n    return a": "its output is a window of a feature",
            "@online\ndef f(a: User.a) -> User.kind:\n    return a": "its output 'user.kind' is of a type that the server does not compute with",
            "@online\ndef f() -> DataFrame[User.id, User.x]:\n    return DataFrame([])": "it takes or gives DataFrames",
            "@online\n@same\ndef f(a: User.a) -> User.x:\n    return a": "another decorator stands above it",
            "@same\n@online\ndef f(a: User.a) -> User.x:\n    return a": "another decorator stands above it",
            "@mine\ndef f(a: User.a) -> User.x:\n    return a": "another decorator stands above it",
            "def make(k):\n    @online\n    def f(a: User.a) -> User.x:\n        return a + k\n    return f\nmake(1)": "it reads 'k' of the function around it",
        }.items():
            with self.subTest(text):
                before = "def same(fn):\n    return fn\n\ndef mine(fn):\n    return online(fn)\n"
                self.assertEqual(self.refused(text, before=before), reason)

    def test_decorators_of_ours(self):
        for decorator in ("@online", "@online()", '@svc.online(owner="a@example.com")', "@svc.offline", "@also"):
            with self.subTest(decorator):
                found = self.translated(f"{decorator}\ndef f(a: User.a) -> User.x:\n    return a", before="also = online")
                self.assertEqual(list(found), ["user.x"])

    def test_a_class_that_makes_its_instances_in_its_own_way(self):
        text = "@online\ndef f(id: Own.id) -> Own.x:\n    return Own(x=id)"
        before = "@features\nclass Own:\n    id: int\n    x: int\n    def __init__(self, **values):\n        pass\n"
        self.assertEqual(self.refused(text, before=before), "Own makes its instances in its own way")

    def test_optional_parameters(self):
        self.assertEqual(self.body("0 if a is None else a", parameters="a: Optional[User.a] = None"), "if(is(a, None), '0', a)")


if __name__ == "__main__":
    unittest.main()
