/**
 * Metric expressions, as people write them: `p99:query.latency{query_name:fraud} by
 * {deployment}.rollup(5m)`, and arithmetic of them: `sum:query.errors / sum:query.count`.
 *
 * ```
 * expression = product { ("+" | "-") product }
 * product    = operand { ("*" | "/") operand }
 * operand    = number | "(" expression ")" | term
 * term       = function ":" metric [ "{" filters "}" ] [ "by" "{" labels "}" ] [ rollup ]
 * rollup     = ".rollup(" duration ")"
 * filters    = "*" | filter { "," filter }
 * filter     = label ":" [ "!" ] value { "|" value }
 * ```
 *
 * Blanks are free. In a value `*` is any text, and `!` leaves out what matches; one with blanks or
 * signs of the grammar is in quotes. All filters have to hold.
 */

import { closestNames, didYouMean } from "../closest.ts";
import { formatDuration, parseDuration } from "../duration.ts";
import { isMetricName, METRICS, type MetricDefinition, type MetricName, type MetricUnit } from "./metric.ts";

/** Functions that make one number of a period's records. */
export const METRIC_FUNCTIONS = ["avg", "sum", "min", "max", "count", "p99", "p95", "p75", "p50", "p25", "p5"] as const;

/** Name of a function. */
export type MetricFunction = (typeof METRIC_FUNCTIONS)[number];

/** A condition on a label: its value matches one of the patterns, in which `*` is any text. */
export interface LabelFilter {
  readonly label: string;
  readonly patterns: readonly string[];
  /** Whether values that match are left out instead. */
  readonly isNegated: boolean;
}

/** A function of one metric. */
export interface MetricTerm {
  readonly kind: "term";
  readonly fn: MetricFunction;
  readonly metric: MetricName;
  /** All of them have to hold. */
  readonly filters: readonly LabelFilter[];
  /** Labels of which each set of values is a series of its own; none = one series. */
  readonly by: readonly string[];
  /** Length of the periods in milliseconds; undefined = not stated. */
  readonly rollupMs: number | undefined;
}

/** A number. */
export interface MetricNumber {
  readonly kind: "number";
  readonly value: number;
}

/** An operator between two expressions, period by period. */
export interface MetricOperation {
  readonly kind: "operation";
  readonly operator: MetricOperator;
  readonly left: MetricExpression;
  readonly right: MetricExpression;
}

/** A metric expression. */
export type MetricExpression = MetricTerm | MetricNumber | MetricOperation;

/** Operators, and how tightly they bind. */
const PRECEDENCE = { "+": 1, "-": 1, "*": 2, "/": 2 } as const;

/** An operator. */
export type MetricOperator = keyof typeof PRECEDENCE;

/** The operators. */
export const METRIC_OPERATORS = Object.keys(PRECEDENCE) as readonly MetricOperator[];

/** Longest expression, in UTF-16 units. */
export const MAX_EXPRESSION_LENGTH = 2_000;
/** Most terms of an expression. */
export const MAX_TERMS = 8;
/** Most conditions of a term, and most values of one. */
const MAX_FILTERS = 20;
const MAX_DEPTH = 20;
/** The shortest and longest periods, and what they are multiples of, in milliseconds. */
const ROLLUP_UNIT_MS = 10_000;
const MAX_ROLLUP_MS = 366 * 86_400_000;

/** The error of an expression that cannot be read, or that asks for what there is not. */
export class MetricExpressionError extends Error {
  override readonly name = "MetricExpressionError";
  constructor(
    message: string,
    /** Where in the text, in UTF-16 units: beginning and end, which may be the same. */
    readonly from: number,
    readonly to: number,
    /** Column of the beginning: characters from 1. */
    readonly column: number,
    /** The next step; empty = none. */
    readonly hint: string,
  ) {
    super(message);
  }
}

/**
 * The functions that a metric takes. Increments of a counter are added up, and `count` counts what
 * it is a number of. Of a gauge `sum` adds its series' means, so that it is a number of now too.
 * Only of a histogram the values are known one by one.
 */
export function functionsOf({ kind, unit }: MetricDefinition): readonly MetricFunction[] {
  if (kind === "counter") return unit === "one" ? ["sum", "count"] : ["sum"];
  return kind === "gauge" ? ["avg", "sum", "min", "max"] : METRIC_FUNCTIONS;
}

/** Whether periods can have a length, milliseconds. */
export function isRollup(ms: number): boolean {
  return ms >= ROLLUP_UNIT_MS && ms <= MAX_ROLLUP_MS && ms % ROLLUP_UNIT_MS === 0;
}

/** The share of values that a percentile is about, 0 to 1; undefined for other functions. */
export function quantileOf(fn: MetricFunction): number | undefined {
  return fn.startsWith("p") ? Number(fn.slice(1)) / 100 : undefined;
}

/** Whether what is absent from the records of a term is zero, and not unknown. */
export function countsFromZero({ fn, metric }: MetricTerm): boolean {
  return METRICS[metric].kind === "counter" || (fn === "count" && METRICS[metric].kind === "histogram");
}

/** The terms of an expression, from left to right. */
export function termsOf(expression: MetricExpression): MetricTerm[] {
  if (expression.kind === "term") return [expression];
  return expression.kind === "number" ? [] : [...termsOf(expression.left), ...termsOf(expression.right)];
}

/** The labels that tell the series of an expression apart. */
export function groupingOf(expression: MetricExpression): readonly string[] {
  return termsOf(expression).find(({ by }) => by.length > 0)?.by ?? [];
}

/** The unit of an expression's values; undefined when its operands' units do not go together. */
export function unitOf(expression: MetricExpression): MetricUnit | undefined {
  if (expression.kind === "number") return "one";
  if (expression.kind === "term") return expression.fn === "count" ? "one" : METRICS[expression.metric].unit;
  const { left, operator, right } = expression;
  const [one, other] = [unitOf(left), unitOf(right)];
  if (one === undefined || other === undefined) return undefined;
  if (left.kind === "number" && operator !== "/") return operator === "*" ? scaled(other) : other;
  if (right.kind === "number") return operator === "*" || operator === "/" ? scaled(one) : one;
  if (operator === "+" || operator === "-") return one === other ? one : undefined;
  if (operator === "/") return one === other ? "ratio" : isPure(other) ? one : undefined;
  return isPure(one) ? other : isPure(other) ? one : undefined;
}

const scaled = (unit: MetricUnit): MetricUnit => (unit === "ratio" ? "one" : unit);
const isPure = (unit: MetricUnit): boolean => unit === "one" || unit === "ratio";

/**
 * An expression as text, in one form for all that mean the same; `parseMetricExpression` reads it
 * back.
 */
export function printMetricExpression(expression: MetricExpression): string {
  if (expression.kind === "number") return String(expression.value);
  if (expression.kind === "operation") {
    const { left, operator, right } = expression;
    const within = (operand: MetricExpression, isRight: boolean): string => {
      const text = printMetricExpression(operand);
      if (operand.kind !== "operation") return text;
      const [own, outer] = [PRECEDENCE[operand.operator], PRECEDENCE[operator]];
      return own < outer || (isRight && own === outer) ? `(${text})` : text;
    };
    return `${within(left, false)} ${operator} ${within(right, true)}`;
  }
  const { by, filters, fn, metric, rollupMs } = expression;
  const conditions = filters.map(
    ({ isNegated, label, patterns }) => `${label}:${isNegated ? "!" : ""}${patterns.map(printValue).join("|")}`,
  );
  return (
    `${fn}:${metric}` +
    (conditions.length > 0 ? `{${conditions.join(",")}}` : "") +
    (by.length > 0 ? ` by {${by.join(",")}}` : "") +
    (rollupMs === undefined ? "" : `.rollup(${formatDuration(rollupMs)})`)
  );
}

const BARE = /[^\s,{}"|]+/y;

function printValue(value: string): string {
  const isBare = /^[^\s,{}"|!\\\p{Cc}\p{Cf}][^\s,{}"|\\\p{Cc}\p{Cf}]*$/u.test(value);
  return isBare ? value : `"${value.replaceAll(/["\\]/g, "\\$&")}"`;
}

/** The expression of a text. Throws MetricExpressionError. */
export function parseMetricExpression(text: string): MetricExpression {
  return new Parser(text).whole();
}

class Parser {
  readonly #text: string;
  #at = 0;
  #terms = 0;
  #depth = 0;

  constructor(text: string) {
    this.#text = text;
    if (text.length > MAX_EXPRESSION_LENGTH)
      throw this.#error(`the expression is longer than ${MAX_EXPRESSION_LENGTH} characters`, MAX_EXPRESSION_LENGTH);
  }

  whole(): MetricExpression {
    const expression = this.#expression(1);
    this.#blanks();
    if (this.#at < this.#text.length) throw this.#unexpected(`the end, ${METRIC_OPERATORS.join(" ")}, or a part of the term such as {...}`);
    return expression;
  }

  /** Operands between operators that bind at least so tightly. */
  #expression(tightness: 1 | 2): MetricExpression {
    let left = tightness === 1 ? this.#expression(2) : this.#operand();
    for (;;) {
      this.#blanks();
      const from = this.#at;
      const operator = METRIC_OPERATORS.find((one) => one === this.#text[from] && PRECEDENCE[one] === tightness);
      if (operator === undefined) return left;
      this.#at++;
      const right = tightness === 1 ? this.#expression(2) : this.#operand();
      left = { kind: "operation", operator, left, right };
      this.#checkOperation(left, from);
    }
  }

  /** Throws when the operands of an operator do not go together. */
  #checkOperation(operation: MetricOperation, from: number): void {
    const { left, operator, right } = operation;
    if (unitOf(operation) === undefined) {
      const why = `'${operator}' does not go with ${unitOf(left)} and ${unitOf(right)}`;
      throw this.#error(why, from, from + 1, "Only what has the same unit is added; it is divided by the same unit or by a count.");
    }
    const [one, other] = [groupingOf(left), groupingOf(right)];
    if (one.length === 0 || other.length === 0) return;
    if (one.length === other.length && one.every((label) => other.includes(label))) return;
    const why = `the sides of '${operator}' are grouped differently, by ${one.join(", ")} and by ${other.join(", ")}`;
    throw this.#error(why, from, from + 1, "Group both by the same labels, or one of them by none.");
  }

  #operand(): MetricExpression {
    this.#blanks();
    const from = this.#at;
    if (this.#take("(")) {
      if (++this.#depth > MAX_DEPTH) throw this.#error(`there are more than ${MAX_DEPTH} parentheses within each other`, from, from + 1);
      const expression = this.#expression(1);
      this.#need(")", `')' for the '(' of column ${this.#column(from)}`);
      this.#depth--;
      return expression;
    }
    const number = this.#match(/\d+(?:\.\d+)?(?:e[+-]?\d+)?/iy);
    if (number === undefined) return this.#term();
    const value = Number(number);
    if (!Number.isFinite(value)) throw this.#error(`the number ${number} is too large`, from);
    return { kind: "number", value };
  }

  #term(): MetricTerm {
    const [fn, fnFrom] = this.#function();
    const metric = this.#metric();
    if (++this.#terms > MAX_TERMS) throw this.#error(`there are more than ${MAX_TERMS} metrics`, fnFrom);
    const able = functionsOf(METRICS[metric]);
    if (!able.includes(fn)) {
      const why = `'${fn}' does not go with ${metric}, a ${METRICS[metric].kind} in ${unitText(METRICS[metric].unit)}`;
      throw this.#error(why, fnFrom, fnFrom + fn.length, `It takes ${able.join(", ")}.`);
    }
    const filters = this.#take("{") ? this.#filters(metric) : [];
    const by = this.#match(/by(?=\s*\{)/iy) === undefined ? [] : this.#grouping(metric);
    return { kind: "term", fn, metric, filters, by, rollupMs: this.#rollup() };
  }

  #function(): [fn: MetricFunction, from: number] {
    const expected = `a function (${METRIC_FUNCTIONS.join(", ")}) with a colon, such as p99:query.latency`;
    this.#blanks();
    const from = this.#at;
    const word = this.#match(/[\p{L}_][\p{L}\p{N}_.]*/uy);
    if (word === undefined) throw this.#unexpected(expected);
    const fn = METRIC_FUNCTIONS.find((one) => one === word);
    if (fn === undefined) {
      const hint = isMetricName(word)
        ? `A function comes before the metric: ${functionsOf(METRICS[word]).at(METRICS[word].kind === "histogram" ? 5 : 0)}:${word}`
        : hintOf(word, METRIC_FUNCTIONS);
      throw this.#error(isMetricName(word) ? `expected ${expected}` : `there is no function '${word}'`, from, this.#at, hint);
    }
    this.#need(":", `':' and a metric after the function`);
    return [fn, from];
  }

  #metric(): MetricName {
    this.#blanks();
    const from = this.#at;
    const name = this.#match(/[\p{L}_][\p{L}\p{N}_]*(?:\.(?!rollup\s*\()[\p{L}\p{N}_]+)*/uy);
    if (name === undefined) throw this.#unexpected("the name of a metric, such as query.latency");
    if (isMetricName(name)) return name;
    throw this.#error(`there is no metric '${name}'`, from, this.#at, hintOf(name, Object.keys(METRICS)));
  }

  #filters(metric: MetricName): LabelFilter[] {
    const filters: LabelFilter[] = [];
    if (this.#take("}")) return filters;
    if (this.#match(/\*(?=\s*\})/y) !== undefined) this.#blanks();
    else
      do {
        const from = this.#at;
        if (filters.length === MAX_FILTERS) throw this.#error(`there are more than ${MAX_FILTERS} filters`, from);
        const label = this.#label(metric);
        this.#need(":", `':' and a value of ${label}`);
        const isNegated = this.#take("!");
        const patterns = [this.#value(label)];
        while (this.#take("|")) patterns.push(this.#value(label));
        if (patterns.length > MAX_FILTERS) throw this.#error(`${label} has more than ${MAX_FILTERS} values`, from);
        filters.push({ label, patterns, isNegated });
      } while (this.#take(","));
    this.#need("}", "',' and another filter, or '}'");
    return filters;
  }

  #grouping(metric: MetricName): string[] {
    this.#need("{", "'{' and labels");
    const labels: string[] = [];
    do {
      this.#blanks();
      const from = this.#at;
      const label = this.#label(metric);
      if (labels.includes(label)) throw this.#error(`the label '${label}' is there twice`, from, this.#at);
      labels.push(label);
    } while (this.#take(","));
    this.#need("}", "',' and another label, or '}'");
    return labels;
  }

  #label(metric: MetricName): string {
    this.#blanks();
    const from = this.#at;
    const { labels } = METRICS[metric] as MetricDefinition;
    const expected = `a label of ${metric} (${labels.join(", ")})`;
    const label = this.#match(/[\p{L}_][\p{L}\p{N}_]*/uy);
    if (label === undefined) throw this.#unexpected(expected);
    if (labels.includes(label)) return label;
    throw this.#error(`${metric} has no label '${label}'`, from, this.#at, hintOf(label, labels));
  }

  #value(label: string): string {
    this.#blanks();
    const from = this.#at;
    const quoted = this.#match(/"(?:[^"\\]|\\["\\])*"/y);
    if (quoted !== undefined) return quoted.slice(1, -1).replaceAll(/\\(["\\])/g, "$1");
    if (this.#text[from] === '"')
      throw this.#error("the quote has no end", from, from + 1, 'Within quotes \\" is a quote and \\\\ a backslash.');
    const bare = this.#match(BARE);
    if (bare === undefined) throw this.#unexpected(`a value of ${label}`);
    return bare;
  }

  #rollup(): number | undefined {
    this.#blanks();
    if (this.#text[this.#at] !== ".") return undefined;
    if (this.#match(/\.\s*rollup\s*\(/y) === undefined) throw this.#unexpected(".rollup(5m)");
    this.#blanks();
    const from = this.#at;
    const given = this.#match(/[^()]*/y)?.trimEnd() ?? "";
    const ms = parseDuration(given);
    const to = from + given.length;
    if (ms === undefined) throw this.#error(`'${given}' is no duration`, from, to, "A period is written .rollup(5m), with s, m, h or d.");
    if (!isRollup(ms)) throw this.#error(`a period of ${given} is not possible`, from, to, "It has 10s to 366d, in multiples of 10s.");
    this.#need(")", "')'");
    return ms;
  }

  #blanks(): void {
    while (/\s/.test(this.#text[this.#at] ?? "")) this.#at++;
  }

  /** Takes a sign after blanks, if it is there. */
  #take(sign: string): boolean {
    this.#blanks();
    if (this.#text[this.#at] !== sign) return false;
    this.#at++;
    return true;
  }

  #need(sign: string, expected: string): void {
    if (!this.#take(sign)) throw this.#unexpected(expected);
  }

  #match(sticky: RegExp): string | undefined {
    this.#blanks();
    sticky.lastIndex = this.#at;
    const found = sticky.exec(this.#text)?.[0];
    if (found !== undefined) this.#at += found.length;
    return found;
  }

  #unexpected(expected: string): MetricExpressionError {
    this.#blanks();
    const found = this.#text.slice(this.#at).match(/^(?:[\p{L}\p{N}_]+|.)/su)?.[0];
    const what = found === undefined ? "the expression ends" : `there is '${found}'`;
    return this.#error(`${what} where ${expected} belongs`, this.#at, this.#at + (found?.length ?? 0));
  }

  #error(problem: string, from: number, to = this.#at, hint = ""): MetricExpressionError {
    return new MetricExpressionError(`column ${this.#column(from)}: ${problem}`, from, Math.max(from, to), this.#column(from), hint);
  }

  #column(at: number): number {
    return [...this.#text.slice(0, at)].length + 1;
  }
}

function unitText(unit: MetricUnit): string {
  return unit === "one" ? "numbers" : unit;
}

function hintOf(wanted: string, names: readonly string[]): string {
  if (closestNames(wanted, names).length === 0) return `There is: ${names.join(", ")}.`;
  const meant = didYouMean(wanted, names);
  return meant.charAt(0).toUpperCase() + meant.slice(1);
}
