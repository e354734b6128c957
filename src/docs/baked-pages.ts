/** The pages of the documentation and what their search knows, made of the sources. */

import { searchEntries } from "./search-index.ts";
import { sitePages } from "./site-pages.ts";

/**
 * Pages by sections in their order, and entries of the search: JSON, compressed by zstd, in base64.
 */
export async function bakedPages(): Promise<string> {
  const pages = await sitePages();
  const text = JSON.stringify({ pages, entries: searchEntries(pages) });
  return Buffer.from(await Bun.zstdCompress(text, { level: 19 })).toString("base64");
}
