import { defineCommand } from "../cli/command.ts";
import { text } from "../cli/flag.ts";
import type { Context } from "../context/context.ts";
import { escapeControls } from "../domain/name.ts";
import { type ChangelogEntry, changelogMarkdown } from "../domain/release/changelog.ts";
import { CliError } from "../errors/cli-error.ts";
import { textView } from "../output/view.ts";

/** The changelog, and whether a pager already showed it. */
interface ChangelogData {
  readonly entries: readonly ChangelogEntry[];
  readonly shown: boolean;
}

/** Widest text that is comfortable to read, in columns. */
const READING_WIDTH = 100;

/** The entries of the release feed; without a feed, those that this build carries. */
async function entriesOf({ releases, progress }: Context, from: string | undefined): Promise<readonly ChangelogEntry[]> {
  const own = await releases.ownChangelog();
  if (from === undefined && !(await releases.hasOrigin())) return own;
  try {
    const known = await releases.feed(from);
    return known ? known.releases.filter(({ component }) => component === "svc") : own;
  } catch (error) {
    if (from !== undefined || !(error instanceof CliError) || error.code === "interrupted") throw error;
    progress.note(`${error.message}. What is shown is the changelog of this build.`);
    return own;
  }
}

/** The entries as Markdown, without control characters. */
function safeMarkdown(entries: readonly ChangelogEntry[]): string {
  return changelogMarkdown(entries).split("\n").map(escapeControls).join("\n");
}

export default defineCommand({
  summary: "Browse the changelog",
  category: "This tool",
  description: "On a terminal it opens in $PAGER, or less, or a pager of svc's own. Without a network, what this build carries is shown.",
  examples: ["svc changelog", "svc changelog --json"],
  flags: { from: text("release host or folder to ask", { placeholder: "<url|dir>" }) },
  async run(context, { from }): Promise<ChangelogData> {
    const found = await entriesOf(context, from);
    const entries = found.map(({ version, published_at, notes }) => ({ version, published_at, notes }));
    if (!context.io.stdoutIsTTY || context.flags.json) return { entries, shown: false };
    const rendered = Bun.markdown.ansi(safeMarkdown(entries), {
      colors: context.flags.color !== "never",
      hyperlinks: false,
      columns: Math.min(context.io.width, READING_WIDTH),
    });
    return { entries, shown: await context.page(rendered) };
  },
  view: textView(
    ({ entries, shown }: ChangelogData, { isTTY, width }) => {
      if (shown) return "";
      const markdown = safeMarkdown(entries);
      return isTTY ? Bun.markdown.ansi(markdown, { hyperlinks: false, columns: Math.min(width, READING_WIDTH) }) : markdown;
    },
    ({ entries }) => ({ entries }),
  ),
});
