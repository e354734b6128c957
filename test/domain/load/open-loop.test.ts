import { describe, expect, test } from "bun:test";
import { type LoadClock, type LoadPlan, type LoadSample, runLoad } from "../../../src/domain/load/open-loop.ts";

/** Time that passes only while somebody waits for it; what waits is woken in order. */
class VirtualTime implements LoadClock {
  private time = 0;
  private readonly waiting: { at: number; wake: () => void }[] = [];
  now(): number {
    return this.time;
  }
  sleep(ms: number): Promise<void> {
    return new Promise((wake) => {
      this.waiting.push({ at: this.time + ms, wake });
      this.waiting.sort((left, right) => left.at - right.at);
    });
  }
  yieldToEventLoop(): Promise<void> {
    return this.sleep(0.1);
  }
  /** Lets time pass until the work is done. */
  async until<T>(work: Promise<T>): Promise<T> {
    let done = false;
    const ended = work.finally(() => {
      done = true;
    });
    for (;;) {
      for (let turn = 0; turn < 20; turn++) await Promise.resolve();
      if (done) return ended;
      const next = this.waiting.shift();
      if (!next) throw new Error("everybody waits for something that never comes");
      this.time = Math.max(this.time, next.at);
      next.wake();
    }
  }
}

const plan = (changes: Partial<LoadPlan>): LoadPlan => ({ qps: 100, durationMs: 1000, warmupMs: 0, concurrency: 10, ...changes });
const never = new AbortController().signal;

describe("runLoad", () => {
  test("queries are due at a fixed rate", async () => {
    const time = new VirtualTime();
    const sent: number[] = [];
    const result = await time.until(
      runLoad(
        plan({}),
        async () => {
          sent.push(time.now());
          await time.sleep(5);
          return undefined;
        },
        { clock: time, signal: never },
      ),
    );
    expect(sent.length).toBe(100);
    for (const [at, when] of sent.entries()) expect(Math.abs(when - at * 10)).toBeLessThan(0.2);
    expect([result.due, result.answered, result.unsent, result.errors.size, result.interrupted]).toEqual([100, 100, 0, 0, false]);
    expect(result.latencies.percentile(50)).toBeGreaterThanOrEqual(5000);
    expect(result.latencies.max).toBeLessThan(5300);
  });

  test("a server that stalls is charged for every query that was due meanwhile", async () => {
    const time = new VirtualTime();
    const send = async () => {
      const stalled = time.now() >= 200 && time.now() < 700;
      await time.sleep(stalled ? 700 - time.now() : 1);
      return undefined;
    };
    const result = await time.until(runLoad(plan({ concurrency: 1 }), send, { clock: time, signal: never }));
    expect(result.answered).toBe(100);
    const waited = [...result.latencies.buckets()].filter(({ from }) => from > 100_000).reduce((sum, { count }) => sum + count, 0);
    expect(waited).toBeGreaterThan(38);
    expect(result.latencies.max).toBeGreaterThan(490_000);
    expect(result.latencies.percentile(75)).toBeGreaterThan(100_000);
  });

  test("what is due and cannot be sent counts with the time that it waited", async () => {
    const time = new VirtualTime();
    let most = 0;
    let under = 0;
    const send = async () => {
      most = Math.max(most, ++under);
      await time.sleep(5000);
      under--;
      return undefined;
    };
    const result = await time.until(runLoad(plan({ concurrency: 3 }), send, { clock: time, signal: never }));
    expect([most, result.answered, result.unsent, result.due]).toEqual([3, 3, 97, 100]);
    expect(result.latencies.count).toBe(100);
    expect(result.latencies.max).toBeGreaterThanOrEqual(5_000_000);
  });

  test("the warm-up is load, and is not counted", async () => {
    const time = new VirtualTime();
    const samples: LoadSample[] = [];
    const send = async () => {
      await time.sleep(time.now() < 500 ? 50 : 1);
      return undefined;
    };
    const options = { clock: time, signal: never, onSample: (sample: LoadSample) => samples.push(sample) };
    const result = await time.until(runLoad(plan({ warmupMs: 500 }), send, options));
    expect([samples.length, result.answered]).toEqual([150, 100]);
    expect(result.latencies.max).toBeLessThan(2000);
    expect(samples.filter(({ measured }) => !measured).length).toBe(50);
  });

  test("failures are counted by code", async () => {
    const time = new VirtualTime();
    let number = 0;
    const send = async () => {
      await time.sleep(1);
      number++;
      return number % 4 === 0 ? "BROKEN" : number % 10 === 1 ? "timeout" : undefined;
    };
    const { errors } = await time.until(runLoad(plan({}), send, { clock: time, signal: never }));
    expect(Object.fromEntries(errors)).toEqual({ BROKEN: 25, timeout: 10 });
  });

  test("an interruption ends it early; what it cut off is no failure", async () => {
    const time = new VirtualTime();
    const abort = new AbortController();
    const send = async () => {
      await time.sleep(20);
      if (time.now() >= 300) abort.abort();
      return abort.signal.aborted ? "aborted" : undefined;
    };
    const result = await time.until(runLoad(plan({}), send, { clock: time, signal: abort.signal }));
    expect([result.interrupted, result.errors.size]).toEqual([true, 0]);
    expect(result.answered).toBeGreaterThan(20);
    expect(result.answered).toBeLessThan(32);
    expect(result.elapsedMs).toBeLessThan(420);
  });
});
