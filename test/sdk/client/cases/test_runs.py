"""Runs of resolvers by the client, against a real server."""

import sys
import unittest
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta, timezone
from unittest import mock

import svc
from features import Paper
from svc._client.blocking import Blocking
from svc._client.runs import RunState
from svc._client.steps import Work
from svc.client import ClientError, ResolverRun, ResolverRunFailed, SvcClient

# Other interpreters ask the same server.
OWN = f"{sys.version_info.major}.{sys.version_info.minor}"


class ResolverRuns(unittest.TestCase):
    def setUp(self) -> None:
        self.client = SvcClient()
        self.addCleanup(self.client.close)
        self.client.upload_features({Paper.id: [1, 2, 3], Paper.points: [10, 13, 14]})

    def test_a_run_is_waited_for_and_its_values_are_stored(self) -> None:
        run = self.client.trigger_resolver_run("grade")
        self.assertIs(run.wait(timeout=60), run)
        self.assertEqual((run.resolver, run.status, run.rows, run.failed_rows), ("resolvers.grade", "succeeded", 3, 1))
        self.assertIn("unlucky number", run.error)
        self.assertEqual((run.created_at.tzinfo, run.ended_at.tzinfo), (timezone.utc, timezone.utc))
        self.assertLessEqual(run.created_at, run.ended_at)
        sampled = self.client.offline_query({Paper.id: [1, 2, 3]}, [Paper.grade]).rows()
        self.assertEqual([row["paper.grade"] for row in sampled], ["10", None, "14"])

    def test_a_run_is_found_by_its_id(self) -> None:
        run = self.client.trigger_resolver_run("resolvers.grade", store_online=False).wait()
        again = self.client.get_run_status(run.id)
        self.assertIsInstance(again, ResolverRun)
        self.assertEqual((again.id, again.status, again.rows), (run.id, "succeeded", 3))
        self.assertEqual(repr(again), f"ResolverRun({run.id!r}, resolver='resolvers.grade', status='succeeded')")
        self.assertIs(svc.ResolverRun, ResolverRun)

    def test_bounds(self) -> None:
        before = datetime(2020, 1, 1)
        self.assertEqual(self.client.trigger_resolver_run("grade", upper_bound=before).wait().rows, 0)
        self.assertEqual(self.client.trigger_resolver_run("grade", lower_bound=before).wait().rows, 3)
        later = datetime.now(timezone.utc) + timedelta(days=1)
        self.assertEqual(self.client.trigger_resolver_run("grade", lower_bound=later.isoformat()).wait().rows, 0)

    def test_a_key_asked_for_a_hundred_times_at_once_is_one_run(self) -> None:
        with ThreadPoolExecutor(100) as threads:
            runs = list(threads.map(lambda _: self.client.trigger_resolver_run("grade", idempotency_key=OWN), range(100)))
        self.assertEqual(len({run.id for run in runs}), 1)
        for other in ({"store_online": False}, {"store_offline": False}, {"upper_bound": datetime(2020, 1, 1)}):
            with self.subTest(other), self.assertRaisesRegex(ClientError, f"belongs to run {runs[0].id}"):
                self.client.trigger_resolver_run("grade", idempotency_key=OWN, **other)
        with ThreadPoolExecutor(5) as threads:
            apart = list(threads.map(lambda _: self.client.trigger_resolver_run("grade"), range(5)))
        self.assertEqual(len({run.id for run in apart}), 5)

    def test_a_call_that_is_sent_again_is_one_run(self) -> None:
        session, answers = self.client._calls.session, []
        post = session.post

        def twice(*call):
            answers.append((yield from post(*call)))
            answers.append((yield from post(*call)))
            return answers[-1]

        with mock.patch.object(session, "post", twice):
            run = self.client.trigger_resolver_run("grade")
        self.assertEqual({answer.body["id"] for answer in answers}, {run.id})

    def test_a_run_in_which_every_row_fails_has_failed(self) -> None:
        run = self.client.trigger_resolver_run("hopeless")
        with self.assertRaisesRegex(ResolverRunFailed, "no hope") as failed:
            run.wait()
        self.assertEqual((failed.exception.id, run.status, run.failed_rows), (run.id, "failed", 3))
        self.assertTrue(issubclass(ResolverRunFailed, ClientError))

    def test_waiting_has_an_end(self) -> None:
        said = {"id": "job_1", "resolver": "resolvers.grade", "status": "running"}

        def call(*_):
            yield Work(lambda: None)
            return said

        with self.assertRaisesRegex(TimeoutError, "the run job_1 of resolvers.grade did not end within 0 s; it goes on"):
            ResolverRun(Blocking(), RunState(call, said)).wait(timeout=0)

    def test_what_is_wrong(self) -> None:
        for says, ask in (
            ("Name the resolver", lambda: self.client.trigger_resolver_run("")),
            ("did you mean 'resolvers.grade'", lambda: self.client.trigger_resolver_run("resolvers.grad")),
            ("has no zone", lambda: self.client.trigger_resolver_run("grade", lower_bound="2024-01-01T00:00:00")),
            ("has to be earlier", lambda: self.client.trigger_resolver_run("grade", lower_bound=datetime(2024, 1, 2), upper_bound=datetime(2024, 1, 1))),
            ("at most 200 characters", lambda: self.client.trigger_resolver_run("grade", idempotency_key="k" * 201)),
            ("no run 'job_0'", lambda: self.client.get_run_status("job_0")),
            ("nowhere", lambda: self.client.trigger_resolver_run("grade", environment="nowhere")),
            ("nowhere", lambda: self.client.get_run_status("job_0", environment="nowhere")),
        ):
            with self.subTest(says), self.assertRaisesRegex(ClientError, says):
                ask()
        for error, ask in (
            (TypeError, lambda: self.client.trigger_resolver_run(5)),
            (TypeError, lambda: self.client.trigger_resolver_run(len)),
            (ValueError, lambda: self.client.get_run_status("")),
        ):
            with self.assertRaises(error):
                ask()


if __name__ == "__main__":
    unittest.main()
