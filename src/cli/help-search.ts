/** The search through help: commands with their flags and examples, and other texts. */

import { rankedSearch, type SearchEntry } from "../domain/ranked-search.ts";
import type { CommandInfo } from "./describe.ts";

/** Something that help tells about. */
export interface HelpHit {
  readonly kind: "command" | "page" | "rule";
  /** What is to be called for it, for example `svc query --help`. */
  readonly run: string;
  readonly summary: string;
  /** The flag, example or line that fits, where the summary alone does not; else empty. */
  readonly detail: string;
}

/** A text beside the commands, as the search takes it. */
export type HelpEntry = SearchEntry<Omit<HelpHit, "detail">>;

const MOST_HITS = 12;
/** Most characters of a detail. */
const MAX_DETAIL = 200;

/** What fits the words best, at most twelve. */
export function searchHelp(commands: readonly CommandInfo[], others: readonly HelpEntry[], words: string): readonly HelpHit[] {
  const found = rankedSearch([...commands.map(entryOf), ...others], words).slice(0, MOST_HITS);
  return found.map(({ value, best }) => ({ ...value, detail: best === value.summary || value.run.includes(best) ? "" : shortened(best) }));
}

function shortened(text: string): string {
  return text.length > MAX_DETAIL ? `${text.slice(0, MAX_DETAIL - 1)}…` : text;
}

function entryOf({ path, aliases, args, description = "", examples, flags, summary }: CommandInfo): HelpEntry {
  return {
    value: { kind: "command", run: `svc ${path} --help`, summary },
    fields: [
      { text: summary, weight: 6 },
      { text: path, weight: 10 },
      ...aliases.map((text) => ({ text, weight: 5 })),
      ...flags.filter(({ hidden }) => !hidden).flatMap(({ meaning, name }) => [{ text: `${name}: ${meaning}`, weight: 3 }]),
      ...args.map(({ meaning, name }) => ({ text: `<${name}>: ${meaning}`, weight: 2 })),
      ...examples.map(({ run, does = "" }) => ({ text: does === "" ? run : `${run} (${does})`, weight: 2 })),
      ...description.split(/(?<=\.)\s+|\n+/).map((text) => ({ text, weight: 2 })),
    ],
  };
}
