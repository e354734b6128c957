"""Names, durations, cron expressions, comments."""

import math
import unittest
from datetime import timedelta

from svc import KafkaSource, NamedQuery, PostgreSQLSource, SQLiteSource, TopicSource
from svc._surface.names import closest_names, cron_problem, did_you_mean, duration_json, format_duration, namespace_of, parse_duration
from svc._model.registry import registry
from svc._diagnostics.source import read_comment


class Names(unittest.TestCase):
    def test_namespaces(self):
        names = {"User": "user", "MNISTDataPoint": "mnist_data_point", "UserFeatures": "user", "Features": "features", "A2B": "a2_b", "HTTPServer2": "http_server2"}
        self.assertEqual({name: namespace_of(name) for name in names}, names)

    def test_closest(self):
        self.assertEqual(closest_names("emial", ["email", "name", "id", "mail"]), ["email", "mail"])
        self.assertEqual(closest_names("delay", ["departures", "delay_above_route"]), ["delay_above_route"])
        self.assertEqual(did_you_mean("xyz", ["name"]), "")
        self.assertEqual(did_you_mean("", ["a", "name"]), "")
        self.assertEqual(did_you_mean("nam", ["name", "game", "names"]), "; did you mean 'name' or 'names'?")


class Durations(unittest.TestCase):
    def test_text(self):
        cases = {"90s": 90e6, "1h30m": 5400e6, "29d 11h": 2545200e6, "1.5h": 5400e6, "250ms": 250e3, "2w": 1209600e6, "0": 0, "0s": 0, "infinity": math.inf, "1H": 3600e6}
        self.assertEqual({text: parse_duration(text) for text in cases}, cases)

    def test_no_durations(self):
        for text in ("", "5", "d", "-1d", "1x", "1d!", None, 5, timedelta(days=-1)):
            with self.subTest(text=text):
                self.assertIsNone(parse_duration(text))

    def test_timedelta(self):
        self.assertEqual(parse_duration(timedelta(minutes=1, microseconds=5)), 60_000_005)

    def test_json(self):
        cases = {0: "0s", 86_400_000_000: "86400s", 250_000: "0.250000s", math.inf: "315576000000s", -1_500_000: "-1.500000s"}
        self.assertEqual({micros: duration_json(micros) for micros in cases}, cases)

    def test_format(self):
        self.assertEqual([format_duration(micros) for micros in (0, 5_400_000_000, 90_061_000_000, 1_500, math.inf)], ["0s", "1h30m", "1d1h1m1s", "1ms500us", "infinity"])


class Cron(unittest.TestCase):
    def test_valid(self):
        for text in ("* * * * *", "*/15 0-6,12 1 jan-mar mon", "30 2 * * 7", "@daily", "0 0 1,15 * 1-5/2"):
            with self.subTest(text=text):
                self.assertIsNone(cron_problem(text))

    def test_invalid(self):
        cases = {
            "* * * *": "a cron expression has 5 fields, this one has 4",
            "60 * * * *": "'60' is no minute, which goes from 0 to 59",
            "* * 0 * *": "'0' is no day of month, which goes from 1 to 31",
            "*/0 * * * *": "'*/0' is no minute: the step after '/' is a positive number",
            "* 5-2 * * *": "'5-2' is no range of hours",
            "* * * foo *": "'foo' is no month, which goes from 1 to 12",
        }
        self.assertEqual({text: cron_problem(text) for text in cases}, cases)


class Comments(unittest.TestCase):
    def test_directives(self):
        comment = read_comment(["First", ":owner: a@example.com", "", "  :tags: a, , b:c", ":other: stays", ""])
        self.assertEqual((comment.text, comment.owner, comment.tags), ("First\n\n:other: stays", "a@example.com", ("a", "b:c")))


class Declarations(unittest.TestCase):
    def test_made_in_a_loop(self):
        before = len(registry.named_queries), len(registry.sources)
        for number in range(3):
            NamedQuery(name=f"loop {number}", output=["user.id"])
            SQLiteSource(name=f"loop{number}", path="a.db")
        self.assertEqual((len(registry.named_queries), len(registry.sources)), (before[0] + 3, before[1] + 3))

    def test_sources(self):
        source = PostgreSQLSource("pg", host="db.example.com", port=5433)
        self.assertEqual(source.settings, {"host": "db.example.com", "port": "5433"})
        self.assertEqual(repr(source), "PostgreSQLSource(name='pg', host='db.example.com', port='5433')")
        with self.assertRaises(TypeError):
            PostgreSQLSource("pg", password="secret")

    def test_topics(self):
        kafka = KafkaSource("pay", topic="payments", bootstrap_servers=["a:9092", "[::1]:9092"], security_protocol="SASL_SSL")
        self.assertEqual(
            kafka.settings, {"topic": "payments", "bootstrap_servers": "a:9092,[::1]:9092", "security_protocol": "SASL_SSL"}
        )
        self.assertIsNone(kafka.problem())
        self.assertEqual(TopicSource("clicks").settings, {"topic": "clicks", "partitions": "1"})
        self.assertEqual(TopicSource("c", topic="clicks", partitions=4).settings, {"topic": "clicks", "partitions": "4"})
        for wrong in ({"topic": ".."}, {"topic": "a b"}, {"topic": 1}, {"bootstrap_servers": []}, {"bootstrap_servers": "a"}, {"ssl_ca": 1}):
            self.assertIsNotNone(KafkaSource("k", **{"topic": "t", **wrong}).problem(), wrong)
        for count in (0, 1_001, True, "4"):
            self.assertEqual(TopicSource("c", partitions=count).problem()[0], "partitions")
        with self.assertRaises(TypeError):
            KafkaSource("k", topic="t", sasl_password="secret")


if __name__ == "__main__":
    unittest.main()
