/**
 * Tokens of a Python file and the syntax errors that tokens alone prove (rule 101). Python 3.10 to
 * 3.13 refuse everything that is reported here, and much more.
 */

import { formattedEnd, stringEnd } from "./python-string.ts";

/** The kind of a token. `newline` ends a logical line. */
export type PythonTokenKind = "name" | "keyword" | "number" | "string" | "operator" | "newline" | "indent" | "dedent";

/** A token; offsets in UTF-16 units. Comments are kept apart. */
export interface PythonToken {
  readonly kind: PythonTokenKind;
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

/** A syntax error in Python's words. */
export interface SyntaxProblem {
  readonly message: string;
  readonly start: number;
  readonly end: number;
}

/** A file as tokens. */
export interface PythonTokens {
  readonly tokens: readonly PythonToken[];
  /** The first error; the tokens end there. */
  readonly problem: SyntaxProblem | undefined;
  /** Formatted strings that hold their own quotes, which needs Python 3.12. */
  readonly reusedQuotes: readonly { readonly start: number; readonly end: number }[];
}

/** Words of Python that are no names. */
export const PYTHON_KEYWORDS = new Set(
  "and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield".split(
    " ",
  ),
);
const DEEPEST = 200;
const SPACE = /[ \t\f]+/y;
const NUMBER = /0[xX][\da-fA-F_]+|0[bB][01_]+|0[oO][0-7_]+|(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][+-]?\d[\d_]*)?[jJ]?/y;
const NAME = /[\p{ID_Start}_][\p{ID_Continue}]*/uy;
const STRING = /(?:[rRbBuUfFtT]|[fF][rR]|[rR][fF]|[bB][rR]|[rR][bB]|[tT][rR]|[rR][tT])?("""|'''|"|')/y;
const OPERATOR = /\*\*=|\/\/=|>>=|<<=|\.\.\.|!=|->|:=|[+\-*/%&|^@<>=]=|\*\*|\/\/|<<|>>|[+\-*/%@&|^~<>()[\]{},:.;=]/y;
const CLOSING: Readonly<Record<string, string>> = { ")": "(", "]": "[", "}": "{" };

class Refused extends Error {
  constructor(readonly problem: SyntaxProblem) {
    super(problem.message);
  }
}

/** The tokens of a file, up to its first syntax error. Never throws. */
export function tokenizePython(text: string): PythonTokens {
  const reader = new PythonTokenizer(text);
  try {
    reader.run();
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    return { tokens: reader.tokens, problem: error.problem, reusedQuotes: reader.reusedQuotes };
  }
  return { tokens: reader.tokens, problem: undefined, reusedQuotes: reader.reusedQuotes };
}

class PythonTokenizer {
  readonly tokens: PythonToken[] = [];
  readonly reusedQuotes: { start: number; end: number }[] = [];
  readonly #open: { bracket: string; at: number }[] = [];
  readonly #indents: string[] = [""];
  #at: number;
  #mixedIndents = false;

  constructor(readonly text: string) {
    this.#at = text.startsWith("\ufeff") ? 1 : 0;
  }

  run(): void {
    while (this.#at < this.text.length) {
      if (this.#open.length === 0 && (this.tokens.length === 0 || this.#endsLine())) {
        if (!this.#indentation()) continue;
      }
      this.#token();
    }
    const unclosed = this.#open.at(-1);
    if (unclosed) this.#refuse(`'${unclosed.bracket}' was never closed`, unclosed.at, unclosed.at + 1);
    if (this.tokens.length > 0 && !this.#endsLine()) this.#push("newline", this.#at, this.#at);
    for (let left = this.#indents.length; left > 1; left--) this.#push("dedent", this.#at, this.#at);
  }

  #endsLine(): boolean {
    const { kind } = this.tokens.at(-1) as PythonToken;
    return kind === "newline" || kind === "indent" || kind === "dedent";
  }

  #push(kind: PythonTokenKind, start: number, end: number): void {
    this.tokens.push({ kind, text: this.text.slice(start, end), start, end });
  }

  #refuse(message: string, start: number, end: number): never {
    throw new Refused({ message, start, end });
  }

  /**
   * Reads the blanks at the beginning of a logical line; false when the line is empty or a comment.
   */
  #indentation(): boolean {
    if (this.tokens.length > 0 && this.tokens.at(-1)?.kind !== "newline") return true;
    const start = this.#at;
    this.#skip(SPACE);
    const character = this.text[this.#at];
    if (character === undefined) return false;
    if (character === "\n" || character === "\r" || character === "#") {
      const newline = this.text.indexOf("\n", this.#at);
      this.#at = newline < 0 ? this.text.length : newline + 1;
      return false;
    }
    if (character === "\\") return true;
    const indent = this.text.slice(start, this.#at).replace(/^.*\f/s, "");
    this.#changeIndent(indent);
    return true;
  }

  #changeIndent(indent: string): void {
    const current = this.#indents.at(-1) as string;
    if (indent === current) return;
    if (indent.startsWith(current)) {
      this.#indents.push(indent);
      this.#push("indent", this.#at, this.#at);
      return;
    }
    const back = this.#indents.lastIndexOf(indent);
    if (back >= 0) {
      for (let left = this.#indents.length - 1; left > back; left--) this.#push("dedent", this.#at, this.#at);
      this.#indents.length = back + 1;
      return;
    }
    if (/\t/.test(indent + this.#indents.join(""))) {
      this.#mixedIndents = true;
      this.#indents.length = 1;
      return;
    }
    if (!this.#mixedIndents) this.#refuse("unindent does not match any outer indentation level", this.#at - indent.length, this.#at);
  }

  #skip(pattern: RegExp): boolean {
    pattern.lastIndex = this.#at;
    const found = pattern.test(this.text);
    if (found) this.#at = pattern.lastIndex;
    return found;
  }

  #token(): void {
    this.#skip(SPACE);
    const start = this.#at;
    const character = this.text[start];
    if (character === undefined) return;
    if (character === "#") {
      const newline = this.text.indexOf("\n", start);
      this.#at = newline < 0 ? this.text.length : newline;
    } else if (character === "\n" || character === "\r") {
      this.#at++;
      if (this.#open.length === 0 && character === "\n" && this.tokens.length > 0 && !this.#endsLine())
        this.#push("newline", start, start + 1);
    } else if (character === "\\") this.#continuation(start);
    else if (this.#skip(STRING)) this.#string(start);
    else if (this.#skip(NAME)) {
      this.#push("name", start, this.#at);
      const word = this.tokens.at(-1) as PythonToken;
      if (PYTHON_KEYWORDS.has(word.text)) this.tokens[this.tokens.length - 1] = { ...word, kind: "keyword" };
    } else if ((character >= "0" && character <= "9") || (character === "." && /\d/.test(this.text[start + 1] ?? ""))) {
      this.#skip(NUMBER);
      this.#push("number", start, this.#at);
    } else if (this.#skip(OPERATOR)) this.#operator(start);
    else
      this.#refuse(
        character < "\x80" ? "invalid syntax" : `invalid character '${String.fromCodePoint(this.text.codePointAt(start) as number)}'`,
        start,
        start + 1,
      );
  }

  #continuation(start: number): void {
    const newline = /\\\r?\n/y;
    newline.lastIndex = start;
    if (!newline.test(this.text)) {
      if (/^\\\r?$/.test(this.text.slice(start))) this.#refuse("unexpected EOF while parsing", start, start + 1);
      this.#refuse("unexpected character after line continuation character", start + 1, start + 2);
    }
    this.#at = newline.lastIndex;
  }

  #string(start: number): void {
    const opening = this.text.slice(start, this.#at);
    const quote = /["']+$/.exec(opening)?.[0] as string;
    const prefix = opening.slice(0, -quote.length).toLowerCase();
    const formatted = /[ft]/.test(prefix) ? formattedEnd(this.text, this.#at, quote, prefix.includes("r")) : undefined;
    const end = formatted?.end ?? stringEnd(this.text, this.#at, quote);
    if (end === undefined) {
      const line = this.text.indexOf("\n", start);
      const kind = quote.length === 3 ? "unterminated triple-quoted string literal" : "unterminated string literal";
      this.#refuse(kind, start, quote.length === 3 || line < 0 ? this.#at : line);
    }
    if (formatted?.reusesQuotes) this.reusedQuotes.push({ start, end });
    this.#at = end;
    this.#push("string", start, end);
  }

  #operator(start: number): void {
    const operator = this.text.slice(start, this.#at);
    if (operator === "(" || operator === "[" || operator === "{") {
      if (this.#open.length >= DEEPEST) this.#refuse("too many nested parentheses", start, start + 1);
      this.#open.push({ bracket: operator, at: start });
    } else if (CLOSING[operator]) {
      const opened = this.#open.pop();
      if (!opened) this.#refuse(`unmatched '${operator}'`, start, start + 1);
      if (opened.bracket !== CLOSING[operator])
        this.#refuse(`closing parenthesis '${operator}' does not match opening parenthesis '${opened.bracket}'`, start, start + 1);
    }
    this.#push("operator", start, this.#at);
  }
}
