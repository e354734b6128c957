/** Jobs side by side. */

import { expect, test } from "bun:test";
import { inParallel } from "../../src/packaging/jobs.ts";
import { turn } from "../harness/eventually.ts";

test("results come in the order of the jobs, and no more run at once than allowed", async () => {
  let [running, most] = [0, 0];
  const jobs = [5, 1, 4, 2, 3].map((turns) => async () => {
    most = Math.max(most, ++running);
    for (let round = 0; round < turns; round++) await Promise.resolve();
    running--;
    return turns;
  });
  expect(await inParallel(jobs, 2)).toEqual([5, 1, 4, 2, 3]);
  expect(most).toBe(2);
  expect(await inParallel([], 2)).toEqual([]);
});

test("the first failure is thrown, and what has not begun does not begin", async () => {
  const begun: number[] = [];
  const failed = Promise.withResolvers<void>();
  const jobs = [0, 1, 2, 3, 4].map((index) => async () => {
    begun.push(index);
    for (let round = 0; round < 5 * index; round++) await Promise.resolve();
    if (index === 1) throw new Error("no room");
    await failed.promise;
  });
  await expect(inParallel(jobs, 2)).rejects.toThrow("no room");
  failed.resolve();
  await turn();
  expect(begun).toEqual([0, 1]);
});
