/** The sections of a page, for those who search them. */

/** A section of a page. */
export interface Section {
  /** Its heading; that of the page for what stands before the first one. */
  readonly heading: string;
  /** Its paragraphs, without code. */
  readonly paragraphs: readonly string[];
}

/** The sections of a page, in their order. */
export function sectionsOf(page: string): readonly Section[] {
  const text = page.replaceAll(/^```.*\n[\s\S]*?^```$/gm, "");
  return text
    .split(/^#{1,3} /m)
    .slice(1)
    .map((part) => {
      const end = part.indexOf("\n");
      const paragraphs = part.slice(end).split(/\n{2,}|\n(?=[-|] ?)/);
      return {
        heading: part.slice(0, end),
        paragraphs: paragraphs.map((one) => one.replaceAll(/[\s|]+/g, " ").trim()).filter((one) => /\w/.test(one)),
      };
    });
}
