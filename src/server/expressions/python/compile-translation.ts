/**
 * Compilation of translated Python functions: the code computes a row, or reports that Python has
 * to.
 */

import type { Expression } from "../../../../gen/svc/v1/graph_pb.ts";
import type { Value } from "../../../../gen/svc/v1/value_pb.ts";
import type { FeatureValue } from "../../../domain/value.ts";
import { isTrue, OPERATIONS } from "./operations.ts";
import { type PythonType, type PythonValue, Unsure } from "./python-value.ts";

/** A parameter of the function: its path in the expressions, and its type. */
export interface TranslatedParameter {
  readonly path: string;
  readonly type: PythonType;
}

/** An output of the function. */
export interface TranslatedOutput {
  readonly fqn: string;
  readonly expression: Expression;
  readonly type: PythonType;
}

/** A Python function compiled for the server. Holds no state of a run. */
export interface CompiledTranslation {
  /** FQNs of the outputs in the order of the results. */
  readonly outputs: readonly string[];
  /**
   * One value per output, in the form of Python's results, given one value per parameter; undefined
   * when Python has to compute the row.
   */
  run(values: readonly FeatureValue[]): FeatureValue[] | undefined;
}

/** Values of a row during its computation: the parameters, and the results of shared parts. */
interface Row {
  readonly given: readonly PythonValue[];
  readonly known: (PythonValue | undefined)[];
}

type Compute = (row: Row) => PythonValue;

/**
 * Compiles the expressions of a function's outputs; undefined when they use an operation that this
 * server does not know.
 */
export function compileTranslation(
  parameters: readonly TranslatedParameter[],
  outputs: readonly TranslatedOutput[],
): CompiledTranslation | undefined {
  const compiler = new Compiler(new Map(parameters.map(({ path }, position) => [path, position])));
  for (const { expression } of outputs) compiler.count(expression);
  const computes: Compute[] = [];
  for (const { expression } of outputs) {
    const compute = compiler.compile(expression);
    if (!compute) return undefined;
    computes.push(compute);
  }
  return {
    outputs: outputs.map(({ fqn }) => fqn),
    run(values) {
      try {
        const given = parameters.map(({ type }, position) => type.read(values[position] ?? null));
        const row: Row = { given, known: [] };
        return outputs.map(({ type }, position) => type.write((computes[position] as Compute)(row)));
      } catch (error) {
        if (error instanceof Unsure) return undefined;
        throw error;
      }
    },
  };
}

class Compiler {
  readonly #keys = new Map<Expression, string>();
  readonly #uses = new Map<string, number>();
  readonly #compiled = new Map<string, Compute>();
  #shared = 0;

  constructor(readonly positions: ReadonlyMap<string, number>) {}

  /** Counts the occurrences of every part; returns a key that equal expressions share. */
  count(expression: Expression): string {
    const { node } = expression;
    let key = "?";
    if (node.case === "feature") key = `.${node.value.path.join(".")}`;
    else if (node.case === "literal") key = `${node.value.kind.case}:${literalKey(node.value)}`;
    else if (node.case === "call")
      key = `${node.value.function}(${node.value.arguments.map((argument) => this.count(argument)).join(",")})`;
    this.#keys.set(expression, key);
    this.#uses.set(key, (this.#uses.get(key) ?? 0) + 1);
    return key;
  }

  compile(expression: Expression): Compute | undefined {
    const key = this.#keys.get(expression) ?? "";
    const known = this.#compiled.get(key);
    if (known) return known;
    let compute = this.#node(expression);
    if (compute && expression.node.case === "call" && (this.#uses.get(key) ?? 0) > 1) compute = once(compute, this.#shared++);
    if (compute) this.#compiled.set(key, compute);
    return compute;
  }

  #node({ node }: Expression): Compute | undefined {
    if (node.case === "literal") {
      const value = literalOf(node.value);
      return value === undefined ? undefined : () => value;
    }
    if (node.case === "feature") {
      const position = node.value.scope === 0 ? this.positions.get(node.value.path.join(".")) : undefined;
      return position === undefined ? undefined : ({ given }) => given[position] as PythonValue;
    }
    if (node.case !== "call") return undefined;
    const parts: Compute[] = [];
    for (const argument of node.value.arguments) {
      const part = this.compile(argument);
      if (!part) return undefined;
      parts.push(part);
    }
    return lazy(node.value.function, parts) ?? eager(node.value.function, parts);
  }
}

/** Memoizes a computation per row. */
function once(compute: Compute, at: number): Compute {
  return (row) => {
    const known = row.known[at];
    if (known !== undefined) return known;
    const value = compute(row);
    row.known[at] = value;
    return value;
  };
}

/** Compiles an operation that does not compute all of its arguments; undefined for any other. */
function lazy(name: string, parts: readonly Compute[]): Compute | undefined {
  const [first, second, third] = parts;
  if (name === "if" && first && second && third && parts.length === 3) return (row) => (isTrue(first(row)) ? second(row) : third(row));
  if ((name !== "and" && name !== "or") || parts.length === 0) return undefined;
  const stopsAt = name === "or";
  return (row) => {
    let value: PythonValue = null;
    for (const part of parts) {
      value = part(row);
      if (isTrue(value) === stopsAt) return value;
    }
    return value;
  };
}

function eager(name: string, parts: readonly Compute[]): Compute | undefined {
  const operation = OPERATIONS.get(name);
  if (!operation || parts.length < operation.least || parts.length > operation.most) return undefined;
  const { run } = operation;
  const [first, second] = parts;
  if (first && parts.length === 1) return (row) => run(first(row));
  if (first && second && parts.length === 2) return (row) => run(first(row), second(row));
  return (row) => run(...parts.map((part) => part(row)));
}

function literalOf({ kind }: Value): PythonValue | undefined {
  switch (kind.case) {
    case "nullValue":
      return null;
    case "int64Value":
    case "doubleValue":
    case "stringValue":
    case "boolValue":
      return kind.value;
    default:
      return undefined;
  }
}

function literalKey(value: Value): string {
  const literal = literalOf(value);
  if (typeof literal === "string") return JSON.stringify(literal);
  return Object.is(literal, -0) ? "-0" : String(literal);
}
