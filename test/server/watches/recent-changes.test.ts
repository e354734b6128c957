import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { type Bus, createMemoryBus } from "../../../src/server/jobs/bus.ts";
import { type ChangeTopic, noteChange } from "../../../src/server/jobs/changes.ts";
import { gatherNotes } from "../../../src/server/watches/noted-records.ts";
import { createRecentChanges, type RecentChanges, type ToldChanges } from "../../../src/server/watches/recent-changes.ts";
import { eventually, isPending, turn } from "../../harness/eventually.ts";
import { ManualClock } from "../jobs/manual-clock.ts";

let bus: Bus;
let clock: ManualClock;
let changes: RecentChanges;
let ending: AbortController;

beforeEach(() => {
  bus = createMemoryBus();
  clock = new ManualClock();
  changes = createRecentChanges({ bus, clock });
  ending = new AbortController();
});
afterEach(() => {
  ending.abort();
  changes.close();
});

function follow(topics: readonly ChangeTopic[], { cursor = "", environmentId = "env_a" } = {}) {
  const told = changes.follow({ environmentId, topics: new Set(topics), cursor }, ending.signal);
  return async (): Promise<ToldChanges> => (await told.next()).value as ToldChanges;
}

/** The next message, once the pause between messages is over. */
async function afterPause(next: () => Promise<ToldChanges>): Promise<ToldChanges> {
  const message = next();
  await clock.advance(100);
  return message;
}

describe("a follower", () => {
  test("hears at once where it is, and then of its topics in its environment alone", async () => {
    const next = follow(["runs", "queries"]);
    expect(await next()).toMatchObject({ topics: [], missed: false, skipped: 0 });
    const message = afterPause(next);
    noteChange(bus, "logs", "env_a");
    noteChange(bus, "runs", "env_b");
    await turn();
    expect(await isPending(message)).toBe(true);
    noteChange(bus, "runs", "env_a");
    expect(await message).toMatchObject({ topics: ["runs"], skipped: 0 });
  });

  test("of no cursor hears what changed just before, and of nothing older", async () => {
    noteChange(bus, "runs", "env_a");
    await turn();
    await clock.advance(9_000);
    noteChange(bus, "queries", "env_a");
    await turn();
    await clock.advance(5_000);
    expect((await follow(["runs", "queries"])()).topics).toEqual(["queries"]);
  });

  test("that comes back hears once what it has not heard", async () => {
    const { cursor } = await follow(["runs"])();
    for (let at = 0; at < 3; at++) noteChange(bus, "runs", "env_a");
    noteChange(bus, "monitors", "env_a");
    noteChange(bus, "monitors", "env_b");
    await turn();
    const again = await follow(["runs", "monitors", "logs"], { cursor })();
    expect(again).toMatchObject({ topics: ["runs", "monitors"], missed: false });
    expect(await follow(["runs", "monitors", "logs"], { cursor: again.cursor })()).toMatchObject({ topics: [], missed: false });
  });

  test.each(["", "x"])("that comes back from another node, or with what is no cursor, reloads all %p", async (tail) => {
    const other = createRecentChanges({ bus, clock });
    const told = other.follow({ environmentId: "env_a", topics: new Set(["runs"]), cursor: "" }, ending.signal);
    const { cursor } = (await told.next()).value as ToldChanges;
    expect(await follow(["runs", "logs"], { cursor: cursor + tail })()).toMatchObject({ topics: ["runs", "logs"], missed: true });
    other.close();
  });

  test("whose cursor is older than what is known reloads all, and so does everybody when notifications were lost", async () => {
    const { cursor } = await follow(["runs"])();
    noteChange(bus, "runs", "env_first");
    for (let at = 0; at < 10_001; at++) noteChange(bus, "runs", `env_${at}`);
    await turn();
    expect(await follow(["runs"], { cursor })()).toMatchObject({ topics: ["runs"], missed: true });
    const next = follow(["runs", "logs"]);
    const before = await next();
    bus.publish("changes");
    expect(await afterPause(next)).toMatchObject({ topics: ["runs", "logs"], missed: true });
    expect(await follow(["schedules"], { cursor: before.cursor })()).toMatchObject({ topics: ["schedules"], missed: true });
  });

  test("that is slow skips to the newest state, and is told how much it skipped", async () => {
    const next = follow(["runs", "queries"]);
    await next();
    for (let at = 0; at < 1_000; at++) noteChange(bus, "runs", "env_a");
    for (let at = 0; at < 10; at++) noteChange(bus, "queries", "env_a");
    await turn();
    expect(await afterPause(next)).toMatchObject({ topics: ["runs", "queries"], skipped: 1_008 });
    const quiet = next();
    await clock.advance(14_000);
    expect(await isPending(quiet)).toBe(true);
    await clock.advance(2_000);
    expect(await quiet).toMatchObject({ topics: [], skipped: 0 });
  });

  test("ends with its signal, in a pause and at rest", async () => {
    for (const advanced of [0, 1_000]) {
      const end = new AbortController();
      const told = changes.follow({ environmentId: "env_a", topics: new Set(["runs"]), cursor: "" }, end.signal);
      await told.next();
      const rest = told.next();
      await clock.advance(advanced);
      end.abort();
      await rest;
      expect((await told.next()).done).toBe(true);
    }
  });
});

test("records of a moment are noted together, and what is of no environment is not", async () => {
  const heard: string[] = [];
  bus.subscribe("changes", (id) => heard.push(id));
  const notes = gatherNotes(bus);
  for (let at = 0; at < 1_000; at++) notes.note("logs", `env_${at % 2}`);
  notes.note("queries", "");
  await eventually(() => heard.length > 0, "notes are told");
  expect(heard.toSorted()).toEqual(["logs/env_0", "logs/env_1"]);
  notes.note("logs", "env_0");
  await eventually(() => heard.length > 2, "later notes are told too");
  notes.close();
});
