/** Pages of the documentation as HTML, with the contents of all of them beside the text. */

import { type Page, SECTIONS, withFileNames } from "./page.ts";

/** The document of a page. */
export function pageHtml(page: Page, pages: readonly Page[], version: string): string {
  const up = "../".repeat(page.path.split("/").length - 1);
  return document({
    title: `${page.title} - svc`,
    up,
    contents: contentsHtml(pages, up, page.path),
    main: markdownHtml(page.markdown, up),
    foot: `svc ${escaped(version)} · <a href="${up}${page.path}.md">this page as Markdown</a>`,
  });
}

/** The first page: what there is, with a line on each page. */
export function indexHtml(pages: readonly Page[], version: string): string {
  const lists = SECTIONS.map((section) => {
    const items = pages
      .filter((page) => page.section === section)
      .map(({ path, summary, title }) => `<li><a href="${path}.html">${escaped(title)}</a> ${escaped(summary)}</li>`);
    return `<h2>${section}</h2>\n<ul class="index">\n${items.join("\n")}\n</ul>`;
  });
  const main = `<h1>svc</h1>\n<p>A feature platform for real-time machine learning in one file.</p>\n${lists.join("\n")}`;
  const foot = `svc ${escaped(version)} · <a href="llms.txt">llms.txt</a>`;
  return document({ title: "Documentation of svc", up: "", contents: contentsHtml(pages, "", ""), main, foot });
}

interface Parts {
  readonly title: string;
  /** The way from the page to the documentation's folder: empty, or `../`. */
  readonly up: string;
  readonly contents: string;
  readonly main: string;
  readonly foot: string;
}

function document({ contents, foot, main, title, up }: Parts): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)}</title>
<link rel="stylesheet" href="${up}style.css">
<script type="module" src="${up}search.js" data-up="${up}"></script>
</head>
<body>
<a class="skip" href="#text">Skip to the text</a>
<header>
<a class="home" href="${up}index.html">svc</a>
<form role="search"><input type="search" name="q" aria-label="Search the documentation" placeholder="Search" autocomplete="off"></form>
</header>
<nav aria-label="Contents">
${contents}
</nav>
<main id="text">
${main}
<footer>${foot}</footer>
</main>
</body>
</html>
`;
}

function contentsHtml(pages: readonly Page[], up: string, current: string): string {
  return SECTIONS.map((section) => {
    const own = pages.filter((page) => page.section === section);
    const items = own.map(({ path, title }) => {
      const here = path === current ? ' aria-current="page"' : "";
      return `<li><a href="${up}${path}.html"${here}>${escaped(title)}</a></li>`;
    });
    const open = own.some(({ path }) => path === current) || (current === "" && section === "Guides");
    return `<details${open ? " open" : ""}><summary>${section}</summary><ul>\n${items.join("\n")}\n</ul></details>`;
  }).join("\n");
}

/**
 * The HTML of a text: files and their names, headings with anchors, links between pages. Markup in
 * the text is shown, not used.
 */
function markdownHtml(markdown: string, up: string): string {
  const html = Bun.markdown.html(withFileNames(markdown), { headings: { ids: true }, noHtmlBlocks: true, noHtmlSpans: true });
  return html
    .replace(/href="(?![a-z]+:|#|\/)([\w./-]+?)\.md(#[^"]*)?"/g, (_, path: string, anchor = "") => `href="${up}${path}.html${anchor}"`)
    .replaceAll("<pre>", '<pre tabindex="0">')
    .replaceAll("<table>", '<div class="wide" tabindex="0" role="region" aria-label="Table"><table>')
    .replaceAll("</table>", "</table></div>");
}

function escaped(text: string): string {
  return Bun.escapeHTML(text);
}
