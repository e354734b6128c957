"""Scores of outputs, and what judges are asked and answer."""

import json
import threading
import unittest
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from unittest import mock

from svc._evaluation import judge as judges
from svc._evaluation.scoring import NoScore, output_text, score_of
from svc.evaluations import contains, exact_match, judge, numeric


class Kind(Enum):
    A = "a"


@dataclass
class Answer:
    text: str
    share: float


def scored(scorer, output, **row):
    return score_of(scorer, lambda value: value)(output, row)


class Scores(unittest.TestCase):
    def test_exact_match_compares_values_as_datasets_have_them(self):
        noon = datetime(2026, 1, 31, 12, tzinfo=timezone.utc)
        for output, expected, score in [
            ("a", "a", 1),
            ("a", "A", 0),
            (1, 1.0, 1),
            ("1", 1, 0),
            (None, None, 1),
            (None, "a", 0),
            (Kind.A, "a", 1),
            (datetime(2026, 1, 31, 12), noon, 1),
            (noon.astimezone(timezone(timedelta(hours=2))), noon, 1),
            ([1, {"a": None}], [1, {"a": None}], 1),
        ]:
            with self.subTest(output=output, expected=expected):
                self.assertEqual(scored(exact_match("x"), output, x=expected), score)

    def test_contains_looks_for_text_in_text(self):
        for output, expected, score in [("a cat", "cat", 1), ("a cat", "Cat", 0), ({"n": 5}, "5", 1), (None, "a", 0), ("a", None, None)]:
            with self.subTest(output=output, expected=expected):
                self.assertEqual(scored(contains("x"), output, x=expected), score)
        self.assertEqual(scored(contains("x", ignore_case=True), "STRASSE", x="straße"), 1)

    def test_numeric_takes_numbers_and_texts_of_numbers(self):
        near = numeric("x", tolerance=0.5, relative=0.1)
        for output, expected, score in [
            (10.5, 10, 1),
            (11.1, 10, 0),
            ("9.5", 10, 1),
            (Decimal("0.4"), 0, 1),
            (-111, -100, 0),
            (-109, -100, 1),
            ("ten", 10, 0),
            (True, 1, 0),
            (None, 1, 0),
            (float("nan"), 1, 0),
            (1, None, None),
        ]:
            with self.subTest(output=output, expected=expected):
                self.assertEqual(scored(near, output, x=expected), score)
        self.assertEqual([scored(numeric("x"), 0.1 + 0.2, x=0.3), scored(numeric("x"), 3, x=3)], [0, 1])
        with self.assertRaisesRegex(NoScore, "the column 'x' has 'many', which is no number"):
            scored(near, 1, x="many")

    def test_functions_give_finite_numbers_or_none(self):
        self.assertEqual(scored(lambda output: output > 3, 5), 1)
        self.assertEqual(scored(lambda output, row: output / row["n"], 5, n=2), 2.5)
        self.assertIsNone(scored(lambda output: None, 5))
        for wrong in ("good", float("inf"), [1]):
            with self.subTest(wrong=wrong), self.assertRaisesRegex(NoScore, "which is no number"):
                scored(lambda output: wrong, 5)

    def test_outputs_are_kept_as_text(self):
        for output, text in [
            ("a\nb", "a\nb"),
            (None, None),
            (True, "true"),
            (0.5, "0.5"),
            (Answer("é", 0.5), '{"text": "é", "share": 0.5}'),
            ([1, None], "[1, null]"),
            (Kind.A, '"a"'),
        ]:
            with self.subTest(output=output):
                self.assertEqual(output_text(output), text)
        self.assertRegex(output_text(object()), "^<object object at ")


@contextmanager
def answering(*answers):
    """A fake of a server of chat completions that gives answers in turn: a content, or a status with
    headers and a body. Yields its address, and the requests that it was sent.
    """
    sent = []
    over = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            sent.append((self.path, dict(self.headers), json.loads(self.rfile.read(int(self.headers["content-length"])))))
            answer = answers[min(len(sent), len(answers)) - 1]
            if answer is None:
                over.wait()
                return
            status, headers, body = answer if isinstance(answer, tuple) else (200, {}, json.dumps(said(answer)))
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1", sent
    finally:
        over.set()
        server.shutdown()
        thread.join()
        server.server_close()


def said(content):
    return {"choices": [{"message": {"role": "assistant", "content": content}}]}


class Judges(unittest.TestCase):
    def setUp(self):
        self.pauses = []
        patch = mock.patch.object(judges.time, "sleep", self.pauses.append)
        patch.start()
        self.addCleanup(patch.stop)

    def test_a_judge_is_asked_with_the_values_of_the_row(self):
        with answering('{"score": 0.25}') as (url, sent):
            asked = judge("{output} or {user.name}? {{{n}}}", model="m", url=url + "/")
            self.assertEqual(scored(asked, {"a": 1}, **{"user.name": None, "n": 3}), 0.25)
        ((path, headers, body),) = sent
        self.assertEqual((path, body["model"]), ("/v1/chat/completions", "m"))
        self.assertEqual(body["messages"][-1], {"role": "user", "content": '{"a": 1} or ? {3}'})
        self.assertNotIn("Authorization", headers)

    def test_key_organization_and_project_come_from_the_integration(self):
        with answering("1") as (url, sent):
            variables = {"MY_CHAT_OPENAI_API_KEY": "sk", "MY_CHAT_OPENAI_BASE_URL": url, "MY_CHAT_OPENAI_ORGANIZATION": "o"}
            with mock.patch.dict("os.environ", variables):
                self.assertEqual(scored(judge("{output}", model="m", integration="my-chat"), "a"), 1)
        headers = {name.lower(): value for name, value in sent[0][1].items()}
        self.assertEqual((headers["authorization"], headers["openai-organization"]), ("Bearer sk", "o"))
        with self.assertRaisesRegex(judges.JudgeError, "no integration 'none' of kind openai"):
            scored(judge("{output}", model="m", integration="none"), "a")

    def test_passing_failures_are_asked_again_after_pauses_that_grow(self):
        with answering((503, {}, ""), (429, {"retry-after": "7"}, ""), (429, {"retry-after": "900"}, ""), "0.5") as (url, sent):
            self.assertEqual(scored(judge("{output}", model="m", url=url), "a"), 0.5)
        self.assertEqual((len(sent), self.pauses[1:]), (4, [7, 30]))
        self.assertTrue(0.3 < self.pauses[0] < 0.7)

    def test_what_does_not_pass_is_an_error_at_once(self):
        for answer, problem in [
            ((401, {}, '{"error": {"message": "no such key"}}'), "answered 401: no such key"),
            ((302, {"location": "http://127.0.0.1:9/"}, ""), "answered 302"),
            ((200, {}, "<html>"), "did not answer with JSON"),
            ((200, {}, '{"choices": []}'), "has no choices"),
            ((200, {}, "x" * 1_000_001), "more than 1000000 bytes"),
            ("maybe", "gave no score from 0 to 1 but 'maybe'"),
            ("true", "gave no score"),
            ('{"score": -1}', "gave no score"),
        ]:
            with self.subTest(problem=problem), answering(answer) as (url, sent):
                with self.assertRaisesRegex(judges.JudgeError, problem):
                    scored(judge("{output}", model="m", url=url), "a")
                self.assertEqual((len(sent), self.pauses), (1, []))

    def test_a_judge_that_does_not_answer_or_is_not_there_is_given_up(self):
        with answering(None) as (url, _):
            with self.assertRaisesRegex(judges.JudgeError, r"took longer than 0\.05 s \(asked 4 times\)"):
                scored(judge("{output}", model="m", url=url, timeout="50ms"), "a")
            self.assertEqual(len(self.pauses), 3)
        with self.assertRaisesRegex(judges.JudgeError, r"cannot be asked: .* \(asked 4 times\)"):
            scored(judge("{output}", model="m", url=url), "a")


if __name__ == "__main__":
    unittest.main()
