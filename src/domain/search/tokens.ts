/**
 * Tokens of a search. A highlighter takes them as they are; `tree.ts` makes sense of them.
 *
 *     level:error resolver:get_* (timeout OR "gave up") -duration<10ms
 */

import { SearchError } from "./search-error.ts";

/** Most characters of a search. */
export const MAX_SEARCH_LENGTH = 2_000;

/** How a field and its value are compared; `:` is equal to, or has a part that is. */
export type Operator = ":" | ">" | ">=" | "<" | "<=";

/** Where a token is in the search: offsets. */
interface Place {
  readonly start: number;
  readonly end: number;
}

/** A value as it was written: its literal parts, between which anything may stand. */
export interface Written extends Place {
  /** One part = there is no `*`. */
  readonly parts: readonly string[];
  /** Whether it stood in quotes. */
  readonly quoted: boolean;
}

/** A token. */
export type Token =
  | (Place & { readonly is: "(" | ")" | "or" | "and" | "not" })
  | (Place & { readonly is: "word"; readonly value: Written })
  | (Place & {
      readonly is: "term";
      /** The name of the field as it was written, which ends at `nameEnd`. */
      readonly field: string;
      readonly nameEnd: number;
      readonly operator: Operator;
      readonly value: Written;
    });

const KEYWORDS = { OR: "or", AND: "and", NOT: "not" } as const;
/** A name and an operator; a name alone is a word. */
const FIELD = /([\p{L}_][\p{L}\p{N}_.-]*)(:|>=|<=|>|<)/uy;
const BLANK = /\s+/uy;
/** What ends a word that is not quoted. */
const END_OF_WORD = /[\s()]/u;

/** The tokens of a search. Throws SearchError. */
export function tokenize(search: string): Token[] {
  if (search.length > MAX_SEARCH_LENGTH) {
    const message = `the search has ${search.length} characters; at most ${MAX_SEARCH_LENGTH} are possible`;
    throw new SearchError(message, MAX_SEARCH_LENGTH, search.length);
  }
  const tokens: Token[] = [];
  for (let at = 0; at < search.length; ) {
    const token = tokenAt(search, at);
    if (token) tokens.push(token);
    at = token?.end ?? endOf(BLANK, search, at);
  }
  return tokens;
}

/** The token at an offset; undefined = blanks. */
function tokenAt(search: string, start: number): Token | undefined {
  const character = search[start] as string;
  if (endOf(BLANK, search, start) > start) return undefined;
  if (character === "(" || character === ")") return { is: character, start, end: start + 1 };
  if (character === "-" && endOf(BLANK, search, start + 1) === start + 1 && start + 1 < search.length)
    return { is: "not", start, end: start + 1 };
  FIELD.lastIndex = start;
  const named = FIELD.exec(search);
  if (named) {
    const [all, field, operator] = named as unknown as [string, string, Operator];
    const value = valueAt(search, start + all.length);
    return { is: "term", start, end: value.end, field, nameEnd: start + field.length, operator, value };
  }
  const value = valueAt(search, start);
  const keyword = KEYWORDS[search.slice(start, value.end) as keyof typeof KEYWORDS];
  return keyword ? { is: keyword, start, end: value.end } : { is: "word", start, end: value.end, value };
}

/** The value that begins at an offset; it may be empty. */
function valueAt(search: string, start: number): Written {
  const quoted = search[start] === '"';
  const parts = [""];
  for (let at = quoted ? start + 1 : start; ; at++) {
    const character = search[at];
    const isEnd = character === undefined || (quoted ? character === '"' : END_OF_WORD.test(character));
    if (isEnd) {
      if (quoted && character === undefined) throw new SearchError("the quote is not closed", start, search.length);
      const end = quoted ? at + 1 : at;
      const next = search[end];
      if (quoted && next !== undefined && !END_OF_WORD.test(next))
        throw new SearchError("a blank has to follow the closing quote", end, end + 1);
      return { parts: parts.map((part) => part.toWellFormed()), quoted, start, end };
    }
    const isEscape = character === "\\" && search[at + 1] !== undefined;
    if (isEscape) at++;
    const literal = search[at] as string;
    if (literal === "\0") throw new SearchError("a NUL character cannot be searched", at, at + 1);
    if (character === "*" && !quoted) parts.push("");
    else if (character === '"')
      throw new SearchError('a quote stands within a word; put quotes around all of it, or write \\"', at, at + 1);
    else parts.push(`${parts.pop() ?? ""}${literal}`);
  }
}

/** Where a match that begins at an offset ends; the offset itself when there is none. */
function endOf(pattern: RegExp, text: string, start: number): number {
  pattern.lastIndex = start;
  return pattern.test(text) ? pattern.lastIndex : start;
}
