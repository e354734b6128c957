/**
 * Regular expressions whose time grows with the text and the pattern only, so that a pattern from
 * outside cannot stop the server: all states are followed at once, none is tried again. The syntax
 * is Python's without back-references, look-around and named groups.
 */

import { EvaluationError } from "./evaluation-error.ts";

type Test = (sign: string) => boolean;
type Place = "start" | "end" | "boundary" | "inside";

type Node =
  | { readonly kind: "sign"; readonly test: Test }
  | { readonly kind: "place"; readonly place: Place }
  | { readonly kind: "sequence"; readonly parts: readonly Node[] }
  | { readonly kind: "choice"; readonly options: readonly Node[] }
  | { readonly kind: "repeat"; readonly body: Node; readonly least: number; readonly most: number };

type Step =
  | { readonly do: "sign"; readonly test: Test }
  | { readonly do: "place"; readonly place: Place }
  | { readonly do: "fork"; targets: number[] }
  | { readonly do: "found" };

/** A pattern that is ready to be looked for. */
export interface LinearPattern {
  /** Whether it is found anywhere in the text. */
  isIn(text: string): boolean;
}

/** Most steps of a compiled pattern; repetitions with a count are written out. */
const MOST_STEPS = 2000;
/** Longest source of a pattern, in UTF-16 units. */
const LONGEST = 65_536;
/** Deepest nesting of groups. */
const DEEPEST = 100;

const isWord: Test = (sign) => /^[\p{L}\p{N}_]$/u.test(sign);
const CLASSES: Readonly<Record<string, Test>> = {
  d: (sign) => /^\p{Nd}$/u.test(sign),
  w: isWord,
  s: (sign) => /^[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]$/.test(sign),
};
const CONTROLS: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "\r", f: "\f", v: "\v", a: "\x07", "0": "\0" };

let latest: { readonly source: string; readonly pattern: LinearPattern } | undefined;

/**
 * Compiles a pattern; throws EvaluationError that says what is wrong with it. The one compiled last
 * is kept.
 */
export function compileLinear(source: string): LinearPattern {
  if (latest?.source === source) return latest.pattern;
  if (source.length > LONGEST) throw new EvaluationError(`the pattern is too large: more than ${LONGEST} characters`);
  const program: Step[] = [];
  emit(new Parser(source).parse(), program);
  program.push({ do: "found" });
  const pattern = { isIn: (text: string) => search(program, [...text]) };
  latest = { source, pattern };
  return pattern;
}

class Parser {
  readonly #signs: readonly string[];
  #at = 0;
  #ignoreCase = false;
  #depth = 0;

  constructor(readonly source: string) {
    this.#signs = [...source];
    if (source.startsWith("(?i)")) {
      this.#ignoreCase = true;
      this.#at = 4;
    }
  }

  parse(): Node {
    const node = this.#choice();
    if (this.#at < this.#signs.length) this.#refuse("a ')' without its '('");
    return node;
  }

  #refuse(what: string): never {
    throw new EvaluationError(`the pattern ${JSON.stringify(this.source.slice(0, 80))} is not understood: ${what}`);
  }

  #take(sign: string): boolean {
    if (this.#signs[this.#at] !== sign) return false;
    this.#at++;
    return true;
  }

  #choice(): Node {
    if (++this.#depth > DEEPEST) this.#refuse("groups are nested too deeply");
    const options = [this.#sequence()];
    while (this.#take("|")) options.push(this.#sequence());
    this.#depth--;
    return options.length === 1 ? (options[0] as Node) : { kind: "choice", options };
  }

  #sequence(): Node {
    const parts: Node[] = [];
    for (let sign = this.#signs[this.#at]; sign !== undefined && sign !== "|" && sign !== ")"; sign = this.#signs[this.#at])
      parts.push(this.#repeated());
    return { kind: "sequence", parts };
  }

  #repeated(): Node {
    let body = this.#atom();
    for (let times = this.#times(); times; times = this.#times()) {
      if (body.kind === "repeat") this.#refuse("two repetitions in a row");
      body = { kind: "repeat", body, ...times };
      this.#take("?");
    }
    return body;
  }

  #times(): { least: number; most: number } | undefined {
    if (this.#take("*")) return { least: 0, most: Number.POSITIVE_INFINITY };
    if (this.#take("+")) return { least: 1, most: Number.POSITIVE_INFINITY };
    if (this.#take("?")) return { least: 0, most: 1 };
    const match = /^\{(\d{0,5})(?:(,)(\d{0,5}))?\}/.exec(this.#signs.slice(this.#at, this.#at + 14).join(""));
    if (!match || (match[1] === "" && !match[2])) return undefined;
    this.#at += match[0].length;
    const least = Number(match[1]);
    const most = match[2] ? (match[3] ? Number(match[3]) : Number.POSITIVE_INFINITY) : least;
    if (most < least) this.#refuse(`${match[0]} ends below its beginning`);
    return { least, most };
  }

  #atom(): Node {
    const sign = this.#signs[this.#at++] as string;
    switch (sign) {
      case ".":
        return { kind: "sign", test: (given) => given !== "\n" };
      case "^":
        return { kind: "place", place: "start" };
      case "$":
        return { kind: "place", place: "end" };
      case "[":
        return { kind: "sign", test: this.#class() };
      case "(": {
        if (this.#take("?") && !this.#take(":")) this.#refuse("of the groups with '(?' only '(?:' and a leading '(?i)' are known");
        const inside = this.#choice();
        if (!this.#take(")")) this.#refuse("a '(' without its ')'");
        return inside;
      }
      case "*":
      case "+":
      case "?":
        return this.#refuse(`nothing before '${sign}' to repeat`);
      case "\\": {
        const next = this.#signs[this.#at];
        if (next === "b" || next === "B") {
          this.#at++;
          return { kind: "place", place: next === "b" ? "boundary" : "inside" };
        }
        const escaped = this.#escape();
        return { kind: "sign", test: typeof escaped === "string" ? this.#equal(escaped) : escaped };
      }
      default:
        return { kind: "sign", test: this.#equal(sign) };
    }
  }

  #equal(sign: string): Test {
    if (!this.#ignoreCase) return (given) => given === sign;
    const folded = sign.toLowerCase();
    return (given) => given.toLowerCase() === folded;
  }

  #escape(): string | Test {
    const sign = this.#signs[this.#at++];
    if (sign === undefined) return this.#refuse("it ends with a '\\'");
    const known = CLASSES[sign.toLowerCase()];
    if (known) return sign === sign.toLowerCase() ? known : (given) => !known(given);
    if (sign in CONTROLS) return CONTROLS[sign] as string;
    const hex = /^(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4}))/.exec([sign, ...this.#signs.slice(this.#at, this.#at + 4)].join(""));
    if (hex) {
      this.#at += hex[0].length - 1;
      return String.fromCharCode(Number.parseInt((hex[1] ?? hex[2]) as string, 16));
    }
    if (/[a-zA-Z1-9]/.test(sign)) return this.#refuse(`'\\${sign}' is not supported`);
    return sign;
  }

  #class(): Test {
    const isNegated = this.#take("^");
    const tests: Test[] = [];
    const signOf = (): string | Test => {
      const sign = this.#signs[this.#at++];
      if (sign === undefined) return this.#refuse("a '[' without its ']'");
      return sign === "\\" ? this.#escape() : sign;
    };
    for (let isFirst = true; isFirst || this.#signs[this.#at] !== "]"; isFirst = false) {
      const low = signOf();
      const isRange = this.#signs[this.#at] === "-" && this.#signs[this.#at + 1] !== "]";
      if (typeof low !== "string") tests.push(low);
      else if (!isRange) tests.push(this.#equal(low));
      else {
        this.#at++;
        const high = signOf();
        if (typeof high !== "string") return this.#refuse("a range that ends in a class");
        const [from, to] = [low.codePointAt(0) as number, high.codePointAt(0) as number];
        if (to < from) this.#refuse(`the range ${low}-${high} ends below its beginning`);
        const isWithin = (sign: string): boolean => {
          const code = sign.codePointAt(0) as number;
          return code >= from && code <= to;
        };
        tests.push(this.#ignoreCase ? (sign) => [sign, sign.toLowerCase(), sign.toUpperCase()].some(isWithin) : isWithin);
      }
    }
    this.#at++;
    return (sign) => tests.some((test) => test(sign)) !== isNegated;
  }
}

function emit(node: Node, program: Step[]): void {
  if (program.length > MOST_STEPS)
    throw new EvaluationError(`the pattern is too large: more than ${MOST_STEPS} steps with its repetitions written out`);
  switch (node.kind) {
    case "sign":
      program.push({ do: "sign", test: node.test });
      return;
    case "place":
      program.push({ do: "place", place: node.place });
      return;
    case "sequence":
      for (const part of node.parts) emit(part, program);
      return;
    case "choice": {
      const fork = { do: "fork" as const, targets: [] as number[] };
      const ends: { targets: number[] }[] = [];
      program.push(fork);
      for (const option of node.options) {
        fork.targets.push(program.length);
        emit(option, program);
        const end = { do: "fork" as const, targets: [] as number[] };
        ends.push(end);
        program.push(end);
      }
      for (const end of ends) end.targets.push(program.length);
      return;
    }
    case "repeat": {
      for (let times = 0; times < node.least; times++) emit(node.body, program);
      if (node.most === Number.POSITIVE_INFINITY) {
        const start = program.length;
        const fork = { do: "fork" as const, targets: [start + 1] };
        program.push(fork);
        emit(node.body, program);
        program.push({ do: "fork", targets: [start] });
        fork.targets.push(program.length);
        return;
      }
      const forks: { targets: number[] }[] = [];
      for (let times = node.least; times < node.most; times++) {
        const fork = { do: "fork" as const, targets: [program.length + 1] };
        forks.push(fork);
        program.push(fork);
        emit(node.body, program);
      }
      for (const fork of forks) fork.targets.push(program.length);
      return;
    }
  }
}

function search(program: readonly Step[], text: readonly string[]): boolean {
  const seen = new Int32Array(program.length).fill(-1);
  let active: number[] = [];
  for (let at = 0; at <= text.length; at++) {
    const now: number[] = [];
    const reach = (start: number): boolean => {
      const open = [start];
      for (let index = open.pop(); index !== undefined; index = open.pop()) {
        if (seen[index] === at) continue;
        seen[index] = at;
        const step = program[index] as Step;
        if (step.do === "found") return true;
        if (step.do === "sign") now.push(index);
        else if (step.do === "fork") open.push(...step.targets);
        else if (isAt(step.place, text, at)) open.push(index + 1);
      }
      return false;
    };
    for (const index of active) if (reach(index)) return true;
    if (reach(0)) return true;
    if (at === text.length) return false;
    const sign = text[at] as string;
    active = now.filter((index) => (program[index] as { test: Test }).test(sign)).map((index) => index + 1);
  }
  return false;
}

function isAt(place: Place, text: readonly string[], at: number): boolean {
  if (place === "start") return at === 0;
  if (place === "end") return at === text.length || (at === text.length - 1 && text[at] === "\n");
  const before = at > 0 && isWord(text[at - 1] as string);
  const after = at < text.length && isWord(text[at] as string);
  return (before !== after) === (place === "boundary");
}
