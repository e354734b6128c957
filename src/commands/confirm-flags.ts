/** The confirmation of an action that cannot be undone, and the flag that skips it. */

import { bool } from "../cli/flag.ts";
import type { Context } from "../context/context.ts";
import { AbortedError } from "../errors/cli-error.ts";

/** `--force`, `--yes`, `-y`. */
export const confirmFlags = { force: bool("skip the confirmation", { aliases: ["--yes", "-y"] }) };

/**
 * Asks for confirmation unless the flag gives it. Rejects with AbortedError for any answer but yes.
 */
export async function confirm(
  { prompt }: Pick<Context, "prompt">,
  { force }: { readonly force: boolean },
  question: string,
): Promise<void> {
  if (!force && !(await prompt.confirm(question))) throw new AbortedError();
}
