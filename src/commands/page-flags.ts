/** Pages of lists: how long they are, and where they go on. */

import { int, text } from "../cli/flag.ts";
import type { Context } from "../context/context.ts";
import { UsageError } from "../errors/cli-error.ts";

const MOST = 500;

/** `--limit` and `--page-token`. */
export const pageFlags = {
  limit: int(`rows at most, 1 to ${MOST}`, { default: 50, aliases: ["--page-size"] }),
  pageToken: text("continue after a page, by the token that it ended with", { aliases: ["--cursor"], placeholder: "<token>" }),
};

/** Throws UsageError for a length that no page has. */
export function checkPage({ limit }: { readonly limit: number }): void {
  if (limit < 1 || limit > MOST) throw new UsageError(`--limit takes 1 to ${MOST}`);
}

/** Tells people how the page after an answer is asked for; JSON has the token. */
export function notePage(
  { flags, progress }: Pick<Context, "flags" | "progress">,
  { nextPageToken }: { readonly nextPageToken: string },
): void {
  if (nextPageToken !== "" && !flags.json) progress.note(`More: --page-token ${nextPageToken}`);
}
