"""Filters with `is`: what the import hook reads, and what is refused where it does not."""

import os
import subprocess
import sys
import tempfile
import textwrap
import unittest

MODEL = '''
from typing import Optional

from svc import online
from svc.features import DataFrame, features


@features
class Ticket:
    id: int
    replies: "DataFrame[Reply]"
    ours: int
    told: int
    later: int
    quoted: int
    all_of_them: int


@features
class Reply:
    id: int
    ticket_id: Ticket.id
    is_ours: bool
    text: Optional[str]


@online
def ours(replies: Ticket.replies[Reply.is_ours is True, Reply.id]) -> Ticket.ours:
    return len(replies)


@online
def told(replies: Ticket.replies[(Reply.text is not None) & (Reply.id > 0)]) -> Ticket.told:
    return len(replies)


@online
def later(replies: Optional[Ticket.replies[~(Reply.id == 0) | (Reply.is_ours is not False)]]) -> Ticket.later:
    return len(replies)


@online
def quoted(replies: "Ticket.replies[Reply.is_ours is True]") -> Ticket.quoted:
    return len(replies)


WANTS_ALL = True


@online
def all_of_them(replies: Ticket.replies[(Reply.id >= 0) | WANTS_ALL]) -> Ticket.all_of_them:
    return len(replies)


ROWS = [Reply(id=n, is_ours=n < 2, text=None if n % 2 else "x") for n in range(5)]


def in_a_frame():
    return len(DataFrame(ROWS)[Reply.is_ours is True])


def in_a_part_of_a_condition():
    return len(
        DataFrame(ROWS)[
            (Reply.id > 0)
            & (Reply.text is None)
        ]
    )


def flag_of_python(flag=None):
    return len(DataFrame(ROWS)[flag is None]), len(DataFrame(ROWS)[Reply.id > 2, flag is not None])
'''

RUN = '''
import sys
sys.path.insert(0, sys.argv[1])
if sys.argv[2] == "hook":
    from svc._loading.hook import install
    install(sys.argv[1])
import model
for call in (model.ours, model.told, model.later, model.quoted, model.all_of_them):
    try:
        print(call.__name__, call(model.ROWS))
    except TypeError as error:
        print(call.__name__, "refused:", error)
for call in (model.in_a_frame, model.in_a_part_of_a_condition, model.flag_of_python):
    try:
        print(call.__name__, call())
    except TypeError as error:
        print(call.__name__, "refused:", error)
'''


class DecidedFilters(unittest.TestCase):
    def answers(self, how):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in (("model.py", MODEL), ("run.py", RUN)):
                with open(os.path.join(folder, name), "w", encoding="utf-8") as stream:
                    stream.write(textwrap.dedent(text))
            command = [sys.executable, "-B", os.path.join(folder, "run.py"), folder, how]
            done = subprocess.run(command, capture_output=True, text=True, env={**os.environ}, timeout=60)
            self.assertEqual(done.returncode, 0, done.stderr)
            return dict(line.split(" ", 1) for line in done.stdout.splitlines())

    def test_the_hook_reads_them(self):
        self.assertEqual(
            self.answers("hook"),
            {
                "ours": "2",
                "told": "2",
                "later": "5",
                "quoted": "2",
                "all_of_them": "5",
                "in_a_frame": "2",
                "in_a_part_of_a_condition": "2",
                "flag_of_python": "(5, 0)",
            },
        )

    def test_without_it_they_are_refused_and_bools_are_not(self):
        said = self.answers("plain")
        refused = {name: text for name, text in said.items() if text.startswith("refused")}
        self.assertEqual({name: text for name, text in said.items() if name not in refused}, {"quoted": "2", "all_of_them": "5", "flag_of_python": "(5, 0)"})
        for name, written in (
            ("ours", "Reply.is_ours is True"),
            ("told", "Reply.text is not None"),
            ("later", "Reply.is_ours is not False"),
            ("in_a_frame", "Reply.is_ours is True"),
            ("in_a_part_of_a_condition", "Reply.text is None"),
        ):
            self.assertIn(f"'{written}' at once", refused[name])
            self.assertIn("write == or !=", refused[name])
            self.assertIn("pytest -p svc._pytest_plugin", refused[name])


if __name__ == "__main__":
    unittest.main()
