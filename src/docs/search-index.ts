/** What the search of the documentation knows: headings of all pages, with the words below them. */

import type { Page } from "./page.ts";

/** A place that can be found. */
export interface SearchEntry {
  /** Address of the page, without an ending. */
  readonly path: string;
  /** The heading's anchor; absent for the page itself. */
  readonly anchor?: string;
  readonly title: string;
  /** Title of the page of a heading. */
  readonly page?: string;
  /** Words of the text below, in small letters, each once. */
  readonly words: string;
}

/** The entries of all pages, one for each heading. */
export function searchEntries(pages: readonly Page[]): SearchEntry[] {
  return pages.flatMap(entriesOf);
}

function entriesOf({ markdown, path, title: page }: Page): SearchEntry[] {
  const parts = withoutBlocks(markdown)
    .split(/^(?=#{1,3} )/m)
    .filter((part) => part.startsWith("#"));
  const anchors = [...Bun.markdown.html(markdown, { headings: { ids: true } }).matchAll(/<h[1-3] id="([^"]*)"/g)].map(([, id]) => id);
  return parts.map((part, at) => {
    const [heading = "", ...lines] = part.split("\n");
    const title = heading.replace(/^#+ /, "").replace(/[`\\]/g, "");
    const words = [
      ...new Set(
        lines
          .join(" ")
          .toLowerCase()
          .match(/[\p{L}\p{N}_]{2,}/gu) ?? [],
      ),
    ].join(" ");
    return at === 0 ? { path, title: page, words } : { path, anchor: anchors[at] ?? "", title, page, words };
  });
}

/** The text without lines of blocks that look like headings. */
function withoutBlocks(markdown: string): string {
  return markdown.replace(/^```[\s\S]*?^```$/gm, (block) => block.replace(/^#/gm, " #"));
}
