/** Manual pages in the man macros (man-pages(7)): parts of pages as lines of roff. */

/** The version and date in the footer of every page. */
export interface ManualEdition {
  /** `v<major>.<minor>.<patch>`. */
  readonly version: string;
  /** `YYYY-MM-DD`. */
  readonly date: string;
}

/** A page of section 1. Empty sections are left out. */
export function page(name: string, summary: string, { version, date }: ManualEdition, sections: readonly string[]): string {
  const head = `.TH ${quoted(name.toUpperCase())} 1 ${quoted(date)} ${quoted(`svc ${version}`)} ${quoted("svc")}`;
  const parts = [head, ".nh", section("NAME", [`${escaped(name)} \\- ${escaped(summary)}`]), ...sections];
  return `${parts.filter((part) => part !== "").join("\n")}\n`;
}

/** A section; empty without lines. */
export function section(title: string, lines: readonly string[]): string {
  return lines.length === 0 ? "" : [`.SH ${quoted(title)}`, ...lines].join("\n");
}

/** The heading of a subsection. */
export function subsection(title: string): string {
  return `.SS ${quoted(title)}`;
}

/** A label with its meaning, indented below it. */
export function item(label: string, meaning: string): string[] {
  return [".TP", label, text(sentence(meaning))];
}

/** Paragraphs of running text, filled; lines that start with blanks stay as they are. */
export function paragraphs(description: string): string[] {
  return description.split(/\n\s*\n/).flatMap((paragraph) => {
    const lines = paragraph.replace(/^\n+|\s+$/g, "").split("\n");
    const verbatim = lines.some((line) => /^\s{2,}/.test(line));
    return [".PP", ...(verbatim ? [".nf"] : []), ...lines.map(text), ...(verbatim ? [".fi"] : [])];
  });
}

/** A text in bold type. */
export const bold = (words: string): string => `\\fB${escaped(words)}\\fR`;

/** A text in italic type, which terminals underline. */
export const italic = (words: string): string => `\\fI${escaped(words)}\\fR`;

/** A text with a capital first letter. */
export const sentence = (words: string): string => words.charAt(0).toUpperCase() + words.slice(1);

/** A line of text, escaped where roff would read a request. */
export function text(line: string): string {
  const safe = escaped(line);
  return /^[.']/.test(safe) ? `\\&${safe}` : safe;
}

/**
 * Any text as roff (groff_char(7)): escapes characters with a meaning, and those that UTF-8 pages
 * would replace with typographic ones.
 */
export function escaped(words: string): string {
  return words
    .replaceAll("\\", "\\e")
    .replaceAll("-", "\\-")
    .replaceAll("'", "\\(aq")
    .replaceAll("`", "\\(ga")
    .replaceAll("^", "\\(ha")
    .replaceAll("~", "\\(ti")
    .replaceAll(/[^\x20-\x7e]/g, (character) => `\\[u${character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, "0")}]`);
}

const quoted = (words: string): string => `"${escaped(words).replaceAll('"', "\\(dq")}"`;
