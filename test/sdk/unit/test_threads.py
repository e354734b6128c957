"""The threads of resolvers with `resource_hint="io"`, and what becomes of calls that are interrupted."""

import asyncio
import sys
import threading
import unittest

from svc._worker.threads import THREADS, ThreadLane, current_id
from svc._worker.worker import Worker


class Lane(unittest.IsolatedAsyncioTestCase):
    def setUp(self):
        self.lane = ThreadLane(lambda: None)
        self.begun = []
        self.go_on = threading.Event()
        self.addCleanup(self.go_on.set)

    def call(self, number, row=0, function=None):
        async def called():
            current_id.set(number)
            return await self.lane._call(function or self.begin, (number, row))

        return asyncio.ensure_future(called())

    def begin(self, number, row):
        self.begun.append((number, row))
        return row

    def wait(self, number, row):
        self.begun.append((number, row))
        self.go_on.wait(60)

    async def turns(self):
        for _ in range(20):
            await asyncio.sleep(0)

    async def test_no_function_of_an_interrupted_call_begins(self):
        self.lane.interrupt(7)
        late = self.call(7)
        await self.turns()
        late.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await late
        self.assertEqual(self.begun, [])
        self.lane.answered(7)
        self.assertEqual(await self.call(7, 3), 3)

    async def test_other_calls_begin_once_an_interrupted_one_is_answered(self):
        self.lane.interrupt(7)
        self.lane.interrupt(8)
        others = [self.call(9, row) for row in range(3)]
        await self.turns()
        self.lane.answered(7)
        await self.turns()
        self.assertEqual(self.begun, [])
        given_up = others.pop()
        given_up.cancel()
        self.lane.answered(8)
        self.assertEqual(await asyncio.gather(*others), [0, 1])
        self.assertTrue(given_up.cancelled() or not given_up.done())

    async def test_a_call_that_was_answered_when_it_was_interrupted_holds_up_no_other(self):
        worker = Worker.__new__(Worker)
        worker.lane, worker._tasks = self.lane, {}
        self.lane.interrupt(7)
        waiting = self.call(8, 1)
        await self.turns()
        worker._cancel_task(7)
        self.assertEqual(await waiting, 1)

    async def test_turns_are_shorter_the_more_threads_run(self):
        usual = sys.getswitchinterval()
        waiting = [self.call(1, row, self.wait) for row in range(THREADS)]
        while len(self.begun) < THREADS:
            await asyncio.sleep(0.001)
        self.assertLess(sys.getswitchinterval() * THREADS, 0.0065)
        self.go_on.set()
        await asyncio.gather(*waiting)
        self.assertEqual(sys.getswitchinterval(), usual)


if __name__ == "__main__":
    unittest.main()
