"""Statements that resolvers return, in tests of the resolvers as plain functions."""

import os
import tempfile
import unittest
from datetime import date

from svc import KafkaSource, PostgreSQLSource, SQLSourceGroup, SQLStatement, online
from svc._model.context import CallInfo, current_call
from svc.features import DataFrame, Features, features


@features
class Person:
    id: int
    name: str
    email: str
    age: int


pg = PostgreSQLSource("people")
eu = PostgreSQLSource("people_eu")


@online
def contact(i: Person.id) -> Features[Person.name, Person.email]:
    return pg.query_string("select display, email from person where id = :i", args={"i": i}, fields={"display": Person.name}).one()


@online
def everybody() -> DataFrame[Person.id, Person.name]:
    return pg.with_table("public.person", features=[Person.id, Person.name], fields={"display": Person.name}).all()


class Statements(unittest.TestCase):
    def test_a_resolver_gives_what_can_be_looked_at(self):
        found = contact(7)
        self.assertIsInstance(found, SQLStatement)
        self.assertEqual((found.source, found.text, found.args), ("people", "select display, email from person where id = :i", {"i": 7}))
        self.assertEqual(found.fields, {"display": Person.name})
        self.assertEqual(found.count, "one")
        self.assertEqual(everybody().text, "select id, display from public.person")

    def test_the_columns_of_a_class(self):
        text = pg.with_table("person", Person, ignore_features=[Person.age]).text
        self.assertEqual(text, "select id, name, email from person")

    def test_a_file_is_found_beside_the_module_and_in_the_project(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "all.sql")
            with open(path, "w", encoding="utf-8") as stream:
                stream.write("select 1 as age")
            self.assertEqual(pg.query_sql_file(path).text, "select 1 as age")
            before = os.environ.get("TARGET_ROOT")
            os.environ["TARGET_ROOT"] = folder
            try:
                self.assertEqual(pg.query_sql_file("all.sql").text, "select 1 as age")
            finally:
                del os.environ["TARGET_ROOT"]
                if before is not None:
                    os.environ["TARGET_ROOT"] = before
        with self.assertRaises(FileNotFoundError):
            pg.query_sql_file("absent.sql")

    def test_a_group_reads_the_source_of_the_querys_tags(self):
        group = SQLSourceGroup("all", default=pg, tagged_sources={"eu": eu})
        self.assertEqual(group.query_string("select 1").source, "people")
        token = current_call.set(CallInfo("r", tags=("x", "eu")))
        try:
            self.assertEqual(group.query_string("select 1").source, "people_eu")
        finally:
            current_call.reset(token)

    def test_what_cannot_be_is_refused(self):
        topic = KafkaSource("clicks", topic="clicks")
        self.assertFalse(hasattr(topic, "query_string"))
        cases = (
            (TypeError, "a statement is a text", lambda: pg.query_string(1)),
            (ValueError, "the statement is empty", lambda: pg.query_string(" ")),
            (ValueError, "may have 262144", lambda: pg.query_string("x" * 300_000)),
            (TypeError, "takes one value", lambda: pg.query_string("select :a", args={"a": [1]})),
            (ValueError, "no placeholder", lambda: pg.query_string("select :a", args={"a b": 1})),
            (TypeError, "values by name", lambda: pg.query_string("select :a", args=[1])),
            (TypeError, "no feature by column", lambda: pg.query_string("select 1 as c", fields={"c": "name"})),
            (TypeError, "already ends with .one()", lambda: pg.query_string("select 1").one().all()),
            (ValueError, "the name of a table", lambda: pg.with_table("person; drop table person", Person)),
            (ValueError, "no plain name of a column", lambda: pg.with_table("person", [Person.age], fields={"a b": Person.age})),
            (ValueError, "no feature is left", lambda: pg.with_table("person", [Person.age], ignore_features=[Person.age])),
            (TypeError, "a feature class, or a list", lambda: pg.with_table("person", "name")),
            (TypeError, "sources of SQL", lambda: SQLSourceGroup("g", default=topic, tagged_sources={})),
            (TypeError, "no rows in Python", lambda: list(pg.query_string("select 1"))),
            (TypeError, "no rows in Python", lambda: bool(pg.query_string("select 1"))),
        )
        for kind, words, make in cases:
            with self.subTest(words), self.assertRaises(kind) as raised:
                make()
            self.assertIn(words, str(raised.exception))
        self.assertEqual(pg.query_string("select :d", args={"d": date(2024, 1, 2), "n": None}).args["n"], None)
