/** Pages of lists: how long they are, and where they go on. */

import { int, text } from "../cli/flag.ts";
import type { Context } from "../context/context.ts";
import { DEFAULT_PAGE, MAX_OFFSET, MAX_PAGE } from "../domain/pages.ts";
import { UsageError } from "../errors/cli-error.ts";

/** `--limit` and `--page-token`. */
export const pageFlags = {
  limit: int(`rows at most, 1 to ${MAX_PAGE}`, { default: DEFAULT_PAGE, aliases: ["-L", "--page-size"] }),
  pageToken: text("continue after a page, by the token that it ended with", { aliases: ["--cursor"], placeholder: "<token>" }),
};

/** The flags of a page, and `--offset`. */
export const offsetPageFlags = {
  ...pageFlags,
  offset: int(`rows to skip before the first one, at most ${MAX_OFFSET}`, { default: 0 }),
};

interface GivenPage {
  readonly limit: number;
  readonly offset?: number;
  readonly pageToken: string | undefined;
}

/** Throws UsageError for a length that no page has, and for a beginning that is none. */
export function checkPage({ limit, offset = 0, pageToken }: GivenPage): void {
  if (limit < 1 || limit > MAX_PAGE) throw new UsageError(`--limit takes 1 to ${MAX_PAGE}`);
  if (offset < 0 || offset > MAX_OFFSET) throw new UsageError(`--offset takes 0 to ${MAX_OFFSET}; --page-token reaches further`);
  if (offset > 0 && pageToken !== undefined) throw new UsageError("--offset and --page-token do not go together");
}

/** Tells people how the page after an answer is asked for; JSON has the token. */
export function notePage(
  { flags, progress }: Pick<Context, "flags" | "progress">,
  { nextPageToken }: { readonly nextPageToken: string },
): void {
  if (nextPageToken !== "" && !flags.json) progress.note(`More: --page-token ${nextPageToken}`);
}
