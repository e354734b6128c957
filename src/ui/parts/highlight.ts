/**
 * Source text of Python in coloured pieces. What colours need is found without a grammar, whose
 * tables would be a seventh of the dashboard's scripts.
 */

/** A piece of a line, with the class that colours it; empty = plain. */
export interface Piece {
  readonly text: string;
  readonly classes: string;
}

/** The kinds of tokens in the order in which they are tried; of a string, what it begins with. */
const TOKENS: Readonly<Record<string, string>> = {
  comment: /#[^\n]*/.source,
  string: /(?:[bBfFrRtTuU]|[bBfFtT][rR]|[rR][bBfFtT])?(?:"""|'''|"|')/.source,
  number: /0[xXoObB][\da-fA-F_]+|(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][+-]?\d[\d_]*)?[jJ]?/.source,
  name: /[\p{L}_][\p{L}\p{M}\p{N}_]*/u.source,
  operator: /[-+*/%&|^~<>=!]+/.source,
};
const TOKEN = new RegExp(
  Object.entries(TOKENS)
    .map(([kind, source]) => `(?<${kind}>${source})`)
    .join("|"),
  "gu",
);
const KEYWORDS = new Set(
  (
    "and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal " +
    "not or pass raise return try while with yield"
  ).split(" "),
);
const ATOMS = new Set(["None", "True", "False"]);
/** What follows these words is being defined. */
const DEFINES = new Set(["def", "class"]);

/** The lines of a Python text in pieces. */
export function pythonLines(text: string): Piece[][] {
  const lines: Piece[][] = [[]];
  const put = (piece: string, classes: string) => {
    for (const [at, line] of piece.split("\n").entries()) {
      if (at > 0) lines.push([]);
      if (line !== "") lines.at(-1)?.push({ text: line, classes });
    }
  };
  let [end, before] = [0, ""];
  TOKEN.lastIndex = 0;
  for (let found = TOKEN.exec(text); found; found = TOKEN.exec(text)) {
    const { groups = {}, index } = found;
    put(text.slice(end, index), "");
    const kind = Object.keys(TOKENS).find((one) => groups[one] !== undefined) ?? "";
    end = kind === "string" ? stringEnd(text, TOKEN.lastIndex, found[0].replace(/^\w+/, "")) : TOKEN.lastIndex;
    const token = text.slice(index, end);
    put(token, kind === "name" ? classOfName(token, before) : `tok-${kind}`);
    [TOKEN.lastIndex, before] = [end, token];
  }
  put(text.slice(end), "");
  return lines;
}

/** The offset after a string, whose content begins at an offset. */
function stringEnd(text: string, from: number, quote: string): number {
  for (let at = from; at < text.length; at++) {
    if (text[at] === "\\") at++;
    else if (text.startsWith(quote, at)) return at + quote.length;
    else if (quote.length === 1 && text[at] === "\n") return at;
  }
  return text.length;
}

function classOfName(name: string, before: string): string {
  if (KEYWORDS.has(name)) return "tok-keyword";
  if (ATOMS.has(name)) return "tok-atom";
  return DEFINES.has(before) ? "tok-definition" : "";
}
