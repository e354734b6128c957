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
 * @param runOther is given the lines of programs other than svc; without it, there may be none
 */
export async function followPage(
  name: string,
  folder: string,
  run: (command: PageCommand) => Promise<void>,
  runOther?: (line: string, said: string) => Promise<void>,
): Promise<void> {
  await followText(readFileSync(join(import.meta.dir, "../../docs", name), "utf8"), folder, run, runOther);
}

/** The same for a text that is no page of `docs/`. */
export async function followText(
  page: string,
  folder: string,
  run: (command: PageCommand) => Promise<void>,
  runOther?: (line: string, said: string) => Promise<void>,
): Promise<void> {
  let commands = 0;
  for (const [, info = "", text = ""] of page.matchAll(/^```(.*)\n([\s\S]*?)^```$/gm)) {
    const file = /file: (\S+)$/.exec(info)?.[1];
    if (file !== undefined) {
      writeFileSync(join(folder, file), text);
      continue;
    }
    if (info.includes(" not run: ")) continue;
    expect(info).toBe("console");
    for (const [, whole = "", said = ""] of text.matchAll(/^\$ (.*)\n((?:(?!\$ ).*\n)*)/gm)) {
      commands++;
      if (!whole.startsWith("svc ") && runOther) {
        await runOther(whole, said);
        continue;
      }
      expect(whole).toStartWith("svc ");
      const line = whole.slice("svc ".length);
      await run({ line, words: [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? ""), said });
    }
  }
  expect(commands).toBeGreaterThan(0);
}
