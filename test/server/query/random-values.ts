/** Values for the parameters of functions: those at the edges of their types, and random ones. */

/** Types of parameters and results. */
export type Kind = "int" | "float" | "str" | "bool" | "datetime";

/** Numbers in [0, 1), the same for the same seed. */
export function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** The parameters that every function has, with their types. All may be None. */
export const PARAMETERS: Readonly<Record<string, Kind>> = {
  i: "int",
  j: "int",
  x: "float",
  y: "float",
  s: "str",
  t: "str",
  b: "bool",
  d: "datetime",
  e: "datetime",
};

/** Values at the edges of their types. */
export const EDGES: Readonly<Record<Kind, readonly unknown[]>> = {
  int: [
    0,
    1,
    -1,
    2,
    3,
    -7,
    10,
    64,
    -100,
    2 ** 31,
    2 ** 53 - 1,
    2n ** 53n,
    2n ** 53n + 1n,
    -(2n ** 53n) - 1n,
    2n ** 62n,
    2n ** 63n - 1n,
    -(2n ** 63n),
  ],
  float: [
    0,
    -0,
    1,
    -1,
    0.5,
    -0.5,
    1.5,
    2.5,
    -2.5,
    0.1,
    1 / 3,
    2.675,
    -7.25,
    1e15,
    1e16,
    123456789.125,
    1e-5,
    0.0001,
    5e-324,
    Number.MAX_VALUE,
    -1e308,
    1e22,
    2 ** 53,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    Number.NEGATIVE_INFINITY,
  ],
  str: [
    "",
    "a",
    "A",
    "abc",
    "Hello World",
    "  x ",
    "\t\n",
    "é",
    "ß",
    "\u019b\ua7d1",
    "\ua7cb\ua7dc",
    "İstanbul",
    "😀",
    "a😀b",
    "ﬃ",
    "1",
    "-12",
    "+7",
    "007",
    "3.5",
    "1e5",
    "nan",
    " 5 ",
    "1_0",
    "٣",
    "\x1cq\x1f",
    "\u00a0z\u2003",
    "\u0000",
    "e\u0301",
    "aaaa",
    "\uffff",
    "x".repeat(70),
  ],
  bool: [true, false],
  datetime: [
    "0001-01-01T00:00:00Z",
    "1899-12-31T23:59:59.999999Z",
    "1969-12-31T23:59:59.999999Z",
    "1970-01-01T00:00:00Z",
    "2024-02-29T12:34:56.789012Z",
    "2024-12-30T00:00:00.000001Z",
    "9999-12-31T23:59:59.999999Z",
  ],
};

/**
 * A random value of a kind: one that people have in their tables, or one from the edges of its
 * type, None among them.
 */
export function randomValue(random: () => number, kind: Kind, isOrdinary: boolean): unknown {
  if (isOrdinary) return ordinaryValue(random, kind);
  if (random() < 0.06) return null;
  if (random() < 0.6) return pick(random, EDGES[kind]);
  switch (kind) {
    case "int":
      return Math.floor((random() - 0.5) * 10 ** (1 + Math.floor(random() * 14))) + 0;
    case "float":
      return (random() - 0.5) * 10 ** Math.floor(random() * 40 - 20);
    case "str":
      return Array.from({ length: Math.floor(random() * 8) }, () => pick(random, [..."aAbB xyZ019.-+é😀\t"])).join("");
    case "bool":
      return random() < 0.5;
    case "datetime":
      return new Date(Math.floor((random() - 0.3) * 4e12)).toISOString();
  }
}

function ordinaryValue(random: () => number, kind: Kind): unknown {
  switch (kind) {
    case "int":
      return Math.floor(random() * 120) - 20;
    case "float":
      return Math.round((random() - 0.2) * 10_000) / 100;
    case "str":
      return pick(random, ["a", "abc", "Ada Lovelace", "x@example.com", " trimmed ", "B-12", "42", "AAPL"]);
    case "bool":
      return random() < 0.5;
    case "datetime":
      return new Date(1.7e12 + Math.floor(random() * 1e10)).toISOString();
  }
}

/** One of several. */
export function pick<T>(random: () => number, items: readonly T[]): T {
  return items[Math.floor(random() * items.length)] as T;
}
