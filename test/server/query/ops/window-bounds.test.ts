/**
 * Windows to the microsecond: every aggregation of every type of column, over rows that lie on the
 * bounds of their windows and a microsecond beside them, on days on which clocks change, before
 * 1970 and at the ends of the calendar, against Python, which is given the rows and goes through
 * them one by one.
 */

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { formatMicros } from "../../../../src/domain/timestamp.ts";
import { type FeatureValue, untagged } from "../../../../src/domain/value.ts";
import { bulkColumn } from "../../../../src/server/query/request/request.ts";
import { patience, runs, seed } from "../../../harness/seed.ts";
import { randomOf } from "../random-values.ts";
import { ask } from "../worlds.ts";
import { make, oracle, randomWorld, shown, USERS, WINDOWS } from "./window-worlds.ts";

setDefaultTimeout(patience(300_000));

const before = process.env.TZ;
// Times without a zone are UTC wherever the server runs: an hour of these days is not there, or
// there twice, by this clock.
beforeAll(() => {
  process.env.TZ = "America/New_York";
});
afterAll(() => {
  if (before === undefined) delete process.env.TZ;
  else process.env.TZ = before;
});

test("every aggregation of every column, on the bounds of windows and a microsecond beside them", async () => {
  const random = randomOf(seed);
  const total = runs(33, 5_000);
  const perChild = 200;
  let [compared, errors, pushed] = [0, 0, 0];
  for (let done = 0; done < total; done += perChild) {
    const worlds = Array.from({ length: Math.min(perChild, total - done) }, (_, nth) => randomWorld(random, done + nth));
    const expected = await oracle(worlds);
    for (const [nth, random] of worlds.entries()) {
      await using world = make(random);
      const outputs = random.asked.map((_, at) => `user.w${at}`);
      for (const disabled of ["false", "true"]) {
        const more = { now: random.now, plannerOptions: { disable_pushdown: disabled } };
        const bulk = await world.engine.answerBulk(
          world.deployment,
          { request: ask({}, outputs, more), columns: [bulkColumn("user.id", USERS)] },
          world.now,
        );
        const failed = new Set(bulk.failures.map(({ feature, row }) => `${feature}#${row}`));
        const columns = new Map(bulk.columns.map(({ path, values }) => [path, values]));
        const alone = await world.ask({ "user.id": 2 }, outputs, more);
        const single = new Map(alone.fields.map(({ path, value, failure }) => [path, failure ? "error" : value]));
        for (const [at, asked] of random.asked.entries())
          for (const [window, seconds] of WINDOWS.entries()) {
            const path = `user.w${at}__${seconds}__`;
            const wanted = expected[nth]?.[at * WINDOWS.length + window] as unknown[];
            const place = { world: done + nth, path, isTimed: random.isTimed, now: formatMicros(random.now), disabled, ...asked, seed };
            for (const [row, one] of wanted.entries()) {
              const right = one === "error" ? "error" : shown(untagged(one) as FeatureValue, asked);
              const got = failed.has(`${path}#${row}`) ? "error" : shown(columns.get(path)?.[row] as FeatureValue, asked);
              if (!Bun.deepEquals(got, right, true))
                expect({ ...place, user: USERS[row], value: got }).toEqual({ ...place, user: USERS[row], value: right });
              if (USERS[row] === 2) {
                const value = single.get(path) as FeatureValue;
                const given = value === "error" ? "error" : shown(value, asked);
                if (!Bun.deepEquals(given, right, true)) expect({ ...place, single: given }).toEqual({ ...place, single: right });
              }
              if (right === "error") errors++;
              compared++;
            }
          }
      }
      // One window alone: what the database is asked for is its bounds, not those of the widest.
      for (const [at, asked] of random.asked.entries()) {
        const window = (done + nth + at) % WINDOWS.length;
        const path = `user.w${at}__${WINDOWS[window]}__`;
        const { fields, explanation } = await world.ask({ "user.id": 2 }, [path], { now: random.now, explain: true });
        const [field] = fields;
        const wanted = expected[nth]?.[at * WINDOWS.length + window]?.[USERS.indexOf(2)];
        const got = field?.failure ? "error" : shown(field?.value ?? null, asked);
        const right = wanted === "error" ? "error" : shown(untagged(wanted) as FeatureValue, asked);
        expect({ world: done + nth, path, ...asked, now: formatMicros(random.now), value: got }).toEqual({
          world: done + nth,
          path,
          ...asked,
          now: formatMicros(random.now),
          value: right,
        });
        if (explanation?.includes("asked of the database")) pushed++;
      }
    }
  }
  console.log(`windows: ${compared} values, ${errors} of them overflows; ${pushed} windows were asked of the database`);
  expect(compared).toBe(total * 14 * WINDOWS.length * USERS.length * 2);
  expect(errors).toBeGreaterThan(0);
  expect(pushed).toBeGreaterThan(total * 5);
});
