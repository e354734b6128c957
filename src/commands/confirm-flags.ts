/** The question before something that cannot be taken back, and the flag that answers it. */

import { bool } from "../cli/flag.ts";
import type { Context } from "../context/context.ts";
import { AbortedError } from "../errors/cli-error.ts";

/** `--force`, `--yes`, `-y`. */
export const confirmFlags = { force: bool("skip the confirmation", { aliases: ["--yes", "-y"] }) };

/** Asks, unless the flag says yes. Rejects with AbortedError for any other answer. */
export async function confirm(
  { prompt }: Pick<Context, "prompt">,
  { force }: { readonly force: boolean },
  question: string,
): Promise<void> {
  if (!force && !(await prompt.confirm(question))) throw new AbortedError();
}
