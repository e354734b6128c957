/**
 * Tables in HTML, as libraries of DataFrames write them, as text in cells. Pages and terminals show
 * these cells themselves.
 */

/** A cell of a table. */
export interface HtmlCell {
  readonly text: string;
  readonly isHead: boolean;
}

/** The rows of a table. */
export type HtmlTable = readonly (readonly HtmlCell[])[];

/** Most rows and columns that are read; the rest is left out. */
export const MAX_TABLE_ROWS = 1_000;
export const MAX_TABLE_COLUMNS = 200;

const TOKEN = /<!--[\s\S]*?(?:-->|$)|<(\/?)([a-z][a-z0-9]*)\b[^<>]*>|[^<]+|</gi;
const ENTITY = /&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z]{2,8}));/gi;
const NAMED: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: " ", hellip: "…" };
/** Elements whose content is not shown. */
const UNSEEN = new Set(["style", "script", "template"]);

/**
 * The first table of some HTML; undefined when there is none. A table within a cell is its text.
 */
export function htmlTable(html: string): HtmlTable | undefined {
  const rows: HtmlCell[][] = [];
  let depth = 0;
  let unseen = "";
  let cell: { text: string; readonly isHead: boolean } | undefined;
  const endCell = (): void => {
    const row = rows.at(-1);
    if (cell && row && row.length < MAX_TABLE_COLUMNS) row.push({ ...cell, text: decoded(cell.text).replaceAll(/\s+/g, " ").trim() });
    cell = undefined;
  };
  for (const [token, slash, element] of html.matchAll(TOKEN)) {
    const name = element?.toLowerCase();
    if (unseen !== "") {
      if (slash && name === unseen) unseen = "";
    } else if (name === undefined) {
      if (cell && !token.startsWith("<!--")) cell.text += token;
    } else if (!slash && UNSEEN.has(name)) unseen = name;
    else if (name === "table") {
      depth += slash ? -1 : 1;
      if (depth <= 0 && slash) break;
    } else if (depth === 1 && name === "tr") {
      endCell();
      if (!slash && rows.length === MAX_TABLE_ROWS) break;
      if (!slash) rows.push([]);
    } else if (depth === 1 && (name === "td" || name === "th")) {
      endCell();
      if (!slash) cell = { text: "", isHead: name === "th" };
    } else if (name === "br" && cell) cell.text += " ";
  }
  endCell();
  const filled = rows.filter((row) => row.length > 0);
  return filled.length > 0 ? filled : undefined;
}

const DATA_FRAME = /<table\b[^<>]*\bclass\s*=\s*["'][^"']*\bdataframe\b/i;
const STYLED = /<style\b|\sstyle\s*=/i;

/**
 * Whether some HTML is a table whose cells say all there is to see: the frame of a library that has
 * no style of its own, or a table that has none and nothing beside it.
 */
export function isPlainTable(html: string): boolean {
  const tables = html.match(/<table\b/gi)?.length ?? 0;
  if (tables !== 1) return false;
  if (DATA_FRAME.test(html)) return true;
  const beside = html.replace(/<table\b[\s\S]*<\/table\s*>/i, "").replaceAll(/<\/?(?:div|html|body)\b[^<>]*>/gi, "");
  return !STYLED.test(html) && beside.trim() === "";
}

function decoded(text: string): string {
  return text.replaceAll(ENTITY, (entity, decimal?: string, hex?: string, name?: string) => {
    const code = decimal ? Number(decimal) : hex ? Number.parseInt(hex, 16) : undefined;
    if (code !== undefined) return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code).toWellFormed() : entity;
    return NAMED[name?.toLowerCase() ?? ""] ?? entity;
  });
}
