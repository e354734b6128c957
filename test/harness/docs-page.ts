/** Pages of the docs whose blocks a test follows. */

import { expect } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** A command of a page. */
export interface PageCommand {
  /** What stands behind `$ svc`. */
  readonly line: string;
  /** The same as words, without the quotes around them. */
  readonly words: readonly string[];
  /** What stands below it. */
  readonly said: string;
}

/**
 * Follows a page of `docs/` from its first block to its last: what names a file is written into a
 * folder, and `run` is given the commands of all other blocks but those that are `not run: REASON`.
 * A page without commands fails.
 */
export async function followPage(name: string, folder: string, run: (command: PageCommand) => Promise<void>): Promise<void> {
  const page = readFileSync(join(import.meta.dir, "../../docs", name), "utf8");
  let commands = 0;
  for (const [, info = "", text = ""] of page.matchAll(/^```(.*)\n([\s\S]*?)^```$/gm)) {
    const file = /file: (\S+)$/.exec(info)?.[1];
    if (file !== undefined) {
      writeFileSync(join(folder, file), text);
      continue;
    }
    if (info.includes(" not run: ")) continue;
    expect(info).toBe("console");
    for (const [, line = "", said = ""] of text.matchAll(/^\$ svc (.*)\n((?:(?!\$ ).*\n)*)/gm)) {
      await run({ line, words: [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? ""), said });
      commands++;
    }
  }
  expect(commands).toBeGreaterThan(0);
}
