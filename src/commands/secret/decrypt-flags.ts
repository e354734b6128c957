/** The flag that reveals values, and what is said of values that cannot be opened. */

import { bool } from "../../cli/flag.ts";
import type { Context } from "../../context/context.ts";

/** `--decrypt`. */
export const decryptFlags = { decrypt: bool("show the values; it needs the permission secrets.read and is audited") };

/** Warns of what cannot be opened, and says what to do. */
export function warnOfUnopened(
  { progress }: Pick<Context, "progress">,
  found: readonly { readonly name: string; readonly problem: string }[],
): void {
  for (const { name, problem } of found) if (problem !== "") progress.warn(`${name}: ${problem}`);
}
