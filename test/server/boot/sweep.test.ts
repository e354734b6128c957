import { expect, test } from "bun:test";
import type { Clock } from "../../../src/context/clock.ts";
import { startSweep } from "../../../src/server/boot/sweep.ts";

/** A clock whose sleepers wake when the test says so. */
class HandClock implements Clock {
  readonly slept: number[] = [];
  #wake: () => void = () => undefined;
  now(): number {
    return 0;
  }
  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted) return Promise.reject(signal.reason);
    this.slept.push(ms);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#wake = resolve;
    signal?.addEventListener("abort", () => reject(signal.reason));
    return promise;
  }
  /** Wakes the sleeper, and waits until it sleeps again. */
  async pass(): Promise<void> {
    this.#wake();
    for (let turn = 0; turn < 5; turn++) await Promise.resolve();
    await new Promise(setImmediate);
  }
}

test("a sweep runs after each pause, also after one that failed, and not after its stop", async () => {
  const clock = new HandClock();
  const errors: unknown[] = [];
  let runs = 0;
  const run = async (): Promise<void> => {
    if (++runs === 2) throw new Error("busy");
  };
  const sweep = startSweep(run, { everyMs: 50, clock, onError: (error) => errors.push(String(error)) });
  expect(runs).toBe(0);
  for (let n = 0; n < 3; n++) await clock.pass();
  expect([runs, errors, clock.slept]).toEqual([3, ["Error: busy"], [50, 50, 50, 50]]);
  await sweep.stop();
  await clock.pass();
  expect(runs).toBe(3);
});

test("a stop tells the run that is under way, and waits for its end", async () => {
  const clock = new HandClock();
  const held = Promise.withResolvers<void>();
  let told = false;
  const sweep = startSweep(
    async (signal) => {
      signal.addEventListener("abort", () => {
        told = true;
      });
      await held.promise;
    },
    { everyMs: 1, clock, onError: () => undefined },
  );
  await clock.pass();
  let stopped = false;
  const stopping = sweep.stop().then(() => {
    stopped = true;
  });
  await new Promise(setImmediate);
  expect([told, stopped]).toEqual([true, false]);
  held.resolve();
  await stopping;
  expect(stopped).toBe(true);
});
