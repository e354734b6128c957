/** The ends of Python's string literals. */

const BACKSLASH = 92;

/** End of the literal whose opening quotes end at `from`; undefined when it is not closed. */
export function stringEnd(text: string, from: number, quote: string): number | undefined {
  const isTriple = quote.length === 3;
  const stop = isTriple ? (quote === '"""' ? /\\|"""/g : /\\|'''/g) : quote === '"' ? /[\\"\n]/g : /[\\'\n]/g;
  stop.lastIndex = from;
  for (let match = stop.exec(text); match; match = stop.exec(text)) {
    if (match[0] === "\n") return undefined;
    if (match[0] !== "\\") return stop.lastIndex;
    stop.lastIndex = text.startsWith("\r\n", match.index + 1) ? match.index + 3 : match.index + 2;
  }
  return undefined;
}

/** The end of a formatted string. */
export interface FormattedEnd {
  readonly end: number;
  /**
   * Whether it holds its own quotes again inside of a replacement field, which Python reads from
   * 3.12 on.
   */
  readonly reusesQuotes: boolean;
}

/**
 * End of a formatted string, read as Python 3.12 does: replacement fields hold any expression,
 * strings with the same quotes included. Undefined when it is not closed or nested too deeply; the
 * caller then reads it as older Pythons do.
 */
export function formattedEnd(text: string, from: number, quote: string, isRaw: boolean, depth = 0): FormattedEnd | undefined {
  let at = from;
  let reusesQuotes = false;
  while (at < text.length) {
    if (text.startsWith(quote, at)) return { end: at + quote.length, reusesQuotes };
    const character = text[at];
    if (character === "\n" && quote.length === 1) return undefined;
    if (text.charCodeAt(at) === BACKSLASH) at += isRaw && (text[at + 1] === "{" || text[at + 1] === "}") ? 1 : 2;
    else if (character === "{" && text[at + 1] === "{") at += 2;
    else if (character === "{") {
      const field = fieldEnd(text, at + 1, quote, isRaw, depth);
      if (!field) return undefined;
      reusesQuotes ||= field.reusesQuotes;
      at = field.end;
    } else at++;
  }
  return undefined;
}

/** End of a replacement field whose brace ends at `from`. */
function fieldEnd(text: string, from: number, quote: string, isRaw: boolean, depth: number): FormattedEnd | undefined {
  if (depth > 8) return undefined;
  let brackets = 0;
  let reusesQuotes = false;
  for (let at = from; at < text.length; ) {
    const character = text[at] as string;
    if (character === "'" || character === '"') {
      const inner = text.startsWith(character.repeat(3), at) ? character.repeat(3) : character;
      const prefix = /[a-z]{0,2}$/i.exec(text.slice(Math.max(from, at - 2), at))?.[0].toLowerCase() ?? "";
      const isFormatted = /[ft]/.test(prefix);
      const nested = isFormatted ? formattedEnd(text, at + inner.length, inner, prefix.includes("r"), depth + 1) : undefined;
      const end = isFormatted ? nested?.end : stringEnd(text, at + inner.length, inner);
      if (end === undefined) return undefined;
      reusesQuotes ||= inner === quote || (nested?.reusesQuotes ?? false);
      at = end;
      continue;
    }
    if (character === "}" && brackets === 0) return { end: at + 1, reusesQuotes };
    if (character === ":" && brackets === 0) return specEnd(text, at + 1, quote, isRaw, depth, reusesQuotes);
    if (character === "(" || character === "[" || character === "{") brackets++;
    else if (character === ")" || character === "]" || character === "}") brackets--;
    else if (character === "\n" && quote.length === 1 && brackets < 0) return undefined;
    at++;
  }
  return undefined;
}

/** End of a format specification: text, in which braces open fields again. */
function specEnd(text: string, from: number, quote: string, isRaw: boolean, depth: number, reused: boolean): FormattedEnd | undefined {
  let reusesQuotes = reused;
  for (let at = from; at < text.length; ) {
    const character = text[at];
    if (character === "}") return { end: at + 1, reusesQuotes };
    if (text.startsWith(quote, at) || (character === "\n" && quote.length === 1)) return undefined;
    if (character !== "{") {
      at++;
      continue;
    }
    const field = fieldEnd(text, at + 1, quote, isRaw, depth + 1);
    if (!field) return undefined;
    reusesQuotes ||= field.reusesQuotes;
    at = field.end;
  }
  return undefined;
}
