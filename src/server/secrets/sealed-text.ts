/** Sealed values as they are read: opened, or with the reason why they cannot be. */

import type { Sealer } from "../access/sealing.ts";
import { Failure } from "../failure.ts";

/** A sealed value that was tried to be opened. */
export type Opened = { readonly text: string } | { readonly problem: string };

/** Opens a sealed value; a failure that the sealer means becomes its problem. */
export async function openSealed(sealer: Sealer, sealed: string, context: readonly string[]): Promise<Opened> {
  try {
    return { text: await sealer.open(sealed, context) };
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return { problem: [error.message, error.detail.hint ?? ""].join(" ").trim() };
  }
}
