/**
 * Whatever a parser is given, it answers, or refuses in words: no crash, no error of another kind,
 * no loop without an end.
 */

import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import fc from "fast-check";
import { seeded } from "../harness/seed.ts";
import { PARSERS, type Parser } from "./parsers.ts";

/** Longest time for all that is far too long together: a fault, not a measure. */
const PATIENCE_MS = 300_000;

const textsOf = ({ pieces }: Parser): fc.Arbitrary<string> =>
  fc.oneof(
    {
      weight: 4,
      arbitrary: fc
        .array(fc.oneof({ weight: 8, arbitrary: fc.constantFrom(...pieces) }, fc.string({ maxLength: 4 })), { maxLength: 40 })
        .map((parts) => parts.join("")),
    },
    { weight: 1, arbitrary: fc.string({ unit: "binary", maxLength: 200 }) },
  );

describe("any text", () => {
  for (const [name, parser] of Object.entries(PARSERS)) {
    test(name, async () => {
      await fc.assert(
        fc.asyncProperty(textsOf(parser), async (given) => {
          try {
            await parser.parse(given);
          } catch (error) {
            if (!parser.refuses?.(error)) throw error;
            expect((error as Error).message).not.toBe("");
          }
        }),
        seeded(parser.slow ? 500 : 3_000),
      );
    });
  }
});

describe("far too deep and far too long", () => {
  for (const name of Object.keys(PARSERS)) {
    test(
      name,
      async () => {
        const child = Bun.spawn([process.execPath, join(import.meta.dir, "extremes.ts"), name], {
          stdin: "ignore",
          stdout: "pipe",
          stderr: "pipe",
          timeout: PATIENCE_MS,
          killSignal: "SIGKILL",
        });
        const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
        expect([await child.exited, stdout.trim().split("\n").at(-1)], `${stdout}\n${stderr}`).toEqual([0, "done"]);
      },
      PATIENCE_MS + 10_000,
    );
  }
});
