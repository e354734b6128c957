/**
 * Stored values to the microsecond: whatever is asked, for any time and with any staleness, is what
 * a map of everything ever computed gives. Every call of a resolver gives a value of its own, so
 * that an answer tells when it was computed.
 */

import { expect, test } from "bun:test";
import fc from "fast-check";
import type { FeatureValue } from "../../../../src/domain/value.ts";
import { bulkColumn } from "../../../../src/server/query/request/request.ts";
import { openSqliteOnlineStore } from "../../../../src/server/stores/online/sqlite.ts";
import { patience, seeded } from "../../../harness/seed.ts";
import { featureClass, fn, graph, python } from "../graphs.ts";
import { ask, later, type Played, World } from "../worlds.ts";

const SECOND = 1_000_000n;
const HOUR = 3_600n * SECOND;
const FOREVER = Number.POSITIVE_INFINITY;

interface Cached {
  /**
   * How old a value may be, in microseconds; undefined where it is not stored unless a query asks
   * for it.
   */
  readonly stale?: bigint | typeof FOREVER;
  readonly spec: { readonly stale?: string; readonly nulls?: boolean };
  readonly isOptional: boolean;
}

const FEATURES: Readonly<Record<string, Cached>> = {
  "user.hourly": { stale: HOUR, spec: { stale: "1h" }, isOptional: false },
  "user.optional": { stale: HOUR, spec: { stale: "1h" }, isOptional: true },
  "user.known": { stale: HOUR, spec: { stale: "1h", nulls: false }, isOptional: true },
  "user.forever": { stale: FOREVER, spec: { stale: "infinity" }, isOptional: false },
  "user.fresh": { spec: {}, isOptional: false },
  "bank.size": { stale: 600n * SECOND, spec: { stale: "10m" }, isOptional: false },
};

const specOf = (name: string) => {
  const { spec, isOptional } = FEATURES[name] as Cached;
  return { type: isOptional ? ("int?" as const) : ("int" as const), ...spec };
};
const bankOf = (user: number) => (user % 2) + 1;

const made = graph(
  [
    featureClass("bank", { id: "int", size: specOf("bank.size") }),
    featureClass("user", {
      id: "int",
      bank_id: "int",
      bank: { to: "bank", on: [["bank_id", "id"]] },
      ...Object.fromEntries(["hourly", "optional", "known", "forever", "fresh"].map((name) => [name, specOf(`user.${name}`)])),
      both: { type: "int", expression: fn("add", "hourly", "bank.size") },
    }),
  ],
  [
    python("m.bank_id", ["user.id"], ["user.bank_id"]),
    ...Object.keys(FEATURES).map((name) => python(`m.${name}`, [`${name.split(".")[0]}.id`], [name])),
  ],
);

const OUTPUTS = ["user.hourly", "user.optional", "user.known", "user.forever", "user.fresh", "user.bank.size", "user.both"];

/** Lengths of time at which something changes, and a microsecond on both sides. */
const apart = fc
  .tuple(fc.constantFrom(0n, 600n * SECOND, HOUR, 2n * HOUR), fc.constantFrom(-1n, 0n, 1n, 1_000n))
  .map(([length, more]) => length + more);
const staleness = fc.dictionary(fc.constantFrom(...Object.keys(FEATURES)), fc.constantFrom(0n, HOUR, 600n * SECOND, FOREVER), {
  maxKeys: 3,
});
const step = fc.record({
  waitMs: fc.constantFrom(0, 0, 1, 600_000, 3_600_000),
  /** Microseconds before the present that are asked about; below zero it is ahead. */
  back: fc.oneof(fc.constant(0n), apart, fc.constantFrom(-1n, -HOUR)),
  users: fc.uniqueArray(fc.integer({ min: 1, max: 4 }), { minLength: 1 }),
  isAlone: fc.boolean(),
  isNull: fc.boolean(),
  staleness,
});

test(
  "whatever is asked is what a map of everything ever computed gives",
  async () => {
    let hits = 0;
    await fc.assert(
      fc.asyncProperty(fc.boolean(), fc.array(step, { minLength: 2, maxLength: 15, size: "max" }), async (takesTurns, steps) => {
        let now = 0;
        let isNull = false;
        const names = Object.keys(FEATURES);
        const computed = (name: string, key: number): number | null =>
          isNull && FEATURES[name]?.isOptional ? null : now * 1_000 + key * 10 + names.indexOf(name);
        const played: Record<string, Played> = { "m.bank_id": ([user]) => bankOf(Number(user)) };
        for (const name of names) played[`m.${name}`] = ([key]) => computed(name, Number(key));
        const store = openSqliteOnlineStore(":memory:");
        const world = new World(made, { python: played, online: takesTurns ? later(store) : store });
        const stored = new Map<string, { readonly at: bigint; readonly value: number | null }>();
        for (const one of steps) {
          now++;
          isNull = one.isNull;
          world.now += one.waitMs;
          const present = BigInt(world.now) * 1_000n;
          const at = present - one.back;
          const users = one.isAlone ? one.users.slice(0, 1) : one.users;
          const before = new Map(stored);
          const answer = (name: string, key: number): number | null => {
            const { stale } = FEATURES[name] as Cached;
            const allowed = one.staleness[name] ?? stale ?? 0n;
            const place = `${name}#${key}`;
            const known = before.get(place);
            if (known && allowed !== 0n && known.at <= at && at - known.at <= allowed) {
              hits++;
              return known.value;
            }
            const value = computed(name, key);
            const isStored = (stale !== undefined || allowed !== 0n) && at <= present && (!known || known.at <= at);
            if (isStored && (value !== null || name !== "user.known")) stored.set(place, { at, value });
            return value;
          };
          const expected = users.map((user) => {
            const size = answer("bank.size", bankOf(user)) as number;
            const own = ["hourly", "optional", "known", "forever", "fresh"].map((name) => answer(`user.${name}`, user));
            return [...own, size, (own[0] as number) + size];
          });
          const asked = Object.fromEntries(
            Object.entries(one.staleness).map(([name, most]) => [
              name.replace("bank.size", "user.bank.size"),
              typeof most === "bigint" ? Number(most) / 1_000 : most,
            ]),
          );
          const more = { staleness: asked, ...(one.back === 0n ? {} : { now: at }) };
          let got: (FeatureValue | undefined)[][];
          if (one.isAlone) {
            const values = await world.values({ "user.id": users[0] }, OUTPUTS, more);
            got = [OUTPUTS.map((name) => values[name])];
          } else {
            const columns = [bulkColumn("user.id", users)];
            const bulk = await world.engine.answerBulk(world.deployment, { request: ask({}, OUTPUTS, more), columns }, world.now);
            expect(bulk.failures).toEqual([]);
            got = users.map((_, row) => OUTPUTS.map((name) => bulk.columns.find(({ path }) => path === name)?.values[row]));
          }
          expect(got).toEqual(expected);
        }
      }),
      seeded(150, 20_000),
    );
    expect(hits).toBeGreaterThan(1_000);
  },
  patience(300_000),
);
