/**
 * Feeds parsers with what is far too deep or far too long, in a process of its own: a stack that
 * overflows in native code ends a process, and a loop without an end cannot be stopped from within.
 * Prints each case before it is tried, and `done: <name>` at the end of a parser.
 *
 *   bun test/parsing/extremes.ts <name of a parser>...
 */

import { runs } from "../harness/seed.ts";
import { PARSERS, type Parser } from "./parsers.ts";

const DEPTH = 100_000;
/** Of one line; of many lines, and of what files hold that are read through the disk, a tenth. */
const LENGTH = runs(1_000_000, 10_000_000);

const repeated = (unit: string, length: number): [string, () => string] => [
  `${length} characters of ${JSON.stringify(unit)}`,
  () => unit.repeat(Math.ceil(length / unit.length)),
];

function casesOf({ pieces, slow }: Parser): [name: string, text: () => string][] {
  return [
    ...pieces.map((piece): [string, () => string] => [
      `many times ${JSON.stringify(piece.slice(0, 20))}`,
      () => piece.repeat(DEPTH).slice(0, DEPTH),
    ]),
    ...["a", " ", "1", "\\", "é", "\u0000", "a b "].map((unit) => repeated(unit, slow ? LENGTH / 10 : LENGTH)),
    ...["\n", "a\n", "- a\n", "a: b\n"].map((unit) => repeated(unit, LENGTH / 10)),
    ["pairs within pairs", () => `${"[{(".repeat(DEPTH / 3)}x${")}]".repeat(DEPTH / 3)}`],
  ];
}

for (const name of process.argv.slice(2)) {
  const parser = PARSERS[name];
  if (!parser) throw new Error(`no parser of ${name}`);
  for (const [which, text] of casesOf(parser)) {
    console.log(which);
    const started = performance.now();
    try {
      await parser.parse(text());
    } catch (error) {
      if (!parser.refuses?.(error)) throw error;
    }
    const ms = performance.now() - started;
    if (ms > 1_000) console.log(`slow: ${Math.round(ms)} ms`);
  }
  console.log(`done: ${name}`);
}
