/** Work on items as they come. */

import { expect, test } from "bun:test";
import { atOnce } from "../../src/dataset-files/at-once.ts";
import { turn } from "../harness/eventually.ts";

test("results are in the order of the items, and no more than so many are worked on at once", async () => {
  let [now, most] = [0, 0];
  const results = await atOnce([3, 1, 2, 0], 2, async (item) => {
    most = Math.max(most, ++now);
    for (let turns = 0; turns < item; turns++) await turn();
    now--;
    return item * 10;
  });
  expect([results, most]).toEqual([[30, 10, 20, 0], 2]);
});

test("a failure ends it although the next item is still to come", async () => {
  const stopped = Promise.withResolvers<never>();
  async function* items(): AsyncIterable<number> {
    yield 1;
    yield await stopped.promise;
  }
  const work = atOnce(
    items(),
    4,
    async () => Promise.reject(new Error("the disk is full")),
    () => stopped.reject(new Error("stopped")),
  );
  await expect(work).rejects.toThrow("the disk is full");
});

test("items that fail end it when the work that runs has ended", async () => {
  let ended = 0;
  async function* items(): AsyncIterable<number> {
    yield 1;
    throw new Error("no more links");
  }
  const work = atOnce(items(), 4, async () => {
    await turn();
    ended++;
  });
  await expect(work).rejects.toThrow("no more links");
  expect(ended).toBe(1);
});
