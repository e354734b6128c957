/** What the palette offers for what was typed. */

import { addressOf, type PageName } from "../../domain/addresses.ts";

/** A place to go to, or a command to copy. */
export interface PaletteEntry {
  readonly kind: string;
  readonly title: string;
  /** Address to go to; absent = `copies` says what is copied. */
  readonly to?: string;
  readonly copies?: string;
}

/** The pages of things by the prefix of their ids. */
const PREFIXES: readonly (readonly [prefix: RegExp, page: "benchmark" | "deployment" | "queryRun" | "run" | "trace", kind: string])[] = [
  [/^dpl_[0-9a-z]+$/, "deployment", "deployment"],
  [/^bench_[0-9a-z]+$/, "benchmark", "benchmark"],
  [/^(job|wf|ofq)_[0-9a-z]+$/, "run", "run"],
  [/^[0-9a-f]{32}$/, "trace", "trace"],
  [/^[0-9a-f]{8}-[0-9a-f-]{27}$/, "queryRun", "query run"],
  [/^(q|qry|req)_[0-9a-z]+$/, "queryRun", "query run"],
];

/** The page of an id, as it was pasted from a log; undefined when it is none that is known. */
export function entryOfId(text: string, environment: string): PaletteEntry | undefined {
  const id = text.trim();
  const found = PREFIXES.find(([prefix]) => prefix.test(id));
  return found && { kind: found[2], title: id, to: addressOf(found[1], { id }, { environment }) };
}

/** The rank of a title for what was typed, less is better; undefined when it does not fit. */
export function rankOf(title: string, typed: string): number | undefined {
  const [text, wanted] = [title.toLowerCase(), typed.trim().toLowerCase()];
  const at = text.indexOf(wanted);
  if (at === 0) return 0;
  if (at > 0) return /[\s._/-]/.test(text[at - 1] ?? "") ? 1 : 2;
  let from = 0;
  for (const letter of wanted) {
    const next = text.indexOf(letter, from);
    if (next < 0) return undefined;
    from = next + 1;
  }
  return 3;
}

/** The entries that fit, best first, at most `most`. */
export function fitting(entries: readonly PaletteEntry[], typed: string, most: number): readonly PaletteEntry[] {
  return entries
    .flatMap((entry) => {
      const rank = rankOf(entry.title, typed);
      return rank === undefined ? [] : [{ entry, rank }];
    })
    .sort((a, b) => a.rank - b.rank || a.entry.title.length - b.entry.title.length)
    .slice(0, most)
    .map(({ entry }) => entry);
}

/** Commands that are offered to be copied. */
export const COMMANDS: readonly string[] = [
  ...["svc apply", "svc init", "svc lint", "svc query", "svc healthcheck", "svc deployment list", "svc deployment rollback"],
  ...["svc features list", "svc server logs", "svc server status", "svc logout --list", "svc logout --sessions"],
];

/** Name of a page as an entry. */
export function entryOfPage(page: PageName, title: string, to: string): PaletteEntry {
  return { kind: page === "gallery" ? "parts" : "page", title, to };
}
