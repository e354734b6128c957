/** The shape of the function table. */

import type { FeatureValue } from "../value.ts";
import { parseSignature, type Signature } from "./types.ts";

/**
 * The code of a signature, for one row. It is given the values of the arguments, int widened to
 * float where the signature says float, and throws EvaluationError when the row can have no value.
 * The arguments of a lazy function are functions that give the value or throw the argument's error.
 */
export type RowFunction = (...values: never[]) => FeatureValue;

/** A signature with the code for it. */
export interface Overload {
  readonly signature: Signature;
  readonly run: RowFunction;
}

/** A function's treatment of null. */
export interface NullRule {
  /** In words, for the documentation. */
  readonly doc: string;
  /** Whether the result may be null, by whether each argument may be. */
  readonly nullable: (argumentsNullable: readonly boolean[]) => boolean;
}

/** A function of the table. */
export interface FunctionDefinition {
  readonly name: string;
  /** `strings`, `dates`, ... */
  readonly family: string;
  /** One sentence. */
  readonly doc: string;
  /** A use of it in Python. */
  readonly example: string;
  /** Names of the parameters; `*values` stands for any number, and `digits?` may be left out. */
  readonly parameters: readonly string[];
  /** Absent = a null argument gives null. With a rule the code is given nulls. */
  readonly nulls?: NullRule;
  /**
   * Whether arguments are computed only when they count: an error in one that does not count is no
   * error of the row.
   */
  readonly lazy?: boolean;
  /**
   * A check of constant arguments (others are undefined) before any row is computed; throws
   * EvaluationError when they can never be right.
   */
  readonly checkConstants?: (values: readonly (FeatureValue | undefined)[]) => void;
  /** The signatures; the one that needs the fewest conversions is taken, the first of equals. */
  readonly overloads: readonly Overload[];
}

/** A function as a family file writes it. */
export interface FunctionEntry extends Omit<FunctionDefinition, "name" | "family" | "overloads"> {
  readonly overloads: readonly (readonly [signature: string, run: RowFunction])[];
}

/** The functions of a family. */
export function defineFamily(family: string, entries: Readonly<Record<string, FunctionEntry>>): FunctionDefinition[] {
  return Object.entries(entries).map(([name, entry]) => ({
    ...entry,
    name,
    family,
    overloads: entry.overloads.map(([signature, run]) => ({ signature: parseSignature(signature), run })),
  }));
}

/** The rule that the result may be null when any argument may be. */
export const anyNullable = (nullable: readonly boolean[]): boolean => nullable.includes(true);

/** An integer in memory: a number when safe, else a bigint. */
export type Int = number | bigint;
