"""The import hook: operators in brackets build conditions, and do what Python does for everything
else.
"""

import importlib
import os
import random
import sys
import tempfile
import textwrap
import traceback
import unittest

from svc._loading import hook
from svc._frames.conditions import Condition, Conjunction, Disjunction, Membership, Negation, NullTest
from svc._loading.hook import compile_rewritten
from svc.features import DataFrame, _, features


@features
class Deal:
    id: int
    flag: bool
    kind: "str | None"
    amount: float


class Box:
    """Gives back what stands in the brackets."""

    def __getitem__(self, item):
        return item


BOX = Box()


def within(text, **names):
    """The value of an expression in brackets, rewritten."""
    return eval(compile_rewritten(f"BOX[{text}]", "<test>", "eval"), {"BOX": BOX, "Deal": Deal, "_": _, **names})


class Random:
    """Random expressions over plain values. Every leaf notes that it was evaluated."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def expression(self, depth):
        choose = self.random.random()
        if depth == 0 or choose < 0.15:
            return self.leaf()
        inner = lambda: self.expression(depth - 1)  # noqa: E731
        if choose < 0.35:
            return "(" + f" {self.random.choice(['and', 'or'])} ".join(inner() for _ in range(self.random.randint(2, 4))) + ")"
        if choose < 0.45:
            return f"(not {inner()})"
        if choose < 0.75:
            operators = [self.random.choice(["==", "!=", "<", ">=", "is", "is not", "in", "not in"]) for _ in range(self.random.randint(1, 3))]
            return f"({inner()} {' '.join(f'{operator} {inner()}' for operator in operators)})"
        if choose < 0.85:
            return f"({inner()} if {inner()} else {inner()})"
        if choose < 0.93:
            return f"[x for x in xs if x in ys and x != {self.leaf()}]"
        return f"(lambda y: y or {inner()})({inner()})"

    def leaf(self):
        value = self.random.choice(["0", "1", "2.5", "None", "True", "False", "'a'", "xs", "ys", "()", "1 / 0", "xs[0]"])
        return f"note({self.random.randrange(1000)}, {value})"


def outcome(code, names):
    seen = []

    def note(number, value):
        seen.append(number)
        return value

    try:
        result = repr(eval(code, {**names, "note": note, "BOX": BOX}))
    except Exception as error:
        result = f"{type(error).__name__}: {error}"
    return result, seen


class PlainValues(unittest.TestCase):
    def test_random_expressions_mean_what_they_meant(self):
        seed = int(os.environ["SVC_TEST_SEED"])
        made = Random(seed)
        names = {"xs": [0, 1, 2], "ys": (1, 2.5, None)}
        changed = 0
        for _number in range(2000):
            text = f"BOX[{made.expression(3)}]"
            rewritten = compile_rewritten(text, "<test>", "eval")
            changed += "__svc_ops__" in rewritten.co_names
            self.assertEqual(outcome(compile(text, "<test>", "eval"), names), outcome(rewritten, names), f"seed {seed}: {text}")
        self.assertGreater(changed, 1000)

    def test_what_is_outside_of_brackets_is_left_alone(self):
        for text in ("a and b", "f(a in b)", "[a and b]", "x[0] and not y", "{a: b is None}"):
            self.assertNotIn("__svc_ops__", compile_rewritten(text, "<test>", "eval").co_names)

    def test_when_is_captured(self):
        condition = eval(compile_rewritten("dict(when=Deal.flag and Deal.kind in ['a'])", "<test>", "eval"), {"Deal": Deal, "dict": dict})["when"]
        self.assertIsInstance(condition, Conjunction)

    def test_annotations_that_are_kept_as_text_are_not_touched(self):
        source = "from __future__ import annotations\ndef f(x: a[b and c], *, y: a[b in c] = 1) -> a[not b]:\n"
        source += "    z: a[b is c] = x[y and 2]\n    return z\n"
        names = {}
        exec(compile_rewritten(source, "<test>"), names)
        self.assertEqual(names["f"].__annotations__, {"x": "a[b and c]", "y": "a[b in c]", "return": "a[not b]"})
        self.assertEqual(names["f"](BOX), 2)

    def test_code_that_is_nested_too_deep_is_compiled_as_it_is(self):
        source = f"x = {' + '.join(['1'] * 1500)}\ny = {{True: 5}}[1 in [1]]\n"
        names = {}
        exec(compile_rewritten(source, "<test>"), names)
        self.assertEqual((names["x"], names["y"]), (1500, 5))

    def test_what_cannot_move_stays(self):
        source = textwrap.dedent("""
            import asyncio
            async def f(box, x):
                return box[x and await asyncio.sleep(0, 5)], box[(y := x) and y], box[x or (yield_ := 3)]
            def g(box, x):
                got = box[x and (yield 1)]
                yield got
            class C:
                a, b = 1, 2
                both = {2: "both"}[a and b]
                def m(self):
                    return [1, 2][super().__eq__(self) and 1 or 0], [0, 1][__class__ is C and 1]
                def n(self):
                    return [0, 1][1 and len(locals())]
            first = asyncio.run(f(BOX, 1))
            second = list(g(BOX, 1))
        """)
        names = {"BOX": BOX}
        exec(compile_rewritten(source, "<test>"), names)
        self.assertEqual((names["first"], names["second"]), ((5, 1, 1), [1, None]))
        self.assertEqual((names["C"].both, names["C"]().m()[1], names["C"]().n()), ("both", 1, 1))

    def test_syntax_errors_are_those_of_python(self):
        for text in ("x[a and]", "def f(:", "return 1", "x = 5 +", "x[a and b]\nreturn 1"):
            with self.assertRaises(SyntaxError) as plain:
                compile(text, "mod.py", "exec")
            with self.assertRaises(SyntaxError) as rewritten:
                compile_rewritten(text, "mod.py")
            self.assertEqual((rewritten.exception.msg, rewritten.exception.lineno), (plain.exception.msg, plain.exception.lineno))


class Conditions(unittest.TestCase):
    def test_and_or_not(self):
        self.assertEqual(repr(within("Deal.flag and Deal.amount > 1")), "(Deal.flag) & (Deal.amount > 1)")
        self.assertIsInstance(within("Deal.amount > 1 or Deal.amount < 0 or Deal.flag"), Disjunction)
        self.assertIsInstance(within("not Deal.flag"), Negation)
        self.assertEqual(repr(within("not (Deal.flag or Deal.amount > 1) and Deal.id == 3")), "(~((Deal.flag) | (Deal.amount > 1))) & (Deal.id == 3)")

    def test_in(self):
        found = within('Deal.kind in ("a", "b")')
        self.assertIsInstance(found, Membership)
        self.assertEqual(found.values, ("a", "b"))
        self.assertEqual(repr(within("Deal.id not in range(3)")), "~(Deal.id.isin([0, 1, 2]))")
        with self.assertRaisesRegex(TypeError, "isin takes a list"):
            within('Deal.kind in "abc"')

    def test_is(self):
        self.assertIsInstance(within("Deal.kind is None"), NullTest)
        self.assertEqual(repr(within("Deal.kind is not None")), "~(Deal.kind.is_null())")
        self.assertEqual(repr(within("Deal.flag is True")), "(~(Deal.flag.is_null())) & (Deal.flag == True)")
        self.assertEqual(repr(within("Deal.flag is not True")), "(Deal.flag.is_null()) | (~(Deal.flag == True))")
        self.assertEqual(repr(within("_.flag is True")), "~F.is_null(_.flag) & (_.flag == True)")
        self.assertEqual(repr(within("_.flag is not True")), "F.is_null(_.flag) | ~(_.flag == True)")

    def test_is_is_never_null(self):
        df = DataFrame({Deal.id: [1, 2, 3], Deal.flag: [True, False, None], Deal.kind: ["a"] * 3, Deal.amount: [1.0] * 3})
        flags = {1: True, 2: False, 3: None}
        for value in (True, False, None):
            for text in (f"FLAG is {value}", f"FLAG is not {value}"):
                for shown in (text, f"not ({text})", f"not (not ({text}))"):
                    kept = [key for key, flag in flags.items() if eval(shown, {"FLAG": flag})]
                    self.assertEqual(within_frame(df, shown.replace("FLAG", "Deal.flag")), kept, shown)

    def test_chains(self):
        self.assertEqual(repr(within("1 < Deal.amount <= 5")), "(Deal.amount > 1) & (Deal.amount <= 5)")
        self.assertIs(within("3 < 2 < Deal.amount"), False)

    def test_plain_conditions_beside_features(self):
        self.assertEqual(repr(within("wanted and Deal.flag == False", wanted=True)), "Deal.flag == False")
        self.assertIs(within("wanted and Deal.flag is False", wanted=False), False)

    def test_features_are_still_keys(self):
        self.assertIs(within("Deal.id in keys", keys={Deal.id: 1}), True)
        self.assertIs(within("Deal.id not in keys", keys=[Deal.kind]), True)
        self.assertIs(within("Deal.id is Deal.id"), True)

    def test_expressions(self):
        self.assertEqual(repr(within("_.ok and _.amount > 1")), "_.ok & (_.amount > 1)")
        self.assertEqual(repr(within("not _.ok")), "~_.ok")
        self.assertEqual(repr(within('_.kind in ["a"] or _.kind is None')), "F.is_in(_.kind, ['a']) | F.is_null(_.kind)")

    def test_filters_of_a_frame(self):
        df = DataFrame({Deal.id: [1, 2, 3], Deal.flag: [True, False, True], Deal.kind: ["a", None, "b"], Deal.amount: [1.0, 5.0, 9.0]})
        ids = lambda text: within_frame(df, text)  # noqa: E731
        self.assertEqual(ids("Deal.flag and Deal.amount > 2"), [3])
        self.assertEqual(ids("not Deal.flag or Deal.kind in ('a',)"), [1, 2])
        self.assertEqual(ids("Deal.kind is None"), [2])
        self.assertEqual(ids("Deal.kind not in ['a']"), [3])
        self.assertEqual(ids("2 < Deal.amount < 9"), [2])


def within_frame(df, text):
    return eval(compile_rewritten(f"df[{text}]", "<test>", "eval"), {"df": df, "Deal": Deal})["id"].column("id")


class Modules(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        sys.path.insert(0, self.folder)
        self.finder = hook.install(self.folder)

    def tearDown(self):
        import shutil

        sys.path.remove(self.folder)
        hook.uninstall(self.finder)
        shutil.rmtree(self.folder)

    def load(self, name, source):
        with open(os.path.join(self.folder, f"{name}.py"), "w", encoding="utf-8") as stream:
            stream.write(textwrap.dedent(source))
        importlib.invalidate_caches()
        return importlib.import_module(name)

    def test_a_module_is_rewritten_and_tracebacks_keep_their_lines(self):
        module = self.load(
            "hooked_one",
            '''
            """A module."""
            from __future__ import annotations

            def f(box, a):
                return box[
                    a and
                    1 / 0
                ]
            ''',
        )
        try:
            module.f(BOX, 1)
            self.fail("nothing was raised")
        except ZeroDivisionError as error:
            frames = traceback.extract_tb(error.__traceback__)
        lines = [frame.lineno for frame in frames if frame.filename.endswith("hooked_one.py")]
        self.assertEqual(lines, [7, 8])
        self.assertEqual(module.f(BOX, 0), 0)

    def test_compiled_files_of_other_runs_are_not_used(self):
        source = "from svc.features import features\n@features\nclass Hooked:\n    id: int\n    ok: bool\n"
        source += "def f(box):\n    return box[Hooked.ok and Hooked.id == 1]\n"
        path = os.path.join(self.folder, "hooked_two.py")
        with open(path, "w", encoding="utf-8") as stream:
            stream.write(source)
        import py_compile

        py_compile.compile(path)
        self.assertIsInstance(importlib.import_module("hooked_two").f(BOX), Condition)

    def test_installed_once_for_a_folder(self):
        self.assertIs(hook.install(self.folder), self.finder)
        self.assertIsNone(self.finder.find_spec("svc._loading.hook"))
        self.assertIsNone(self.finder.find_spec("json"))


if __name__ == "__main__":
    unittest.main()
