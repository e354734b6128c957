import { describe, expect, test } from "bun:test";
import { createRetryPolicy, RETRY_LIMITS, retryAfterMs, type Transient } from "../../src/client/retry.ts";

function fakeClock() {
  let now = 1_000_000;
  const slept: number[] = [];
  return {
    slept,
    now: () => now,
    sleep: async (ms: number) => {
      slept.push(ms);
      now += ms;
    },
    pass: (ms: number) => {
      now += ms;
    },
  };
}

const passing = (): Transient => ({});
const fails = (times: number, error = new Error("503")) => {
  let count = 0;
  return async () => {
    if (++count <= times) throw error;
    return count;
  };
};

describe("the retry policy", () => {
  test("waits longer each time, with full jitter", async () => {
    const clock = fakeClock();
    const policy = createRetryPolicy({ clock, random: () => 0.5 });
    expect(await policy.run(true, fails(3), passing)).toBe(4);
    expect(clock.slept).toEqual([50, 100, 200]);
    const least = fakeClock();
    await createRetryPolicy({ clock: least, random: () => 0 }).run(true, fails(2), passing);
    expect(least.slept).toEqual([0, 0]);
  });
  test("gives up after the last attempt with the last failure", async () => {
    const clock = fakeClock();
    const policy = createRetryPolicy({ clock });
    await expect(policy.run(true, fails(99), passing)).rejects.toThrow("503");
    expect(clock.slept.length).toBe(RETRY_LIMITS.attempts - 1);
  });
  test("a refusal without a time is asked once more, later; one with a time as often as others", async () => {
    const clock = fakeClock();
    const refused = (): Transient => ({ refused: true });
    const policy = createRetryPolicy({ clock, random: () => 0.5 });
    expect(await policy.run(true, fails(1), refused)).toBe(2);
    await expect(policy.run(true, fails(2), refused)).rejects.toThrow("503");
    expect(clock.slept).toEqual([500, 500]);
    expect(await policy.run(true, fails(3), () => ({ refused: true, retryAfterMs: 1 }))).toBe(4);
  });
  test("does not repeat what could do something twice", async () => {
    const clock = fakeClock();
    await expect(createRetryPolicy({ clock }).run(false, fails(1), passing)).rejects.toThrow("503");
    expect(clock.slept).toEqual([]);
  });
  test("does not repeat a failure that stays", async () => {
    const clock = fakeClock();
    await expect(createRetryPolicy({ clock }).run(true, fails(1), () => undefined)).rejects.toThrow("503");
    expect(clock.slept).toEqual([]);
  });
  test("waits as long as the server asks", async () => {
    const clock = fakeClock();
    await createRetryPolicy({ clock, random: () => 0 }).run(true, fails(1), () => ({ retryAfterMs: 4000 }));
    expect(clock.slept).toEqual([4000]);
  });
  test("does not wait longer than it may, but gives up", async () => {
    const clock = fakeClock();
    const asked = () => ({ retryAfterMs: RETRY_LIMITS.capMs + 1 });
    await expect(createRetryPolicy({ clock }).run(true, fails(1), asked)).rejects.toThrow("503");
    expect(clock.slept).toEqual([]);
  });
  test("stops when the whole would take too long", async () => {
    const clock = fakeClock();
    const slow = async () => {
      clock.pass(20_000);
      throw new Error("slow");
    };
    await expect(createRetryPolicy({ clock, random: () => 0.9 }).run(true, slow, passing)).rejects.toThrow("slow");
    expect(clock.slept.length).toBe(1);
  });
  test("in a storm, retries stay a small share of the requests", async () => {
    const clock = fakeClock();
    const policy = createRetryPolicy({ clock, random: () => 0 });
    let sent = 0;
    const calls = 200;
    for (let i = 0; i < calls; i++) {
      await policy
        .run(
          true,
          async () => {
            sent++;
            throw new Error("503");
          },
          passing,
        )
        .catch(() => undefined);
    }
    expect(sent).toBe(calls + RETRY_LIMITS.budget);
  });
  test("successes earn retries back", async () => {
    const clock = fakeClock();
    const policy = createRetryPolicy({ clock, random: () => 0 });
    for (let i = 0; i < 20; i++) await policy.run(true, fails(99), passing).catch(() => undefined);
    await expect(policy.run(true, fails(1), passing)).rejects.toThrow("503");
    for (let i = 0; i < 11; i++) await policy.run(true, async () => 1, passing);
    expect(await policy.run(true, fails(1), passing)).toBe(2);
  });
  test("ends when the command is interrupted", async () => {
    const clock = fakeClock();
    await expect(createRetryPolicy({ clock, signal: AbortSignal.abort() }).run(true, fails(1), passing)).rejects.toThrow("503");
  });
});

test("Retry-After is read as seconds and as a date", () => {
  const now = Date.parse("2024-05-01T12:00:00Z");
  expect(retryAfterMs("3", now)).toBe(3000);
  expect(retryAfterMs("0", now)).toBe(0);
  expect(retryAfterMs("Wed, 01 May 2024 12:00:05 GMT", now)).toBe(5000);
  expect(retryAfterMs("Wed, 01 May 2024 11:00:00 GMT", now)).toBe(0);
  for (const nothing of [null, "", "soon"]) expect(retryAfterMs(nothing, now)).toBeUndefined();
});
