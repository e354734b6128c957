"""What notebooks show of values, and how cells are compiled."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import unittest

from svc._notebook.cells import CellFiles, compile_cell
from svc._notebook.definitions import Definitions
from svc._notebook.rich import TEXT_LENGTH, bundle

LIBRARIES = all(importlib.util.find_spec(name) for name in ("pandas", "matplotlib"))


class Forms:
    def __init__(self, **methods: object) -> None:
        for name, given in methods.items():
            setattr(type(self), name, lambda _self, given=given: given() if callable(given) else given)


def with_forms(**methods: object) -> object:
    return type("Shown", (Forms,), {})(**methods)


class RichTest(unittest.TestCase):
    def test_plain_text_is_always_there_and_containers_are_laid_out(self) -> None:
        self.assertEqual(bundle(1), {"text/plain": "1"})
        self.assertEqual(bundle("a\n"), {"text/plain": "'a\\n'"})
        self.assertEqual(bundle({"b": 1, "a": 2}), {"text/plain": "{'b': 1, 'a': 2}"})
        self.assertIn("\n", bundle([f"item {number}" for number in range(30)])["text/plain"])

    def test_forms_of_values_are_found_and_bytes_are_encoded(self) -> None:
        shown = bundle(with_forms(_repr_html_="<b>x</b>", _repr_png_=b"\x00\x01", _repr_json_={"a": 1}, __repr__="plain"))
        self.assertEqual(shown, {"text/plain": "plain", "text/html": "<b>x</b>", "image/png": "AAE=", "application/json": '{"a": 1}'})

    def test_forms_that_fail_or_are_none_are_left_out_and_classes_have_none(self) -> None:
        def fails() -> str:
            raise ValueError

        value = with_forms(_repr_html_=fails, _repr_png_=None, __repr__="plain")
        self.assertEqual(bundle(value), {"text/plain": "plain"})
        self.assertEqual(list(bundle(type(value))), ["text/plain"])

    def test_what_is_too_long_is_cut_and_text_is_well_formed(self) -> None:
        self.assertRegex(bundle(with_forms(__repr__="x" * (TEXT_LENGTH + 7)))["text/plain"], r"\[7 more characters were left out\]$")
        self.assertIn("is too large to be kept", bundle(with_forms(_repr_png_=b"x" * 3_000_000, __repr__="p"))["text/plain"])
        self.assertEqual(bundle(with_forms(__repr__="\ud800"))["text/plain"], "\\ud800")

    @unittest.skipUnless(LIBRARIES, "pandas and matplotlib are absent")
    def test_frames_are_tables_and_figures_are_images(self) -> None:
        script = """import json, os, sys
os.environ["MPLBACKEND"] = "module://svc._notebook.figures"
import pandas, matplotlib.pyplot as pyplot
from svc._notebook import display
seen = []
display.shown_by(seen.append)
display.display(pandas.DataFrame({"a": [1, 2]}))
pyplot.plot([1, 2])
pyplot.show()
pyplot.show()
print(json.dumps([sorted(one) for one in seen]))
"""
        ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        self.assertEqual(json.loads(ran.stdout), [["text/html", "text/plain"], ["image/png", "text/plain"]])


class CellsTest(unittest.TestCase):
    def value(self, source: str) -> object:
        statements, value = compile_cell(source, "cell")
        scope: dict[str, object] = {}
        exec(statements, scope)
        return None if value is None else eval(value, scope)

    def test_the_last_expression_is_the_value_unless_a_semicolon_ends_it(self) -> None:
        self.assertEqual(self.value("x = 1\nx + 1"), 2)
        self.assertIsNone(self.value("1;"))
        self.assertIsNone(self.value("x = 1"))
        self.assertIsNone(self.value("# nothing"))

    def test_operators_in_brackets_are_visible_and_mean_what_python_means(self) -> None:
        self.assertEqual(self.value("d = {True: 'yes', False: 'no'}\nd[1 is not None and 2 in (1, 2)]"), "yes")

    def test_a_cell_may_await(self) -> None:
        _, value = compile_cell("import asyncio\nawait asyncio.sleep(0, 'slept')", "cell")
        assert value is not None
        self.assertEqual(asyncio.run(eval(value, {"asyncio": asyncio})), "slept")

    def test_commands_of_ipython_are_told_as_such(self) -> None:
        for source in ("%matplotlib inline", "x = 1\n!ls", "%%time\nx"):
            with self.assertRaisesRegex(SyntaxError, "is a command of IPython"):
                compile_cell(source, "cell")
        with self.assertRaisesRegex(SyntaxError, "invalid syntax"):
            compile_cell("1 +", "cell")

    def test_tracebacks_have_the_lines_of_cells_by_their_number(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            files = CellFiles(folder)
            path = files.write(3, "def f():\n    raise ValueError('x')\nf()")
            self.assertTrue(os.path.exists(path))
            try:
                exec(compile_cell("def f():\n    raise ValueError('x')\nf()", path).value or "", {})
            except NameError as error:
                self.assertIn('File "cell 3", line 3', files.traceback(error))
                self.assertNotIn(folder, files.traceback(error))
            else:
                self.fail("nothing was raised")


class DefinitionsTest(unittest.TestCase):
    def module(self, *cells: str) -> str:
        definitions = Definitions()
        for cell in cells:
            definitions.add(cell)
        return definitions.module("it's \"a\"\nb").partition("\n")[2]

    def test_what_is_decorated_is_taken_with_what_it_needs_in_order(self) -> None:
        module = self.module("import math\nimport os", "LIMIT = math.pi\nprint(LIMIT)", "def half(x):\n    return x / LIMIT", "@online\ndef f(x):\n    return half(x)")
        self.assertEqual(module, "import math\n\nLIMIT = math.pi\n\ndef half(x):\n    return x / LIMIT\n\n@online\ndef f(x):\n    return half(x)\n")

    def test_the_last_definition_of_a_name_counts(self) -> None:
        self.assertEqual(self.module("@online\ndef f():\n    return 1", "@online\ndef f():\n    return 2"), "@online\ndef f():\n    return 2\n")
        self.assertEqual(self.module("@online\ndef f(): pass", "f = 1"), "")

    def test_names_in_annotations_and_several_on_a_line_are_found(self) -> None:
        module = self.module("from a import B; x = 1", "@online\ndef f(b: 'B.c') -> 'B.d':\n    return x")
        self.assertEqual(module, "from a import B\n\nx = 1\n\n@online\ndef f(b: 'B.c') -> 'B.d':\n    return x\n")

    def test_nothing_is_defined_by_what_only_does_something(self) -> None:
        self.assertEqual(self.module("x = 1", "print(x)", "class A: pass", "for y in (1,): pass"), "")


if __name__ == "__main__":
    unittest.main()
