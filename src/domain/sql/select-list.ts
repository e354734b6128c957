/**
 * The output columns of a query, found without parsing SQL: the select list of the first member of
 * the outermost query, behind CTEs and opening parentheses. It never throws; what it cannot
 * understand it reports as unknown.
 */

import { identifierName, type SqlDialect, SqlScanner, type TokenKind } from "./tokenize.ts";

/** One item of a select list. Offsets are UTF-16 units of the scanned text. */
export interface SelectItem {
  /** The whole item. */
  readonly start: number;
  readonly end: number;
  /** `*` or `t.*`: its columns are known to the database alone. */
  readonly star: boolean;
  /** The column's name as written; undefined for an expression without one. */
  readonly name?: string;
  /** Start of the name: of the alias, or of the column's own name. */
  readonly nameStart: number;
  readonly nameEnd: number;
  /** Whether the name was in quotes, so that its case counts. */
  readonly quoted: boolean;
  /**
   * Whether the name is derived from a function or a cast, as PostgreSQL does; other databases may
   * name the column otherwise.
   */
  readonly derived: boolean;
}

/** The output columns of a query, as far as its text tells. */
export interface SelectList {
  readonly items: readonly SelectItem[];
  /**
   * Whether there are columns that the items do not tell: a `*`, or a statement without a select
   * list that was understood.
   */
  readonly star: boolean;
  /** The statement's first word when it is no query (`update`, `delete`), lower case. */
  readonly verb: string;
  /** End of the statement's last token, trailing semicolons and comments left out. */
  readonly end: number;
  /** Start of the second statement, when there is one. */
  readonly secondStatement?: number;
}

/** More columns than any database returns; what comes behind is read as `*`. */
const MOST_COLUMNS = 5000;

const LIST_END = new Set(
  "from where group having order limit offset fetch window union intersect except minus into qualify for lateral returning".split(" "),
);
/** Words that cannot end an operand, so that what follows them is no alias. */
const OPERATOR_WORDS = new Set(
  "and or not is in like ilike rlike regexp glob match between similar to escape collate over distinct all any some div mod xor binary then else when case interval operator at select using overlaps".split(
    " ",
  ),
);
/** Words that are values or ends of an expression, never a bare alias. */
const VALUE_WORDS = new Set(
  "null true false unknown end isnull notnull current_date current_time current_timestamp current_user localtime localtimestamp".split(" "),
);
/** Second words of types such as `double precision`. */
const TYPE_TAILS = new Set(["precision", "varying", "zone"]);
const INTERVAL_UNITS = new Set(["year", "quarter", "month", "week", "day", "hour", "minute", "second", "microsecond"]);

interface Piece {
  readonly kind: TokenKind;
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

/** The output columns of a query. */
export function selectList(text: string, dialect?: SqlDialect): SelectList {
  return new SelectListReader(text, dialect).read();
}

class SelectListReader {
  readonly #scanner: SqlScanner;
  #depth = 0;
  readonly #items: SelectItem[] = [];
  #star = false;
  #end = 0;
  #second: number | undefined;

  constructor(text: string, dialect: SqlDialect | undefined) {
    this.#scanner = new SqlScanner(text, dialect);
  }

  read(): SelectList {
    const verb = this.#findVerb();
    const isQuery = verb === "select";
    if (isQuery) this.#readItems();
    while (this.#advance()) {}
    return {
      items: this.#items,
      star: this.#star || !isQuery,
      verb: isQuery || verb === "values" || verb === "table" || verb === "with" ? "select" : verb,
      end: this.#end,
      ...(this.#second === undefined ? {} : { secondStatement: this.#second }),
    };
  }

  /** Goes to the next significant token of the first statement and keeps count of the brackets. */
  #advance(): boolean {
    const scanner = this.#scanner;
    while (this.#second === undefined && scanner.nextSignificant()) {
      const mark = scanner.kind === "punctuation" ? scanner.text[scanner.start] : "";
      if (mark === ";" && this.#depth <= 0) {
        const afterFirst = this.#end > 0;
        while (scanner.nextSignificant()) {
          if (scanner.kind === "punctuation" && scanner.text[scanner.start] === ";") continue;
          if (!afterFirst) break;
          this.#second = scanner.start;
          return false;
        }
        if (afterFirst || scanner.end >= scanner.text.length) return false;
      }
      if (mark === "(" || mark === "[" || mark === "{") this.#depth++;
      else if (mark === ")" || mark === "]" || mark === "}") this.#depth--;
      this.#end = scanner.end;
      return true;
    }
    return false;
  }

  /** Passes over CTEs and opening parentheses up to the word that says what the statement is. */
  #findVerb(): string {
    const scanner = this.#scanner;
    let base = 0;
    let inCte = false;
    let before = "";
    while (this.#advance()) {
      const isOpening = scanner.kind === "punctuation" && scanner.text[scanner.start] === "(";
      if (isOpening && this.#depth === base + 1 && (!inCte || before === ")")) {
        base++;
        inCte = false;
      } else if (this.#depth === base && scanner.kind === "word" && !isOpening) {
        const word = scanner.value.toLowerCase();
        if (!inCte && word === "with") inCte = true;
        else if (!inCte) return word;
        else if (before === ")" && /^(?:select|values|table|insert|update|delete|merge|replace)$/.test(word)) return word;
      } else if (this.#depth === base && !inCte && scanner.kind !== "punctuation") return "";
      before = scanner.kind === "punctuation" ? (scanner.text[scanner.start] as string) : "";
    }
    return inCte ? "with" : "";
  }

  #readItems(): void {
    const scanner = this.#scanner;
    const base = this.#depth;
    let item = new ItemReader(scanner.text);
    let skipsParens = false;
    let before = "";
    while (this.#advance()) {
      const isPunctuation = scanner.kind === "punctuation";
      const mark = isPunctuation ? (scanner.text[scanner.start] as string) : "";
      if (this.#depth < base) break;
      const isClosing = mark === ")" || mark === "]" || mark === "}";
      const isOpening = mark === "(" || mark === "[" || mark === "{";
      const atBase = this.#depth === base ? true : isOpening && this.#depth === base + 1;
      const word = scanner.kind === "word" && atBase ? scanner.value.toLowerCase() : "";
      if (item.isEmpty && (word === "all" || word === "distinct" || word === "distinctrow" || (word === "on" && before === "distinct"))) {
        skipsParens = word === "on";
        before = word;
        continue;
      }
      if (skipsParens) {
        if (isClosing && this.#depth === base) skipsParens = false;
        continue;
      }
      if (word !== "" && LIST_END.has(word) && !item.continuesWith(word, before)) {
        this.#finish(item);
        return;
      }
      if (mark === "," && this.#depth === base) {
        this.#finish(item);
        if (this.#items.length >= MOST_COLUMNS) {
          this.#star = true;
          return;
        }
        item = new ItemReader(scanner.text);
      } else item.add(scanner, atBase, this.#depth - base);
      before = word;
    }
    this.#finish(item);
  }

  #finish(item: ItemReader): void {
    if (item.isEmpty) return;
    const found = item.finish(this.#scanner.dialect);
    if (found.star) this.#star = true;
    this.#items.push(found);
  }
}

/**
 * A reader of one item of the list: it keeps the first and last pieces at the list's own depth, not
 * what is inside of brackets.
 */
class ItemReader {
  #start = -1;
  #end = -1;
  #first: Piece[] = [];
  #last: Piece[] = [];
  #count = 0;
  /** Pieces before `::`, when one was seen at the list's own depth. */
  #beforeCast: number | undefined;
  /** First pieces inside `cast(`. */
  #castInner: Piece[] = [];
  #closedAtCount = -1;

  constructor(readonly text: string) {}

  get isEmpty(): boolean {
    return this.#start < 0;
  }

  /**
   * Whether a word that ends most lists goes on with the expression here: `is distinct from`,
   * `within group`, `t.order`, or an alias behind `as`.
   */
  continuesWith(word: string, before: string): boolean {
    const last = this.#last.at(-1);
    if (word === "from" && before === "distinct") return !this.isEmpty;
    if (word === "group" && before === "within") return true;
    return last?.text === "." || (before === "as" && word !== "from" && word !== "where");
  }

  add(scanner: SqlScanner, atBase: boolean, depth: number): void {
    if (this.#start < 0) this.#start = scanner.start;
    this.#end = scanner.end;
    const text = scanner.end - scanner.start <= 256 ? scanner.value : scanner.text.slice(scanner.start, scanner.start + 256);
    const piece = { kind: scanner.kind, text, start: scanner.start, end: scanner.end };
    if (!atBase) {
      if (depth === 1 && this.#castInner.length < 8 && this.#first[0]?.text.toLowerCase() === "cast" && this.#closedAtCount < 0)
        this.#castInner.push(piece);
      return;
    }
    this.#count++;
    if (piece.text === ")" && this.#closedAtCount < 0) this.#closedAtCount = this.#count;
    if (piece.text === "::" && this.#beforeCast === undefined) this.#beforeCast = this.#count - 1;
    if (this.#first.length < 12) this.#first.push(piece);
    this.#last.push(piece);
    if (this.#last.length > 4) this.#last.shift();
  }

  finish(dialect: SqlDialect | undefined): SelectItem {
    const [last, previous] = [this.#last.at(-1), this.#last.at(-2)];
    const item = (name: Piece | undefined, derived = false, star = false): SelectItem => ({
      start: this.#start,
      end: this.#end,
      star,
      ...(name ? { name: identifierName(this.text.slice(name.start, name.end)) } : {}),
      nameStart: name?.start ?? this.#start,
      nameEnd: name?.end ?? this.#end,
      quoted: name !== undefined && name.kind !== "word",
      derived,
    });
    if (!last) return item(undefined);
    if (this.#first[0]?.text === "*" || (last.text === "*" && previous?.text === ".")) return item(undefined, false, true);
    const isName = last.kind === "word" || last.kind === "quoted" || last.kind === "string";
    if (isName && isWord(previous, "as")) return item(last);
    if (isName && last.kind !== "string" && this.#count > 1 && this.#isImplicitAlias(last, previous)) return item(last);
    const column = columnOf(this.#first, this.#beforeCast ?? this.#count);
    if (column) return item(column, this.#beforeCast !== undefined && dialect !== undefined && dialect !== "postgresql");
    if (isWord(this.#first[0], "cast") && this.#closedAtCount === this.#count) {
      const inner = this.#castInner.findIndex((piece) => isWord(piece, "as"));
      return item(columnOf(this.#castInner, Math.max(inner, 0)), true);
    }
    const isCall = this.#first[0]?.kind === "word" && this.#first[1]?.text === "(" && this.#closedAtCount === this.#count;
    return item(isCall ? this.#first[0] : undefined, true);
  }

  #isImplicitAlias(last: Piece, previous: Piece | undefined): boolean {
    if (!previous) return false;
    const word = last.kind === "word" ? last.text.toLowerCase() : "";
    if (VALUE_WORDS.has(word) || OPERATOR_WORDS.has(word)) return false;
    const before = previous.kind === "word" ? previous.text.toLowerCase() : "";
    const third = this.#last.at(-3);
    if (TYPE_TAILS.has(word) && before !== "" && (third?.text === "::" || word === "zone" || isWord(third, "national"))) return false;
    if (INTERVAL_UNITS.has(word) && isWord(third, "interval")) return false;
    if (before === "zone" && isWord(third, "time") && isWord(this.#last.at(-4), "at")) return false;
    if (before !== "") return !OPERATOR_WORDS.has(before);
    return previous.kind !== "punctuation" || previous.text === ")" || previous.text === "]";
  }
}

function isWord(piece: Piece | undefined, word: string): boolean {
  return piece?.kind === "word" && piece.text.toLowerCase() === word;
}

/** The last name of `a.b.c`, when the first `count` pieces are nothing else. */
function columnOf(pieces: readonly Piece[], count: number): Piece | undefined {
  if (count < 1 || count > pieces.length || count % 2 === 0) return undefined;
  for (let index = 0; index < count; index++) {
    const piece = pieces[index] as Piece;
    const isName = piece.kind === "quoted" || (piece.kind === "word" && !VALUE_WORDS.has(piece.text.toLowerCase()));
    if (index % 2 === 0 ? !isName : piece.text !== ".") return undefined;
  }
  return pieces[count - 1];
}
