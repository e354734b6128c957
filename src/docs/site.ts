/** The documentation as files: pages as HTML and Markdown, the search, and a list for programs. */

import { buildInfo } from "../build-info.ts";
import { searchScript, styleText } from "./asset-text.ts" with { type: "macro" };
import { bakedPages } from "./baked-pages.ts";
import { indexHtml, pageHtml } from "./html.ts";
import { type Page, SECTIONS } from "./page.ts";
import type { SearchEntry } from "./search-index.ts";

const SCRIPT = searchScript();
const STYLE = styleText();

/** The documentation. */
export interface Site {
  /** All pages, by sections in their order. */
  readonly pages: readonly Page[];
  /** Paths of its files below its folder. */
  readonly names: ReadonlySet<string>;
  /**
   * Text of a file, which is made when it is asked for. Throws Error for a name that there is not.
   */
  text(name: string): string;
}

/** Reads the documentation. */
export async function readSite(): Promise<Site> {
  const bytes = await Bun.zstdDecompress(Buffer.from(await bakedPages(), "base64"));
  const { entries, pages } = JSON.parse(new TextDecoder().decode(bytes)) as { entries: readonly SearchEntry[]; pages: readonly Page[] };
  const { version } = buildInfo;
  const files = new Map<string, () => string>([
    ["index.html", () => indexHtml(pages, version)],
    ["style.css", () => STYLE],
    ["search.js", () => SCRIPT],
    ["search.json", () => JSON.stringify(entries)],
    ["llms.txt", () => llmsText(pages)],
  ]);
  for (const page of pages) {
    files.set(`${page.path}.html`, () => pageHtml(page, pages, version));
    files.set(`${page.path}.md`, () => `${page.markdown.trimEnd()}\n`);
  }
  return {
    pages,
    names: new Set(files.keys()),
    text(name) {
      const make = files.get(name);
      if (!make) throw new Error(`the documentation has no file ${name}`);
      return make();
    },
  };
}

/** The list of pages for language models, in the form that llmstxt.org describes. */
function llmsText(pages: readonly Page[]): string {
  const lists = SECTIONS.map((section) => {
    const lines = pages
      .filter((page) => page.section === section)
      .map(({ path, summary, title }) => `- [${title}](${path}.md): ${summary}`);
    return `## ${section}\n\n${lines.join("\n")}`;
  });
  return `# svc\n\n> A feature platform for real-time machine learning in one file: the command line and the platform.\n\n${lists.join("\n\n")}\n`;
}
