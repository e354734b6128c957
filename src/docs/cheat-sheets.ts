/** Cheat sheets: pages of a screen or two, in the folder `docs/cheat`. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { GUIDES_FOLDER, summaryOf, titleOf } from "./guides.ts";
import type { Page } from "./page.ts";

/** Topics, in the order in which they are listed. */
export const TOPICS: readonly string[] = ["features", "resolvers", "sql", "windows", "queries", "deploy"];

/** The sheets as pages, whose paths begin with `cheat/`. */
export function cheatPages(): Page[] {
  return TOPICS.map((topic) => {
    const markdown = readFileSync(join(GUIDES_FOLDER, "cheat", `${topic}.md`), "utf8");
    return { path: `cheat/${topic}`, section: "Cheat sheets", title: titleOf(markdown), summary: summaryOf(markdown), markdown };
  });
}
