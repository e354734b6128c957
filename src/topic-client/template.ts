/**
 * Templates of messages: calls in a text that are replaced each time it is expanded.
 *
 *   rand() rand(max) rand(min, max)           a number, from min on and below max; 0 and 1
 *   randint() randint(max) randint(min, max)  a whole number, both ends included; 0 and 1,000,000
 *   randstr(length)                           letters and digits
 *   now()                                     the time, ISO 8601
 *
 * A call of another name is text.
 */

/** What calls are computed from. */
export interface TemplateInputs {
  /** A random number, from 0 on and below 1. */
  readonly random: () => number;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/** A call with arguments that it does not take, and where it is. */
export class TemplateError extends Error {
  /** Place in the text, in UTF-16 units from 0 on. */
  readonly offset: number;
  /** Length of the call. */
  readonly length: number;

  constructor(message: string, offset: number, length: number) {
    super(message);
    this.name = "TemplateError";
    this.offset = offset;
    this.length = length;
  }
}

/** A template that can be expanded again and again. */
export type Template = (inputs: TemplateInputs) => string;

type Computed = (inputs: TemplateInputs) => string;

const CALL = /(?<![\p{L}\p{N}_.$])(rand|randint|randstr|now)\(([^()]*)(\)?)/gu;
const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;
const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const MAX_INT = 1_000_000;
/** Most characters that one call gives. */
const MAX_LENGTH = 100_000;

/**
 * Reads a template. Throws TemplateError for the first call with arguments that it does not take.
 */
export function parseTemplate(text: string): Template {
  const parts: (string | Computed)[] = [];
  let end = 0;
  for (const match of text.matchAll(CALL)) {
    const [call, name = "", given = "", closing = ""] = match;
    const fail = (message: string): never => {
      throw new TemplateError(`${call.slice(0, 60)}: ${message}`, match.index, call.length);
    };
    if (closing === "") fail("it has no ')'");
    parts.push(text.slice(end, match.index), CALLS[name as keyof typeof CALLS](argumentsOf(given, fail), fail));
    end = match.index + call.length;
  }
  parts.push(text.slice(end));
  return (inputs) => parts.map((part) => (typeof part === "string" ? part : part(inputs))).join("");
}

type Fail = (message: string) => never;

const CALLS: Readonly<Record<"rand" | "randint" | "randstr" | "now", (given: readonly number[], fail: Fail) => Computed>> = {
  rand(given, fail) {
    const [min, max] = rangeOf(given, 1, fail);
    if (min >= max) fail("the first number has to be below the second");
    return ({ random }) => String(Math.min(min + random() * (max - min), below(min, max)));
  },
  randint(given, fail) {
    const [min, max] = rangeOf(given, MAX_INT, fail);
    if (![min, max].every(Number.isSafeInteger)) fail("it takes whole numbers, up to 2^53");
    if (min > max) fail("the first number has to be at most the second");
    return ({ random }) => String(min + Math.floor(random() * (max - min + 1)));
  },
  randstr(given, fail) {
    const [length, ...others] = given;
    if (length === undefined || others.length > 0) fail("it takes one number, the length");
    if (length === undefined || !Number.isInteger(length) || length < 0 || length > MAX_LENGTH)
      return fail(`the length is a whole number from 0 to ${MAX_LENGTH}`);
    return ({ random }) => Array.from({ length }, () => ALPHABET[Math.floor(random() * ALPHABET.length)]).join("");
  },
  now(given, fail) {
    if (given.length > 0) fail("it takes nothing");
    return ({ now }) => new Date(now()).toISOString();
  },
};

/** The numbers between the parentheses. */
function argumentsOf(text: string, fail: Fail): number[] {
  if (text.trim() === "") return [];
  return text.split(",").map((written) => {
    const word = written.trim();
    const value = NUMBER.test(word) ? Number(word) : Number.NaN;
    if (!Number.isFinite(value)) fail(`'${word}' is no number`);
    return value;
  });
}

/** Both ends: none, the upper one, or both are given. */
function rangeOf(given: readonly number[], max: number, fail: Fail): readonly [number, number] {
  if (given.length > 2) fail("it takes at most two numbers");
  const [first, second] = given;
  if (first === undefined) return [0, max];
  return second === undefined ? [0, first] : [first, second];
}

/** A number below `max`, for sums that round up to it. */
function below(min: number, max: number): number {
  const step = Math.max(Math.abs(max), Math.abs(min)) * Number.EPSILON;
  return max - Math.max(step, Number.MIN_VALUE);
}
