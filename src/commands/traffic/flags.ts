/** Weights on the command line, and the warning about those that do not make a whole. */

import { text } from "../../cli/flag.ts";
import type { Context } from "../../context/context.ts";
import { UsageError } from "../../errors/cli-error.ts";
import type { TagsAnswer } from "./view.ts";

/** `--mirror`. */
export const mirrorFlag = {
  mirror: text("percent of the queries that also run on a tag's deployment, whose answers are dropped", {
    placeholder: "<tag=weight,...>",
  }),
};

/** The weights of `tag=weight,...` by tag. Throws UsageError when one cannot be read. */
export function readWeights(flag: string, given: string | undefined): Record<string, number> {
  if (given === undefined) return {};
  const weights = new Map<string, number>();
  for (const part of given.split(",")) {
    const at = part.lastIndexOf("=");
    const tag = part.slice(0, at).trim();
    const weight = part.slice(at + 1).trim();
    if (at < 1 || tag === "" || !/^\d{1,3}$/.test(weight) || Number(weight) > 100)
      throw new UsageError(`${flag} takes tags with whole weights from 0 to 100, not '${part}'`, {
        hint: `For example: ${flag} blue=90,green=10`,
      });
    if (weights.has(tag)) throw new UsageError(`${flag} names the tag '${tag}' twice`);
    weights.set(tag, Number(weight));
  }
  return Object.fromEntries(weights);
}

/** The answer; weights that do not sum to 100 are warned of. */
export function warned({ progress }: Pick<Context, "progress">, answer: TagsAnswer): TagsAnswer {
  const sum = answer.tags.reduce((total, { weight }) => total + (weight ?? 0), 0);
  if (sum === 0) progress.warn("no tag has a weight above 0: the live deployment answers all queries");
  else if (sum !== 100) progress.warn(`the weights sum to ${sum}, not 100: queries are shared in proportion to them`);
  return answer;
}
