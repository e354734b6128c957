/** Compilation of an expression to code that computes whole columns. */

import type { Expression } from "../../../gen/svc/v1/graph_pb.ts";
import type { DataType } from "../../../gen/svc/v1/value_pb.ts";
import type { ExpressionScope } from "../../domain/expressions/scope.ts";
import { typeWords, widener, widening } from "../../domain/expressions/types.ts";
import { type TypedExpression, typeExpression } from "../../domain/expressions/typing.ts";
import { formatMicros } from "../../domain/timestamp.ts";
import type { FeatureValue } from "../../domain/value.ts";
import { compileAggregation } from "./aggregate-column.ts";
import { compileCall } from "./call-column.ts";
import { type Column, type Evaluate, type Frame, nowOf, widenColumn } from "./column.ts";
import type { ChildRows, CompiledExpression, Evaluated, References } from "./compiled.ts";
import { referencesOf } from "./references.ts";
import { rowTest } from "./row-test.ts";

/**
 * The error for an expression that cannot be computed because of names or types; the message joins
 * lint's findings.
 */
export class ExpressionError extends Error {
  override readonly name = "ExpressionError";
}

/** Options of a compilation. */
export interface CompileOptions {
  /** Length of the feature's window in microseconds, for `_.svc_window`. */
  readonly windowMicros?: bigint;
  /**
   * Type to which the results are converted, the feature's: ints become floats for a float feature.
   */
  readonly type?: DataType;
}

/** The earliest instant; no window begins before it. */
const FIRST_MICROS = BigInt(Date.parse("0001-01-01T00:00:00Z")) * 1000n;

/** Compiles an expression for rows of the scope's class. Throws ExpressionError. */
export function compileExpression(
  expression: Expression,
  scope: Omit<ExpressionScope, "isWindowed" | "outer">,
  options: CompileOptions = {},
): CompiledExpression {
  const { typed, diagnostics } = typeExpression(expression, { ...scope, isWindowed: options.windowMicros !== undefined });
  if (!typed) throw new ExpressionError(diagnostics.map(({ message }) => message).join("; "));
  if (options.type && widening(typed.type, options.type) === undefined)
    throw new ExpressionError(`the expression is ${typeWords(typed.type)}, and ${typeWords(options.type)} is wanted`);
  const windowMicros = options.windowMicros ?? 0n;
  const compiler = new Compiler(windowMicros);
  const compute = widenColumn(compiler.compile(typed), options.type && widener(typed.type, options.type));
  const references: References = referencesOf(typed, windowMicros);
  return {
    type: options.type ?? typed.type,
    nullable: typed.nullable,
    references,
    test: rowTest([typed], windowMicros),
    readsClock: compiler.readsClock,
    evaluate: (rows, { nowMicros }): Evaluated => {
      const { values, errors } = compute({ rows, nowMicros });
      return { values, errors: errors ?? NO_ERRORS };
    },
  };
}

const NO_ERRORS: ReadonlyMap<number, string> = new Map();

class Compiler {
  readsClock = false;

  constructor(readonly windowMicros: bigint) {}

  compile(typed: TypedExpression): Evaluate {
    switch (typed.kind) {
      case "literal": {
        const { value } = typed;
        return ({ rows }) => ({ values: new Array<FeatureValue>(rows.rows).fill(value) });
      }
      case "reference":
        return readColumn(typed.column, typed.fields, typed.scope);
      case "call":
        return compileCall(
          typed,
          typed.arguments.map((argument) => this.compile(argument)),
        );
      case "aggregation":
        return compileAggregation(
          typed,
          typed.filters.map((filter) => this.compile(filter)),
          typed.column && this.compile(typed.column),
          typed.key && this.compile(typed.key.typed),
          typed.grouping?.columns.map((column) => this.compile(column.typed)),
        );
      case "now":
        this.readsClock = true;
        return (frame) => instants(frame, 0n);
      case "window-start":
        this.readsClock = true;
        return (frame) => instants(frame, this.windowMicros);
    }
  }
}

function instants(frame: Frame, before: bigint): Column {
  const text = (now: bigint): string => formatMicros(now - before < FIRST_MICROS ? FIRST_MICROS : now - before);
  const { nowMicros } = frame;
  if (typeof nowMicros === "bigint") return { values: new Array<FeatureValue>(frame.rows.rows).fill(text(nowMicros)) };
  return { values: Array.from({ length: frame.rows.rows }, (_, row) => text(nowOf(frame, row))) };
}

function readColumn(path: string, fields: readonly string[], scope: number): Evaluate {
  return (frame) => {
    let at: Frame = frame;
    const parents: ChildRows[] = [];
    for (let step = 0; step < scope; step++) {
      const { outer } = at;
      if (!outer) throw new Error(`no row around the brackets for ${path}`);
      parents.push(outer.children);
      at = outer.frame;
    }
    const column = at.rows.columns.get(path);
    if (!column) throw new Error(`the column ${path} was not given`);
    let values = fields.length === 0 ? column : column.map((value) => fieldOf(value, fields));
    for (const children of parents.reverse()) values = spread(values, children);
    return { values };
  };
}

function fieldOf(value: FeatureValue, fields: readonly string[]): FeatureValue {
  let at: FeatureValue = value;
  for (const field of fields) {
    if (at === null || typeof at !== "object" || Array.isArray(at) || at instanceof Uint8Array) return null;
    at = at[field] ?? null;
  }
  return at;
}

/** The parent's value for each of its child rows. */
function spread(values: readonly FeatureValue[], { offsets, rows }: ChildRows): FeatureValue[] {
  const wide = new Array<FeatureValue>(rows);
  for (let parent = 0; parent + 1 < offsets.length; parent++)
    wide.fill(values[parent] as FeatureValue, offsets[parent] as number, offsets[parent + 1] as number);
  return wide;
}
