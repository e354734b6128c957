/**
 * Whatever a parser is given, it answers, or refuses in words: no crash, no error of another kind,
 * no loop without an end.
 */

import { beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import fc from "fast-check";
import { patience, seeded } from "../harness/seed.ts";
import { PARSERS, type Parser } from "./parsers.ts";

/** Longest time for all that is far too long together: a fault, not a measure. */
const PATIENCE_MS = patience(600_000);

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
        seeded(parser.slow ? 250 : 1_500),
      );
    });
  }
});

describe("far too deep and far too long", () => {
  const names = Object.keys(PARSERS);
  /** What became of each parser: nothing when it answered all, else how its process ended. */
  const faults = new Map<string, string>();

  /** One process for all parsers; after one that ends it, another process for those that remain. */
  beforeAll(async () => {
    for (let left = names; left.length > 0; ) {
      const { exitCode, output } = await extremes(left);
      const done = left.findIndex((name) => !output.includes(`\ndone: ${name}\n`));
      if (exitCode === 0 && done < 0) return;
      const ended = Math.max(done, 0);
      faults.set(left[ended] as string, `exit ${exitCode}: ${output.slice(-5_000)}`);
      left = left.slice(ended + 1);
    }
  }, names.length * PATIENCE_MS);

  test.each(names)("%s", (name) => {
    expect(faults.get(name)).toBeUndefined();
  });
});

async function extremes(names: readonly string[]): Promise<{ readonly exitCode: number; readonly output: string }> {
  const child = Bun.spawn([process.execPath, join(import.meta.dir, "extremes.ts"), ...names], {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    timeout: PATIENCE_MS,
    killSignal: "SIGKILL",
  });
  const [stdout, stderr, exitCode] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { exitCode, output: `${stdout}${stderr}` };
}
