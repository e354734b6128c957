/** A changelog in Markdown: one heading of the second level for each release. */

/** One release of a changelog. */
export interface ChangelogEntry {
  /** The heading: `v0.2.0`, or `Unreleased`. */
  readonly version: string;
  /** RFC 3339 or a date; null when the changelog does not say. */
  readonly published_at: string | null;
  /** Markdown. */
  readonly notes: string;
}

const HEADING = /^## +\[?(v?\d+\.\d+\.\d+|Unreleased)\]?(?:\s*[-–(]+\s*(\d{4}-\d\d-\d\d)\)?)?\s*$/i;

/**
 * The entries of a changelog, in its order. What stands above the first heading belongs to none.
 */
export function changelogEntries(markdown: string): ChangelogEntry[] {
  const entries: { version: string; published_at: string | null; lines: string[] }[] = [];
  for (const line of markdown.split(/\r?\n/)) {
    const [, version, published] = HEADING.exec(line) ?? [];
    if (version !== undefined)
      entries.push({ version: /^\d/.test(version) ? `v${version}` : version, published_at: published ?? null, lines: [] });
    else entries.at(-1)?.lines.push(line);
  }
  return entries.map(({ lines, ...entry }) => ({ ...entry, notes: lines.join("\n").trim() }));
}

/** Entries as a changelog again. */
export function changelogMarkdown(entries: readonly ChangelogEntry[]): string {
  const parts = entries.map(({ version, published_at, notes }) => {
    const date = published_at === null ? "" : ` - ${published_at.slice(0, 10)}`;
    return `## ${version}${date}\n\n${notes}`.trimEnd();
  });
  return `${["# Changelog", ...parts].join("\n\n")}\n`;
}
