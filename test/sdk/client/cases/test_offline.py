"""Offline queries of the client against a real server."""

import importlib.util
import tempfile
import unittest
from datetime import datetime, timedelta, timezone

from features import User
from svc.client import ClientError, OfflineQueryFailed, SvcClient

START = datetime(2024, 1, 1, 12)
IDS = [3, 1, 2, 3]
TIMES = [START + timedelta(hours=at) for at in range(len(IDS))]
STAMPS = [f"2024-01-01T{12 + at}:00:00" for at in range(len(IDS))]


def lacks(*modules: str) -> bool:
    return any(importlib.util.find_spec(name) is None for name in modules)


class OfflineQueries(unittest.TestCase):
    def setUp(self) -> None:
        self.client = SvcClient()
        self.addCleanup(self.client.close)

    def begin(self, **options):
        return self.client.offline_query({User.id: IDS}, [User.name, "user.score"], input_times=TIMES, recompute_features=True, **options)

    def test_rows_keep_their_order_and_times_without_a_zone_are_utc(self) -> None:
        query = self.begin(num_shards=2)
        rows = query.rows()
        self.assertEqual([row["user.id"] for row in rows], IDS)
        self.assertEqual([row["user.name"] for row in rows], [f"user-{id}" for id in IDS])
        self.assertEqual([row["user.score"] for row in rows], [id / 2 for id in IDS])
        self.assertEqual([str(row["__ts__"])[:19].replace(" ", "T") for row in rows], STAMPS)
        self.assertEqual((query.status, query.total_rows, query.done_rows, query.failed_rows), ("completed", 4, 4, 0))
        self.assertTrue(query.revision_id.startswith("rev_"))
        self.assertEqual(query.created_at.tzinfo, timezone.utc)

    @unittest.skipIf(lacks("pyarrow"), "needs pyarrow")
    def test_pyarrow(self) -> None:
        table = self.begin().to_arrow()
        self.assertEqual(table.column_names, ["user.id", "user.name", "user.score", "__ts__", "__observed_at__"])
        self.assertEqual(table["user.name"].to_pylist(), [f"user-{id}" for id in IDS])
        self.assertEqual([at.isoformat()[:19] for at in table["__ts__"].to_pylist()], STAMPS)
        again = self.client.offline_query(table.select(["user.id"]), [User.name], input_times=TIMES, recompute_features=[User.name])
        self.assertEqual(again.to_arrow()["user.name"].to_pylist(), [f"user-{id}" for id in IDS])

    @unittest.skipIf(lacks("pyarrow", "pandas"), "needs pandas and pyarrow")
    def test_pandas(self) -> None:
        frame = self.begin().to_pandas()
        self.assertEqual(list(frame["user.score"]), [id / 2 for id in IDS])
        again = self.client.offline_query(frame[["user.id"]], [User.name], input_times=frame["__ts__"].dt.to_pydatetime(), recompute_features=True)
        self.assertEqual(list(again.to_pandas()["user.name"]), [f"user-{id}" for id in IDS])

    @unittest.skipIf(lacks("polars"), "needs polars")
    def test_polars(self) -> None:
        frame = self.begin().to_polars()
        self.assertEqual(frame["user.score"].to_list(), [id / 2 for id in IDS])
        again = self.client.offline_query(frame.select("user.id"), [User.name], input_times=TIMES, recompute_features=True)
        self.assertEqual(again.to_polars()["user.name"].to_list(), [f"user-{id}" for id in IDS])

    def test_many_rows_are_uploaded_first(self) -> None:
        ids = [1 + at % 7 for at in range(50_001)]
        query = self.client.offline_query({"user.id": ids}, ["user.id"], input_times=START, test_fraction=0.5)
        rows = query.rows()
        self.assertEqual([row["user.id"] for row in rows], ids)
        self.assertEqual({row["__split__"] for row in rows}, {"train", "test"})

    def test_a_dataset_has_the_answer(self) -> None:
        query = self.begin(dataset_name="python").wait()
        self.assertEqual(self.client.get_dataset("python").id, query.dataset_id)
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(len(query.download(folder, include_givens=True)), 2)

    def test_rows_that_fail_are_counted(self) -> None:
        query = self.client.offline_query({User.id: [1, 2]}, [User.fragile], recompute_features=True).wait()
        self.assertEqual(query.total_rows, 2)
        self.assertEqual(query.failed_rows, sum(row["user.fragile"] is None for row in query.rows()))

    def test_what_is_wrong_is_refused_before_anything_runs(self) -> None:
        for input, output, options, says in [
            ({"user.idd": [1]}, [User.name], {}, "user.id"),
            ({User.id: [1]}, ["user.nam"], {}, "user.name"),
            ({User.id: [1, "x"]}, [User.name], {}, "ow 2"),
            ({User.id: [1]}, [User.name], {"input_times": "2024-01-01T00:00:00"}, "has no zone"),
            ({User.id: [1]}, [User.name], {"split_by": "day"}, "'key' or 'time'"),
        ]:
            with self.subTest(says), self.assertRaisesRegex(ClientError, says):
                self.client.offline_query(input, output, **options)
        with self.assertRaisesRegex(TypeError, "list of values"):
            self.client.offline_query({User.id: 1}, [User.name])
        with self.assertRaisesRegex(ValueError, "row 1"):
            self.client.offline_query([{User.id: 1}, {}], [User.name])
        self.assertTrue(issubclass(OfflineQueryFailed, ClientError))


if __name__ == "__main__":
    unittest.main()
