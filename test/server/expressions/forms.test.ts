/**
 * `F.cast`, chains of `F.when` and named arguments: from Python through the analyzer to values,
 * against plain Python.
 */

import { expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { GraphIndex } from "../../../src/domain/graph-index.ts";
import { encodeStored, type FeatureValue, untagged } from "../../../src/domain/value.ts";
import { compileExpression } from "../../../src/server/expressions/compile.ts";
import { analyzeFixture } from "../../sdk/analyze.ts";
import { INTERPRETERS } from "../../sdk/interpreters.ts";

setDefaultTimeout(300_000);

/**
 * The same features in plain Python; `None` where an argument is, and "error" where Python raises
 * or an int has more than 64 bits.
 */
const ORACLE = `
import json, math, sys

def attempt(compute):
    try:
        return compute()
    except (ValueError, OverflowError, ZeroDivisionError):
        return "error"

def known(function, *values):
    return None if any(value is None for value in values) else function(*values)

def whole(value):
    found = int(value)
    if not -2**63 <= found < 2**63:
        raise OverflowError
    return found

def less(a, b):
    return a is not None and a < b

def more(a, b):
    return a is not None and a > b

def compute(row):
    i, x, b, text, at = (row[name] for name in ("i", "x", "b", "text", "at"))
    x = known(float, x)
    day = None if at is None else at[:10]
    return {
        "text_int": attempt(lambda: known(whole, text)),
        "x_int": attempt(lambda: known(whole, x)),
        "b_int": known(int, b),
        "text_float": attempt(lambda: known(float, text)),
        "i_float": known(float, i),
        "i_text": known(str, i),
        "x_text": known(str, x),
        "at_date": day,
        "date_at": None if day is None else day + "T00:00:00.000000Z",
        "size": "small" if less(i, 10) else "middle" if less(i, 100) else "large",
        "flat": "small" if less(i, 10) else "middle" if less(i, 100) else "large",
        "sign": -1 if less(x, 0) else 1 if more(x, 0) else None,
        "ratio": attempt(lambda: 0.0 if i == 0 else known(lambda a, c: a / c, x, i)),
        "nested": ("b+" if more(i, 0) else "b-") if b is True else text,
        "lazy": 0 if i == 0 else known(lambda n: 100 // n, i),
        "many": 10 + i if i is not None and 0 <= i <= 9 else 20 if more(i, 9) else -1,
        "rounded": attempt(lambda: known(lambda value: round(value, 1), x)),
        "part": known(lambda value: value[1:3], text),
    }

def tagged(value):
    if type(value) is int and abs(value) >= 2**53:
        return {"$int": str(value)}
    return {"$float": "Infinity" if value > 0 else "-Infinity"} if value in (math.inf, -math.inf) else value

print(json.dumps([{name: tagged(value) for name, value in compute(row).items()} for row in json.load(sys.stdin)]))
`;

const INTS = [null, 0, 1, -1, 7, 9, 10, 42, 99, 100, -5, 1_000_000, 9007199254740991];
const FLOATS = [null, 0.5, -0.5, 2.5, 3.999, -3.999, 1e-7, 1e16, 1.25, 0.15, 1e300, 0, 123456.789];
const TEXTS = [null, "0", "42", "-17", "+5", " 12 ", "abc", "", "1.5", "1e3", ".5", "00012", "héllo😀x", "12a", "-inf"];
const TIMES = [null, "2024-02-29T23:59:59.999999Z", "1969-12-31T00:00:00.000000Z", "2001-01-01T12:30:00.000000Z"];
const BOOLS = [null, true, false];

/** Every value of every column, in company that differs from row to row. */
const ROWS = Array.from({ length: 390 }, (_, at) => ({
  i: INTS[at % INTS.length] ?? null,
  x: FLOATS[(at * 5 + Math.floor(at / 13)) % FLOATS.length] ?? null,
  b: BOOLS[Math.floor(at / 2) % BOOLS.length] ?? null,
  text: TEXTS[(at * 7 + 1) % TEXTS.length] ?? null,
  at: TIMES[(at * 3 + 2) % TIMES.length] ?? null,
}));

test("what the server computes is what Python computes", async () => {
  const { graph } = await analyzeFixture("functions");
  expect(graph.diagnostics.map(({ code, message }) => `${code} ${message}`)).toEqual([]);
  const oracle = Bun.spawnSync([INTERPRETERS.at(-1)?.path ?? "", "-I", "-X", "utf8", "-c", ORACLE], {
    stdin: Buffer.from(JSON.stringify(ROWS)),
  });
  expect(oracle.stderr.toString()).toBe("");
  const wanted = JSON.parse(oracle.stdout.toString()) as Record<string, unknown>[];
  const index = new GraphIndex(graph);
  const set = graph.featureSets[0];
  if (!set) throw new Error("no class");
  const columns = new Map(
    Object.keys(ROWS[0] ?? {}).map((name) => [name, ROWS.map((row) => untagged(row[name as keyof (typeof ROWS)[0]]) as FeatureValue)]),
  );
  let compared = 0;
  for (const { name, kind } of set.features) {
    if (kind.case !== "scalar" || !kind.value.expression || !kind.value.dtype) continue;
    const compiled = compileExpression(kind.value.expression, { index, set }, { type: kind.value.dtype });
    const { values, errors } = compiled.evaluate({ rows: ROWS.length, columns }, { nowMicros: 0n });
    for (const [row, expected] of wanted.entries()) {
      const shown = errors.has(row) ? "error" : encodeStored(values[row] as FeatureValue);
      const right = expected[name] === "error" ? "error" : encodeStored(untagged(expected[name]));
      expect([name, ROWS[row], shown]).toEqual([name, ROWS[row], right]);
      compared++;
    }
  }
  expect(compared).toBe(18 * ROWS.length);
});

test("findings point at the part of a chain that they are about", async () => {
  const { graph } = await analyzeFixture("130-chains");
  const text = await Bun.file(join(import.meta.dir, "../../sdk/fixtures/130-chains/features.py")).text();
  const lines = text.split("\n");
  const places = graph.diagnostics.map(({ code, message, span }) => {
    const line = lines[(span?.line ?? 0) - 1] ?? "";
    return [code, line.slice((span?.column ?? 1) - 1, (span?.endColumn ?? 1) - 1), message];
  });
  expect(places).toEqual([
    [130, "nmae", "User has no feature 'nmae'; did you mean 'name'?"],
    [130, "siez", "User has no feature 'siez'; did you mean 'size'?"],
    [130, "nmae", "User has no feature 'nmae'; did you mean 'name'?"],
    [130, "F.when(_.size > 1)", "F.when(_.size > 1) has no value yet: write .then(value) behind it"],
    [
      130,
      "F.when(_.size > 1).then(1).when(_.size > 2)",
      "F.when(_.size > 1, 1).when(_.size > 2) has no value yet: write .then(value) behind it",
    ],
    [130, "nmae", "User has no feature 'nmae'; did you mean 'name'?"],
    [130, "siez", "User has no feature 'siez'; did you mean 'size'?"],
  ]);
});
