/** Retention of the history, by a clock that the tests move, on stores of their own. */

import { afterEach, beforeEach, expect, test } from "bun:test";
import { join } from "node:path";
import { createLog } from "../../../src/server/log.ts";
import { createHistoryRetention, type HistoryLimits } from "../../../src/server/nodes/history-retention.ts";
import { createSqliteOfflineStore, type SqliteOfflineStore } from "../../../src/server/stores/offline/sqlite.ts";
import { TempFolder, TestClock } from "../../harness/running-server.ts";
import { featureVersion } from "../stores/offline/versions.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const log = createLog({ write: () => undefined, clock: new TestClock() });
const version = featureVersion(1, { environmentId: "env_1" });

let folder: TempFolder;
let now = 100 * DAY;
const open = (name: string): SqliteOfflineStore =>
  createSqliteOfflineStore({ path: join(folder.path, `${name}.db`), programVersion: "1", now: () => now });
const retention = (store: SqliteOfflineStore, limits: Partial<HistoryLimits>) =>
  createHistoryRetention({
    limits: async () => new Map([["env_1", { maxAgeMs: undefined, maxBytes: undefined, ...limits }]]),
    offline: async () => store,
    now: () => now,
    log,
  });
/** One observation for each of the last days, the oldest first. */
const fill = async (store: SqliteOfflineStore, days: number): Promise<void> => {
  const observedAt = Array.from({ length: days }, (_, day) => now - (days - 1 - day) * DAY);
  const columns = { keys: observedAt.map(() => "i:1"), values: observedAt.map((_, day) => day), observedAt };
  await store.append([{ version, deploymentId: "", resolver: "", op: "query", ...columns }]);
};
/** Ages of what is stored, in days. */
const ages = async (store: SqliteOfflineStore): Promise<number[]> =>
  (await store.scan(1, { limit: 100 })).map(({ observedAt }) => (now - observedAt) / DAY).reverse();
const { signal } = new AbortController();

beforeEach(() => {
  folder = new TempFolder();
  now = 100 * DAY;
});
afterEach(() => folder[Symbol.dispose]());

test("without limits everything stays", async () => {
  await using store = { value: open("a"), [Symbol.asyncDispose]: () => store.value.close() };
  await fill(store.value, 5);
  await retention(store.value, {}).enforce(signal);
  expect(await ages(store.value)).toEqual([0, 1, 2, 3, 4]);
});

test("what is older than the greatest age goes as time passes, on each node by itself", async () => {
  const [a, b] = [open("a"), open("b")];
  await fill(a, 5);
  await fill(b, 3);
  const [first, second] = [retention(a, { maxAgeMs: 3 * DAY }), retention(b, { maxAgeMs: 3 * DAY })];
  await Promise.all([first.enforce(signal), second.enforce(signal)]);
  expect([await ages(a), await ages(b)]).toEqual([
    [0, 1, 2, 3],
    [0, 1, 2],
  ]);
  now += 2 * DAY;
  await Promise.all([first.enforce(signal), second.enforce(signal)]);
  expect([await ages(a), await ages(b)]).toEqual([
    [2, 3],
    [2, 3],
  ]);
  expect(first.removed()).toEqual([{ environmentId: "env_1", observations: 3, observedBefore: now - 3 * DAY }]);
  expect(second.removed()).toMatchObject([{ observations: 1 }]);
  await Promise.all([a.close(), b.close()]);
});

test("the oldest of what is too much goes, once, and the newest hour stays however large it is", async () => {
  const store = open("a");
  await fill(store, 10);
  const hours = await store.hours("env_1");
  const three = hours.slice(-3).reduce((sum, { bytes }) => sum + bytes, 0);
  const kept = retention(store, { maxBytes: three });
  await kept.enforce(signal);
  expect(await ages(store)).toEqual([0, 1, 2]);
  await kept.enforce(signal);
  expect(await ages(store)).toEqual([0, 1, 2]);
  await retention(store, { maxBytes: 1 }).enforce(signal);
  expect(await ages(store)).toEqual([0]);
  await store.close();
});

test("what cannot be removed is logged, and the others are removed", async () => {
  const lines: string[] = [];
  const store = open("a");
  await fill(store, 5);
  await createHistoryRetention({
    limits: async () =>
      new Map([
        ["env_0", { maxAgeMs: DAY, maxBytes: undefined }],
        ["env_1", { maxAgeMs: DAY, maxBytes: undefined }],
      ]),
    offline: async () => ({
      hours: store.hours,
      trim: (id, before) => (id === "env_0" ? Promise.reject(new Error("no room")) : store.trim(id, before)),
    }),
    now: () => now,
    log: createLog({ write: (line) => lines.push(line), clock: new TestClock() }),
  }).enforce(signal);
  expect(await ages(store)).toEqual([0, 1]);
  expect(lines.some((line) => line.includes("no room"))).toBe(true);
  await store.close();
});
