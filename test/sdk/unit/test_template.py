"""Templates of Jinja: what they read, what they give, and the bounds that they keep to."""

import unittest
from dataclasses import dataclass
from typing import Optional
from unittest import mock

import svc.functions as F
from svc._model.template import MAX_STEPS, MAX_TEXT, JinjaTemplate, TemplateTooLarge
from svc.features import features
from svc.prompts import completion, message

try:
    import jinja2
except ImportError:
    jinja2 = None


@dataclass
class Address:
    city: str


@features
class Team:
    id: int
    label: str


@features
class Person:
    id: int
    name: str
    nick: Optional[str] = None
    address: Address
    team_id: Team.id
    team: Team
    keys: "list[str]"


SCOPE = Person.__svc_features__.scope


def rendered(text: str, *values: object) -> str:
    template = F.jinja(text)
    assert template.problem() is None, template.problem()
    return template.render(values, SCOPE)


@unittest.skipIf(jinja2 is None, "jinja2 is not installed")
class Templates(unittest.TestCase):
    def test_it_reads_features_and_what_their_values_have(self):
        template = F.jinja("{{ Person.name.upper() }} {{ Person.address.city }} {{ Person.team.label }} {% for key in Person.keys %}{{ key }}{% endfor %}")
        self.assertEqual(
            [repr(given.given()) for given in template.parameters(SCOPE).values()],
            ["Person.name", "Person.address", "Person.team.label", "Person.keys"],
        )
        self.assertEqual(template.render(["Ann", Address("Ulm"), "blue", ["a", "b"]], SCOPE), "ANN Ulm blue ab")

    def test_a_null_value_is_none(self):
        template = F.jinja("{{ Person.nick or Person.name }}")
        self.assertEqual(template.parameters(SCOPE)["value_0"].given(), Optional[Person.nick])
        self.assertEqual(template.render([None, "Ann"], SCOPE), "Ann")

    def test_what_a_template_defines_is_no_feature(self):
        self.assertEqual(rendered("{% set x = 2 %}{% for y in range(3) %}{{ x * y }}{% endfor %}{{ Person.id }}", 7), "0247")

    def test_a_value_is_text_and_no_template(self):
        self.assertEqual(rendered("{{ Person.name }}", "{{ Person.id }}<b>"), "{{ Person.id }}<b>")

    def test_the_sandbox(self):
        for text in (
            "{{ Person.name.__class__.__mro__ }}",
            "{{ ''.__class__ }}{{ Person.id }}",
            "{{ Person.name.format.__globals__ }}",
            "{{ Person.keys.append('x') }}",
            "{{ '{0.__class__}'.format(Person.name) }}",
            "{{ Person.id ** 100000000 }}",
            "{{ 'x' * 10000000000 }}{{ Person.id }}",
            "{{ range(1000000000) | list }}{{ Person.id }}",
        ):
            with self.subTest(text), self.assertRaises((jinja2.exceptions.SecurityError, jinja2.exceptions.UndefinedError, OverflowError)):
                rendered(text, ["a"] if "keys" in text else 3 if "id" in text else "Ann")

    def test_no_other_template_is_read(self):
        for text in ("{% include 'x' %}{{ Person.id }}", "{% extends 'x' %}{{ Person.id }}", "{% import 'x' as y %}{{ Person.id }}"):
            with self.subTest(text), self.assertRaises(TypeError):
                rendered(text, 1)

    def test_bounds(self):
        for text in (
            "{% for a in range(1000) %}{% for b in range(1000) %}{% set c = b %}{% endfor %}{% endfor %}{{ Person.id }}",
            "{% macro again(n) %}{% if n %}{{ again(n - 1) }}{{ again(n - 1) }}{% endif %}{% endmacro %}{{ again(40) }}{{ Person.id }}",
        ):
            with self.subTest(text), self.assertRaisesRegex(TemplateTooLarge, f"more than {MAX_STEPS:,} steps"):
                rendered(text, 1)
        with self.assertRaisesRegex(TemplateTooLarge, f"more than {MAX_TEXT:,} characters"):
            rendered("{% for a in range(99) %}{{ Person.name }}{% endfor %}", "x" * 2_000)

    def test_problems(self):
        for text, problem in (
            ("{{ Person.name", "line 1 of the template: unexpected end of template, expected 'end of print statement'."),
            ("text", "the template reads 0 features: name 1 to 100, such as {{ User.name }}"),
            ("{{ Person }}", "the template reads 'Person', which is no feature: write one such as {{ User.name }}"),
            ("{{ lipsum() }}", "the template reads 'lipsum', which is no feature: write one such as {{ User.name }}"),
            ("x" * (MAX_TEXT + 1), "the template has 100,001 characters: write up to 100,000"),
        ):
            with self.subTest(text[:20]):
                self.assertEqual(JinjaTemplate(text).problem(), problem)

    def test_prompts_are_given_values_by_templates_and_texts_elsewhere(self):
        call = completion(
            model="m",
            messages=[
                message(role="system", content="about {{ Person.keys }}"),
                message(role="user", content=F.jinja("{% if Person.nick %}{{ Person.nick }}{% else %}{{ Person.name }}{% endif %}")),
            ],
        )
        self.assertEqual(list(call.parameters(SCOPE)), ["value_0", "template_1_0", "template_1_1"])
        self.assertEqual([call.is_of_template(name) for name in call.parameters(SCOPE)], [False, True, True])
        self.assertEqual(
            call.filled({"value_0": '["a"]', "template_1_0": None, "template_1_1": "Ann"}, SCOPE),
            [{"role": "system", "content": 'about ["a"]'}, {"role": "user", "content": "Ann"}],
        )

    def test_a_template_is_the_whole_expression(self):
        with self.assertRaisesRegex(TypeError, "cannot be part of an expression"):
            F.lower(F.jinja("{{ Person.name }}"))


class WithoutThePackage(unittest.TestCase):
    def test_the_requirement_is_named(self):
        with mock.patch.dict("sys.modules", {"jinja2": None}):
            self.assertEqual(
                JinjaTemplate("{{ Person.name }}").problem(),
                "the package jinja2 is not installed: add 'jinja2' to the project's requirements",
            )


if __name__ == "__main__":
    unittest.main()
