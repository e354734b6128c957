/** The guides and cheat sheets, as those read them who have no browser. */

import { readSite } from "./site.ts";

/** Their texts by path, for example `streams`. */
export async function readGuides(): Promise<Readonly<Record<string, string>>> {
  const { pages } = await readSite();
  const guides = pages.filter(({ section }) => section === "Guides" || section === "Cheat sheets");
  return Object.fromEntries(guides.map(({ path, markdown }) => [path, markdown]));
}
