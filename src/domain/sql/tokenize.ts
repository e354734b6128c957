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
export type SqlDialect = "postgresql" | "mysql" | "sqlite" | "clickhouse" | "duckdb" | "snowflake" | "bigquery";

/** What dialects have and PostgreSQL has not, or the other way. */
interface Quoting {
  /** Whether a backslash escapes the next character of a string. */
  readonly backslash: boolean;
  /** Whether `#` begins a comment. */
  readonly hash: boolean;
  /** Whether `//` begins a comment. */
  readonly slashes: boolean;
  /** Whether comments are nested. */
  readonly nested: boolean;
  /** Whether `$$` and `$tag$` quote strings. */
  readonly dollar: boolean;
}

const POSTGRESQL: Quoting = { backslash: false, hash: false, slashes: false, nested: true, dollar: true };
const PLAIN: Quoting = { ...POSTGRESQL, nested: false, dollar: false };
const QUOTING: Readonly<Record<SqlDialect, Quoting>> = {
  postgresql: POSTGRESQL,
  mysql: { ...PLAIN, backslash: true, hash: true },
  sqlite: PLAIN,
  clickhouse: { ...PLAIN, backslash: true, hash: true, nested: true, dollar: true },
  duckdb: { ...POSTGRESQL },
  snowflake: { ...PLAIN, backslash: true, slashes: true, dollar: true },
  bigquery: { ...PLAIN, backslash: true, hash: true },
};

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
  readonly #quoting: Quoting;

  constructor(
    readonly text: string,
    readonly dialect: SqlDialect | undefined = undefined,
    from = 0,
  ) {
    this.end = from;
    this.#quoting = dialect ? QUOTING[dialect] : POSTGRESQL;
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
    const { backslash, hash, slashes } = this.#quoting;
    const second = text[start + 1];
    switch (first) {
      case "-":
        if (second === "-") this.#lineComment();
        return;
      case "#":
        if (hash) this.#lineComment();
        return;
      case "/":
        if (second === "*") this.#blockComment();
        else if (slashes && second === "/") this.#lineComment();
        return;
      case "'":
        this.#quotedText("string", "'", backslash);
        return;
      case '"':
        this.#quotedText(dialect === "bigquery" ? "string" : "quoted", '"', backslash && dialect !== "snowflake");
        return;
      case "`":
        this.#quoted("quoted", start + 1, "`", dialect === "clickhouse" || dialect === "bigquery");
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
        this.#quoted("string", this.end + 1, "'", backslash || first.toLowerCase() === "e");
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
    const { nested } = this.#quoting;
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

  /** Text in quotes, of which BigQuery has threefold ones too. */
  #quotedText(kind: TokenKind, quote: string, backslash: boolean): void {
    const threefold = quote.repeat(3);
    if (this.dialect !== "bigquery" || !this.text.startsWith(threefold, this.start)) {
      this.#quoted(kind, this.start + 1, quote, backslash);
      return;
    }
    const stop = new RegExp(`\\\\|${threefold}`, "g");
    stop.lastIndex = this.start + 3;
    this.kind = kind;
    for (let match = stop.exec(this.text); match; match = stop.exec(this.text)) {
      if (match[0] === "\\") stop.lastIndex++;
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
    if (this.#quoting.dollar && this.#sticky(DOLLAR_TAG)) {
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
