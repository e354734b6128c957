/** Pages of the documentation, each of which is one document of Markdown. */

/** Sections of the documentation, in the order of its contents. */
export const SECTIONS = ["Guides", "Cheat sheets", "Commands", "Python", "Expressions", "Lint", "API"] as const;

/** A page. */
export interface Page {
  /** Its address below the documentation's, without an ending: `streams`, `commands/query`. */
  readonly path: string;
  readonly section: (typeof SECTIONS)[number];
  readonly title: string;
  /** What it is about, as one line. */
  readonly summary: string;
  /** The text, which begins with a heading of the first level. */
  readonly markdown: string;
}

/** A text that Markdown shows as it is, but for code between backticks. */
export function literal(text: string): string {
  return text
    .split(/(`[^`]*`)/)
    .map((part, at) => (at % 2 === 1 ? part.replaceAll("|", "\\|") : part.replace(/[\\*[\]<|~]|(?<!\w)_|_(?!\w)/g, "\\$&")))
    .join("");
}

/** Paragraphs as `literal`; those with indented lines are shown as they are written. */
export function paragraphs(text: string): string {
  return text
    .split("\n\n")
    .map((paragraph) => (/^ {2}/m.test(paragraph) ? block("text", paragraph) : literal(paragraph)))
    .join("\n\n");
}

/** A text as code within a line. */
export function code(text: string): string {
  const fence = text.includes("`") ? "``" : "`";
  return `${fence}${text}${fence}`;
}

/** A block of code. */
export function block(language: string, text: string): string {
  return `\`\`\`${language}\n${text.trimEnd()}\n\`\`\``;
}

/** A table; cells are Markdown of one line. */
export function table(headers: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll("\n", " ")).join(" | ")} |`;
  return [line(headers), line(headers.map(() => "---")), ...rows.map(line)].join("\n");
}

/** The text with the names of files above the blocks that have one, for those who show no info. */
export function withFileNames(markdown: string): string {
  return markdown.replace(/^```(\w+) (?:file: (\S+)|[^\n]*)$/gm, (_, language: string, file?: string) =>
    file === undefined ? `\`\`\`${language}` : `**${file}**\n\n\`\`\`${language}`,
  );
}
