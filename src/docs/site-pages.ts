/** All pages of the documentation, of the sources; the binary has the result, not this file. */

import { describeLoadedTree } from "../cli/describe.ts";
import { sdkAssets } from "../python/baked-sdk-assets.ts";
import { cheatPages } from "./cheat-sheets.ts";
import { commandPages } from "./command-pages.ts";
import { contractPages } from "./contract-pages.ts";
import { guidePages } from "./guides.ts";
import { type Page, SECTIONS } from "./page.ts";
import { pythonPages } from "./python-pages.ts";
import { functionsPage, rulesPage } from "./table-pages.ts";

/** All pages, by sections in their order. */
export async function sitePages(): Promise<Page[]> {
  const { commandTree } = await import("../commands/index.ts");
  const pages = [
    ...guidePages(),
    ...cheatPages(),
    ...commandPages(await describeLoadedTree(commandTree)),
    ...pythonPages(sdkAssets()),
    functionsPage(),
    rulesPage(),
    ...contractPages(),
  ];
  return pages.sort((a, b) => SECTIONS.indexOf(a.section) - SECTIONS.indexOf(b.section));
}
