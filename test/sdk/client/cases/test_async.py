"""The client for asyncio against a real server: what the conformance table does not have."""

import asyncio
import importlib.util
import tempfile
import unittest
from datetime import datetime, timedelta

import svc
from features import Paper, User
from svc.client import AsyncDataset, AsyncOfflineQuery, AsyncResolverRun, AsyncSvcClient, ClientError, OfflineQueryFailed

TIMES = [datetime(2024, 1, 1) + timedelta(hours=at) for at in range(3)]


class Async(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        self.client = await AsyncSvcClient().__aenter__()

    async def asyncTearDown(self) -> None:
        await self.client.close()

    async def test_calls_run_side_by_side(self) -> None:
        results = await asyncio.gather(*[self.client.query({User.id: id}, [User.score]) for id in range(30)])
        self.assertEqual([result[User.score] for result in results], [id / 2 for id in range(30)])
        self.assertIs(svc.AsyncSvcClient, AsyncSvcClient)

    async def test_check(self) -> None:
        await self.client.check({User.id: 3}, {User.score: 1.5})
        with self.assertRaisesRegex(AssertionError, "user.score"):
            await self.client.check({User.id: 3}, {User.score: 2.5})

    async def test_an_offline_query(self) -> None:
        query = await self.client.offline_query({User.id: [1, 2, 3]}, [User.name], input_times=TIMES, recompute_features=True, dataset_name="awaited")
        self.assertIsInstance(query, AsyncOfflineQuery)
        self.assertEqual([row["user.name"] for row in await query.rows()], ["user-1", "user-2", "user-3"])
        self.assertEqual((query.status, query.done_rows), ("completed", 3))
        dataset = await self.client.get_dataset("awaited")
        self.assertIsInstance(dataset, AsyncDataset)
        self.assertEqual(dataset.id, query.dataset_id)
        with tempfile.TemporaryDirectory() as folder:
            paths = await dataset.download(folder)
            self.assertEqual(await dataset.download(folder), paths)
            self.assertEqual(len(await query.download(folder + "/again")), len(paths))
        if importlib.util.find_spec("polars"):
            self.assertEqual((await dataset.to_polars())["user.name"].to_list(), ["user-1", "user-2", "user-3"])
        with self.assertRaises(ClientError):
            await query.cancel()

    async def test_many_rows_are_uploaded_first(self) -> None:
        ids = [1 + at % 7 for at in range(50_001)]
        query = await self.client.offline_query({"user.id": ids}, ["user.id"], input_times=TIMES[0])
        await query.wait()
        self.assertEqual(query.total_rows, len(ids))
        self.assertTrue(issubclass(OfflineQueryFailed, ClientError))

    async def test_an_upload_and_a_run(self) -> None:
        # Those of the tests of runs, which count all rows.
        await self.client.upload_features({Paper.id: [1, 2, 3], Paper.points: [10, 13, 14]})
        run = await self.client.trigger_resolver_run("grade")
        self.assertIsInstance(run, AsyncResolverRun)
        self.assertIs(await run.wait(timeout=60), run)
        self.assertEqual((run.resolver, run.status), ("resolvers.grade", "succeeded"))
        again = await self.client.get_run_status(run.id)
        self.assertEqual((await again.refresh()).rows, run.rows)

    async def test_an_environment_that_does_not_exist(self) -> None:
        with self.assertRaisesRegex(ClientError, "nowhere"):
            await self.client.get_run_status("job_0", environment="nowhere")


if __name__ == "__main__":
    unittest.main()
