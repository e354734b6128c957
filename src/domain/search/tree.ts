/**
 * The meaning of a search, by the fields of the records that are searched.
 *
 *     search = group { "OR" group }        group = item { ["AND"] item }
 *     item   = { "-" } ( "(" search ")" | field operator value | word )
 */

import { didYouMean } from "../closest.ts";
import { DURATION_GRAMMAR, parseDuration } from "../duration.ts";
import { parseSize, SIZE_GRAMMAR } from "../size.ts";
import { type FieldSet, type FoundField, findField, unknownField } from "./fields.ts";
import { fits } from "./pattern.ts";
import { SearchError } from "./search-error.ts";
import { type Operator, type Token, tokenize, type Written } from "./tokens.ts";

/** Most parentheses and `-` within each other. */
export const MAX_DEPTH = 32;
/** Most words and terms of a search. */
export const MAX_TERMS = 100;

/** A condition on a record. Fields are named as the field set names them. */
export type Search =
  /** All of them; none = every record. */
  | { readonly is: "all"; readonly of: readonly Search[] }
  /** One of them at least. */
  | { readonly is: "any"; readonly of: readonly Search[] }
  | { readonly is: "not"; readonly of: Search }
  /** A text is equal to the value, in its case. Without a value, a text is empty. */
  | { readonly is: "equal"; readonly field: string; readonly value: string }
  /** A text has a value. */
  | { readonly is: "present"; readonly field: string }
  /** All of a text is the parts in order with anything between them. */
  | { readonly is: "like"; readonly field: string; readonly parts: readonly string[]; readonly anyCase: boolean }
  /** A text is one of the values. */
  | { readonly is: "among"; readonly field: string; readonly values: readonly string[] }
  /** A number is there and compares so; durations are milliseconds, sizes bytes. */
  | { readonly is: "number"; readonly field: string; readonly operator: Comparison; readonly value: number };

/** Comparisons of numbers. */
export type Comparison = "=" | ">" | ">=" | "<" | "<=";

/** The search that every record fits. */
export const EVERYTHING: Search = { is: "all", of: [] };

/** Reads a search. Throws SearchError, which names the place. */
export function parseSearch(text: string, fields: FieldSet): Search {
  return new Parser(text, fields).search();
}

class Parser {
  readonly #tokens: readonly Token[];
  #next = 0;
  #depth = 0;
  #terms = 0;

  constructor(
    private readonly text: string,
    private readonly fields: FieldSet,
  ) {
    this.#tokens = tokenize(text);
  }

  search(): Search {
    if (this.#tokens.length === 0) return EVERYTHING;
    const tree = this.#alternatives();
    const left = this.#token();
    if (left) throw new SearchError("no parenthesis is open that this one could close", left.start, left.end);
    return tree;
  }

  #token(): Token | undefined {
    return this.#tokens[this.#next];
  }

  #alternatives(): Search {
    const any = [this.#group()];
    while (this.#token()?.is === "or") {
      this.#next++;
      any.push(this.#group());
    }
    return any.length === 1 ? (any[0] as Search) : { is: "any", of: any };
  }

  #group(): Search {
    const all = [this.#item()];
    for (let token = this.#token(); token && token.is !== "or" && token.is !== ")"; token = this.#token()) {
      if (token.is === "and") this.#next++;
      all.push(this.#item());
    }
    return all.length === 1 ? (all[0] as Search) : { is: "all", of: all };
  }

  #item(): Search {
    const token = this.#token();
    const before = this.#tokens[this.#next - 1];
    if (!token || token.is === "or" || token.is === "and" || token.is === ")") throw this.#missing(before, token);
    this.#next++;
    if (token.is === "word" || token.is === "term") {
      if (++this.#terms > MAX_TERMS) throw new SearchError(`a search has at most ${MAX_TERMS} words and fields`, token.start, token.end);
      return token.is === "word" ? this.#word(token.value) : this.#term(token);
    }
    if (++this.#depth > MAX_DEPTH)
      throw new SearchError(`at most ${MAX_DEPTH} parentheses stand within each other`, token.start, token.end);
    const inner = token.is === "(" ? this.#parenthesis(token) : ({ is: "not", of: this.#item() } as const);
    this.#depth--;
    return inner;
  }

  #parenthesis({ start, end }: Token): Search {
    const inner = this.#alternatives();
    if (this.#token()?.is !== ")") throw new SearchError("the parenthesis is not closed", start, end);
    this.#next++;
    return inner;
  }

  /** The error when an item had to follow `before`, and `found` did. */
  #missing(before: Token | undefined, found: Token | undefined): SearchError {
    const end = this.text.length;
    const word = (token: Token) => `'${this.text.slice(token.start, token.end)}'`;
    if (before && before.is !== ")") return new SearchError(`nothing to search for follows ${word(before)}`, before.start, before.end);
    return found
      ? new SearchError(`nothing to search for stands before ${word(found)}`, found.start, found.end)
      : new SearchError("a word or a field is missing", end, end);
  }

  #word(value: Written): Search {
    const assigned = /^([\p{L}_]+)=/u.exec(this.text.slice(value.start, value.end))?.[1];
    if (assigned !== undefined && findField(this.fields, assigned)) {
      const message = `a field and its value are written ${assigned}:value; put quotes around a text that has '='`;
      throw new SearchError(message, value.start + assigned.length, value.start + assigned.length + 1);
    }
    return anyOf(this.fields.words.map((field) => containing(field, value.parts)));
  }

  #term({ field: written, nameEnd, operator, value, start }: Token & { readonly is: "term" }): Search {
    const field = findField(this.fields, written);
    if (!field) {
      const quoting = `put quotes around a text that has '${operator}'`;
      throw new SearchError(`${unknownField(this.fields, written)} (${quoting})`, start, nameEnd);
    }
    if (value.start === value.end) throw new SearchError(`a value has to follow '${written}${operator}'`, start, value.end);
    const names = field.of ?? [field.name];
    return anyOf(names.map((name) => this.#condition({ ...field, name }, operator, value, nameEnd)));
  }

  #condition(field: FoundField, operator: Operator, value: Written, operatorAt: number): Search {
    const { name, kind } = field;
    if (kind === "enum") return this.#among(field, operator, value);
    if (kind === "number" || kind === "duration" || kind === "size") {
      return { is: "number", field: name, operator: operator === ":" ? "=" : operator, value: this.#number(kind, value) };
    }
    if (operator !== ":") {
      throw new SearchError(`'${name}' holds text, which ${operator} does not compare; write ${name}:value`, operatorAt, value.start);
    }
    const [first = "", ...others] = value.parts;
    if (value.parts.length > 1 && value.parts.every((part) => part === "")) return { is: "present", field: name };
    if (kind === "text") {
      if (others.length > 0) return { is: "like", field: name, parts: value.parts, anyCase: true };
      return first === "" ? { is: "equal", field: name, value: "" } : containing(name, value.parts);
    }
    return others.length > 0 ? { is: "like", field: name, parts: value.parts, anyCase: false } : { is: "equal", field: name, value: first };
  }

  #among({ name, values = [], synonyms = {} }: FoundField, operator: Operator, written: Written): Search {
    const { parts, start, end } = written;
    if (parts.length > 1 && operator === ":") {
      if (parts.every((part) => part === "")) return { is: "present", field: name };
      return { is: "among", field: name, values: values.filter((value) => fits(value, parts, true)) };
    }
    const wanted = parts.join("*").toLowerCase();
    const position = values.indexOf(Object.hasOwn(synonyms, wanted) ? (synonyms[wanted] as string) : wanted);
    if (position < 0) {
      const hint = didYouMean(wanted, values) || `it is one of ${values.join(", ")}`;
      throw new SearchError(`'${wanted}' is no ${name}; ${hint}`, start, end);
    }
    const among: Readonly<Record<Operator, (other: number) => boolean>> = {
      ":": (other) => other === position,
      ">": (other) => other > position,
      ">=": (other) => other >= position,
      "<": (other) => other < position,
      "<=": (other) => other <= position,
    };
    return { is: "among", field: name, values: values.filter((_, nth) => among[operator](nth)) };
  }

  #number(kind: "number" | "duration" | "size", { parts, start, end }: Written): number {
    const text = parts.join("*");
    const [value, grammar] =
      kind === "duration"
        ? [parseDuration(text), DURATION_GRAMMAR]
        : kind === "size"
          ? [parseSize(text), SIZE_GRAMMAR]
          : [/^[+-]?\d+(\.\d+)?$/.test(text) ? Number(text) : undefined, "a number such as 404; write >=400 for a range"];
    if (value === undefined || !Number.isFinite(value)) throw new SearchError(`'${text}' is not ${grammar}`, start, end);
    return value;
  }
}

function anyOf(of: readonly Search[]): Search {
  return of.length === 1 ? (of[0] as Search) : { is: "any", of };
}

function containing(field: string, parts: readonly string[]): Search {
  return { is: "like", field, parts: ["", ...parts, ""], anyCase: true };
}
