/**
 * Tokens of SQL in any dialect, enough to find placeholders and output columns. The tokenizer never
 * throws, takes any text, and its work is linear in the text.
 */

/**
 * The kind of a token. `word` is a keyword or an unquoted identifier; `quoted` an identifier in
 * quotes.
 */
export type TokenKind = "word" | "quoted" | "string" | "number" | "placeholder" | "comment" | "punctuation";

/**
 * Dialects whose quoting differs. Without one, PostgreSQL's quoting holds, with what other dialects
 * add to it.
 */
export type SqlDialect = "postgresql" | "mysql" | "sqlite";

/** A token: `[start, end)` in UTF-16 units. `open` marks one whose closing character is missing. */
export interface Token {
  readonly kind: TokenKind;
  readonly start: number;
  readonly end: number;
  readonly open: boolean;
}

const SPACE = /\s+/y;
const WORD = /[A-Za-z_\u0080-\uffff][\w$\u0080-\uffff]*/y;
const NUMBER = /(?:\d[\w.]*|\.\d\w*)/y;
const DOLLAR_TAG = /\$(?:[A-Za-z_\u0080-\uffff][\w\u0080-\uffff]{0,62})?\$/y;
const STRING_PREFIX = /^(?:e|n|b|x|u&)$/i;

/**
 * A reader of one token after the other; nothing is kept, so that a text of any length costs its
 * own size only.
 */
export class SqlScanner {
  kind: TokenKind = "punctuation";
  start = 0;
  end = 0;
  open = false;

  constructor(
    readonly text: string,
    readonly dialect: SqlDialect | undefined = undefined,
    from = 0,
  ) {
    this.end = from;
  }

  /** Goes to the next token; false at the end of the text. Blanks are passed over. */
  next(): boolean {
    SPACE.lastIndex = this.end;
    if (SPACE.test(this.text)) this.end = SPACE.lastIndex;
    if (this.end >= this.text.length) return false;
    this.start = this.end;
    this.open = false;
    this.kind = "punctuation";
    this.end = this.start + 1;
    this.#read(this.text[this.start] as string);
    return true;
  }

  /** Goes to the next token that is no comment. */
  nextSignificant(): boolean {
    while (this.next()) if (this.kind !== "comment") return true;
    return false;
  }

  /** The token's text. */
  get value(): string {
    return this.text.slice(this.start, this.end);
  }

  /** Whether the token is this word, in any case. */
  is(word: string): boolean {
    return this.kind === "word" && this.end - this.start === word.length && this.value.toLowerCase() === word;
  }

  #read(first: string): void {
    const { text, start, dialect } = this;
    const second = text[start + 1];
    switch (first) {
      case "-":
        if (second === "-") this.#lineComment();
        return;
      case "#":
        if (dialect === "mysql") this.#lineComment();
        return;
      case "/":
        if (second === "*") this.#blockComment();
        return;
      case "'":
        this.#quoted("string", start + 1, "'", dialect === "mysql");
        return;
      case '"':
        this.#quoted("quoted", start + 1, '"', dialect === "mysql");
        return;
      case "`":
        this.#quoted("quoted", start + 1, "`", false);
        return;
      case "[":
        if (dialect === "sqlite") this.#quoted("quoted", start + 1, "]", false);
        return;
      case "$":
        this.#dollar(second);
        return;
      case ":":
        if (second === ":") this.end = start + 2;
        return;
    }
    if (this.#sticky(NUMBER)) this.kind = "number";
    else if (this.#sticky(WORD)) {
      this.kind = "word";
      if (text[this.end] === "'" && STRING_PREFIX.test(this.value))
        this.#quoted("string", this.end + 1, "'", dialect === "mysql" || first.toLowerCase() === "e");
    }
  }

  #sticky(pattern: RegExp): boolean {
    pattern.lastIndex = this.start;
    const found = pattern.test(this.text);
    if (found) this.end = pattern.lastIndex;
    return found;
  }

  #lineComment(): void {
    const newline = this.text.indexOf("\n", this.start);
    this.kind = "comment";
    this.end = newline < 0 ? this.text.length : newline;
  }

  #blockComment(): void {
    const nested = this.dialect === "postgresql" || this.dialect === undefined;
    const edge = /\/\*|\*\//g;
    edge.lastIndex = this.start + 2;
    this.kind = "comment";
    let depth = 1;
    for (let match = edge.exec(this.text); match; match = edge.exec(this.text)) {
      if (match[0] === "*/") depth--;
      else if (nested) depth++;
      this.end = edge.lastIndex;
      if (depth === 0) return;
    }
    this.open = true;
    this.end = this.text.length;
  }

  #quoted(kind: TokenKind, from: number, quote: string, backslash: boolean): void {
    this.kind = kind;
    const end = quote === "]" ? "\\]" : quote;
    const stop = backslash ? new RegExp(`\\\\|${end}`, "g") : new RegExp(end, "g");
    stop.lastIndex = from;
    for (let match = stop.exec(this.text); match; match = stop.exec(this.text)) {
      if (match[0] === "\\" || this.text[stop.lastIndex] === quote) stop.lastIndex++;
      else {
        this.end = stop.lastIndex;
        return;
      }
    }
    this.open = true;
    this.end = this.text.length;
  }

  #dollar(second: string | undefined): void {
    if (second === "{") {
      this.#placeholder();
      return;
    }
    const mayQuote = this.dialect === "postgresql" || this.dialect === undefined;
    if (mayQuote && this.#sticky(DOLLAR_TAG)) {
      const tag = this.value;
      const close = this.text.indexOf(tag, this.end);
      this.kind = "string";
      this.open = close < 0;
      this.end = close < 0 ? this.text.length : close + tag.length;
    }
  }

  #placeholder(): void {
    this.kind = "placeholder";
    const stop = /[}\n]/g;
    stop.lastIndex = this.start;
    const match = stop.exec(this.text);
    this.open = match?.[0] !== "}";
    this.end = match ? match.index + (this.open ? 0 : 1) : this.text.length;
  }
}

/** All tokens of a text, comments included. */
export function tokenize(text: string, dialect?: SqlDialect): Token[] {
  const scanner = new SqlScanner(text, dialect);
  const tokens: Token[] = [];
  while (scanner.next()) tokens.push({ kind: scanner.kind, start: scanner.start, end: scanner.end, open: scanner.open });
  return tokens;
}

/**
 * The name that an identifier token stands for: quotes taken off and doubled quotes made single.
 */
export function identifierName(token: string): string {
  const quote = token[0] as string;
  const close = quote === "[" ? "]" : quote;
  if (!/["'`[]/.test(quote)) return token;
  const inner = token.endsWith(close) && token.length > 1 ? token.slice(1, -1) : token.slice(1);
  return inner.replaceAll(close + close, close);
}
