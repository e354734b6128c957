import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { type Bus, createMemoryBus } from "../../../src/server/jobs/bus.ts";
import { createLog } from "../../../src/server/log.ts";
import { followStore } from "../../../src/server/nodes/follow.ts";
import { seeded } from "../../harness/seed.ts";
import { ManualClock } from "../jobs/manual-clock.ts";

const REREAD_MS = 30_000;

/** A follower of a `Map`, and its copy of the map. */
function follower(clock: ManualClock, bus: Bus, truth: ReadonlyMap<string, number>, options: { isAway?: () => boolean } = {}) {
  const known = new Map<string, number>();
  const readings: (readonly string[] | undefined)[] = [];
  const logged: string[] = [];
  let inside = 0;
  const following = followStore({
    bus,
    topic: "live",
    clock,
    log: createLog({ clock, write: (line) => logged.push(line) }),
    async read(ids) {
      readings.push(ids && [...ids].sort());
      expect(++inside).toBe(1);
      await Promise.resolve();
      inside--;
      if (options.isAway?.()) throw new Error("away");
      for (const id of ids ?? truth.keys()) known.set(id, truth.get(id) ?? 0);
    },
  });
  return { known, readings, logged, following };
}

describe("following a store", () => {
  test("everything is read at first and every 30 s, and between what the bus tells of, together", async () => {
    const clock = new ManualClock();
    const bus = createMemoryBus();
    const { readings, following } = follower(clock, bus, new Map());
    await clock.advance(0);
    bus.publish("live", "a");
    bus.publish("live", "b");
    bus.publish("live", "a");
    bus.publish("clients", "c");
    await clock.advance(0);
    expect(readings).toEqual([undefined, ["a", "b"]]);
    await clock.advance(REREAD_MS);
    expect(readings).toEqual([undefined, ["a", "b"], undefined]);
    bus.publish("live");
    await clock.advance(0);
    expect(readings.length).toBe(4);
    await following.stop();
    bus.publish("live", "a");
    await clock.advance(REREAD_MS * 2);
    expect(readings.length).toBe(4);
  });

  test("everything is read every 30 s also while the bus tells of something all the time", async () => {
    const clock = new ManualClock();
    const bus = createMemoryBus();
    const truth = new Map([["lost", 1]]);
    const { known, following } = follower(clock, bus, truth);
    await clock.advance(0);
    truth.set("lost", 2);
    for (let told = 0; told < 10; told++) {
      bus.publish("live", "a");
      await clock.advance(REREAD_MS / 10);
    }
    expect(known.get("lost")).toBe(2);
    await following.stop();
  });

  test("a reading that fails is made again after a second, of everything; the log says it once", async () => {
    const clock = new ManualClock();
    const bus = createMemoryBus();
    const truth = new Map([["a", 1]]);
    let isAway = false;
    const { known, readings, logged, following } = follower(clock, bus, truth, { isAway: () => isAway });
    await clock.advance(0);
    isAway = true;
    truth.set("a", 2);
    bus.publish("live", "a");
    await clock.advance(3_000);
    expect([readings.length, logged.length]).toEqual([5, 1]);
    isAway = false;
    await clock.advance(1_000);
    expect([readings.at(-1), known.get("a")]).toEqual([undefined, 2]);
    await following.stop();
  });

  test("who wants it read now waits for a whole reading, and hears of its failure", async () => {
    const clock = new ManualClock();
    const truth = new Map([["a", 1]]);
    let isAway = false;
    const { known, following } = follower(clock, createMemoryBus(), truth, { isAway: () => isAway });
    truth.set("a", 2);
    await following.reread();
    expect(known.get("a")).toBe(2);
    isAway = true;
    await expect(following.reread()).rejects.toThrow("away");
    await following.stop();
    await following.reread();
  });

  test("it ends up right whatever the bus loses, delays and repeats, after one turn of the timer", async () => {
    const event = fc.record({
      key: fc.constantFrom("a", "b", "c"),
      fate: fc.constantFrom("heard", "lost", "late", "twice"),
      pauseMs: fc.integer({ min: 0, max: REREAD_MS }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(event, { maxLength: 12 }), async (events) => {
        const clock = new ManualClock();
        const memory = createMemoryBus();
        const truth = new Map<string, number>();
        const late: string[] = [];
        const { known, following } = follower(clock, memory, truth);
        for (const [index, { key, fate, pauseMs }] of events.entries()) {
          truth.set(key, index + 1);
          if (fate === "heard" || fate === "twice") memory.publish("live", key);
          if (fate === "twice") memory.publish("live", key);
          if (fate === "late") late.push(key);
          await clock.advance(pauseMs);
          if (fate === "heard") expect(known.get(key)).toBe(index + 1);
          for (const id of late.splice(0, index % 3)) memory.publish("live", id);
        }
        await clock.advance(REREAD_MS);
        expect(known).toEqual(truth);
        await following.stop();
      }),
      seeded(60),
    );
  });
});
