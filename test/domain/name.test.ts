import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import fc from "fast-check";
import { closestNames } from "../../src/domain/closest.ts";
import { formatDuration, parseDuration } from "../../src/domain/duration.ts";
import { ALL_WINDOW_MS, compareNames, escapeControls, namespaceOf, parseWindow, rawName, readableName } from "../../src/domain/name.ts";
import { lacks } from "../harness/needs.ts";
import { seed, seeded } from "../harness/seed.ts";

test("namespaceOf", () => {
  expect(["MNISTDataPoint", "UserFeatures", "Features", "HTTPServer2Go", "user", "A"].map(namespaceOf)).toEqual([
    "mnist_data_point",
    "user",
    "features",
    "http_server2_go",
    "user",
    "a",
  ]);
});

describe("windows", () => {
  test("both forms, in any spelling", () => {
    for (const name of ["user.fails[10m]", 'user.fails["10m"]', "user.fails[600s]", "user.fails[ 9m 60s ]"])
      expect(rawName(name)).toBe("user.fails__600__");
    expect(readableName("user.fails__600__")).toBe("user.fails[10m]");
    expect(rawName("user.fails[1w]")).toBe(rawName("user.fails[7d]"));
    expect(rawName("user.fails[all]")).toBe(`user.fails__${ALL_WINDOW_MS / 1000}__`);
    expect(readableName(rawName("user.fails[all]"))).toBe("user.fails[all]");
  });

  test("what is no window stays", () => {
    for (const name of [
      "user.fails",
      "user.fails[soon]",
      "user.fails[0s]",
      "user.fails[1500ms]",
      "user.fails[infinity]",
      "user.fails__0__",
      "user.a__b__",
    ]) {
      expect(rawName(name)).toBe(name);
      expect(readableName(name)).toBe(name);
    }
    expect(parseWindow("999ms")).toBeUndefined();
    expect(readableName(`x__${"9".repeat(30)}__`)).toBe(`x__${"9".repeat(30)}__`);
  });

  test("one form into the other and back", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 10 ** 10 }), (seconds) => {
        const raw = `user.fails__${seconds}__`;
        expect(rawName(readableName(raw))).toBe(raw);
      }),
      seeded(1000),
    );
  });
});

test("escapeControls leaves nothing that moves the cursor or turns text around", () => {
  expect(escapeControls("a\x1b[31m\n\t\r\x7f\u009b\u202eb\u061c\u2028é😀")).toBe("a\\x1b[31m\\n\\t\\r\\x7f\\x9b\\u202eb\\u61c\\u2028é😀");
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      expect(escapeControls(text)).not.toMatch(/[\p{Cc}\u2028\u2029\p{Bidi_Control}]/u);
    }),
    seeded(500),
  );
});

/** A Python that really starts: a name on PATH may be a stub. */
const python = ["python3", "python3.13", "python3.12", "python3.11", "python3.10"]
  .map((name) => Bun.which(name))
  .find((path) => path !== null && Bun.spawnSync([path, "-c", "import sys; sys.exit(sys.version_info < (3, 10))"]).exitCode === 0);

/** The same questions to the SDK's `_names.py`. */
function askPython(questions: unknown): unknown {
  const code = `import json, sys
sys.path.insert(0, sys.argv[1])
from svc._surface import names as n
q = json.load(sys.stdin)
print(json.dumps({
  "namespaces": [n.namespace_of(x) for x in q["classes"]],
  "durations": [None if m is None else (-1 if m == float("inf") else m) for m in map(n.parse_duration, q["durations"])],
  "formats": [n.format_duration(m) for m in q["micros"]],
  "closest": [n.closest_names(w, l) for w, l in q["closest"]],
}))`;
  const root = join(import.meta.dir, "../../src/sdk");
  const result = Bun.spawnSync([python as string, "-I", "-B", "-c", code, root], { stdin: Buffer.from(JSON.stringify(questions)) });
  if (result.exitCode !== 0) throw new Error(result.stderr.toString());
  return JSON.parse(result.stdout.toString());
}

test.skipIf(lacks("Python 3.10", python !== undefined))("the SDK's names, durations and closest names are the same", () => {
  const pick = <T>(arbitrary: fc.Arbitrary<T>, count = 300): T[] => fc.sample(arbitrary, { numRuns: count, seed });
  const letters = fc.constantFrom("A", "B", "a", "b", "1", "_", "Features");
  const part = fc.tuple(
    fc.constantFrom("0", "1", "1.5", "90", "007", "2.25", "x"),
    fc.constantFrom("w", "d", "h", "m", "s", "ms", "us", "", "q"),
    fc.constantFrom("", " "),
  );
  const name = fc.string({ unit: fc.constantFrom("a", "b", "c", "_", "D"), minLength: 1, maxLength: 7 });
  const questions = {
    classes: pick(fc.array(letters, { minLength: 1, maxLength: 8 }).map((parts) => `C${parts.join("")}`)),
    durations: [
      ...pick(fc.array(part, { maxLength: 4 }).map((parts) => parts.flat().join(""))).filter((text) => !/\.\d+us/.test(text)),
      "infinity",
      "INF",
      "0",
      "",
      " 1d ",
    ],
    micros: pick(fc.integer({ min: 0, max: 10 ** 12 }).map((ms) => ms * 1000)),
    closest: pick(fc.tuple(name, fc.uniqueArray(name, { maxLength: 12 }))),
  };
  expect(askPython(questions)).toEqual({
    namespaces: questions.classes.map(namespaceOf),
    durations: questions.durations.map((text) => {
      const ms = parseDuration(text);
      return ms === undefined ? null : ms === Number.POSITIVE_INFINITY ? -1 : Math.round(ms * 1000);
    }),
    formats: questions.micros.map((micros) => formatDuration(micros / 1000)),
    closest: questions.closest.map(([wanted, names]) => closestNames(wanted, names)),
  });
});

test("names are ordered by their text, and the windows of one feature by their length", () => {
  const names = [
    "user.n__2592000__",
    "user.n__86400__",
    "user.n__604800__",
    "user.name",
    "user.n",
    "airport.late__604800__",
    "airport.late__86400__",
  ];
  expect(names.sort(compareNames)).toEqual([
    "airport.late__86400__",
    "airport.late__604800__",
    "user.n",
    "user.n__86400__",
    "user.n__604800__",
    "user.n__2592000__",
    "user.name",
  ]);
});
