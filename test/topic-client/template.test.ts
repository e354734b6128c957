import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { UsageError } from "../../src/errors/cli-error.ts";
import { type MessageTemplate, payloadOf, templateOf } from "../../src/topic-client/payload.ts";
import { parseTemplate, TemplateError } from "../../src/topic-client/template.ts";
import { seeded } from "../harness/seed.ts";

const NOW = Date.UTC(2026, 0, 31, 12, 30, 15, 250);
/** Inputs whose random numbers come from a list, again and again. */
const inputs = (...randoms: readonly number[]) => {
  let turn = 0;
  return { random: () => randoms[turn++ % randoms.length] ?? 0, now: () => NOW };
};
const expand = (text: string, ...randoms: readonly number[]): string => parseTemplate(text)(inputs(...randoms));
const ALMOST_ONE = 1 - Number.EPSILON / 2;

describe("calls", () => {
  test.each([
    ["rand()", [0.5], "0.5"],
    ["rand(10)", [0.5], "5"],
    ["rand(-1, 1)", [0.25], "-0.5"],
    ["rand( 1.5 , 2.5 )", [0], "1.5"],
    ["randint()", [0], "0"],
    ["randint()", [ALMOST_ONE], "1000000"],
    ["randint(3)", [ALMOST_ONE], "3"],
    ["randint(5,5)", [0.3], "5"],
    ["randint(-2,2)", [0], "-2"],
    ["randstr(3)", [0, 0.5, ALMOST_ONE], "Af9"],
    ["randstr(0)", [0], ""],
    ["now()", [0], "2026-01-31T12:30:15.250Z"],
    ['{"id": randint(9), "at": "now()"}', [0.5], '{"id": 5, "at": "2026-01-31T12:30:15.250Z"}'],
    ["rand()rand()", [0.25, 0.75], "0.250.75"],
  ] as const)("%s", (text, randoms, expected) => {
    expect(expand(text, ...randoms)).toBe(expected);
  });

  test.each([
    "",
    "plain",
    "uuid()",
    "brand(1)",
    "my.rand(x)",
    "_now()",
    "$rand(",
    "Rand(x)",
    "rand",
    "now ()",
    "randomint(1,2)",
    "é rand x",
  ])("%s stays as it is", (text) => {
    expect(expand(text, 0.5)).toBe(text);
  });

  test.each([
    ["rand(x)", "'x' is no number", 0, 7],
    ["a rand(1,2,3)", "it takes at most two numbers", 2, 11],
    ["rand(2,1)", "the first number has to be below the second", 0, 9],
    ["rand(1,)", "'' is no number", 0, 8],
    ["randint(1.5)", "it takes whole numbers", 0, 12],
    ["randint(2,1)", "the first number has to be at most the second", 0, 12],
    ["randint(1e300)", "it takes whole numbers", 0, 14],
    ["randstr()", "it takes one number, the length", 0, 9],
    ["randstr(-1)", "the length is a whole number from 0", 0, 11],
    ["randstr(1e9)", "the length is a whole number from 0", 0, 12],
    ["randstr(1,2)", "it takes one number", 0, 12],
    ["now(1)", "it takes nothing", 0, 6],
    ["ok rand(1", "it has no ')'", 3, 6],
    ["rand(Infinity)", "'Infinity' is no number", 0, 14],
    ["rand(0x10)", "'0x10' is no number", 0, 10],
  ] as const)("%s is an error that says where", (text, words, offset, length) => {
    const error = (() => {
      try {
        parseTemplate(text);
      } catch (thrown) {
        return thrown;
      }
    })();
    expect(error).toBeInstanceOf(TemplateError);
    expect(error).toMatchObject({ message: expect.stringContaining(words), offset, length });
  });

  test("numbers stay in their range, whatever the range is", () => {
    fc.assert(
      fc.property(
        fc.double({ noNaN: true, min: -1e15, max: 1e15 }),
        fc.double({ noNaN: true, min: 1e-3, max: 1e15 }),
        fc.double({ noNaN: true, min: 0, max: ALMOST_ONE }),
        (min, width, random) => {
          fc.pre(min + width > min);
          const value = Number(expand(`rand(${min},${min + width})`, random));
          return value >= min && value < min + width;
        },
      ),
      seeded(500),
    );
    fc.assert(
      fc.property(fc.integer(), fc.nat(1e9), fc.double({ noNaN: true, min: 0, max: ALMOST_ONE }), (min, width, random) => {
        const value = Number(expand(`randint(${min},${min + width})`, random));
        return Number.isInteger(value) && value >= min && value <= min + width;
      }),
      seeded(500),
    );
  });
});

describe("payloads", () => {
  const template = (format: MessageTemplate["format"], value: string, key?: string): MessageTemplate => ({
    ...{ format, value: templateOf("--value", value), key: key === undefined ? undefined : templateOf("--key", key) },
  });
  const usage = (work: () => unknown): UsageError => {
    try {
      work();
    } catch (error) {
      expect(error).toBeInstanceOf(UsageError);
      return error as UsageError;
    }
    throw new Error("nothing was thrown");
  };

  test("JSON has to be JSON once it is expanded", () => {
    const { key, value } = payloadOf(template("JSON", '{"id": "randstr(2)"}', "k-randint(1)"), inputs(0));
    expect([new TextDecoder().decode(value), new TextDecoder().decode(key)]).toEqual(['{"id": "AA"}', "k-0"]);
    const wrong = usage(() => payloadOf(template("JSON", "{id: randint(1)}"), inputs(0)));
    expect([wrong.message, wrong.hint]).toEqual([expect.stringContaining("--value is no JSON"), expect.stringContaining("{id: 0}")]);
  });

  test("binary is base64, with and without its end", () => {
    for (const text of ["aGk=", "aGk", " aG k= "]) expect([...payloadOf(template("binary", text), inputs(0)).value]).toEqual([104, 105]);
    expect([...payloadOf(template("binary", ""), inputs(0)).value]).toEqual([]);
    for (const text of ["a", "%%%", "aGk==", "aGk=x"])
      expect(usage(() => payloadOf(template("binary", text), inputs(0))).message).toContain("no base64");
  });

  test("a bad call is pointed at by its column", () => {
    const wrong = usage(() => templateOf("--value", '{"é": rand(x)}'));
    expect(wrong.message).toBe("--value, column 7: rand(x): 'x' is no number");
    expect(wrong.hint).toBe('  {"é": rand(x)}\n        ^^^^^^^');
  });
});
