/**
 * Regular expressions whose time is at most proportional to the length of the text times the size
 * of the compiled pattern, so that a pattern from outside cannot stall the server: a Pike virtual
 * machine. A pattern is parsed to a tree and compiled to a program of five instructions (character,
 * assertion, save, split, match). The machine reads the text once and runs all threads together; a
 * thread is an index into the program, and no two threads at one character have the same index. The
 * syntax is Python's without back-references, look-around and named groups. Threads are kept in
 * the order in which backtracking would try them, so that the first to match is Python's match.
 * Finding all matches of a text may read parts of it again, and is bounded by a number of steps.
 */

import { EvaluationError } from "./evaluation-error.ts";

type CharacterTest = (character: string) => boolean;
type Assertion = "text-start" | "text-end" | "word-boundary" | "no-word-boundary";

type Node =
  | { readonly kind: "character"; readonly test: CharacterTest }
  | { readonly kind: "assertion"; readonly assertion: Assertion }
  | { readonly kind: "sequence"; readonly parts: readonly Node[] }
  | { readonly kind: "alternation"; readonly alternatives: readonly Node[] }
  | { readonly kind: "group"; readonly number: number; readonly body: Node }
  | { readonly kind: "repetition"; readonly body: Node; readonly least: number; readonly most: number; readonly isLazy: boolean };

type Instruction =
  /** The thread goes on behind a character that passes the test, and ends at any other. */
  | { readonly op: "character"; readonly test: CharacterTest }
  /** The thread goes on, without reading a character, where the assertion holds. */
  | { readonly op: "assertion"; readonly assertion: Assertion }
  /** The thread notes its place as a bound of a group and goes on. */
  | { readonly op: "save"; readonly slot: number }
  /** One thread for each target, the first before the others; a split with one target is a jump. */
  | { readonly op: "split"; readonly targets: number[] }
  /** The pattern was found. */
  | { readonly op: "match" };

/** A compiled pattern. */
export interface LinearPattern {
  /** Whether it matches anywhere in the text. */
  isIn(text: string): boolean;
  /** The number of its groups. */
  readonly groups: number;
  /**
   * All matches from the left, as Python's `finditer` has them: at each the text of the whole match
   * and of each group, undefined for a group that took no part. Throws EvaluationError when that
   * takes too many steps.
   */
  matches(text: string): Iterable<PatternMatch>;
}

/** A match. */
export interface PatternMatch {
  /** The place of the first character, and of the one behind the last, in code points. */
  readonly from: number;
  readonly to: number;
  /** The whole match, and what each group took. */
  readonly texts: readonly (string | undefined)[];
}

/** Most instructions of a program; repetitions with a count are written out. */
const MOST_INSTRUCTIONS = 2000;
/** Most steps of threads while matches of one text are found; noting a bound copies all of them. */
const MOST_STEPS = 5_000_000;
/** Longest source of a pattern, in UTF-16 units. */
const LONGEST = 65_536;
/** Deepest nesting of groups. */
const DEEPEST = 100;

const isWord: CharacterTest = (character) => /^[\p{L}\p{N}_]$/u.test(character);
const CLASSES: Readonly<Record<string, CharacterTest>> = {
  d: (character) => /^\p{Nd}$/u.test(character),
  w: isWord,
  s: (character) => /^[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]$/.test(character),
};
const CONTROLS: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "\r", f: "\f", v: "\v", a: "\x07", "0": "\0" };

let latest: { readonly source: string; readonly pattern: LinearPattern } | undefined;

/**
 * The compiled form of a pattern; the one compiled last is kept. Throws EvaluationError that says
 * what is wrong with the source.
 */
export function compileLinear(source: string): LinearPattern {
  if (latest?.source === source) return latest.pattern;
  if (source.length > LONGEST) throw new EvaluationError(`the pattern is too large: more than ${LONGEST} characters`);
  const program: Instruction[] = [];
  const parser = new Parser(source);
  const tree = parser.parse();
  emit(tree, program);
  program.push({ op: "match" });
  const { groups } = parser;
  const pattern = {
    isIn: (text: string) => matches(program, [...text]),
    groups,
    matches: (text: string) => {
      refuseEmptyLoops(tree, source);
      return allMatches(program, [...text], groups);
    },
  };
  latest = { source, pattern };
  return pattern;
}

class Parser {
  readonly #characters: readonly string[];
  #at = 0;
  #ignoreCase = false;
  #depth = 0;
  #groups = 0;

  constructor(readonly source: string) {
    this.#characters = [...source];
    if (source.startsWith("(?i)")) {
      this.#ignoreCase = true;
      this.#at = 4;
    }
  }

  /** The number of groups of what was parsed. */
  get groups(): number {
    return this.#groups;
  }

  parse(): Node {
    const node = this.#alternation();
    if (this.#at < this.#characters.length) this.#refuse("a ')' without its '('");
    return node;
  }

  #refuse(what: string): never {
    throw new EvaluationError(`the pattern ${JSON.stringify(this.source.slice(0, 80))} is not understood: ${what}`);
  }

  #take(character: string): boolean {
    if (this.#characters[this.#at] !== character) return false;
    this.#at++;
    return true;
  }

  #alternation(): Node {
    if (++this.#depth > DEEPEST) this.#refuse("groups are nested too deeply");
    const alternatives = [this.#sequence()];
    while (this.#take("|")) alternatives.push(this.#sequence());
    this.#depth--;
    return alternatives.length === 1 ? (alternatives[0] as Node) : { kind: "alternation", alternatives };
  }

  #sequence(): Node {
    const parts: Node[] = [];
    while (![undefined, "|", ")"].includes(this.#characters[this.#at])) parts.push(this.#repeated());
    return { kind: "sequence", parts };
  }

  #repeated(): Node {
    let body = this.#atom();
    for (let times = this.#times(); times; times = this.#times()) {
      if (body.kind === "repetition") this.#refuse("two repetitions in a row");
      body = { kind: "repetition", body, ...times, isLazy: this.#take("?") };
    }
    return body;
  }

  #times(): { least: number; most: number } | undefined {
    if (this.#take("*")) return { least: 0, most: Number.POSITIVE_INFINITY };
    if (this.#take("+")) return { least: 1, most: Number.POSITIVE_INFINITY };
    if (this.#take("?")) return { least: 0, most: 1 };
    const match = /^\{(\d{0,5})(?:(,)(\d{0,5}))?\}/.exec(this.#characters.slice(this.#at, this.#at + 14).join(""));
    if (!match || (match[1] === "" && !match[2])) return undefined;
    this.#at += match[0].length;
    const least = Number(match[1]);
    const most = match[2] ? (match[3] ? Number(match[3]) : Number.POSITIVE_INFINITY) : least;
    if (most < least) this.#refuse(`${match[0]} ends below its beginning`);
    return { least, most };
  }

  #atom(): Node {
    const character = this.#characters[this.#at++] as string;
    switch (character) {
      case ".":
        return { kind: "character", test: (given) => given !== "\n" };
      case "^":
        return { kind: "assertion", assertion: "text-start" };
      case "$":
        return { kind: "assertion", assertion: "text-end" };
      case "[":
        return { kind: "character", test: this.#class() };
      case "(": {
        const isPlain = this.#take("?");
        if (isPlain && !this.#take(":")) this.#refuse("of the groups with '(?' only '(?:' and a leading '(?i)' are known");
        const number = isPlain ? 0 : ++this.#groups;
        const inside = this.#alternation();
        if (!this.#take(")")) this.#refuse("a '(' without its ')'");
        return isPlain ? inside : { kind: "group", number, body: inside };
      }
      case "*":
      case "+":
      case "?":
        return this.#refuse(`nothing before '${character}' to repeat`);
      case "\\": {
        const next = this.#characters[this.#at];
        if (next === "b" || next === "B") {
          this.#at++;
          return { kind: "assertion", assertion: next === "b" ? "word-boundary" : "no-word-boundary" };
        }
        const escaped = this.#escape();
        return { kind: "character", test: typeof escaped === "string" ? this.#equal(escaped) : escaped };
      }
      default:
        return { kind: "character", test: this.#equal(character) };
    }
  }

  #equal(character: string): CharacterTest {
    if (!this.#ignoreCase) return (given) => given === character;
    const folded = character.toLowerCase();
    return (given) => given.toLowerCase() === folded;
  }

  #escape(): string | CharacterTest {
    const character = this.#characters[this.#at++];
    if (character === undefined) return this.#refuse("it ends with a '\\'");
    const known = CLASSES[character.toLowerCase()];
    if (known) return character === character.toLowerCase() ? known : (given) => !known(given);
    if (character in CONTROLS) return CONTROLS[character] as string;
    const hex = /^(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4}))/.exec([character, ...this.#characters.slice(this.#at, this.#at + 4)].join(""));
    if (hex) {
      this.#at += hex[0].length - 1;
      return String.fromCharCode(Number.parseInt((hex[1] ?? hex[2]) as string, 16));
    }
    if (/[a-zA-Z1-9]/.test(character)) return this.#refuse(`'\\${character}' is not supported`);
    return character;
  }

  #class(): CharacterTest {
    const isNegated = this.#take("^");
    const tests: CharacterTest[] = [];
    const readMember = (): string | CharacterTest => {
      const character = this.#characters[this.#at++];
      if (character === undefined) return this.#refuse("a '[' without its ']'");
      return character === "\\" ? this.#escape() : character;
    };
    for (let isFirst = true; isFirst || this.#characters[this.#at] !== "]"; isFirst = false) {
      const low = readMember();
      const isRange = this.#characters[this.#at] === "-" && this.#characters[this.#at + 1] !== "]";
      if (typeof low !== "string") tests.push(low);
      else if (!isRange) tests.push(this.#equal(low));
      else {
        this.#at++;
        const high = readMember();
        if (typeof high !== "string") return this.#refuse("a range that ends in a class");
        const [from, to] = [low.codePointAt(0) as number, high.codePointAt(0) as number];
        if (to < from) this.#refuse(`the range ${low}-${high} ends below its beginning`);
        const isWithin = (character: string): boolean => {
          const code = character.codePointAt(0) as number;
          return code >= from && code <= to;
        };
        tests.push(
          this.#ignoreCase ? (character) => [character, character.toLowerCase(), character.toUpperCase()].some(isWithin) : isWithin,
        );
      }
    }
    this.#at++;
    return (character) => tests.some((test) => test(character)) !== isNegated;
  }
}

function emit(node: Node, program: Instruction[]): void {
  if (program.length > MOST_INSTRUCTIONS)
    throw new EvaluationError(`the pattern is too large: more than ${MOST_INSTRUCTIONS} steps with its repetitions written out`);
  switch (node.kind) {
    case "character":
      program.push({ op: "character", test: node.test });
      return;
    case "assertion":
      program.push({ op: "assertion", assertion: node.assertion });
      return;
    case "sequence":
      for (const part of node.parts) emit(part, program);
      return;
    case "group":
      program.push({ op: "save", slot: 2 * node.number });
      emit(node.body, program);
      program.push({ op: "save", slot: 2 * node.number + 1 });
      return;
    case "alternation": {
      const split = pushSplit(program);
      const jumps = node.alternatives.map((alternative) => {
        split.targets.push(program.length);
        emit(alternative, program);
        return pushSplit(program);
      });
      for (const jump of jumps) jump.targets.push(program.length);
      return;
    }
    case "repetition":
      emitRepetition(node, program);
      return;
  }
}

function emitRepetition({ body, least, most, isLazy }: Extract<Node, { kind: "repetition" }>, program: Instruction[]): void {
  for (let times = 0; times < least; times++) emit(body, program);
  if (most === Number.POSITIVE_INFINITY) {
    const start = program.length;
    const split = pushSplit(program, start + 1);
    emit(body, program);
    pushSplit(program, start);
    goOn(split);
    return;
  }
  const splits: Split[] = [];
  for (let times = least; times < most; times++) {
    splits.push(pushSplit(program, program.length + 1));
    emit(body, program);
  }
  for (const split of splits) goOn(split);

  /** The way behind the repetition, before that into it when it is lazy. */
  function goOn({ targets }: Split): void {
    if (isLazy) targets.unshift(program.length);
    else targets.push(program.length);
  }
}

type Split = { readonly targets: number[] };

function pushSplit(program: Instruction[], ...targets: number[]): Split {
  const split = { op: "split", targets } as const;
  program.push(split);
  return split;
}

/** Whether the program matches anywhere: before each character a thread begins at its start. */
function matches(program: readonly Instruction[], text: readonly string[]): boolean {
  const addedAt = new Int32Array(program.length).fill(-1);
  let threads: number[] = [];
  for (let at = 0; at <= text.length; at++) {
    const waiting: number[] = [];
    const addThread = (start: number): boolean => {
      const pending = [start];
      for (let index = pending.pop(); index !== undefined; index = pending.pop()) {
        if (addedAt[index] === at) continue;
        addedAt[index] = at;
        const instruction = program[index] as Instruction;
        if (instruction.op === "match") return true;
        if (instruction.op === "character") waiting.push(index);
        else if (instruction.op === "split") pending.push(...instruction.targets);
        else if (instruction.op === "save") pending.push(index + 1);
        else if (holds(instruction.assertion, text, at)) pending.push(index + 1);
      }
      return false;
    };
    for (const index of threads) if (addThread(index)) return true;
    if (addThread(0)) return true;
    if (at === text.length) return false;
    const character = text[at] as string;
    threads = waiting.filter((index) => (program[index] as { test: CharacterTest }).test(character)).map((index) => index + 1);
  }
  return false;
}

function holds(assertion: Assertion, text: readonly string[], at: number): boolean {
  if (assertion === "text-start") return at === 0;
  if (assertion === "text-end") return at === text.length || (at === text.length - 1 && text[at] === "\n");
  const before = at > 0 && isWord(text[at - 1] as string);
  const after = at < text.length && isWord(text[at] as string);
  return (before !== after) === (assertion === "word-boundary");
}

/**
 * Refuses endless repetitions of what may be empty: which group takes part in them is a matter of
 * the engine. Throws EvaluationError.
 */
function refuseEmptyLoops(node: Node, source: string): void {
  switch (node.kind) {
    case "sequence":
      for (const part of node.parts) refuseEmptyLoops(part, source);
      return;
    case "alternation":
      for (const one of node.alternatives) refuseEmptyLoops(one, source);
      return;
    case "group":
      refuseEmptyLoops(node.body, source);
      return;
    case "repetition":
      if (node.most > 1 && canBeEmpty(node.body))
        throw new EvaluationError(`the pattern ${JSON.stringify(source.slice(0, 80))} repeats what may be empty: repeat what is not`);
      refuseEmptyLoops(node.body, source);
      return;
    default:
  }
}

function canBeEmpty(node: Node): boolean {
  switch (node.kind) {
    case "character":
      return false;
    case "assertion":
      return true;
    case "sequence":
      return node.parts.every(canBeEmpty);
    case "alternation":
      return node.alternatives.some(canBeEmpty);
    case "group":
      return canBeEmpty(node.body);
    case "repetition":
      return node.least === 0 || canBeEmpty(node.body);
  }
}

/** A thread with the bounds of its match and of its groups, -1 where there is none yet. */
interface Thread {
  readonly index: number;
  readonly bounds: readonly number[];
}

function* allMatches(program: readonly Instruction[], text: readonly string[], groups: number): Generator<PatternMatch> {
  const budget = { steps: MOST_STEPS };
  for (let [from, mustAdvance] = [0, false]; ; ) {
    const bounds = firstMatch(program, text, from, mustAdvance, groups, budget);
    if (!bounds) return;
    const [start, end] = bounds as [number, number];
    const texts = Array.from({ length: groups + 1 }, (_, group) => {
      const [at, to] = [bounds[2 * group] as number, bounds[2 * group + 1] as number];
      return to < 0 ? undefined : text.slice(at, to).join("");
    });
    yield { from: start, to: end, texts };
    [from, mustAdvance] = [end, start === end];
  }
}

/**
 * The bounds of the first match at a place or behind it; with `mustAdvance` of one that is not
 * empty at the place itself.
 */
function firstMatch(
  program: readonly Instruction[],
  text: readonly string[],
  from: number,
  mustAdvance: boolean,
  groups: number,
  budget: { steps: number },
): readonly number[] | undefined {
  const addedAt = new Int32Array(program.length).fill(-1);
  const none = new Array<number>(2 * groups + 2).fill(-1);
  let threads: Thread[] = [];
  let found: readonly number[] | undefined;
  for (let at = from; at <= text.length; at++) {
    const waiting: Thread[] = [];
    /** Adds a thread with those it splits into; true when one matched: it ends those behind it. */
    const addThread = (start: number, own: readonly number[]): boolean => {
      const pending: Thread[] = [{ index: start, bounds: own }];
      for (let thread = pending.pop(); thread !== undefined; thread = pending.pop()) {
        const { index, bounds } = thread;
        if (addedAt[index] === at) continue;
        addedAt[index] = at;
        const instruction = program[index] as Instruction;
        budget.steps -= instruction.op === "save" ? bounds.length : 1;
        if (budget.steps < 0) throw new EvaluationError("the pattern takes too many steps on this text");
        if (instruction.op === "character") waiting.push(thread);
        else if (instruction.op === "match") {
          if (mustAdvance && at === from) continue;
          found = bounds.with(1, at);
          return true;
        } else if (instruction.op === "split")
          for (const target of instruction.targets.toReversed()) pending.push({ index: target, bounds });
        else if (instruction.op === "save") pending.push({ index: index + 1, bounds: bounds.with(instruction.slot, at) });
        else if (holds(instruction.assertion, text, at)) pending.push({ index: index + 1, bounds });
      }
      return false;
    };
    const isOver = threads.some(({ index, bounds }) => addThread(index, bounds));
    if (!isOver && !found) addThread(0, none.with(0, at));
    if (at === text.length || (found && waiting.length === 0)) return found;
    const character = text[at] as string;
    threads = waiting
      .filter(({ index }) => (program[index] as { test: CharacterTest }).test(character))
      .map(({ index, bounds }) => ({ index: index + 1, bounds }));
  }
  return found;
}
