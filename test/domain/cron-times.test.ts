/**
 * What the schedules that are accepted mean: as croner and the runtime's own reader of cron have
 * it.
 */

import { describe, expect, test } from "bun:test";
import { Cron } from "croner";
import fc from "fast-check";
import { readSchedule, scheduleProblem } from "../../src/domain/cron.ts";
import { seeded } from "../harness/seed.ts";

const FIELDS = [
  { min: 0, max: 59, words: [] },
  { min: 0, max: 23, words: [] },
  { min: 1, max: 31, words: [] },
  { min: 1, max: 12, words: ["jan", "FEB", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "Dec"] },
  { min: 0, max: 7, words: ["sun", "Mon", "tue", "wed", "thu", "fri", "SAT"] },
];

/** A text of the grammar, which is right unless it runs backwards. */
const field = ({ min, max, words }: (typeof FIELDS)[number]) => {
  const number = fc.integer({ min, max }).map(String);
  const end = words.length === 0 ? number : fc.oneof(number, fc.constantFrom(...words));
  const range = fc.oneof(
    { weight: 3, arbitrary: fc.constant("*") },
    { weight: 3, arbitrary: end },
    { weight: 2, arbitrary: fc.tuple(end, end).map(([from, to]) => `${from}-${to}`) },
  );
  const stepped = fc
    .tuple(range, fc.option(fc.integer({ min: 1, max: 70 }), { freq: 3 }))
    .map(([of, step]) => (step ? `${of}/${step}` : of));
  return fc.array(stepped, { minLength: 1, maxLength: 3 }).map((parts) => parts.join(","));
};
const expression = fc.tuple(...FIELDS.map(field)).map((fields) => fields.join(" "));
const time = fc.date({ min: new Date("2020-01-01T00:00:00Z"), max: new Date("2040-01-01T00:00:00Z"), noInvalidDate: true });

const canonical = (text: string): string => {
  const times = readSchedule(text);
  if ("everyMs" in times) throw new Error("a duration");
  return times.cron;
};
const byCroner = (text: string, after: Date) => new Cron(text, { timezone: "UTC", mode: "5-part", paused: true }).nextRun(after);
const byRuntime = (text: string, after: Date) => Bun.cron.parse(text, after);

describe("times of schedules", () => {
  test("what is accepted has the same next run by croner and by the runtime, as it was written and in canonical form", () => {
    fc.assert(
      fc.property(expression, time, (text, after) => {
        fc.pre(scheduleProblem(text) === undefined);
        const wanted = byRuntime(text, after)?.getTime() ?? null;
        expect(byRuntime(canonical(text), after)?.getTime() ?? null).toBe(wanted);
        expect(byCroner(canonical(text), after)?.getTime() ?? null).toBe(wanted);
      }),
      {
        ...seeded(2_000),
        examples: ["0 0 1-31 * mon", "0 0 1 * 0-7", "0 0 */2 * fri", "0 0 13 * */2", "0 0 31 2 *"].map((text) => [
          text,
          new Date("2026-01-31"),
        ]),
      },
    );
  });

  test("what croner accepts of plain texts is accepted and means the same, but for ranges that run backwards", () => {
    const part = fc.stringMatching(/^[0-9*,/-]{1,6}$/);
    const word = fc.constantFrom("*", "1", "5-6", "jan", "mon-fri", "0-7", "60", "32", "*/5", "3,4", "/2", "1/2", "1-", "1,,2");
    const anything = fc.array(fc.oneof(part, word), { minLength: 5, maxLength: 5 }).map((parts) => parts.join(" "));
    fc.assert(
      fc.property(anything, time, (text, after) => {
        let next: Date | null;
        try {
          next = byCroner(text, after);
        } catch {
          return;
        }
        if (scheduleProblem(text)?.endsWith("runs backwards")) return;
        expect(scheduleProblem(text)).toBeUndefined();
        expect(byRuntime(canonical(text), after)?.getTime()).toBe(next?.getTime());
      }),
      seeded(5_000),
    );
  });

  test("what else croner understands is refused: schedules are written in one way", () => {
    for (const text of ["0 0 L * *", "0 0 * * mon#1", "0 0 15W * *", "? * * * *", "0 0 0 * * *", "2030-01-01T00:00:00"])
      expect([text, scheduleProblem(text) !== undefined]).toEqual([text, true]);
  });

  test("names stand for their expressions", () => {
    const after = new Date("2026-05-31T23:59:30Z");
    for (const name of ["@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"])
      expect([name, byCroner(canonical(name), after)]).toEqual([name, byCroner(name, after)]);
  });
});
