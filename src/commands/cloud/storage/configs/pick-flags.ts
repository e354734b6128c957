/** Choosing a storage configuration that was not named. */

import type { Context } from "../../../../context/context.ts";
import { givenOrPicked } from "../../../pick-flags.ts";

/**
 * The id or name that was given, else the one that the user picks; without a terminal throws a
 * UsageError.
 */
export function givenOrPickedConfig(context: Context, given: string | undefined): Promise<string> {
  return givenOrPicked(context, given, {
    question: "Which storage configuration?",
    flag: "the id",
    list: async () => (await (await context.api.storageConfigs()).listStorageConfigs({})).configs,
  });
}
