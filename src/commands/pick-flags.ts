/** Choosing a resource that was not named: from a list on a terminal, and nowhere else. */

import type { Context } from "../context/context.ts";

/** A resource that can be chosen. */
export interface Choosable {
  readonly id: string;
  readonly name: string;
}

/**
 * The id or name that was given, else the id of the resource that the user picks from a list.
 * Throws a UsageError that names `flag` when there is no terminal to pick on.
 */
export async function givenOrPicked(
  { prompt }: Pick<Context, "prompt">,
  given: string | undefined,
  { question, flag, list }: { readonly question: string; readonly flag: string; readonly list: () => Promise<readonly Choosable[]> },
): Promise<string> {
  if (given !== undefined) return given;
  return prompt.pick(question, async () => (await list()).map(({ id, name }) => ({ label: name || id, value: id, hint: id })), flag);
}

/**
 * The names that were given as arguments and flags, else the one that the user picks from a list.
 * Each counts once.
 */
export async function givenOrPickedNames(
  context: Pick<Context, "prompt">,
  given: readonly string[],
  choice: Parameters<typeof givenOrPicked>[2],
): Promise<readonly string[]> {
  return given.length > 0 ? [...new Set(given)] : [await givenOrPicked(context, undefined, choice)];
}
